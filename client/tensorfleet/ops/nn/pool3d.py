"""Pooling of volumes: the ops, `tf.nn.max_pool3d` and `tf.nn.avg_pool3d`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module
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
    PADDING_3D,
    STRIDES_3D,
    spread,
    windows_of,
)
from tensorfleet.ops.shape_rules import with_rank

_WINDOWS = ("ksize: list(int) >= 5", STRIDES_3D, PADDING_3D, DATA_FORMAT_3D)


def _pool3d(op: RuleNode) -> list[Dims]:
    windows, ksize = windows_of(op.attrs), op.attrs["ksize"]
    volumes = with_rank(op.inputs[0].dims, 5)
    space = [windows.count(i, volumes[a], ksize[a]) for i, a in enumerate(windows.space_axes)]
    return [windows.shape(volumes[0], space, volumes[windows.channel_axis])]


def _max_pool3d_grad(op: RuleNode) -> list[Dims]:
    return [with_rank(op.inputs[0].dims, 5)]


def _max_pool3d_grad_grad(op: RuleNode) -> list[Dims]:
    dims_module.merge(op.inputs[0].dims, op.inputs[2].dims)
    return [dims_module.merge(_pool3d(op)[0], op.inputs[1].dims)]


def _avg_pool3d_grad(op: RuleNode) -> list[Dims]:
    return [dims_module.merge(static_dims(op.inputs[0]), (None,) * 5)]


op(
    "MaxPool3D(input: T) -> (output: T)",
    *_WINDOWS,
    "T: {float16, bfloat16, float32}",
    shape=_pool3d,
)
op(
    "MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)",
    *_WINDOWS,
    "T: {float16, bfloat16, float32} = float32",
    "TInput: {float16, bfloat16, float32} = float32",
    shape=_max_pool3d_grad,
)
op(
    "MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    *_WINDOWS,
    "T: {realnumber}",
    shape=_max_pool3d_grad_grad,
)
op(
    "AvgPool3D(input: T) -> (output: T)",
    *_WINDOWS,
    "T: {float16, bfloat16, float32, float64}",
    shape=_pool3d,
)
op(
    "AvgPool3DGrad(orig_input_shape: int32, grad: T) -> (output: T)",
    *_WINDOWS,
    "T: {float16, bfloat16, float32, float64}",
    shape=_avg_pool3d_grad,
)


def _pooled(
    op_type: str, input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None, name: str
) -> Tensor:
    data_format = data_format or "NDHWC"
    return apply_one(
        op_type,
        input,
        ksize=spread(ksize, data_format, "ksize"),
        strides=spread(strides, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """The greatest value in each window of volumes (`tf.nn.max_pool3d`).

    Args:
        input: [batch, depth, height, width, channels]; channels second for "NCDHW".
        ksize, strides: a number for each dimension, or for each of depth, height and width, or one.
        padding: "SAME" or "VALID". Padding is never the greatest.
    """
    with name_scope(name, "MaxPool3D", [input]) as scope:
        return _pooled(
            "MaxPool3D", convert_to_tensor(input, name="input"), ksize, strides, padding, data_format, scope
        )


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """The mean of each window of volumes, without padding (`tf.nn.avg_pool3d`); see `max_pool3d`."""
    with name_scope(name, "AvgPool3D", [input]) as scope:
        return _pooled(
            "AvgPool3D", convert_to_tensor(input, name="value"), ksize, strides, padding, data_format, scope
        )
