"""Activations: functions of each element, or of each vector of logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors, shapes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.shape_rules import merge_dim, scalar, unchanged, with_rank, with_rank_at_least

op("Relu(features: T) -> (activations: T)", f"T: {{{ORDERED}, qint8}}", shape=unchanged)
op("Relu6(features: T) -> (activations: T)", f"T: {{{ORDERED}}}", shape=unchanged)
_FLOATS = "T: {float16, bfloat16, float32, float64}"
for _name in ("Elu", "Selu", "Softplus", "Softsign"):
    op(f"{_name}(features: T) -> (activations: T)", _FLOATS, shape=unchanged)
op(
    "LeakyRelu(features: T) -> (activations: T)",
    "alpha: float = 0.20000000298023224",
    f"{_FLOATS} = float32",
    shape=unchanged,
)


def _same_shapes(operation: RuleNode) -> list[Dims]:
    return [shapes.merge(operation.inputs[0].dims, operation.inputs[1].dims)]


for _name in ("Relu", "Relu6"):
    op(f"{_name}Grad(gradients: T, features: T) -> (backprops: T)", f"T: {{{ORDERED}}}", shape=_same_shapes)
for _name in ("Elu", "Selu"):
    op(f"{_name}Grad(gradients: T, outputs: T) -> (backprops: T)", _FLOATS, shape=_same_shapes)
for _name in ("Softplus", "Softsign"):
    op(f"{_name}Grad(gradients: T, features: T) -> (backprops: T)", _FLOATS, shape=_same_shapes)
op(
    "LeakyReluGrad(gradients: T, features: T) -> (backprops: T)",
    "alpha: float = 0.20000000298023224",
    f"{_FLOATS} = float32",
    shape=_same_shapes,
)
op("L2Loss(t: T) -> (output: T)", _FLOATS, shape=scalar)


def _logits_shape(operation: RuleNode) -> list[Dims]:
    return [with_rank_at_least(operation.inputs[0].dims, 1)]


op("Softmax(logits: T) -> (softmax: T)", _FLOATS, shape=_logits_shape)
op("LogSoftmax(logits: T) -> (logsoftmax: T)", _FLOATS, shape=_logits_shape)


def _bias_shape(operation: RuleNode) -> list[Dims]:
    value, bias = operation.inputs
    channels_first = operation.attrs.get("data_format") == b"NCHW"
    dims = with_rank_at_least(value.dims, 3 if channels_first else 2)
    bias_dims = with_rank(bias.dims, 1)
    assert bias_dims is not None
    if dims is None:
        return [None]
    axis = 1 if channels_first else len(dims) - 1
    return [(*dims[:axis], merge_dim(dims[axis], bias_dims[0]), *dims[axis + 1 :])]


op(
    "BiasAdd(value: T, bias: T) -> (output: T)",
    "T: {number}",
    'data_format: {"NHWC", "NCHW"} = "NHWC"',
    shape=_bias_shape,
)


def _bias_grad_shape(operation: RuleNode) -> list[Dims]:
    channels_first = operation.attrs["data_format"] == b"NCHW"
    dims = with_rank_at_least(operation.inputs[0].dims, 3 if channels_first else 2)
    return [(None if dims is None else dims[1 if channels_first else -1],)]


op(
    "BiasAddGrad(out_backprop: T) -> (output: T)",
    "T: {number}",
    'data_format: {"NHWC", "NCHW"} = "NHWC"',
    shape=_bias_grad_shape,
)
op("BiasAddV1(value: T, bias: T) -> (output: T)", "T: {number}", shape=_bias_shape)


@takes_composites
def relu(features: Any, name: str | None = None) -> Tensor:
    """max(x, 0) (`tf.nn.relu`).

    Example:
        >>> tf.Session().run(tf.nn.relu([-1.0, 2.0]))
        array([0., 2.], dtype=float32)
    """
    return apply_one("Relu", features, name=name)


@takes_composites
def relu6(features: Any, name: str | None = None) -> Tensor:
    """min(max(x, 0), 6) (`tf.nn.relu6`)."""
    with get_default_graph().name_scope(name or "Relu6") as scope:
        return apply_one("Relu6", convert_to_tensor(features, name="features"), name=scope)


@takes_composites
def elu(features: Any, name: str | None = None) -> Tensor:
    """x where x > 0, else eˣ - 1 (`tf.nn.elu`)."""
    return apply_one("Elu", features, name=name)


@takes_composites
def selu(features: Any, name: str | None = None) -> Tensor:
    """The self-normalizing exponential unit (`tf.nn.selu`): λx where x > 0, else λα(eˣ - 1)."""
    return apply_one("Selu", features, name=name)


@takes_composites
def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """max(x, alpha · x) (`tf.nn.leaky_relu`); integers become float32."""
    with get_default_graph().name_scope(name or "LeakyRelu") as scope:
        x = convert_to_tensor(features, name="features")
        if x.dtype.base.is_integer:
            x = apply_one("Cast", x, DstT=np.float32)
        if isinstance(alpha, np.ndarray):
            alpha = alpha.item()
        return apply_one("LeakyRelu", x, name=scope, alpha=alpha)


@takes_composites
def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(1 + eˣ) (`tf.nn.softplus`)."""
    return apply_one("Softplus", features, name=name)


