"""pjrt-scaffold: generates PJRT plugin repositories and keeps them up to date."""

__version__ = "0.1.0"
