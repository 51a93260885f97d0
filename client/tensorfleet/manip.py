"""`tf.manip`: the older names of some operations on shapes and slices."""

import typing as _typing

from tensorfleet.ops.array.batching import (
    batch_to_space_nd as batch_to_space_nd,
    space_to_batch_nd as space_to_batch_nd,
)
from tensorfleet.ops.array.indexing import gather_nd as gather_nd, scatter_nd as scatter_nd
from tensorfleet.ops.array.padding import tile as tile
from tensorfleet.ops.array.rearranging import reverse as reverse, roll as roll
from tensorfleet.ops.array.shaping import reshape as reshape

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
