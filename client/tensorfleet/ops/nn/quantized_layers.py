"""Layers of networks on quantized tensors: sums and products, convolution, pooling, biases, concatenation.

Each tensor comes with the two numbers that its least and its greatest integer stand for.
"""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
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
