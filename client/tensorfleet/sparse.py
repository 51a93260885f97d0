"""`tf.sparse`: SparseTensors, and what gathers sparse gradients."""

import typing as _typing

from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor as SparseTensor,
)
from tensorfleet.ops.data_flow.accumulators import (
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
