"""The version of this package, and that of TensorFlow's API which it answers with."""

__version__ = "0.1.0"

API_VERSION = "1.15.5"
"""The value of `tf.__version__`: programs ask it which names and arguments there are."""

GIT_VERSION = f"tensorfleet-{__version__}"
COMPILER_VERSION = "none: NumPy's and CuPy's own"
