"""Choosing elements: where, select, boolean_mask, top_k, in_top_k, sequence_mask."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dims as dims_module, dtypes, shapes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, constant_node, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as array_range
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, rank, reshape, shape, squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, multiply_dims, with_rank, with_rank_at_least


def _where_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    return [(None, None if dims is None else len(dims))]


def _select_shape(op: RuleNode) -> list[Dims]:
    condition, then, other = (t.dims for t in op.inputs)
    dims = dims_module.merge(then, other)
    if dims is None or condition is None or condition == ():
        return [dims]
    if len(condition) == 1 and len(dims) != 1:
        data = with_rank_at_least(dims, 1)
        assert data is not None
        return [(*dims_module.merge(condition, data[:1]), *data[1:])]  # type: ignore[misc]
    return [dims_module.merge(dims, condition)]


def _select_v2_shape(op: RuleNode) -> list[Dims]:
    condition, then, other = (t.dims for t in op.inputs)
    return [dims_module.broadcast(condition, dims_module.broadcast(then, other))]


def _top_k_shape(op: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(op.inputs[0].dims, 1)
    if op.type == "TopK":
        k: int | None = op.attrs["k"]
    else:
        with_rank(op.inputs[1].dims, 0)
        value = static_value(op.inputs[1])
        k = None if value is None else int(value)
    if k is not None and k < 0:
        raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {k}")
    if dims is None:
        return [None, None]
    if k is not None and dims[-1] is not None and dims[-1] < k:
        raise ValueError(f"input must have last dimension >= k = {k} but is {dims[-1]}")
    return [(*dims[:-1], k)] * 2


def _approx_shape(op: RuleNode) -> list[Dims]:
    if not op.attrs["aggregate_to_topk"]:
        raise ValueError("ApproxTopK without aggregate_to_topk gives the parts of TPUs; here it is exact")
    dims, axis, k = op.inputs[0].dims, op.attrs["reduction_dimension"], op.attrs["k"]
    if dims is None:
        return [None, None]
    with_rank_at_least(dims, 1)
    if not -len(dims) <= axis < len(dims):
        raise ValueError(f"reduction_dimension must be in [{-len(dims)}, {len(dims)}), got {axis}")
    axis %= len(dims)
    size = dims[axis]
    if size is not None and size < k:
        raise ValueError(f"input must have last dimension >= k = {k} but was {size}")
    return [(*dims[:axis], k, *dims[axis + 1 :])] * 2


def _in_top_k_shape(op: RuleNode) -> list[Dims]:
    predictions, targets = with_rank(op.inputs[0].dims, 2), with_rank(op.inputs[1].dims, 1)
    if op.type == "InTopKV2":
        with_rank(op.inputs[2].dims, 0)
    return [(merge_dim(predictions[0], targets[0]),)]


op(
    "Where(input: T) -> (index: int64)",
    "T: {float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, qint16, quint16, uint16, complex128, float16, uint32, uint64, bool} = bool",
    shape=_where_shape,
)
op("Select(condition: bool, t: T, e: T) -> (output: T)", "T: type", shape=_select_shape)
op("SelectV2(condition: bool, t: T, e: T) -> (output: T)", "T: type", shape=_select_v2_shape)
op(
    "TopK(input: T) -> (values: T, indices: int32)",
    "k: int >= 0",
    "sorted: bool = true",
    "T: {realnumber}",
    shape=_top_k_shape,
)
op(
    "TopKV2(input: T, k: Tk) -> (values: T, indices: index_type)",
    "sorted: bool = true",
    "T: {realnumber}",
    "Tk: {int16, int32, int64} = int32",
    "index_type: {int16, int32, int64} = int32",
    shape=_top_k_shape,
)
op(
    "ApproxTopK(input: T) -> (values: T, indices: int32)",
    "k: int >= 0",
    "reduction_dimension: int = -1",
    "recall_target: float = 0.95",
    "is_max_k: bool = true",
    "reduction_input_size_override: int = -1",
    "aggregate_to_topk: bool = true",
    "T: {float16, bfloat16, float32}",
    shape=_approx_shape,
)
op(
    "InTopK(predictions: float32, targets: T) -> (precision: bool)",
    "k: int",
    "T: {int32, int64} = int32",
    shape=_in_top_k_shape,
)
op(
    "InTopKV2(predictions: float32, targets: T, k: T) -> (precision: bool)",
    "T: {int32, int64} = int32",
    shape=_in_top_k_shape,
)


@takes_composites
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """The coordinates of the true elements, or the elements of `x` where true and else of `y` (`tf.where`).

    Args:
        condition: bool. With `x` and `y`: of their shape, a scalar, or a vector that chooses whole rows.
        x, y: both or none, of one dtype and shape.

    Returns:
        Without `x` and `y`: int64 of shape [number of true elements, rank(condition)], in row-major order.

    Example:
        >>> tf.Session().run(tf.where([True, False], [1, 2], [10, 20]))
        array([ 1, 20], dtype=int32)
        >>> tf.Session().run(tf.where([False, True, True]))
        array([[1],
               [2]])
    """
    if x is None and y is None:
        with get_default_graph().name_scope(name or "Where") as scope:
            condition = convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
            return apply_one("Where", condition, name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply_one("Select", condition, x, y, name=name)


@takes_composites
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Like `where`, but the three arguments are broadcast against each other (`tf.where_v2`)."""
    if x is None or y is None:
        return where(condition, x, y, name)
    return apply_one("SelectV2", condition, x, y, name=name)


