"""Joining tensors and taking them apart: concat, stack, split, unstack."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dimension import Dimension
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.dtypes import int32
from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import Array, static_dims, static_dims_rule, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import expand_dims
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import add_dims, with_rank, with_rank_at_least


def _concat_shape(op: RuleNode) -> list[Dims]:
    if op.type == "Concat":
        return joined(op.inputs[0], op.inputs[1:])
    return joined(op.inputs[-1], op.inputs[:-1])


def joined(axis_tensor: RuleTensor, values: Sequence[RuleTensor]) -> list[Dims]:
    """The shape of tensors joined along an axis. Raises ValueError where they do not fit."""
    with_rank(axis_tensor.dims, 0)
    rank: int | None = None
    for tensor in values:
        if tensor.dims is not None:
            rank = len(tensor.dims if rank is None else with_rank(tensor.dims, rank))
            if rank == 0:
                raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    axis = static_value(axis_tensor)
    if axis is None:
        return [None if rank is None else (None,) * rank]
    at = int(axis)
    least_rank = -at if at < 0 else at + 1
    before: Dims = None
    after: Dims = None
    middle: int | None = 0
    for tensor in reversed(values):
        dims = with_rank_at_least(tensor.dims, least_rank)
        if dims is None:
            middle = None
            continue
        place = at % len(dims)
        before = dims_module.merge(dims[:place], before)
        after = dims_module.merge(dims[place + 1 :], after)
        middle = add_dims(middle, dims[place])
    return [None if before is None or after is None else (*before, middle, *after)]


def _concat_offset_shape(op: RuleNode) -> list[Dims]:
    for tensor in op.inputs[1:]:
        with_rank(tensor.dims, 1)
    return [t.dims for t in op.inputs[1:]]


def _pack_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[-1].dims
    for i in range(len(op.inputs) - 2, -1, -1):
        try:
            dims = dims_module.merge(op.inputs[i].dims, dims)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    if dims is None:
        return [None]
    axis = _checked_axis(op.attrs["axis"], len(dims) + 1)
    return [(*dims[:axis], len(op.inputs), *dims[axis:])]


def _checked_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid axis: {axis}; must be in [{-rank},{rank})")
    return axis % rank


def _unpack_shape(op: RuleNode) -> list[Dims]:
    dims, num = op.inputs[0].dims, op.attrs["num"]
    if dims is None:
        return [None] * num
    axis = _checked_axis(op.attrs["axis"], len(dims))
    if dims[axis] not in (None, num):
        raise ValueError(f"Dimension must be {num} but is {dims[axis]}")
    return [(*dims[:axis], *dims[axis + 1 :])] * num


def _split_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    dims, num = op.inputs[1].dims, op.attrs["num_split"]
    axis = static_value(op.inputs[0])
    if dims is None:
        return [None] * num
    if axis is None:
        return [(None,) * len(dims)] * num
    place = _split_axis(int(axis), len(dims))
    size = dims[place]
    if size is not None and size % num:
        raise ValueError(f"Dimension size must be evenly divisible by {num} but is {size}")
    part = None if size is None else size // num
    return [(*dims[:place], part, *dims[place + 1 :])] * num


def _split_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Dimension size, given by scalar input {axis} must be in range [{-rank}, {rank})")
    return axis % rank


def _split_v_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 1)
    with_rank(op.inputs[2].dims, 0)
    dims, num = op.inputs[0].dims, op.attrs["num_split"]
    axis, sizes = static_value(op.inputs[2]), static_value(op.inputs[1])
    if dims is None:
        return [None] * num
    if axis is None:
        return [dims] if num == 1 else [(None,) * len(dims)] * num
    place = _split_axis(int(axis), len(dims))
    if sizes is None:
        parts: list[int | None] = [dims[place] if num == 1 else None] * num
    else:
        parts = _part_sizes(sizes.tolist(), dims[place], num)
    return [(*dims[:place], part, *dims[place + 1 :]) for part in parts]


def _part_sizes(sizes: list[int], total: int | None, num: int) -> list[int | None]:
    if len(sizes) != num:
        raise ValueError("Length of size_splits should be equal to num_outputs")
    known = sum(size for size in sizes if size != -1)
    if sizes.count(-1) > 1:
        raise ValueError("size_splits can only have one -1")
    if total is not None and (known > total if -1 in sizes else known != total):
        raise ValueError(
            f"can't split axis of size {total} into pieces of size [{','.join(map(str, sizes))}]"
        )
    rest = None if total is None else total - known
    return [rest if size == -1 else size for size in sizes]


def _parallel_concat_shape(op: RuleNode) -> list[Dims]:
    dims = op.attrs["shape"]
    for tensor in op.inputs:
        if tensor.dims is None or None in tensor.dims:
            raise ValueError("All input shapes must be fully defined.")
        if dims is not None:
            dims_module.merge(tensor.dims, (1, *dims[1:]))
    return [dims]


op("Concat(concat_dim: int32, values: N * T) -> (output: T)", "N: int >= 2", "T: type", shape=_concat_shape)
op(
    "ConcatV2(values: N * T, axis: Tidx) -> (output: T)",
    "N: int >= 2",
    "T: type",
    "Tidx: {int32, int64} = int32",
    shape=_concat_shape,
)
op(
    "ConcatOffset(concat_dim: int32, shape: N * shape_type) -> (offset: N * shape_type)",
    "N: int >= 2",
    "shape_type: {int32, int64} = int32",
    shape=_concat_offset_shape,
)
op("Pack(values: N * T) -> (output: T)", "N: int >= 1", "T: type", "axis: int = 0", shape=_pack_shape)
op("Unpack(value: T) -> (output: num * T)", "num: int >= 0", "T: type", "axis: int = 0", shape=_unpack_shape)
op(
    "Split(split_dim: int32, value: T) -> (output: num_split * T)",
    "num_split: int >= 1",
    "T: type",
    shape=_split_shape,
)
op(
    "SplitV(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split * T)",
    "num_split: int >= 1",
    "T: type",
    "Tlen: {int8, int32, int64} = int64",
    shape=_split_v_shape,
)
op(
    "ParallelConcat(values: N * T) -> (output: T)",
    "N: int >= 1",
    "T: type",
    "shape: shape",
    shape=_parallel_concat_shape,
)


@static_rule("Concat", "ConcatV2")
def _concat_value(op: RuleNode) -> Array | None:
    axis, parts = _concat_inputs(op)
    values = [static_value(t) for t in parts]
    known = [v for v in values if v is not None]
    if axis is None or len(known) < len(values):
        return None
    return np.concatenate(known, int(axis))


@static_dims_rule("Concat", "ConcatV2")
def _concat_dims(op: RuleNode) -> Dims:
    axis, parts = _concat_inputs(op)
    if axis is None or int(axis) != 0:
        return None
    dims: Dims = ()
    for tensor in parts:
        if tensor.dims is None or len(tensor.dims) != 1:
            return None
        dims = dims_module.concatenate(dims, static_dims(tensor))
    return dims


def _concat_inputs(op: RuleNode) -> tuple[Array | None, Sequence[RuleTensor]]:
    if op.type == "Concat":
        return static_value(op.inputs[0]), op.inputs[1:]
    return static_value(op.inputs[-1]), op.inputs[:-1]


@static_rule("Pack")
def _pack_value(op: RuleNode) -> Array | None:
    values = []
    for tensor in op.inputs:
        value = static_value(tensor)
        if value is None:
            return None
        values.append(value)
    return np.stack(values, op.attrs["axis"])


@static_dims_rule("Pack")
def _pack_dims(op: RuleNode) -> Dims:
    if any(t.dims != () for t in op.inputs):
        return None
    values = [static_value(t) for t in op.inputs]
    return tuple(None if v is None or v < 0 else int(v) for v in values)


@takes_composites
def concat(values: Any, axis: Any, name: str | None = "concat") -> Tensor:
    """Tensors joined along a dimension that they have (`tf.concat`).

    The order of arguments before TensorFlow 1.0, `concat(concat_dim, values)`, is understood too: an axis is
    never a list, so a list in the second place is the values.

    Args:
        values: tensors of one dtype and of shapes that agree in all dimensions but `axis`.
        axis: a scalar; negative axes count from the end.

    Example:
        >>> tf.Session().run(tf.concat([[[1, 2]], [[3, 4]]], axis=0))
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    if isinstance(axis, (list, tuple)):
        values, axis = axis, values
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with get_default_graph().name_scope(name or "concat"):
            with_rank(convert_to_tensor(axis, int32, "concat_dim").dims, 0)
            only: Tensor = identity(values[0], name)
            return only
    return apply_one("ConcatV2", values, axis, name=name)


