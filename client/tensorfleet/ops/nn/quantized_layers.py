"""Layers of networks on quantized tensors: sums and products, convolution, pooling, biases, concatenation.

Each tensor comes with the two numbers that its least and its greatest integer stand for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import joined
from tensorfleet.ops.array.shaping import reshaped
from tensorfleet.ops.nn.windows import DILATIONS, STRIDES, windows_of
from tensorfleet.ops.shape_rules import merge_dim, with_rank, with_rank_at_least

_QUANTIZED = "{qint8, quint8, qint32, qint16, quint16}"
_PADDING = 'padding: {"SAME", "VALID"}'


def _with_scalars(node: RuleNode, first: int) -> None:
    for tensor in node.inputs[first:]:
        with_rank(tensor.dims, 0)


def _broadcast(a: Dims, b: Dims) -> Dims:
    if a is None or b is None:
        return None
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    short = (1,) * (len(long) - len(short)) + short
    sizes: list[int | None] = []
    for one, other in zip(long, short, strict=True):
        if one == 1 or other == 1:
            sizes.append(other if one == 1 else one)
        elif one is None or other is None:
            known = other if one is None else one
            sizes.append(known)
        else:
            sizes.append(merge_dim(one, other))
    return tuple(sizes)


def _pairwise(node: RuleNode) -> list[Dims]:
    _with_scalars(node, 2)
    return [_broadcast(node.inputs[0].dims, node.inputs[1].dims), (), ()]


def _convolved(node: RuleNode) -> list[Dims]:
    windows = windows_of(node.attrs)
    images, weights = (with_rank(tensor.dims, 4) for tensor in node.inputs[:2])
    merge_dim(images[3], weights[2])
    _with_scalars(node, 2)
    space = [windows.count(i, images[a], weights[i]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(images[0], space, weights[3]), (), ()]


def _pooled(node: RuleNode) -> list[Dims]:
    windows = windows_of(node.attrs)
    images, window = with_rank(node.inputs[0].dims, 4), node.attrs["ksize"]
    _with_scalars(node, 1)
    space = [windows.count(i, images[a], window[a]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(images[0], space, images[3]), (), ()]


def _biased(node: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(node.inputs[0].dims, 1)
    size = with_rank(node.inputs[1].dims, 1)[0]
    _with_scalars(node, 2)
    return [None if dims is None else (*dims[:-1], merge_dim(dims[-1], size)), (), ()]


def _concatenated(node: RuleNode) -> list[Dims]:
    count = node.attrs["N"]
    _with_scalars(node, count + 1)
    return [*joined(node.inputs[0], node.inputs[1 : count + 1]), (), ()]


def _reshaped(node: RuleNode) -> list[Dims]:
    _with_scalars(node, 2)
    return [*reshaped(node), (), ()]


for _name in ("QuantizedAdd", "QuantizedMul"):
    op(
        f"{_name}(x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32) -> "
        "(z: Toutput, min_z: float32, max_z: float32)",
        f"T1: {_QUANTIZED}",
        f"T2: {_QUANTIZED}",
        f"Toutput: {_QUANTIZED} = qint32",
        shape=_pairwise,
    )
for _name in ("QuantizedAvgPool", "QuantizedMaxPool"):
    op(
        f"{_name}(input: T, min_input: float32, max_input: float32) -> "
        "(output: T, min_output: float32, max_output: float32)",
        f"T: {_QUANTIZED}",
        "ksize: list(int)",
        STRIDES,
        _PADDING,
        shape=_pooled,
    )
op(
    "QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, "
    "min_filter: float32, max_filter: float32) -> "
    "(output: out_type, min_output: float32, max_output: float32)",
    f"Tinput: {_QUANTIZED}",
    f"Tfilter: {_QUANTIZED}",
    f"out_type: {_QUANTIZED} = qint32",
    STRIDES,
    _PADDING,
    DILATIONS,
    shape=_convolved,
)
op(
    "QuantizedBiasAdd(input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32, "
    "max_bias: float32) -> (output: out_type, min_out: float32, max_out: float32)",
    f"T1: {_QUANTIZED}",
    f"T2: {_QUANTIZED}",
    f"out_type: {_QUANTIZED}",
    shape=_biased,
)
op(
    "QuantizedConcat(concat_dim: int32, values: N * T, input_mins: N * float32, input_maxes: N * float32) -> "
    "(output: T, output_min: float32, output_max: float32)",
    "N: int >= 2",
    "T: type",
    shape=_concatenated,
)
op(
    "QuantizedReshape(tensor: T, shape: Tshape, input_min: float32, input_max: float32) -> "
    "(output: T, output_min: float32, output_max: float32)",
    "T: type",
    "Tshape: {int32, int64} = int32",
    shape=_reshaped,
)


class Quantized(NamedTuple):
    """A quantized tensor, and the numbers that its least and its greatest integer stand for."""

    output: Tensor
    min_output: Tensor
    max_output: Tensor


class Activations(NamedTuple):
    """Quantized activations, and the numbers that their least and their greatest integer stand for."""

    activations: Tensor
    min_activations: Tensor
    max_activations: Tensor


class Concatenated(NamedTuple):
    """Quantized tensors as one, and the numbers that its least and its greatest integer stand for."""

    output: Tensor
    output_min: Tensor
    output_max: Tensor


def quantized_avg_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Quantized:
    """The averages over windows of a quantized tensor (`tf.nn.quantized_avg_pool`).

    Args:
        input: [batch, height, width, channels].
        min_input, max_input: float32, the numbers that its least and its greatest integer stand for.
        ksize, strides: four numbers.
        padding: "SAME" or "VALID".
    """
    attrs = {"ksize": ksize, "strides": strides, "padding": padding}
    return Quantized(*apply_op("QuantizedAvgPool", input, min_input, max_input, name=name, **attrs))


def quantized_max_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Quantized:
    """The greatest elements of windows over a quantized tensor (`tf.nn.quantized_max_pool`)."""
    attrs = {"ksize": ksize, "strides": strides, "padding": padding}
    return Quantized(*apply_op("QuantizedMaxPool", input, min_input, max_input, name=name, **attrs))


def quantized_conv2d(
    input: Any,
    filter: Any,
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: Any,
    padding: str,
    out_type: Any = dtypes.qint32,
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Quantized:
    """Convolution of quantized images with a quantized filter (`tf.nn.quantized_conv2d`).

    Args:
        input: [batch, height, width, channels].
        filter: [height, width, channels in, channels out].
        min_input, max_input, min_filter, max_filter: float32, the ends of their ranges.
        strides, dilations: four numbers.
        padding: "SAME" or "VALID".
    """
    attrs = {"strides": strides, "padding": padding, "out_type": out_type, "dilations": dilations}
    inputs = (input, filter, min_input, max_input, min_filter, max_filter)
    return Quantized(*apply_op("QuantizedConv2D", *inputs, name=name, **attrs))


def quantized_relu_x(
    features: Any,
    max_value: Any,
    min_features: Any,
    max_features: Any,
    out_type: Any = dtypes.quint8,
    name: str | None = None,
) -> Activations:
    """A quantized tensor clipped to [0, max_value] (`tf.nn.quantized_relu_x`)."""
    inputs = (features, max_value, min_features, max_features)
    return Activations(*apply_op("QuantizedReluX", *inputs, out_type=out_type, name=name))


def quantized_concat(
    concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None
) -> Concatenated:
    """Quantized tensors joined along a dimension, in a range that holds all of theirs
    (`tf.quantization.quantized_concat`).

    Args:
        concat_dim: the dimension, a number.
        values: two tensors or more.
        input_mins, input_maxes: for each the ends of its range.
    """
    return Concatenated(*apply_op("QuantizedConcat", concat_dim, values, input_mins, input_maxes, name=name))
