"""Normalization: the fused batch normalization ops, moments, `tf.nn.batch_normalization`, l2_normalize."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.shape_rules import merge_dim, with_rank

_EPSILON = "epsilon: float = 9.999999747378752e-05"
_FACTOR = "exponential_avg_factor: float = 1.0"
_TRAINING = "is_training: bool = true"
_SMALL = ("T: {float16, bfloat16, float32}", "U: {float32}")
_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'
_FORMAT_3D = 'data_format: {"NHWC", "NCHW", "NDHWC", "NCDHW"} = "NHWC"'


def _channel(op: RuleNode, dims: Dims) -> tuple[tuple[int | None, ...], int]:
    """The images' shape, and the index of the channels' dimension."""
    data_format = op.attrs["data_format"]
    images = with_rank(dims, len(data_format))
    return images, 1 if data_format in (b"NCHW", b"NCDHW") else len(images) - 1


def _forward(op: RuleNode) -> list[Dims]:
    images, axis = _channel(op, op.inputs[0].dims)
    channels = images[axis]
    # In training, mean and variance may be empty.
    for tensor in op.inputs[1 : 3 if op.attrs["is_training"] else 5]:
        channels = merge_dim(channels, with_rank(tensor.dims, 1)[0])
    vector = (channels,)
    images = (*images[:axis], channels, *images[axis + 1 :])
    outputs: list[Dims] = [images, vector, vector, vector, vector]
    return [*outputs, None] if op.type.endswith("V3") else outputs


def _backward(op: RuleNode) -> list[Dims]:
    images, axis = _channel(op, op.inputs[0].dims)
    channels = merge_dim(images[axis], with_rank(op.inputs[2].dims, 1)[0])
    images = (*images[:axis], channels, *images[axis + 1 :])
    return [images, (channels,), (channels,), (0,), (0,)]


_SAVED = "reserve_space_1: U, reserve_space_2: U"
op(
    "FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T) -> "
    "(y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T)",
    "T: {float32}",
    _EPSILON,
    _FACTOR,
    _FORMAT,
    _TRAINING,
    shape=_forward,
)
op(
    "FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U) -> "
    f"(y: T, batch_mean: U, batch_variance: U, {_SAVED})",
    *_SMALL,
    _EPSILON,
    _FACTOR,
    _FORMAT,
    _TRAINING,
    shape=_forward,
)
op(
    "FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U) -> "
    f"(y: T, batch_mean: U, batch_variance: U, {_SAVED}, reserve_space_3: U)",
    _SMALL[0],
    "U: {bfloat16, float32}",
    _EPSILON,
    _FACTOR,
    _FORMAT_3D,
    _TRAINING,
    shape=_forward,
)
op(
    "FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> "
    "(x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)",
    "T: {float32}",
    _EPSILON,
    _FORMAT,
    _TRAINING,
    shape=_backward,
)
op(
    f"FusedBatchNormGradV2(y_backprop: T, x: T, scale: float32, {_SAVED}) -> "
    "(x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U)",
    *_SMALL,
    _EPSILON,
    _FORMAT,
    _TRAINING,
    shape=_backward,
)
op(
    f"FusedBatchNormGradV3(y_backprop: T, x: T, scale: float32, {_SAVED}, reserve_space_3: U) -> "
    "(x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U)",
    *_SMALL,
    _EPSILON,
    _FORMAT_3D,
    _TRAINING,
    shape=_backward,
)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalization of images in one op (`tf.nn.fused_batch_norm`).

    Args:
        x: images in `data_format`.
        scale, offset: one number for each channel.
        mean, variance: the moments to normalize by if not `is_training`; in training the running averages,
            which are needed if `exponential_avg_factor` is not 1.
        exponential_avg_factor: the weight of the batch in the running averages.

    Returns:
        The normalized images; the (running) mean and the (running) variance.

    Raises:
        ValueError: mean or variance is missing.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` {variance!r}"
        )
    x = convert_to_tensor(x, name="input")
    scale, offset = convert_to_tensor(scale, name="scale"), convert_to_tensor(offset, name="offset")
    mean = constant([], dtype=scale.dtype.base) if mean is None else mean
    variance = constant([], dtype=scale.dtype.base) if variance is None else variance
    outputs = apply_op(
        "FusedBatchNormV3",
        x,
        scale,
        offset,
        mean,
        variance,
        # The least epsilon that cuDNN takes.
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return outputs[0], outputs[1], outputs[2]


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance over some dimensions (`tf.nn.moments`).

    Args:
        shift: not used.
        keepdims: keep the dimensions, of size 1. `keep_dims` is the old name of it.

    Example:
        >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), [0])
        >>> tf.Session().run([mean, variance])
        [np.float32(2.0), np.float32(1.0)]
    """
    keep = bool(keepdims if keepdims is not None else keep_dims)
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        # float16 has too few digits for sums of squares.
        y = cast(x, dtypes.float32) if x.dtype.base is dtypes.float16 else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        difference = apply_one("SquaredDifference", y, apply_one("StopGradient", mean))
        variance = reduce_mean(difference, axes, keepdims=True, name="variance")
        if not keep:
            squeezed = _axes_list(axes, x)
            mean, variance = (apply_one("Squeeze", t, squeeze_dims=squeezed) for t in (mean, variance))
        if x.dtype.base is dtypes.float16:
            mean, variance = cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def _axes_list(axes: Any, x: Tensor) -> list[int]:
    return [int(a) for a in axes] if hasattr(axes, "__len__") else [int(axes)]


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + variance_epsilon) · scale + offset (`tf.nn.batch_normalization`).

    Args:
        scale, offset: may be None.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        factor: Any = apply_one("Rsqrt", convert_to_tensor(variance) + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        # The order decides the names of the operations: programs look for "batchnorm/mul_1".
        dtype = x.dtype.base if isinstance(x, Tensor) else None
        scaled: Any = x * (factor if dtype is None else cast(factor, dtype))
        rest = offset - mean * factor if offset is not None else -mean * factor
        result: Tensor = scaled + (rest if dtype is None else cast(rest, dtype))
        return result


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """x / sqrt(max(sum of squares along `axis`, epsilon)) (`tf.nn.l2_normalize`).

    `dim` is the old name of `axis`.
    """
    axis = dim if axis is None else axis
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.base.is_complex:
            total = reduce_sum(apply_one("Mul", x, apply_one("Conj", x)), axis, keepdims=True)
            total = apply_one(
                "Real", total, Tout=dtypes.float32 if x.dtype.base.size == 8 else dtypes.float64
            )
            inverse = cast(apply_one("Rsqrt", apply_one("Maximum", total, epsilon)), x.dtype.base)
            return apply_one("Mul", x, inverse, name=scope)
        total = reduce_sum(apply_one("Square", x), axis, keepdims=True)
        inverse = apply_one("Rsqrt", apply_one("Maximum", total, epsilon))
        return apply_one("Mul", x, inverse, name=scope)
