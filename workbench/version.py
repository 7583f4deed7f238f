"""The version of the package, which all rooms may ask for."""

__version__ = "0.1.0"