@takes_composites
def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Tensors of one shape, joined along a new dimension (`tf.stack`).

    Args:
        axis: where the new dimension goes, counted in the result.

    Raises:
        ValueError: `axis` is out of range, or the shapes differ.

    Example:
        >>> tf.Session().run(tf.stack([[1, 2], [3, 4]], axis=1))
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # the items need Pack's own conversion
    first = convert_to_tensor(values[0], name=name)
    if first.dims is not None:
        rank = len(first.dims) + 1
        if not -rank <= axis < rank:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    return apply_one("Pack", values, axis=axis, name=name)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str | None = "unstack") -> list[Tensor]:
    """The slices of `value` along `axis`, without that dimension (`tf.unstack`).

    Args:
        num: the size of the dimension, where the static shape does not tell.

    Raises:
        ValueError: `axis` is out of range, or the size of the dimension is not known.

    Example:
        >>> tf.Session().run(tf.unstack([[1, 2], [3, 4]]))
        [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    if num is None:
        value = convert_to_tensor(value)
        if value.dims is not None:
            rank = len(value.dims)
            if not -rank <= axis < rank:
                raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
            num = value.dims[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return apply_list("Unpack", value, num=num, axis=axis, name=name)


def pack(values: Any, axis: int = 0, name: str | None = "pack") -> Tensor:
    """The name of `stack` before TensorFlow 1.0 (`tf.pack`)."""
    return stack(values, axis, name)


def unpack(value: Any, num: int | None = None, axis: int = 0, name: str | None = "unpack") -> list[Tensor]:
    """The name of `unstack` before TensorFlow 1.0 (`tf.unpack`)."""
    return unstack(value, num, axis, name)


@takes_composites
def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """`value` cut along `axis`, into equal parts or into parts of given sizes (`tf.split`).

    The order of arguments before TensorFlow 1.0, `split(split_dim, num_split, value)`, is understood too: a
    scalar cannot be split, so a scalar in the first place is the axis.

    Args:
        num_or_size_splits: an int, the number of equal parts; or a vector of sizes, one of which may be -1.
        num: the number of parts, where the length of the vector is not known.

    Example:
        >>> tf.Session().run(tf.split([1, 2, 3, 4], 2))
        [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    if _is_scalar(value):
        value, axis = axis, value
    if isinstance(num_or_size_splits, (numbers.Integral, Dimension)):
        return apply_list("Split", axis, value, num_split=int(num_or_size_splits), name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument "
            f"provided: {num_or_size_splits}"
        )
    if num is None:
        num = sizes.dims[0] if sizes.dims else None
    if num is None:
        raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return apply_list("SplitV", value, sizes, axis, num_split=num, name=name)


def _is_scalar(value: Any) -> bool:
    return (
        value.dims == () if isinstance(value, Tensor) else not hasattr(value, "shape") and np.ndim(value) == 0
    )


def parallel_stack(values: Any, name: str | None = "parallel_stack") -> Tensor:
    """Like `stack` along the first dimension, for values whose shapes are known (`tf.parallel_stack`)."""
    with get_default_graph().name_scope(name or "parallel_stack"):
        dims = convert_to_tensor(values[0]).dims
        rows = [expand_dims(value, 0) for value in values]
        return apply_one("ParallelConcat", rows, shape=None if dims is None else (len(values), *dims))
