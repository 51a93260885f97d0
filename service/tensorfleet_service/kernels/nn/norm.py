"""Kernels of fused batch normalization, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core.dims import format_dims
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.nn import cuda_batch_norm
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid


def _by_channel(node: KernelNode) -> tuple[tuple[int, ...], Any]:
    """The axes to sum over, and a function that lines a vector of channels up with the images."""
    data_format = node.attrs["data_format"]
    axis = 1 if data_format in (b"NCHW", b"NCDHW") else len(data_format) - 1
    axes = tuple(a for a in range(len(data_format)) if a != axis)
    shape = [1] * len(data_format)
    shape[axis] = -1

    def spread(vector: Any) -> Any:
        return vector.reshape(shape)

    return axes, spread


def _as_images(x: Any, rank: int, channel_axis: int) -> Any:
    """The images or volumes, with as many dimensions as their format has.

    TensorFlow takes volumes in the formats of images, too: then depth and height become one dimension.
    """
    shape = x.shape
    if rank == 4 and x.ndim == 5:
        begin = 1 + (channel_axis == 1)
        return x.reshape(*shape[:begin], shape[begin] * shape[begin + 1], *shape[begin + 2 :])
    if x.ndim != rank:
        ranks = "4 or 5" if rank == 4 else "5"
        raise invalid(f"input must be {ranks}-dimensional{format_dims(shape)}")
    return x


def _check_channels(name: str, vector: Any, channels: int, when: str = "") -> None:
    """Raises InvalidArgumentError where `vector` has not one number for each channel."""
    if vector.ndim != 1:
        raise invalid(f"{name} must be 1-dimensional{format_dims(vector.shape)}")
    if vector.size != channels:
        raise invalid(
            f"{when}{name} must have the same number of elements as the channels of x, got {vector.size} and "
            f"{channels}"
        )


@kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(node: KernelNode) -> Kernel:
    xp, attrs = node.xp, node.attrs
    axes, spread = _by_channel(node)
    rank = len(attrs["data_format"])
    channel_axis = 1 if attrs["data_format"] in (b"NCHW", b"NCDHW") else rank - 1
    dtype = node.output_types[0].np
    epsilon, factor = np.float32(attrs["epsilon"]), np.float32(attrs["exponential_avg_factor"])
    reserved = node.op == "FusedBatchNormV3"

    def mean_of(x: Any) -> Any:
        if not x.size:  # NumPy would warn of the mean of no elements
            return xp.full(x.shape[channel_axis], np.nan, np.float32)
        return x.mean(axis=axes, dtype=np.float32)

    def compiled(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """The output, and the mean and variance that it was made with."""
        if attrs["is_training"]:
            mean, variance = np.empty_like(scale), np.empty_like(scale)
        y, rows = empty(x.shape, np.float32), x.size // scale.size
        vectors = (scale, offset, mean, variance)
        native.batch_norm(x, y, *vectors, rows, scale.size, epsilon, attrs["is_training"], thread_count())
        return y, mean, variance

    def on_gpu(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> tuple[Any, ...]:
        if not attrs["is_training"]:
            y = cuda_batch_norm.infer(xp, x, channel_axis, scale, offset, mean, variance, epsilon)
            return y, mean, variance, mean, variance
        old = None if factor == 1 else (mean, variance)
        return cuda_batch_norm.train(xp, x, channel_axis, scale, offset, old, epsilon, factor)

    def run(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> tuple[Any, ...]:
        shape = x.shape
        x = _as_images(x, rank, channel_axis)
        vectors = [("scale", scale), ("offset", offset)]
        if not attrs["is_training"] or factor != 1:
            vectors += [("mean", mean), ("variance", variance)]
        for name, vector in vectors:
            when = "When is_training=false, " if name in ("mean", "variance") and factor == 1 else ""
            _check_channels(name, vector, x.shape[channel_axis], when)
        if xp is not np and cuda_batch_norm.takes(x, scale, offset):
            y, *made = on_gpu(x, scale, offset, mean, variance)
            outputs = (y.reshape(shape), *made)
            return (*outputs, xp.zeros(0, np.float32)) if reserved else outputs
        x = x.astype(np.float32, copy=False)
        count = x.size // max(scale.size, 1)
        is_compiled = channel_axis == rank - 1 and takes(
            x, scale, offset, *(() if attrs["is_training"] else (mean, variance))
        )
        if is_compiled:
            y, used_mean, used_variance = compiled(x, scale, offset, mean, variance)
        elif attrs["is_training"]:
            used_mean = mean_of(x)
            centered = x - spread(used_mean)
            used_variance = mean_of(xp.square(centered))
        else:
            used_mean, used_variance = mean, variance
            centered = x - spread(used_mean)
        new_mean, new_variance = used_mean, used_variance
        if attrs["is_training"]:
            new_variance = used_variance * np.float32(count / max(count - 1, 1))
            if factor != 1:
                new_mean = mean * (1 - factor) + new_mean * factor
                new_variance = variance * (1 - factor) + new_variance * factor
        if not is_compiled:
            centered *= spread(scale / xp.sqrt(used_variance + epsilon))
            centered += spread(offset)
            y = centered
        outputs = (
            y.astype(dtype, copy=False).reshape(shape),
            new_mean,
            new_variance,
            used_mean,
            used_variance,
        )
        return (*outputs, xp.zeros(0, np.float32)) if reserved else outputs

    return run


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def fused_batch_norm_grad(node: KernelNode) -> Kernel:
    xp, attrs = node.xp, node.attrs
    axes, spread = _by_channel(node)
    channels_last = axes == tuple(range(len(axes)))
    dtype = node.output_types[0].np
    epsilon = np.float32(attrs["epsilon"])

    def compiled(gradient: Any, x: Any, scale: Any, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        own, scale_gradient = empty(x.shape, np.float32), np.empty_like(scale)
        offset_gradient = np.empty_like(scale)
        arrays = (gradient, x, scale, mean, variance, own, scale_gradient, offset_gradient)
        rows = x.size // scale.size
        native.batch_norm_grad(*arrays, rows, scale.size, epsilon, attrs["is_training"], thread_count())
        return own, scale_gradient, offset_gradient

    channel_axis = len(axes) if channels_last else 1

    def run(gradient: Any, x: Any, scale: Any, mean: Any, variance: Any, *_: Any) -> tuple[Any, ...]:
        if gradient.shape != x.shape:
            raise invalid(
                f"x and y_backprop must have same shape, but x has shape {format_dims(x.shape)} and "
                f"y_backprop has shape {format_dims(gradient.shape)}"
            )
        shape = x.shape
        x, gradient = (_as_images(value, len(axes) + 1, channel_axis) for value in (x, gradient))
        for name, vector in (("scale", scale), ("reserve_space_1", mean), ("reserve_space_2", variance)):
            _check_channels(name, vector, x.shape[channel_axis])
        if xp is not np and gradient.dtype == x.dtype and cuda_batch_norm.takes(x, scale, mean, variance):
            vectors = (scale, mean, variance, epsilon, attrs["is_training"])
            own, *others = cuda_batch_norm.gradients(xp, gradient, x, channel_axis, *vectors)
            return (own.reshape(shape), *others, xp.zeros(0, np.float32), xp.zeros(0, np.float32))
        gradient = gradient.astype(np.float32, copy=False)
        if (
            channels_last
            and takes(gradient, x, scale, mean, variance)
            and gradient.shape == x.shape
            and x.shape[-1:] == scale.shape == mean.shape == variance.shape
        ):
            nothing = np.zeros(0, np.float32)
            own, *others = compiled(gradient, x, scale, mean, variance)
            return (own.reshape(shape), *others, nothing, nothing)
        count = np.float32(x.size // max(scale.size, 1))
        inverse = 1 / xp.sqrt(variance + epsilon)
        normal = x.astype(np.float32, copy=False) - spread(mean)
        normal *= spread(inverse)
        offset_gradient = gradient.sum(axis=axes)
        scale_gradient = (gradient * normal).sum(axis=axes)
        if attrs["is_training"]:
            normal *= spread(scale_gradient / -count)
            normal += gradient
            normal -= spread(offset_gradient / count)
            normal *= spread(scale * inverse)
        else:
            normal = gradient * spread(scale * inverse)
        empty = xp.zeros(0, np.float32)
        return normal.astype(dtype, copy=False).reshape(shape), scale_gradient, offset_gradient, empty, empty

    return run