@takes_composites
def softsign(features: Any, name: str | None = None) -> Tensor:
    """x / (|x| + 1) (`tf.nn.softsign`)."""
    return apply_one("Softsign", features, name=name)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """relu of x and -x, joined along an axis (`tf.nn.crelu`)."""
    with get_default_graph().name_scope(name or "CRelu") as scope:
        x = convert_to_tensor(features, name="features")
        both = apply_one("ConcatV2", [x, apply_one("Neg", x)], axis, name=scope)
        return apply_one("Relu", both)


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares (`tf.nn.l2_loss`), of rank 0.

    Example:
        >>> tf.Session().run(tf.nn.l2_loss([3.0, 4.0]))
        np.float32(12.5)
    """
    return apply_one("L2Loss", t, name=name)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """`value` plus a vector along its channels (`tf.nn.bias_add`).

    Args:
        value: rank 2 or more.
        bias: as many numbers as there are channels.
        data_format: "N...C" or None for channels last, "NC..." for channels in dimension 1.

    Raises:
        ValueError: another data format.

    Example:
        >>> tf.Session().run(tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]))
        array([[11., 22.]], dtype=float32)
    """
    with get_default_graph().name_scope(name or "BiasAdd") as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError(
                    f"`data_format` must be of the form `N...C` or `NC...`. Received: {data_format}"
                )
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base, name="bias")
        return apply_one("BiasAdd", value, bias, name=scope, data_format=data_format)


def _along_axis(op_type: str, logits: Any, axis: Any, name: str | None, dim: Any) -> Tensor:
    """Softmax along any axis, which is moved to the end, as the ops take only the last one."""
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'dim' and 'axis'.")
        axis = dim
    x = convert_to_tensor(logits, name="logits")
    if axis is None or axis == -1 or x.ndim is None or axis == x.ndim - 1:
        if axis not in (None, -1) and x.ndim is None:
            raise ValueError("softmax along another axis than the last needs logits of known rank")
        return apply_one(op_type, x, name=name)
    rank = x.ndim
    if not -rank <= axis < rank:
        text = f"`axis` must be in the range [{-rank}, {rank}). Received: axis={axis}"
        raise errors.InvalidArgumentError(None, None, text)
    order = np.arange(rank, dtype=np.int32)
    order[[axis, -1]] = order[[-1, axis]]
    # The exchange of two axes is its own inverse.
    swapped = apply_one(op_type, apply_one("Transpose", x, order))
    return apply_one("Transpose", swapped, order, name=name)


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """eˣ / sum(eˣ) along an axis, by default the last (`tf.nn.softmax`). `dim` is the old name of `axis`.

    Example:
        >>> tf.Session().run(tf.nn.softmax([0.0, 0.0]))
        array([0.5, 0.5], dtype=float32)
    """
    return _along_axis("Softmax", logits, axis, name, dim)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """x - log(sum(eˣ)) along an axis, by default the last (`tf.nn.log_softmax`)."""
    return _along_axis("LogSoftmax", logits, axis, name, dim)
