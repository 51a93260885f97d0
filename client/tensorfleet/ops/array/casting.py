"""Changing dtypes: cast, saturate_cast, bitcast."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import Array, static_dims, static_dims_rule, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import is_slices
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import unchanged, with_rank_at_least


def _bitcast_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    source, target = op.attrs["T"].size, op.attrs["type"].size
    if dims is None or source == target:
        return [dims]
    if source > target:
        return [(*dims, source // target)]
    with_rank_at_least(dims, 1)
    if dims[-1] is not None and dims[-1] != target // source:
        raise ValueError(
            f"Cannot bitcast from {op.attrs['T'].enum} to {op.attrs['type'].enum} due to "
            f"shape. {dims[-1]} does "
            f"not match {target // source}"
        )
    return [dims[:-1]]


op("Cast(x: SrcT) -> (y: DstT)", "SrcT: type", "DstT: type", "Truncate: bool = false", shape=unchanged)
op("Bitcast(input: T) -> (output: type)", "T: {number}", "type: {number}", shape=_bitcast_shape)


@static_rule("Cast")
def _cast_value(op: RuleNode) -> Array | None:
    value = static_value(op.inputs[0])
    target: DType = op.attrs["DstT"]
    if value is None or target.np is None or value.dtype.hasobject or target.np.hasobject:
        return None
    with np.errstate(all="ignore"):
        return (value.real if value.dtype.kind == "c" and not target.is_complex else value).astype(target.np)


@static_dims_rule("Cast")
def _cast_dims(op: RuleNode) -> Dims:
    return static_dims(op.inputs[0])


@overload
def cast(x: Tensor, dtype: Any, name: str | None = None) -> Tensor: ...
@overload
def cast(x: Any, dtype: Any, name: str | None = None) -> Any: ...
@takes_composites
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` in another dtype (`tf.cast`).

    Floats lose their fraction when they become integers, integers wrap around, complex numbers lose their
    imaginary part, and anything but zero is True. A tensor of that dtype is returned as it is. The values of
    an IndexedSlices or SparseTensor are cast, and it keeps its kind.

    Example:
        >>> tf.Session().run(tf.cast([1.7, -1.7], tf.int32))
        array([ 1, -1], dtype=int32)
    """
    target = dtypes.as_dtype(dtype).base
    if isinstance(x, Tensor) and x.dtype.base is target:
        return x
    if is_slices(x):
        return type(x)(values=cast(x.values, target, name), indices=x.indices, dense_shape=x.dense_shape)
    with get_default_graph().name_scope(name or "Cast") as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.base is target:
            return x
        return apply_one("Cast", x, DstT=target, name=scope)


@takes_composites
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` in another dtype, clipped to the range of that dtype (`tf.saturate_cast`)."""
    target = dtypes.as_dtype(dtype).base
    with get_default_graph().name_scope(name or "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        source = value.dtype.base
        # Between floating-point dtypes only where the target's range is narrower: infinities stay infinite.
        is_bound = not (source.is_floating and target.is_floating)
        if is_bound or source.min < target.min:
            least = _within(source, max(source.min, target.min), target.min)
            value = apply_one("Maximum", value, convert_to_tensor(least, source))
        if is_bound or source.max > target.max:
            greatest = _within(source, min(source.max, target.max), target.max)
            value = apply_one("Minimum", value, convert_to_tensor(greatest, source))
        result: Tensor = cast(value, target, scope)
        return result


def _within(source: DType, limit: Any, bound: Any) -> np.generic:
    """`limit` as a number of dtype `source`, rounded so that it is not beyond `bound`, the target's limit."""
    number = source.as_numpy_dtype(limit)
    exact = float(number) if source.is_floating else int(number)
    beyond = exact > bound if bound > 0 else exact < bound
    within: np.generic = np.nextafter(number, source.as_numpy_dtype(0)) if beyond else number
    return within


@takes_composites
def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same memory read as another dtype (`tf.bitcast`).

    For a smaller dtype the result has one more dimension, the parts of each element. For a larger dtype the
    last dimension must be the number of parts; the result does not have it.
    """
    return apply_one("Bitcast", input, type=type, name=name)


def to_float(x: Any, name: str | None = "ToFloat") -> Any:
    """`cast` to float32 (`tf.to_float`)."""
    return cast(x, dtypes.float32, name)


def to_double(x: Any, name: str | None = "ToDouble") -> Any:
    """`cast` to float64 (`tf.to_double`)."""
    return cast(x, dtypes.float64, name)


def to_int32(x: Any, name: str | None = "ToInt32") -> Any:
    """`cast` to int32 (`tf.to_int32`)."""
    return cast(x, dtypes.int32, name)


def to_int64(x: Any, name: str | None = "ToInt64") -> Any:
    """`cast` to int64 (`tf.to_int64`)."""
    return cast(x, dtypes.int64, name)


def to_bfloat16(x: Any, name: str | None = "ToBFloat16") -> Any:
    """`cast` to bfloat16 (`tf.to_bfloat16`)."""
    return cast(x, dtypes.bfloat16, name)


def to_complex64(x: Any, name: str | None = "ToComplex64") -> Any:
    """`cast` to complex64 (`tf.to_complex64`)."""
    return cast(x, dtypes.complex64, name)


def to_complex128(x: Any, name: str | None = "ToComplex128") -> Any:
    """`cast` to complex128 (`tf.to_complex128`)."""
    return cast(x, dtypes.complex128, name)
