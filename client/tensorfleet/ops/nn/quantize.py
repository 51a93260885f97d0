"""Quantized tensors: integers that stand for numbers in a range, which goes along beside them.

`QuantizeAndDequantize*` rounds numbers as a quantized tensor would, and gives numbers.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, merge
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank

_QUANTIZED = "{qint8, quint8, qint32, qint16, quint16}"
_FLOATS = "T: {bfloat16, float16, float32, float64}"
_MODE = 'mode: {"MIN_COMBINED", "MIN_FIRST", "SCALED"} = "MIN_COMBINED"'
_NARROW = ("narrow_range: bool = false", "axis: int = -1")


def _range_dims(node: RuleNode, index: int, dims: Dims) -> Dims:
    """The shape of one end of the range: a scalar, or one number for each slice along an axis."""
    axis = node.attrs["axis"]
    if axis < -1:
        raise ValueError(f"axis should be at least -1, got {axis}")
    found = node.inputs[index].dims
    if axis == -1:
        return with_rank(found, 0)
    if dims is not None and axis >= len(dims):
        raise ValueError(f"Shape must be at least rank {axis + 1} but is rank {len(dims)}")
    return (merge_dim(with_rank(found, 1)[0], None if dims is None else dims[axis]),)


def _rounded(node: RuleNode) -> list[Dims]:
    dims = node.inputs[0].dims
    for index in (1, 2):
        _range_dims(node, index, dims)
    return [dims]


def _rounded_grad(node: RuleNode) -> list[Dims]:
    dims = merge(node.inputs[0].dims, node.inputs[1].dims)
    ends = merge(node.inputs[2].dims, node.inputs[3].dims)
    return [dims, ends, ends]


def _quantized(node: RuleNode) -> list[Dims]:
    dims = node.inputs[0].dims
    ends = [_range_dims(node, index, dims) for index in (1, 2)]
    if node.type == "Dequantize":
        return [dims]
    return [dims, *([()] * 2 if node.attrs["axis"] == -1 else [ends[0]] * 2)]


def _same(node: RuleNode) -> list[Dims]:
    for tensor in node.inputs[1:]:
        with_rank(tensor.dims, 0)
    return [node.inputs[0].dims, (), ()]


def _product(node: RuleNode) -> list[Dims]:
    a, b = with_rank(node.inputs[0].dims, 2), with_rank(node.inputs[1].dims, 2)
    rows, inner = (a[1], a[0]) if node.attrs["transpose_a"] else (a[0], a[1])
    other, columns = (b[1], b[0]) if node.attrs["transpose_b"] else (b[0], b[1])
    merge_dim(inner, other)
    for tensor in node.inputs[2:]:
        with_rank(tensor.dims, 0)
    return [(rows, columns), (), ()]


def _ends(node: RuleNode) -> list[Dims]:
    for tensor in node.inputs[1:]:
        with_rank(tensor.dims, 0)
    return [(), ()]


for _version in ("V2", "V4"):
    op(
        f"QuantizeAndDequantize{_version}(input: T, input_min: T, input_max: T) -> (output: T)",
        "signed_input: bool = true",
        "num_bits: int = 8",
        "range_given: bool = false",
        _FLOATS,
        'round_mode: {"HALF_TO_EVEN", "HALF_UP"} = "HALF_TO_EVEN"',
        *_NARROW,
        shape=_rounded,
    )
op(
    "QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> (output: T)",
    "signed_input: bool = true",
    "range_given: bool = true",
    _FLOATS,
    *_NARROW,
    shape=_rounded,
)
op(
    "QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T) -> "
    "(input_backprop: T, input_min_backprop: T, input_max_backprop: T)",
    _FLOATS,
    "axis: int = -1",
    shape=_rounded_grad,
)
op(
    "QuantizeV2(input: float32, min_range: float32, max_range: float32) -> "
    "(output: T, output_min: float32, output_max: float32)",
    f"T: {_QUANTIZED}",
    _MODE,
    'round_mode: {"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"} = "HALF_AWAY_FROM_ZERO"',
    *_NARROW,
    "ensure_minimum_range: float = 0.01",
    shape=_quantized,
)
op(
    "Dequantize(input: T, min_range: float32, max_range: float32) -> (output: dtype)",
    f"T: {_QUANTIZED}",
    _MODE,
    *_NARROW,
    "dtype: {bfloat16, float32} = float32",
    shape=_quantized,
)
op(
    "QuantizedReluX(features: Tinput, max_value: float32, min_features: float32, max_features: float32) -> "
    "(activations: out_type, min_activations: float32, max_activations: float32)",
    f"Tinput: {_QUANTIZED}",
    f"out_type: {_QUANTIZED} = quint8",
    shape=_same,
)
for _name in ("QuantizedRelu", "QuantizedRelu6"):
    op(
        f"{_name}(features: Tinput, min_features: float32, max_features: float32) -> "
        "(activations: out_type, min_activations: float32, max_activations: float32)",
        f"Tinput: {_QUANTIZED}",
        f"out_type: {_QUANTIZED} = quint8",
        shape=_same,
    )
op(
    "QuantizedMatMul(a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32) -> "
    "(out: Toutput, min_out: float32, max_out: float32)",
    f"T1: {_QUANTIZED}",
    f"T2: {_QUANTIZED}",
    f"Toutput: {_QUANTIZED} = qint32",
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    f"Tactivation: {_QUANTIZED} = quint8",
    shape=_product,
)
op(
    "Requantize(input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32, "
    "requested_output_max: float32) -> (output: out_type, output_min: float32, output_max: float32)",
    f"Tinput: {_QUANTIZED}",
    f"out_type: {_QUANTIZED}",
    shape=_same,
)
op(
    "RequantizationRange(input: Tinput, input_min: float32, input_max: float32) -> "
    "(output_min: float32, output_max: float32)",
    f"Tinput: {_QUANTIZED}",
    shape=_ends,
)
op(
    "QuantizeDownAndShrinkRange(input: Tinput, input_min: float32, input_max: float32) -> "
    "(output: out_type, output_min: float32, output_max: float32)",
    f"Tinput: {_QUANTIZED}",
    f"out_type: {_QUANTIZED}",
    shape=_same,
)


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """Integers of a quantized dtype that stand for numbers (`tf.quantize_v2`).

    Args:
        input: float32 numbers.
        min_range, max_range: what the least and the greatest integer stand for; where `axis` is given, a
            vector with one number for each slice along it.
        T: the quantized dtype.
        mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED".

    Returns:
        The integers, and both ends of the range, which may be wider than the one asked for.
    """
    return apply_op(
        *("QuantizeV2", input, min_range, max_range),
        T=dtypes.as_dtype(T),
        mode=mode,
        name=name,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        ensure_minimum_range=ensure_minimum_range,
    )


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """As `quantize_v2`, with its arguments in another order (`tf.quantization.quantize`)."""
    return quantize_v2(
        *(input, min_range, max_range, T, mode, name, round_mode, narrow_range, axis, ensure_minimum_range)
    )


def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: Any = dtypes.float32,
) -> Tensor:
    """The numbers that quantized integers stand for (`tf.dequantize`); arguments as for `quantize_v2`."""
    return apply_one(
        *("Dequantize", input, min_range, max_range),
        mode=mode,
        name=name,
        narrow_range=narrow_range,
        axis=-1 if axis is None or axis < 0 else axis,
        dtype=dtypes.as_dtype(dtype),
    )


def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Numbers rounded as if they were quantized (`tf.quantization.quantize_and_dequantize`).

    Args:
        input_min, input_max: the range, where `range_given`; else it is that of the numbers.
        signed_input: whether the integers between have a sign.
        num_bits: of each of them.
        axis: the axis along which slices have ranges of their own.
    """
    return _rounded_by(
        *("QuantizeAndDequantizeV2", input, input_min, input_max, signed_input, num_bits, range_given),
        *(round_mode, name, narrow_range, axis),
    )


def quantize_and_dequantize_v2(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """As `quantize_and_dequantize`, but numbers outside of the range get no gradient."""
    return _rounded_by(
        *("QuantizeAndDequantizeV4", input, input_min, input_max, signed_input, num_bits, range_given),
        *(round_mode, name, narrow_range, axis),
    )


def _rounded_by(op_type: str, input: Any, low: Any, high: Any, *options: Any) -> Tensor:
    signed_input, num_bits, range_given, round_mode, name, narrow_range, axis = options
    values = convert_to_tensor(input, name="input")
    if axis is None:
        axis = -1
    elif axis < 0:
        if values.shape.ndims is None:
            raise ValueError("input should have known rank to use negative axis.")
        axis %= values.shape.ndims
    return apply_one(
        *(op_type, values, low, high),
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=axis,
        name=name,
    )
