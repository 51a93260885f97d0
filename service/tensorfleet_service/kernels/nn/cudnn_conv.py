"""Convolutions on a GPU by cuDNN, in the data format that the images have.

The functions return None where cuDNN is not installed, or has no engine for these shapes. cuDNN pads both
sides alike: what one side has more is put around the images before, as TensorFlow does.
"""

from __future__ import annotations

from typing import Any

from tensorfleet_service.devices import cudnn
from tensorfleet_service.devices.cudnn import Convolution
from tensorfleet_service.kernels.nn.patches import Geometry

Shape = tuple[int, ...]

DTYPES = ("float16", "float32", "float64")


def convolve(xp: Any, images: Any, weights: Any, geometry: Geometry, channels_first: bool) -> Any:
    """Convolves images with weights [*window, channels of a group, filters]."""
    wanted = _convolution("fprop", images, weights.shape, geometry, channels_first)
    if wanted is None:
        return None
    out = xp.empty(_in_memory(wanted.out, channels_first), images.dtype)
    arrays = (_padded(xp, images, wanted, geometry), _filters(xp, weights, channels_first), out)
    return out if cudnn.run(xp, wanted, *arrays) else None


def images_gradient(
    xp: Any, gradient: Any, weights: Any, geometry: Geometry, channels: int, channels_first: bool
) -> Any:
    """The gradient of the images, from that of the output."""
    wanted = _convolution("dgrad", gradient, weights.shape, geometry, channels_first, channels)
    if wanted is None:
        return None
    found = xp.empty(_in_memory(wanted.images, channels_first), gradient.dtype)
    arrays = (xp.ascontiguousarray(gradient), _filters(xp, weights, channels_first), found)
    if not cudnn.run(xp, wanted, *arrays):
        return None
    return xp.ascontiguousarray(found[_inside(wanted, geometry)])


def weights_gradient(
    xp: Any, images: Any, gradient: Any, geometry: Geometry, shape: Shape, channels_first: bool
) -> Any:
    """The gradient of weights of a shape, from that of the output."""
    wanted = _convolution("wgrad", images, shape, geometry, channels_first)
    if wanted is None or not gradient.size:
        return None
    rank = len(geometry.window)
    found = xp.empty(_in_memory(wanted.filters, channels_first), images.dtype)
    arrays = (_padded(xp, images, wanted, geometry), xp.ascontiguousarray(gradient), found)
    if not cudnn.run(xp, wanted, *arrays):
        return None
    axes = (*range(2, rank + 2), 1, 0) if channels_first else (*range(1, rank + 2), 0)
    return xp.ascontiguousarray(found.transpose(axes))


def _convolution(
    kind: str,
    array: Any,
    weights: Shape,
    geometry: Geometry,
    channels_first: bool,
    channels: int | None = None,
) -> Convolution | None:
    """What cuDNN is asked for; None for what is empty, or of another dtype.

    Args:
        array: the images; or the gradient of the output, where the number of `channels` is given.
    """
    *window, depth, filters = weights
    if channels is None:
        channels = array.shape[1 if channels_first else -1]
    if array.dtype.name not in DTYPES or not array.size or 0 in (*weights, *geometry.out, channels):
        return None
    padding = tuple(min(pair) for pair in geometry.pad)
    space = tuple(n - 2 * least for n, least in zip(geometry.size, padding, strict=True))
    batch = len(array)
    return Convolution(
        kind,
        array.dtype.name,
        channels_first,
        (batch, channels, *space),
        (filters, depth, *window),
        (batch, filters, *geometry.out),
        padding,
        geometry.strides,
        geometry.dilations,
    )


def _in_memory(shape: Shape, channels_first: bool) -> Shape:
    """The order of a shape [batch or filters, channels, *space] in memory."""
    first, channels, *space = shape
    return shape if channels_first else (first, *space, channels)


def _filters(xp: Any, weights: Any, channels_first: bool) -> Any:
    """The weights in the order that cuDNN wants them in."""
    rank = weights.ndim - 2
    axes = (rank + 1, rank, *range(rank)) if channels_first else (rank + 1, *range(rank + 1))
    return xp.ascontiguousarray(weights.transpose(axes))


def _inside(wanted: Convolution, geometry: Geometry) -> tuple[slice, ...]:
    """Where the images are in those that cuDNN sees."""
    ends = zip(geometry.pad, geometry.size, wanted.padding, strict=True)
    space = [slice(before - least, n - after - least) for (before, after), n, least in ends]
    return (slice(None), slice(None), *space) if wanted.channels_first else (slice(None), *space)


def _padded(xp: Any, images: Any, wanted: Convolution, geometry: Geometry) -> Any:
    """The images, with what one side is padded by more than the other one."""
    if all(before == after for before, after in geometry.pad):
        return xp.ascontiguousarray(images)
    full = xp.zeros(_in_memory(wanted.images, wanted.channels_first), images.dtype)
    full[_inside(wanted, geometry)] = images
    return full
