"""Convolution of volumes: the ops, `tf.nn.conv3d` and related functions."""

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
    DATA_FORMAT_3D,
    DILATIONS_3D,
    PADDING_3D,
    STRIDES_3D,
    spread,
    windows_of,
)
from tensorfleet.ops.shape_rules import with_rank

_FLOATS = "T: {float16, bfloat16, float32, float64}"
_WINDOWS = (STRIDES_3D, PADDING_3D, DATA_FORMAT_3D, DILATIONS_3D)


def _conv3d(op: RuleNode) -> list[Dims]:
    windows = windows_of(op.attrs)
    volumes, weights = (with_rank(t.dims, 5) for t in op.inputs)
    depth, filter_depth = volumes[windows.channel_axis], weights[3]
    if depth is not None and filter_depth is not None and (not filter_depth or depth % filter_depth):
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})"
        )
    space = [windows.count(i, volumes[a], weights[i]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(volumes[0], space, weights[4])]


def _backprop_filter(op: RuleNode) -> list[Dims]:
    return [dims_module.merge(static_dims(op.inputs[1]), (None,) * 5)]


def _backprop_input(op: RuleNode) -> list[Dims]:
    return [dims_module.merge(static_dims(op.inputs[0]), (None,) * 5)]


op("Conv3D(input: T, filter: T) -> (output: T)", _FLOATS, *_WINDOWS, shape=_conv3d)
op(
    "Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
    _FLOATS,
    *_WINDOWS,
    shape=_backprop_filter,
)
op(
    "Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T)",
    _FLOATS,
    *_WINDOWS,
    "Tshape: {int32, int64} = int32",
    shape=_backprop_input,
)


def _attrs(strides: Any, padding: Any, data_format: str | None, dilations: Any) -> dict[str, Any]:
    data_format = data_format or "NDHWC"
    return {
        "strides": spread(strides, data_format, "strides"),
        "padding": padding,
        "data_format": data_format,
        "dilations": spread(1 if dilations is None else dilations, data_format, "dilations"),
    }


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = [1, 1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Three-dimensional convolution of volumes (`tf.nn.conv3d`).

    Args:
        input: [batch, depth, height, width, channels], or channels second for "NCDHW".
        filter: [depth, height, width, channels in, channels out]. `filters` is another name of it.
        strides, dilations: a number for each dimension, or for each of depth, height and width, or one.
        padding: "SAME" or "VALID".
    """
    filter = filters if filter is None else filter
    return apply_one("Conv3D", input, filter, name=name, **_attrs(strides, padding, data_format, dilations))


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = [1, 1, 1, 1, 1],  # noqa: B006 - TensorFlow's default
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv3d` for its filter, of shape `filter_sizes` (`tf.nn.conv3d_backprop_filter`)."""
    attrs = _attrs(strides, padding, data_format, dilations)
    return apply_one("Conv3DBackpropFilterV2", input, filter_sizes, out_backprop, name=name, **attrs)


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv3d`, which turns small volumes into large ones (`tf.nn.conv3d_transpose`).

    Args:
        value: the volumes. `input` is another name of it.
        filter: [depth, height, width, channels out, channels in]. `filters` is another name of it.
        output_shape: the shape of the result.
    """
    value, filter = input if value is None else value, filters if filter is None else filter
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        shape = convert_to_tensor(output_shape, name="input_sizes", preferred_dtype=dtypes.int32)
        attrs = _attrs(strides, padding, data_format, dilations)
        return apply_one("Conv3DBackpropInputV2", shape, filter, value, name=scope, **attrs)
