"""Counts and indices: `tf.bincount`, `tf.unravel_index`, `tf.repeat`."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.selection import boolean_mask, sequence_mask
from tensorfleet.ops.array.shaping import broadcast_to, expand_dims, reshape, shape, size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.reduction import reduce_max
from tensorfleet.ops.shape_rules import with_rank, with_rank_at_most


def _bins(node: RuleNode) -> int | None:
    value = static_value(node.inputs[1])
    if value is None:
        return None
    if value.size == 1 and int(value.ravel()[0]) < 0:
        raise ValueError(f"size ({int(value.ravel()[0])}) must be non-negative")
    return int(value) if value.ndim == 0 else None


def _bincount_shape(node: RuleNode) -> list[Dims]:
    with_rank(node.inputs[1].dims, 0)
    return [(_bins(node),)]


def _dense_bincount_shape(node: RuleNode) -> list[Dims]:
    dims = node.inputs[0].dims
    with_rank(node.inputs[1].dims, 0)
    if dims is None:
        return [None]
    with_rank_at_most(dims, 2)
    return [(*dims[:-1], _bins(node))]


def _unravel_shape(node: RuleNode) -> list[Dims]:
    indices, dims = node.inputs[0].dims, node.inputs[1].dims
    if dims is not None:
        with_rank(dims, 1)
    if indices is None:
        return [None]
    if not indices:
        return [(None if dims is None else dims[0],)]
    known = None if None in indices else math.prod(size or 0 for size in indices)
    return [(None if dims is None else dims[0], known)]


op(
    "Bincount(arr: int32, size: int32, weights: T) -> (bins: T)",
    "T: {int32, int64, float32, float64}",
    shape=_bincount_shape,
)
op(
    "DenseBincount(input: Tidx, size: Tidx, weights: T) -> (output: T)",
    "Tidx: {int32, int64}",
    "T: {int32, int64, float32, float64}",
    "binary_output: bool = false",
    shape=_dense_bincount_shape,
)
op(
    "UnravelIndex(indices: Tidx, dims: Tidx) -> (output: Tidx)",
    "Tidx: {int32, int64} = int32",
    shape=_unravel_shape,
)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
) -> Tensor:
    """The number of times that each number from 0 to the greatest appears in `arr` (`tf.bincount`).

    Args:
        arr: integers that are not negative, of any shape.
        weights: of the same shape; the result then is the sums of the weights, in their dtype.
        minlength, maxlength: the least and the greatest number of bins; numbers beyond them are not counted.
        dtype: the dtype of the counts.

    Returns:
        A vector.

    Example:
        >>> tf.Session().run(tf.bincount([1, 1, 3]))
        array([0, 2, 0, 1], dtype=int32)
    """
    with framework.name_scope(None, "bincount", [arr, weights]):
        arr = convert_to_tensor(arr, name="arr")
        if arr.dtype.base not in (dtypes.int32, dtypes.int64):
            arr = cast(arr, dtypes.int32)
        kind = arr.dtype.base
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
        count = cast(apply_one("Greater", size(arr), 0), kind)
        count = count * (reduce_max(arr) + 1)
        if minlength is not None:
            count = maximum(convert_to_tensor(minlength, kind, "minlength"), count)
        if maxlength is not None:
            count = minimum(convert_to_tensor(maxlength, kind, "maxlength"), count)
        values = constant([], dtypes.as_dtype(dtype)) if weights is None else reshape(weights, [-1])
        return apply_one("DenseBincount", reshape(arr, [-1]), count, values)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Flat indices as coordinates in an array of shape `dims` (`tf.unravel_index`).

    Returns:
        [len(dims), number of indices]; [len(dims)] for one index of rank 0.
    """
    return apply_one("UnravelIndex", indices, dims, name=name)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element, or slice along `axis`, repeated `repeats` times (`tf.repeat`).

    Args:
        repeats: one integer, or one for each slice.
        axis: None takes the elements of `input` as one row.

    Example:
        >>> tf.Session().run(tf.repeat([1, 2], [3, 1]))
        array([1, 1, 1, 2], dtype=int32)
    """
    if axis is None:
        input = reshape(input, [-1])
        axis = 0
    with framework.name_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="data")
        if data.ndim is None:
            raise ValueError("tf.repeat takes an input whose rank is known.")
        rank = data.ndim
        if not -rank <= axis < rank:
            raise ValueError(f"`axis` {axis} is out of range for an input of rank {rank}.")
        axis %= rank
        counts = apply_one("Cast", convert_to_tensor(repeats, name="repeats"), DstT=dtypes.int32)
        dims = shape(data, name="Shape")
        if counts.ndim == 0 or (counts.ndim == 1 and counts.dims == (1,)):
            count = reshape(counts, [])
            spread = tile(expand_dims(data, axis + 1), [*[1] * (axis + 1), count, *[1] * (rank - axis - 1)])
            full = concat([dims[:axis], [count * dims[axis]], dims[axis + 1 :]], 0)
            return reshape(spread, full)
        counts = broadcast_to(counts, [dims[axis]])
        most = maximum(constant(0, name="zero"), reduce_max(counts))
        mask = sequence_mask(counts, most)
        spread = tile(expand_dims(data, axis + 1), [*[1] * (axis + 1), most, *[1] * (rank - axis - 1)])
        return boolean_mask(spread, mask, axis=axis)