def select(condition: Any, t: Any, e: Any, name: str | None = None) -> Tensor:
    """The name of `where` with three arguments before TensorFlow 1.0 (`tf.select`)."""
    return where(condition, t, e, name)


def boolean_mask(tensor: Any, mask: Any, name: str | None = "boolean_mask", axis: Any = None) -> Tensor:
    """The elements, or slices, of `tensor` where `mask` is true (`tf.boolean_mask`).

    Args:
        mask: bool, of known rank, not 0; its shape is that of the dimensions of `tensor` from `axis` on.
        axis: the first dimension that is masked, 0 by default.

    Raises:
        ValueError: the mask's rank is 0 or unknown, or its shape does not fit.

    Example:
        >>> tf.Session().run(tf.boolean_mask([1, 2, 3], [True, False, True]))
        array([1, 3], dtype=int32)
    """
    with get_default_graph().name_scope(name or "boolean_mask"):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        if mask.dims == ():
            raise ValueError("mask cannot be scalar.")
        if mask.dims is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None. E.g. "
                "shape=[None] is ok, but shape=None is not."
            )
        first = 0 if axis is None else int(static_value(convert_to_tensor(axis)))  # type: ignore[arg-type]
        after = first + len(mask.dims)
        dims = tensor.dims
        masked = None if dims is None else dims[first:after]
        if not shapes.compatible(masked, mask.dims):
            raise ValueError(f"Shapes {shapes.TensorShape(masked)} and {mask.shape} are incompatible")
        count = apply_one("Prod", shape(tensor)[first:after], [0])
        tensor = reshape(tensor, concat([shape(tensor)[:first], [count], shape(tensor)[after:]], 0))
        if dims is not None and masked is not None:
            tensor.set_shape((*dims[:first], multiply_dims(masked), *dims[after:]))
        found = squeeze(where(reshape(mask, [-1])), axis=[1])
        return gather(tensor, found, axis=first)


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = dtypes.int32, name: str | None = None
) -> Any:
    """The `k` greatest elements of each row, and their places (`tf.nn.top_k`).

    Args:
        input: numbers of rank 1 or more; a row is the last dimension.
        sorted: in descending order; of equal elements the one with the lower index comes first.

    Returns:
        (values, indices), each of shape input.shape[:-1] + [k].

    Example:
        >>> values, indices = tf.nn.top_k([1, 9, 5], 2)
        >>> tf.Session().run([values, indices])
        [array([9, 5], dtype=int32), array([1, 2], dtype=int32)]
    """
    return apply_op("TopKV2", input, k, sorted=sorted, index_type=index_type, name=name)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each target is among the `k` best predictions of its row (`tf.nn.in_top_k`).

    Args:
        predictions: float32 [batch, classes]; a row that is not finite is never right.
        targets: int32 or int64 [batch].
    """
    with get_default_graph().name_scope("in_top_k"):
        return apply_one("InTopKV2", predictions, targets, k, name=name)


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """For each length, a row with that many elements true, then false ones (`tf.sequence_mask`).

    Args:
        lengths: an integer tensor.
        maxlen: the size of the new last dimension; the greatest length by default.

    Example:
        >>> tf.Session().run(tf.sequence_mask([1, 3], 3))
        array([[ True, False, False],
               [ True,  True,  True]])
    """
    with get_default_graph().name_scope(name or "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            axes: Any = np.arange(lengths.ndim, dtype=np.int32) if lengths.ndim else None
            axes = array_range(0, rank(lengths)) if axes is None else constant_node(axes, "Const")
            greatest = apply_one("Max", lengths, axes)
            maxlen = apply_one("Maximum", constant(0, greatest.dtype.base), greatest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.dims not in (None, ()):
            raise ValueError("Argument `maxlen` must be scalar for sequence_mask")
        kind = maxlen.dtype.base
        row = apply_one("Range", constant(0, kind), maxlen, constant(1, kind))
        result = apply_one("Less", row, apply_one("Cast", expand_dims(lengths, -1), DstT=kind))
        return cast(result, dtype)


class ApproxTopK(NamedTuple):
    """The greatest or least elements of a dimension, and their places in it."""

    values: Tensor
    indices: Tensor


def approx_top_k(
    input: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` greatest, or least, elements along a dimension (`tf.approx_top_k`).

    TPUs may miss some; here, as on TensorFlow's CPUs, all are found.

    Args:
        input: float16, bfloat16 or float32.
        recall_target, reduction_input_size_override: for TPUs alone.
        is_max_k: the greatest elements, or the least.
        aggregate_to_topk: False, with which TPUs give what their parts found, is refused.
    """
    found = apply_op(
        "ApproxTopK",
        input,
        k=k,
        reduction_dimension=reduction_dimension,
        recall_target=recall_target,
        is_max_k=is_max_k,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
        name=name,
    )
    return ApproxTopK(*found)


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` greatest elements along a dimension, and their places (`tf.math.approx_max_k`)."""
    size = reduction_input_size_override
    return approx_top_k(operand, k, reduction_dimension, recall_target, True, size, aggregate_to_topk, name)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The `k` least elements along a dimension, and their places (`tf.math.approx_min_k`)."""
    size = reduction_input_size_override
    return approx_top_k(operand, k, reduction_dimension, recall_target, False, size, aggregate_to_topk, name)
