"""Tensors made from a shape or a range: constant, zeros, ones, fill, range."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, shapes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import Array, static_dims, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import reshape, shape_tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import unchanged, with_rank

_SMALL = 1000
"""Number of elements up to which zeros and ones are constants in the graph; above it a Fill makes them."""
_RANGE_DTYPES = [
    dtypes.int32,
    dtypes.int64,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
]


def _const_shape(op: RuleNode) -> list[Dims]:
    return [op.attrs["value"].shape]


def _fill_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 0)
    return [_spelled(op.inputs[0])]


def _spelled(tensor: RuleTensor) -> Dims:
    """The static shape that a shape argument gives; -1 is not a size."""
    with_rank(tensor.dims, 1)
    value = static_value(tensor)
    if value is not None and (value < 0).any():
        raise ValueError("Fill dimensions must be >= 0")
    return static_dims(tensor)


def _range_shape(op: RuleNode) -> list[Dims]:
    for tensor in op.inputs:
        with_rank(tensor.dims, 0)
    start, limit, delta = map(static_value, op.inputs)
    if start is None or limit is None or delta is None:
        return [(None,)]
    return [(range_size(start.item(), limit.item(), delta.item()),)]


def range_size(start: Any, limit: Any, delta: Any) -> int:
    """The number of elements of a range. Raises ValueError in TensorFlow's words."""
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {_number(start)}/{_number(limit)}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {_number(start)}/{_number(limit)}")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return int(-((start - limit) // delta))
    count: float = abs((limit - start) / delta)
    if not count < 2**63:
        raise ValueError(f"Requires ((limit - start) / delta) <= {2**63 - 1}, got {_number(count)}")
    size: int = math.ceil(count)
    return size


def _number(value: Any) -> str:
    """The number as C++ prints it, for TensorFlow's error messages."""
    return f"{value:g}" if isinstance(value, float) else str(value)


op("Const() -> (output: dtype)", "value: tensor", "dtype: type", shape=_const_shape)
op(
    "Fill(dims: index_type, value: T) -> (output: T)",
    "T: type",
    "index_type: {int32, int64} = int32",
    shape=_fill_shape,
)
op("ZerosLike(x: T) -> (y: T)", "T: type", shape=unchanged)
op(
    "OnesLike(x: T) -> (y: T)",
    "T: {bfloat16, float16, float32, float64, int8, uint8, int16, uint16, int32, uint32, int64,"
    " uint64, complex64, complex128, bool}",
    shape=unchanged,
)
op(
    "Range(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)",
    "Tidx: {bfloat16, float16, float32, float64, int8, int16, int32, int64, uint16, uint32, uint64} = int32",
    shape=_range_shape,
)


@static_rule("Fill")
def _fill_value(op: RuleNode) -> Array | None:
    dims = op.outputs[0].dims
    value = static_value(op.inputs[1])
    if value is None or dims is None or None in dims:
        return None
    return np.broadcast_to(value, [d for d in dims if d is not None])


@static_rule("ZerosLike")
def _zeros_like_value(op: RuleNode) -> Array | None:
    value = static_value(op.inputs[0])
    return None if value is None or value.dtype.hasobject else np.zeros_like(value)


@static_rule("OnesLike")
def _ones_like_value(op: RuleNode) -> Array | None:
    value = static_value(op.inputs[0])
    return None if value is None else np.ones_like(value)


@static_rule("Range")
def _range_value(op: RuleNode) -> Array | None:
    start, limit, delta = map(static_value, op.inputs)
    if start is None or limit is None or delta is None:
        return None
    values: Array = np.arange(start.item(), limit.item(), delta.item())
    return values.astype(op.outputs[0].dtype.np)


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of zeros, of False, or of empty strings (`tf.zeros`).

    Args:
        shape: a TensorShape, a list of int or of scalar tensors, or an integer vector tensor.
        layout: accepted and not used.

    Example:
        >>> tf.Session().run(tf.zeros([2, 2]))
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """
    dtype = dtypes.as_dtype(dtype).base
    return _filled(shape, b"" if dtype is dtypes.string else 0, dtype, name or "zeros")


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of ones, or of True (`tf.ones`). The arguments are those of `zeros`.

    Example:
        >>> tf.Session().run(tf.ones([2], tf.int32))
        array([1, 1], dtype=int32)
    """
    return _filled(shape, 1, dtypes.as_dtype(dtype).base, name or "ones")


