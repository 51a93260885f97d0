"""Pooling: the ops, `tf.nn.max_pool` and `tf.nn.avg_pool`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.nn.conv import window_attrs
from tensorfleet.ops.nn.windows import DATA_FORMAT, EXPLICIT_PADDINGS, PADDING, spread, windows_of
from tensorfleet.ops.shape_rules import with_rank

_SIZES = ("ksize: list(int) >= 4", "strides: list(int) >= 4")
_PLAIN_PADDING = 'padding: {"SAME", "VALID"}'
_FLOATS = "T: {float16, bfloat16, float32, float64}"


def _pool(op: RuleNode) -> list[Dims]:
    windows = windows_of(op.attrs)
    images, window = with_rank(op.inputs[0].dims, 4), op.attrs["ksize"]
    space = [windows.count(i, images[a], window[a]) for i, a in enumerate(windows.space_axes)]
    depth, channels = window[windows.channel_axis], images[windows.channel_axis]
    if depth > 1 and channels is not None:  # windows over neighbouring channels do not overlap
        channels //= depth
    return [windows.shape(images[0], space, channels)]


def _max_pool_grad(op: RuleNode) -> list[Dims]:
    return [with_rank(op.inputs[0].dims, 4)]


def _max_pool_grad_grad(op: RuleNode) -> list[Dims]:
    dims_module.merge(op.inputs[0].dims, op.inputs[2].dims)
    return [dims_module.merge(_pool(op)[0], op.inputs[1].dims)]


def _sizes(op: RuleNode, index: int) -> list[int] | None:
    """The four numbers in an input of sizes, if they are known."""
    dims_module.merge(op.inputs[index].dims, (4,))
    value = static_value(op.inputs[index])
    return None if value is None else list(map(int, value))


def _max_pool_v2(op: RuleNode) -> list[Dims]:
    images = with_rank(op.inputs[0].dims, 4)
    window, strides = _sizes(op, 1), _sizes(op, 2)
    if window is None or strides is None:
        return [None]
    windows = windows_of({**op.attrs, "strides": strides})
    space = [windows.count(i, images[a], window[a]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(images[0], space, images[windows.channel_axis])]


def _max_pool_grad_grad_v2(op: RuleNode) -> list[Dims]:
    dims_module.merge(op.inputs[0].dims, op.inputs[2].dims)
    return [dims_module.merge(with_rank(op.inputs[1].dims, 4), (None,) * 4)]


def _avg_pool_grad(op: RuleNode) -> list[Dims]:
    return [dims_module.merge(static_dims(op.inputs[0]), (None,) * 4)]


op(
    "MaxPool(input: T) -> (output: T)",
    "T: {float16, bfloat16, float32, float64, int32, int64, uint8, int16, int8, uint16, qint8} = float32",
    *_SIZES,
    PADDING,
    EXPLICIT_PADDINGS,
    'data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"',
    shape=_pool,
)
op(
    "MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    *_SIZES,
    PADDING,
    EXPLICIT_PADDINGS,
    DATA_FORMAT,
    f"T: {{{ORDERED}}} = float32",
    shape=_max_pool_grad,
)
op(
    "MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    *_SIZES,
    _PLAIN_PADDING,
    DATA_FORMAT,
    f"T: {{{ORDERED}}}",
    shape=_max_pool_grad_grad,
)
# The forms that take sizes of windows as inputs.
op(
    "MaxPoolV2(input: T, ksize: int32, strides: int32) -> (output: T)",
    "T: {float16, bfloat16, float32, float64, int32, int64, uint8, int16, int8, uint16, qint8} = float32",
    _PLAIN_PADDING,
    'data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"',
    shape=_max_pool_v2,
)
op(
    "MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)",
    _PLAIN_PADDING,
    DATA_FORMAT,
    f"T: {{{ORDERED}}} = float32",
    shape=_max_pool_grad,
)
op(
    "MaxPoolGradGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)",
    _PLAIN_PADDING,
    DATA_FORMAT,
    f"T: {{{ORDERED}}}",
    shape=_max_pool_grad_grad_v2,
)
op("AvgPool(value: T) -> (output: T)", *_SIZES, _PLAIN_PADDING, DATA_FORMAT, _FLOATS, shape=_pool)
op(
    "AvgPoolGrad(orig_input_shape: int32, grad: T) -> (output: T)",
    *_SIZES,
    _PLAIN_PADDING,
    DATA_FORMAT,
    _FLOATS,
    shape=_avg_pool_grad,
)


def _pooled(
    op_type: str, value: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None, scope: str
) -> Tensor:
    attrs = window_attrs(strides, padding, data_format)
    attrs["ksize"] = spread(1 if ksize is None else ksize, attrs["data_format"], "ksize")
    return apply_one(op_type, value, name=scope, **attrs)


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The greatest value in each window (`tf.nn.max_pool`).

    Args:
        value: [batch, height, width, channels]; channels second for "NCHW". `input` is another name of it.
        ksize, strides: one number, one for height and one for width, or one for each dimension.
        padding: "SAME", "VALID", or four pairs (before, after). Padding is never the greatest.

    Example:
        >>> image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
        >>> tf.Session().run(tf.nn.max_pool(image, 2, 2, "VALID")).reshape(2, 2)
        array([[ 5.,  7.],
               [13., 15.]], dtype=float32)
    """
    value = input if value is None else value
    with name_scope(name, "MaxPool", [value]) as scope:
        return _pooled(
            "MaxPool", convert_to_tensor(value, name="input"), ksize, strides, padding, data_format, scope
        )


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The greatest value in each window (`tf.nn.max_pool2d`)."""
    with name_scope(name, "MaxPool2d", [input]) as scope:
        return _pooled("MaxPool", input, ksize, strides, padding, data_format, scope)


def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool` of images (`tf.nn.max_pool_v2`)."""
    return max_pool2d(input, ksize, strides, padding, data_format or "NHWC", name)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window, without padding (`tf.nn.avg_pool`); arguments as in `max_pool`."""
    value = input if value is None else value
    with name_scope(name, "AvgPool", [value]) as scope:
        return _pooled(
            "AvgPool", convert_to_tensor(value, name="value"), ksize, strides, padding, data_format, scope
        )


def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`avg_pool` of images (`tf.nn.avg_pool_v2`)."""
    return avg_pool(input, ksize, strides, padding, data_format or "NHWC", name)
