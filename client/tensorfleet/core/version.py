"""The version of this package, as `tf.__version__` says it."""

__version__ = "0.1.0"
