"""Convolution of images: the ops, `tf.nn.conv2d` and related functions."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.nn.windows import (
    DATA_FORMAT,
    DILATIONS,
    EXPLICIT_PADDINGS,
    PADDING,
    STRIDES,
    spread,
    windows_of,
)
from tensorfleet.ops.shape_rules import with_rank

_FLOATS = "T: {float16, bfloat16, float32, float64}"
_WITH_INT = "T: {float16, bfloat16, float32, float64, int32}"
_CUDNN = "use_cudnn_on_gpu: bool = true"


def _conv2d(op: RuleNode) -> list[Dims]:
    windows = windows_of(op.attrs)
    images, weights = (with_rank(t.dims, 4) for t in op.inputs)
    depth, filter_depth = images[windows.channel_axis], weights[2]
    if depth is not None and filter_depth is not None and (not filter_depth or depth % filter_depth):
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})"
        )
    space = [windows.count(i, images[a], weights[i]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(images[0], space, weights[3])]


def _depthwise(op: RuleNode) -> list[Dims]:
    windows = windows_of(op.attrs)
    images, weights = (with_rank(t.dims, 4) for t in op.inputs)
    depth, filter_depth = images[windows.channel_axis], weights[2]
    if depth is not None and filter_depth is not None and depth != filter_depth:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {filter_depth}")
    channels = None if weights[2] is None or weights[3] is None else weights[2] * weights[3]
    space = [windows.count(i, images[a], weights[i]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(images[0], space, channels)]


def _backprop_filter(op: RuleNode) -> list[Dims]:
    return [dims_module.merge(static_dims(op.inputs[1]), (None,) * 4)]


def _backprop_input(op: RuleNode) -> list[Dims]:
    sizes = static_dims(op.inputs[0])
    if sizes is None or len(sizes) != 2:
        return [dims_module.merge(sizes, (None,) * 4)]
    # `input_sizes` may be height and width alone; batch and channels follow from the gradient and the filter.
    windows = windows_of(op.attrs)
    weights, gradient = (with_rank(t.dims, 4) for t in op.inputs[1:])
    return [windows.shape(gradient[0], sizes, weights[2])]


_CONV = (STRIDES, _CUDNN, PADDING, EXPLICIT_PADDINGS, DATA_FORMAT, DILATIONS)
_DEPTHWISE = (STRIDES, PADDING, EXPLICIT_PADDINGS, DATA_FORMAT, DILATIONS)
op("Conv2D(input: T, filter: T) -> (output: T)", _WITH_INT, *_CONV, shape=_conv2d)
op(
    "Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
    _FLOATS,
    *_CONV,
    shape=_backprop_filter,
)
op(
    "Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
    _WITH_INT,
    *_CONV,
    shape=_backprop_input,
)
op("DepthwiseConv2dNative(input: T, filter: T) -> (output: T)", _FLOATS, *_DEPTHWISE, shape=_depthwise)
op(
    "DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
    _FLOATS,
    *_DEPTHWISE,
    shape=_backprop_filter,
)
op(
    "DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
    _FLOATS,
    *_DEPTHWISE,
    shape=_backprop_input,
)


def window_attrs(
    strides: Any, padding: Any, data_format: str | None, dilations: Any = None
) -> dict[str, Any]:
    """The attributes of a convolution or pooling node, from the forms in which callers may give them.

    Args:
        strides, dilations: four numbers; one or two are for height and width.
        padding: "SAME", "VALID", or a list of four (before, after) pairs.

    Raises:
        ValueError: a wrong number of strides or dilations, or another form of padding.
    """
    data_format = data_format or "NHWC"
    attrs: dict[str, Any] = {
        "data_format": data_format,
        "strides": spread(1 if strides is None else strides, data_format, "strides"),
    }
    if dilations is not None:
        attrs["dilations"] = spread(dilations, data_format, "dilations")
    if isinstance(padding, (list, tuple)):
        if len(padding) != 4 or any(len(pair) != 2 for pair in padding):
            raise ValueError(
                "Explicit padding must be a list of 4 pairs (before, after), one for each dimension of the "
                f"input. Received: padding={padding}"
            )
        attrs["padding"] = "EXPLICIT"
        attrs["explicit_paddings"] = [int(n) for pair in padding for n in pair]
    else:
        if padding == "EXPLICIT":
            raise ValueError(
                "'EXPLICIT' is not a valid value for `padding`: give the list of paddings itself"
            )
        attrs["padding"] = padding
    return attrs


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Two-dimensional convolution of images (`tf.nn.conv2d`).

    Args:
        input: [batch, height, width, channels], or [batch, channels, height, width] for "NCHW".
        filter: [height, width, channels in, channels out]. `filters` is another name of it.
        strides, dilations: one number, one for height and one for width, or one for each dimension.
        padding: "SAME", "VALID", or four pairs (before, after).
        use_cudnn_on_gpu: ignored.

    Example:
        >>> images, filters = tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 8])
        >>> tf.nn.conv2d(images, filters, strides=[1, 2, 2, 1], padding="VALID").shape.as_list()
        [1, 2, 2, 8]
    """
    filter = filters if filter is None else filter
    attrs = window_attrs(strides, padding, data_format, dilations)
    return apply_one("Conv2D", input, filter, use_cudnn_on_gpu=use_cudnn_on_gpu, name=name, **attrs)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of `conv2d` for its images, of shape `input_sizes` (`tf.nn.conv2d_backprop_input`)."""
    filter = filters if filter is None else filter
    attrs = window_attrs(strides, padding, data_format, dilations)
    return apply_one(
        "Conv2DBackpropInput",
        input_sizes,
        filter,
        out_backprop,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        name=name,
        **attrs,
    )


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its filter, of shape `filter_sizes` (`tf.nn.conv2d_backprop_filter`)."""
    attrs = window_attrs(strides, padding, data_format, dilations)
    return apply_one(
        "Conv2DBackpropFilter",
        input,
        filter_sizes,
        out_backprop,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        name=name,
        **attrs,
    )


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv2d`, which turns small images into large ones (`tf.nn.conv2d_transpose`).

    Args:
        value: the images. `input` is another name of it.
        filter: [height, width, channels out, channels in]. `filters` is another name of it.
        output_shape: the shape of the result.
    """
    value, filter = input if value is None else value, filters if filter is None else filter
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        attrs = window_attrs(strides, padding, data_format, dilations)
        return apply_one(
            "Conv2DBackpropInput",
            convert_to_tensor(output_shape, name="input_sizes", preferred_dtype=dtypes.int32),
            filter,
            value,
            name=scope,
            **attrs,
        )


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """Convolution of each channel by itself (`tf.nn.depthwise_conv2d_native`).

    Args:
        filter: [height, width, channels, multiplier]; the result has channels · multiplier channels.
    """
    attrs = window_attrs(strides, padding, data_format, dilations)
    return apply_one("DepthwiseConv2dNative", input, filter, name=name, **attrs)


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """The gradient of depthwise convolution for its images."""
    attrs = window_attrs(strides, padding, data_format, dilations)
    return apply_one(
        "DepthwiseConv2dNativeBackpropInput", input_sizes, filter, out_backprop, name=name, **attrs
    )


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """The gradient of depthwise convolution for its filter."""
    attrs = window_attrs(strides, padding, data_format, dilations)
    return apply_one(
        "DepthwiseConv2dNativeBackpropFilter", input, filter_sizes, out_backprop, name=name, **attrs
    )


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution of each channel by itself (`tf.nn.depthwise_conv2d`).

    Args:
        rate: the dilation of height and width. `dilations` is another name of it.
    """
    with name_scope(name, "depthwise", [input, filter]) as scope:
        rate = dilations if rate is None else rate
        return depthwise_conv2d_native(
            convert_to_tensor(input, name="tensor_in"),
            convert_to_tensor(filter, name="filter_in"),
            strides,
            padding,
            data_format,
            rate,
            name=scope,
        )


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Depthwise convolution followed by a 1 × 1 convolution (`tf.nn.separable_conv2d`).

    Args:
        depthwise_filter: [height, width, channels, multiplier].
        pointwise_filter: [1, 1, channels · multiplier, channels out].
    """
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        rate = dilations if rate is None else rate
        input = convert_to_tensor(input, name="tensor_in")
        attrs = window_attrs(strides, padding, data_format, rate)
        middle = apply_one(
            "DepthwiseConv2dNative",
            input,
            convert_to_tensor(depthwise_filter, name="depthwise_filter"),
            name="depthwise",
            **attrs,
        )
        pointwise = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        if pointwise.dims is not None and len(pointwise.dims) == 4:
            for size in pointwise.dims[:2]:
                if size not in (1, None):
                    raise ValueError(f"Dimensions {size} and 1 are not compatible")
        attrs = window_attrs([1], "VALID", data_format)
        return apply_one("Conv2D", middle, pointwise, name=scope, **attrs)
