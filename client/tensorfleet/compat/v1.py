"""`tf.compat.v1`: this library itself, whose names are those of TensorFlow 1.x."""

import sys as _sys
import typing as _typing

if _typing.TYPE_CHECKING:
    from tensorfleet import *  # noqa: F403

# An import of this module has the package as its result.
_sys.modules[__name__] = _sys.modules["tensorfleet"]
