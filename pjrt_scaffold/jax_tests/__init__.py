"""JAX's own tests, run against a plugin: `pjrt-scaffold jax-tests`."""