def _filled(shape: Any, value: Any, dtype: dtypes.DType, name: str) -> Tensor:
    value = bool(value) if dtype.is_bool else value
    if dtype.is_quantized:
        value = np.array(value, dtype.np)
    with get_default_graph().name_scope(name) as scope:
        if not isinstance(shape, Tensor):
            with contextlib.suppress(
                TypeError, ValueError
            ):  # a list that holds tensors, an unknown dimension
                dims = shapes.as_dims(shape)
                if dims is not None and None not in dims:
                    if math.prod(d for d in dims if d is not None) < _SMALL:
                        return constant(value, dtype, dims, scope)
                    shape = shape_tensor(dims)
        if not isinstance(shape, Tensor):
            shape = convert_to_tensor(shape, dtypes.int32)
        if shape.dims is None or shape.dims == ():
            shape = reshape(shape, [-1])
        return fill(shape, constant(value, dtype), scope)


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of shape `dims` with the scalar `value` everywhere (`tf.fill`). `layout` is not used.

    Example:
        >>> tf.Session().run(tf.fill([2], 7))
        array([7, 7], dtype=int32)
    """
    return apply_one("Fill", dims, value, name=name)


@takes_composites
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros of the shape of `tensor`, and of its dtype unless `dtype` says otherwise (`tf.zeros_like`).

    With `optimize`, a shape that is known already goes into a constant.

    Example:
        >>> tf.Session().run(tf.zeros_like([1, 2]))
        array([0, 0], dtype=int32)
    """
    with get_default_graph().name_scope(name or "zeros_like") as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.dtype.base if dtype is None else dtypes.as_dtype(dtype).base
        if optimize and tensor.shape.is_fully_defined() and tensor.dtype.base is not dtypes.variant:
            return zeros(tensor.dims, wanted, scope)
        if wanted is not tensor.dtype.base and wanted is not dtypes.variant:
            return zeros(shape_tensor(tensor, optimize=optimize), wanted, scope)
        return apply_one("ZerosLike", tensor, name=scope)


@takes_composites
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of the shape of `tensor`, and of its dtype unless `dtype` says otherwise (`tf.ones_like`).

    Example:
        >>> tf.Session().run(tf.ones_like([1.0, 2.0]))
        array([1., 1.], dtype=float32)
    """
    with get_default_graph().name_scope(name or "ones_like") as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        result = ones(shape_tensor(tensor, optimize=optimize), dtype or tensor.dtype.base, scope)
        result.set_shape(tensor.dims)
        return result


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range"
) -> Tensor:
    """The numbers start, start + delta, … before `limit` (`tf.range`); `range(limit)` starts at 0.

    Without `dtype`, the result has the widest of the arguments' dtypes.

    Example:
        >>> tf.Session().run(tf.range(1, 7, 2))
        array([1, 3, 5], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    with get_default_graph().name_scope(name or "Range") as scope:
        start = convert_to_tensor(start, dtype if not isinstance(start, Tensor) else None, "start")
        limit = convert_to_tensor(limit, dtype if not isinstance(limit, Tensor) else None, "limit")
        delta = convert_to_tensor(delta, dtype if not isinstance(delta, Tensor) else None, "delta")
        if dtype is None:
            found = [start.dtype.base, limit.dtype.base, delta.dtype.base]
            for each in found:
                if each not in _RANGE_DTYPES:
                    raise TypeError(f"tf.range cannot tell the dtype of a range with {each.name}: pass dtype")
            dtype = max(found, key=_RANGE_DTYPES.index)
        return apply_one("Range", cast(start, dtype), cast(limit, dtype), cast(delta, dtype), name=scope)


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Identity matrices: ones on the diagonal, zeros elsewhere (`tf.eye`).

    Args:
        num_rows, num_columns: ints or scalar tensors; as many columns as rows by default.
        batch_shape: a list or an integer vector: the dimensions before those of the matrices.

    Example:
        >>> tf.Session().run(tf.eye(2))
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    from tensorfleet.ops.array.joining import concat

    with get_default_graph().name_scope(name or "eye"):
        sizes = [num_rows, num_rows if num_columns is None else num_columns]
        is_square = sizes[0] is sizes[1] or (isinstance(sizes[0], int) and sizes[0] == sizes[1])
        is_static = not any(isinstance(value, Tensor) for value in (*sizes, batch_shape))
        length = min(sizes) if is_static else apply_one("Minimum", *sizes)
        batches = () if batch_shape is None else batch_shape
        if is_static:
            shapes_of: list[Any] = [[*batches, length], [*batches, *sizes]]
        else:
            before: Any = convert_to_tensor(
                np.array(batches, np.int32) if batches == () else batches, name="shape"
            )
            after = [[length]] if is_square else [[length], sizes]
            shapes_of = [concat([before, part], 0) for part in after]
        diagonal = ones(shapes_of[0], dtype)
        if is_square:
            padding = np.zeros((), diagonal.dtype.base.np)[()]
            return apply_one("MatrixDiagV3", diagonal, 0, -1, -1, padding, name="diag")
        return apply_one("MatrixSetDiagV3", zeros(shapes_of[1], dtype), diagonal, 0, name="set_diag")
