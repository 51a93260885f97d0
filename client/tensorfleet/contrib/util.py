"""`tf.contrib.util`: tensors, messages and constants."""

import typing as _typing

from tensorfleet.core.tensor_util import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto
from tensorfleet.graph.static_value import static_value as constant_value

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto"]
