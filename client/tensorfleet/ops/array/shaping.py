"""Shapes: shape, size, rank, reshape, expand_dims, squeeze, broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module, dtypes, shapes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.convert import constant, constant_node, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import Array, static_dims, static_dims_rule, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import scalar, with_rank, with_rank_at_most


def _shape_shape(op: RuleNode) -> list[Dims]:
    return [(None if t.dims is None else len(t.dims),) for t in op.inputs]


def reshaped(op: RuleNode) -> list[Dims]:
    """Shape rule: the shape in the second input, with an unknown size where the first one says it."""
    given, wanted = op.inputs[0].dims, spelled_dims(op.inputs[1])
    if given is None or wanted is None:
        return [wanted]
    given_known, given_open = _known_elements(given)
    known, unknown = _known_elements(wanted)
    if given_open == 0 and given_known != known and (unknown == 0 or known == 0):
        raise ValueError(
            f"Cannot reshape a tensor with {given_known} elements to shape {dims_module.format_dims(wanted)} "
            f"({known} elements)"
        )
    if given_open == 0 and unknown == 1 and known:
        if given_known % known:
            raise ValueError(f"Dimension size must be evenly divisible by {known} but is {given_known}")
        return [tuple(given_known // known if d is None else d for d in wanted)]
    if given_open == 1 and unknown == 0 and given_known and known % given_known:
        raise ValueError(f"Dimension size must be evenly divisible by {given_known} but is {known}")
    return [wanted]


def spelled_dims(tensor: RuleTensor) -> Dims:
    """The static shape that a shape argument gives; -1 is an unknown size. Raises ValueError."""
    with_rank(tensor.dims, 1)
    value = static_value(tensor)
    if value is not None and value.size and value.min() < -1:
        raise ValueError(f"Invalid value in tensor used for shape: {int(value.min())}")
    return static_dims(tensor)


def _known_elements(dims: tuple[int | None, ...]) -> tuple[int, int]:
    """The product of the known sizes, and how many are unknown."""
    known = dims_module.num_elements(tuple(d for d in dims if d is not None))
    assert known is not None
    return known, dims.count(None)


def _expand_dims_shape(op: RuleNode) -> list[Dims]:
    dims, axis = op.inputs[0].dims, static_value(op.inputs[1])
    if axis is not None and axis.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value")
    if dims is None or axis is None:
        return [None]
    position, rank = int(axis.reshape(())), len(dims)
    if not -rank - 1 <= position <= rank:
        raise ValueError(f"dim {position} not in the interval [{-rank - 1}, {rank}].")
    position += rank + 1 if position < 0 else 0
    return [(*dims[:position], 1, *dims[position:])]


def _squeeze_shape(op: RuleNode) -> list[Dims]:
    dims, axes = op.inputs[0].dims, op.attrs["squeeze_dims"]
    if dims is None:
        return [None]
    rank = len(dims)
    if not axes:
        return [None if None in dims else tuple(d for d in dims if d != 1)]
    for axis in axes:
        if not -rank <= axis < rank:
            raise ValueError(f"squeeze_dims[{axes.index(axis)}] not in [{-rank},{rank}).")
    dropped = {axis % rank for axis in axes}
    for axis in sorted(dropped):
        if dims[axis] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}")
    return [tuple(d for axis, d in enumerate(dims) if axis not in dropped)]


def _broadcast_to_shape(op: RuleNode) -> list[Dims]:
    given, wanted = op.inputs[0].dims, spelled_dims(op.inputs[1])
    if given is None or wanted is None:
        return [wanted]
    with_rank_at_most(given, len(wanted))
    result = list(wanted)
    for i in range(-len(given), 0):
        d, w = given[i], wanted[i]
        if d is not None and w is not None and d not in (1, w):
            raise ValueError(f"Dimensions must be equal, but are {d} and {w}")
        # Only size 1 can be broadcast to another size.
        result[i] = d if w is None and d != 1 else w
    return [tuple(result)]


def _broadcast_args_shape(op: RuleNode) -> list[Dims]:
    a, b = (with_rank(t.dims, 1) for t in op.inputs)
    return [(None if a[0] is None or b[0] is None else max(a[0], b[0]),)]


def _broadcast_gradient_args_shape(op: RuleNode) -> list[Dims]:
    for t in op.inputs:
        with_rank(t.dims, 1)
    return [(None,), (None,)]


op("Shape(input: T) -> (output: out_type)", "T: type", "out_type: {int32, int64} = int32", shape=_shape_shape)
op(
    "ShapeN(input: N * T) -> (output: N * out_type)",
    "N: int >= 1",
    "T: type",
    "out_type: {int32, int64} = int32",
    shape=_shape_shape,
)
op("Size(input: T) -> (output: out_type)", "T: type", "out_type: {int32, int64} = int32", shape=scalar)
op("Rank(input: T) -> (output: int32)", "T: type", shape=scalar)
op(
    "Reshape(tensor: T, shape: Tshape) -> (output: T)",
    "T: type",
    "Tshape: {int32, int64} = int32",
    shape=reshaped,
)
op(
    "ExpandDims(input: T, dim: Tdim) -> (output: T)",
    "T: type",
    "Tdim: {int32, int64} = int32",
    shape=_expand_dims_shape,
)
op("Squeeze(input: T) -> (output: T)", "T: type", "squeeze_dims: list(int) >= 0 = []", shape=_squeeze_shape)
op(
    "BroadcastTo(input: T, shape: Tidx) -> (output: T)",
    "T: type",
    "Tidx: {int32, int64} = int32",
    shape=_broadcast_to_shape,
)
op("BroadcastArgs(s0: T, s1: T) -> (r0: T)", "T: {int32, int64} = int32", shape=_broadcast_args_shape)
op(
    "BroadcastGradientArgs(s0: T, s1: T) -> (r0: T, r1: T)",
    "T: {int32, int64} = int32",
    shape=_broadcast_gradient_args_shape,
)


@static_rule("Shape")
def _shape_value(op: RuleNode) -> Array | None:
    dims = op.inputs[0].dims
    return None if dims is None or None in dims else np.array(dims, op.outputs[0].dtype.np)


@static_dims_rule("Shape")
def _shape_dims(op: RuleNode) -> Dims:
    return op.inputs[0].dims


@static_rule("Size")
def _size_value(op: RuleNode) -> Array | None:
    count = dims_module.num_elements(op.inputs[0].dims)
    return None if count is None else np.array(count, op.outputs[0].dtype.np)


@static_rule("Rank")
def _rank_value(op: RuleNode) -> Array | None:
    dims = op.inputs[0].dims
    return None if dims is None else np.array(len(dims), np.int32)


@static_rule("Reshape", "ExpandDims", "Squeeze")
def _reshaped_value(op: RuleNode) -> Array | None:
    dims = op.outputs[0].dims
    if dims is None or None in dims:
        return None
    value = static_value(op.inputs[0])
    return None if value is None else value.reshape([d for d in dims if d is not None])


def shape(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The shape of `input` as an integer vector (`tf.shape`): a constant if it is known already.

    Args:
        input: a tensor, or a SparseTensor.
        out_type: int32 (the default) or int64.

    Example:
        >>> tf.Session().run(tf.shape(tf.zeros([2, 3])))
        array([2, 3], dtype=int32)
    """
    return shape_tensor(input, name, out_type=out_type or dtypes.int32)


