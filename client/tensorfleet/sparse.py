"""`tf.sparse`: SparseTensors, and what gathers sparse gradients."""

import typing as _typing

from tensorfleet.ops.array.sparse_counts import sparse_bincount as bincount
from tensorfleet.ops.array.sparse_elements import (
    from_dense as from_dense,
    sparse_eye as eye,
    sparse_fill_empty_rows as fill_empty_rows,
    sparse_mask as mask,
    sparse_retain as retain,
)
from tensorfleet.ops.array.sparse_parts import (
    sparse_concat as concat,
    sparse_expand_dims as expand_dims,
    sparse_reshape as reshape,
    sparse_slice as slice,
    sparse_split as split,
    sparse_transpose as transpose,
)
from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor as SparseTensor,
    sparse_placeholder as placeholder,
    sparse_reorder as reorder,
    sparse_tensor_to_dense as to_dense,
)
from tensorfleet.ops.data_flow.accumulators import (
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from tensorfleet.ops.debugging.sparse_shapes import sparse_reset_shape as reset_shape
from tensorfleet.ops.io.parsing import sparse_merge as merge, sparse_to_indicator as to_indicator
from tensorfleet.ops.math.segment import (
    sparse_segment_mean as segment_mean,
    sparse_segment_sqrt_n as segment_sqrt_n,
    sparse_segment_sum as segment_sum,
)
from tensorfleet.ops.math.sparse_arithmetic import (
    sparse_add as add,
    sparse_maximum as maximum,
    sparse_minimum as minimum,
    sparse_reduce_max as reduce_max,
    sparse_reduce_max_sparse as reduce_max_sparse,
    sparse_reduce_sum as reduce_sum,
    sparse_reduce_sum_sparse as reduce_sum_sparse,
    sparse_softmax as softmax,
    sparse_tensor_dense_matmul as matmul,
    sparse_tensor_dense_matmul as sparse_dense_matmul,
)
from tensorfleet.ops.text.sparse_cross import (
    sparse_cross as cross,
    sparse_cross_hashed as cross_hashed,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "bincount",
    "SparseConditionalAccumulator",
    "SparseTensor",
    "add",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
