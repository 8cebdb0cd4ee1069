"""Watch a framework talk to a plugin: a library between the two, built from the registry."""