def shape_tensor(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None) -> Tensor:
    """`shape`, always as an op unless `optimize`. A tuple of int is the shape itself, as a constant.

    Without `out_type`, a known shape is int64 where int32 cannot hold it.
    """
    if isinstance(input, tuple):
        wide = out_type or (dtypes.int64 if any(d > 2**31 - 1 for d in input) else dtypes.int32)
        return constant_node(np.array(input, dtypes.as_dtype(wide).np), name or "shape_as_tensor")
    with get_default_graph().name_scope(name or "Shape") as scope:
        if hasattr(input, "dense_shape") and not isinstance(input, Tensor):
            from tensorfleet.ops.array.casting import cast

            return cast(convert_to_tensor(input.dense_shape), out_type or dtypes.int32)
        input = convert_to_tensor(input)
        if optimize and input.dims is not None and None not in input.dims:
            if out_type is None:
                return shape_tensor(input.dims)
            return shape_tensor(input.dims, scope, out_type=out_type)
        return apply_one("Shape", input, out_type=out_type, name=scope)


def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """The shapes of a list of tensors of one dtype (`tf.shape_n`)."""
    return apply_list("ShapeN", input, out_type=out_type, name=name)


@takes_composites
def size(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The number of elements of `input` (`tf.size`): a constant if it is known already.

    Args:
        out_type: int32 (the default) or int64.

    Example:
        >>> tf.Session().run(tf.size(tf.zeros([2, 3])))
        np.int32(6)
    """
    with get_default_graph().name_scope(name or "Size") as scope:
        input = convert_to_tensor(input)
        count = 0 if input.dims is not None and 0 in input.dims else dims_module.num_elements(input.dims)
        if count is not None:
            return constant(count, out_type or dtypes.int32, name=scope)
        return apply_one("Size", input, out_type=out_type, name=scope)


@takes_composites
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions of `input`, an int32 scalar (`tf.rank`): a constant if it is known already."""
    with get_default_graph().name_scope(name or "Rank") as scope:
        input = convert_to_tensor(input)
        if input.dims is not None:
            return constant(len(input.dims), dtypes.int32, name=scope)
        return apply_one("Rank", input, name=scope)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of `tensor` in another shape (`tf.reshape`).

    Args:
        shape: an integer vector; one size may be -1, and follows from the others.

    Raises:
        ValueError, or InvalidArgumentError in a run: the number of elements does not fit.

    Example:
        >>> tf.Session().run(tf.reshape([1, 2, 3, 4], [2, -1]))
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return apply_one("Reshape", tensor, shape, name=name)


@takes_composites
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """`input` with one more dimension, of size 1, at `axis` (`tf.expand_dims`).

    Args:
        axis: counts the dimensions of the result; -1 is the last. `dim` is its older name.

    Example:
        >>> tf.expand_dims(tf.zeros([2, 3]), 1).shape.as_list()
        [2, 1, 3]
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return apply_one("ExpandDims", input, axis, name=name)


@takes_composites
def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """`input` without its dimensions of size 1 (`tf.squeeze`).

    Args:
        axis: an int or a list of them: only these dimensions. `squeeze_dims` is its older name.

    Example:
        >>> tf.squeeze(tf.zeros([1, 3, 1])).shape.as_list()
        [3]
    """
    axis = renamed_argument("axis", axis, "squeeze_dims", squeeze_dims)
    axes = [] if axis is None else list(axis) if isinstance(axis, (list, tuple)) else [axis]
    return apply_one("Squeeze", input, squeeze_dims=axes, name=name)


def renamed_argument(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has two names. Raises ValueError where both are given."""
    if old_value is not None and new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return new_value if old_value is None else old_value


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """`input` repeated along dimensions of size 1, and along new leading ones (`tf.broadcast_to`)."""
    return apply_one("BroadcastTo", input, shape, name=name)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape of an elementwise operation on two TensorShapes (`tf.broadcast_static_shape`).

    Raises:
        ValueError: they cannot be broadcast together.
    """
    a, b = shapes.as_dims(shape_x), shapes.as_dims(shape_y)
    try:
        return TensorShape(dims_module.broadcast(a, b))
    except ValueError:
        raise ValueError(
            f"Incompatible shapes for broadcasting: {TensorShape(a)} and {TensorShape(b)}."
        ) from None


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape of an elementwise operation, from two integer vectors (`tf.broadcast_dynamic_shape`)."""
    return apply_one("BroadcastArgs", shape_x, shape_y)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of `tensor` as an array if it is known before any run, else None (`tf.get_static_value`).

    A tensor whose value has been read this way cannot be fed any more, as the graph may depend on the value.

    Args:
        tensor: anything that is not a Tensor is returned as it is.
        partial: of a stack of scalars of which only some are known, give an array with None for the others.
    """
    if not isinstance(tensor, Tensor):
        return tensor
    value = static_value(tensor)
    if value is None and partial and tensor.op.type == "Pack" and tensor.op.attrs["axis"] == 0:
        parts = [static_value(item) for item in tensor.op.inputs]
        value = np.array([None if part is None else part.tolist() for part in parts], object)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value
