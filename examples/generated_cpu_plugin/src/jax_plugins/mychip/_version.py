"""The version of the plugin, for the wheel, for Python and for C++. This line is the only place."""

__version__ = "0.1.0"
