"""Convolutions of float32 images by the compiled kernels, which read windows where they lie.

The functions return None where the compiled kernels are not installed, or not for these arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import MOST_AT_ONCE, thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.nn.patches import Geometry

_Pair = tuple[int, ...]

_MOST = 1 << 30
_MOST_TAPS = 1 << 16
"""The greatest size or step, and the number of elements of a window, that the compiled kernels take."""


@dataclass(slots=True)
class _Phase:
    """The elements of images that are at the same place between two windows, along each axis.

    Attributes:
        place: where they are in the images.
        seen_by: the elements of the windows that see them.
        window: how many those are.
        out: how many elements of the images.
        before: the padding of the gradient of the output.
    """

    place: tuple[slice, ...]
    seen_by: tuple[slice, ...]
    window: _Pair
    out: _Pair
    before: _Pair

    def places(self, size: _Pair) -> tuple[int, ...]:
        """The place in images of a size, for the compiled kernels: size, first element, steps."""
        return (*size, *(part.start for part in self.place), *(part.step for part in self.place))


def convolve(images: Any, weights: Any, geometry: Geometry) -> Any:
    """Images [n, height, width, c] with weights [*window, c, f]: [n, *out, f]."""
    work = len(images) * prod(geometry.out) * weights.size
    if work > MOST_AT_ONCE or not _takes(geometry, images, weights):
        return None
    return _convolve(images, weights, geometry.out, geometry.strides, geometry.dilations, _before(geometry))


def _convolve(
    images: Any,
    weights: Any,
    out: _Pair,
    strides: _Pair,
    dilations: _Pair,
    before: _Pair,
    is_turned: bool = False,
    whole: Any = None,
    places: tuple[int, ...] | None = None,
) -> Any:
    """With `is_turned`, the weights are [*window, f, c], and both axes of windows go backwards.

    With `whole` the result is some of its pixels, where `places` says (see `_Phase.places`).
    """
    window, filters = weights.shape[:2], weights.shape[2 if is_turned else 3]
    result = empty((len(images), *out, filters), np.float32) if whole is None else whole
    native.convolve(
        images,
        weights,
        result,
        images.shape,
        out,
        window,
        strides,
        dilations,
        before,
        filters,
        thread_count(),
        is_turned,
        places,
    )
    return result


def weights_gradient(images: Any, gradient: Any, geometry: Geometry) -> Any:
    """The gradient of the weights, from that of the output [n, *out, f]: [*window, c, f]."""
    work = gradient.size * prod(geometry.window) * images.shape[-1]
    if work > MOST_AT_ONCE or not _takes(geometry, images, gradient):
        return None
    filters = gradient.shape[-1]
    result = np.empty((*geometry.window, images.shape[-1], filters), np.float32)
    native.convolve_filter(images, gradient, result, *_sizes(geometry, images), filters, thread_count())
    return result


def images_gradient(gradient: Any, weights: Any, geometry: Geometry) -> Any:
    """The gradient of the images, from that of the output, for windows without dilations: [n, *size, c]."""
    work = gradient.size * weights.size // weights.shape[-1] if weights.size else 0
    if work > MOST_AT_ONCE or not _takes(geometry, gradient, weights) or max(geometry.dilations) > 1:
        return None
    size = tuple(n - sum(pad) for n, pad in zip(geometry.size, geometry.pad, strict=True))
    if max(geometry.strides) == 1 and min(size) > 0:
        before = tuple(n - 1 - pad for n, (pad, _) in zip(geometry.window, geometry.pad, strict=True))
        if min(before) < 0:
            return None  # windows that lie in the padding alone
        return _convolve(gradient, weights, size, (1, 1), (1, 1), before, is_turned=True)
    phases = list(_phases(geometry))
    if any(min(phase.before) < 0 for phase in phases):
        return None
    result = empty((len(gradient), *size, weights.shape[2]), np.float32)
    if not all(prod(phase.window) for phase in phases):
        result.fill(0)  # elements that no window sees, with what lies between them: faster than by themselves
    for phase in phases:
        if prod(phase.window):
            own, places = np.ascontiguousarray(weights[phase.seen_by]), phase.places(size)
            _convolve(gradient, own, phase.out, (1, 1), (1, 1), phase.before, True, result, places)
    return result


def depthwise(images: Any, weights: Any, geometry: Geometry) -> Any:
    """Images [n, height, width, c] with one filter for each channel, [*window, c, 1]: [n, *out, c]."""
    if weights.shape[3] != 1 or not _takes(geometry, images, weights):
        return None
    result = empty((len(images), *geometry.out, images.shape[-1]), np.float32)
    native.depthwise(images, weights, result, *_sizes(geometry, images), thread_count())
    return result


def depthwise_weights_gradient(images: Any, gradient: Any, geometry: Geometry) -> Any:
    """The gradient of `depthwise`'s weights, from that of the output [n, *out, c]: [*window, c, 1]."""
    if images.shape[-1] != gradient.shape[-1] or not _takes(geometry, images, gradient):
        return None
    result = np.empty((*geometry.window, images.shape[-1], 1), np.float32)
    native.depthwise_filter(images, gradient, result, *_sizes(geometry, images), thread_count())
    return result


def depthwise_images_gradient(gradient: Any, weights: Any, geometry: Geometry) -> Any:
    """The gradient of `depthwise`'s images, for windows without strides or dilations: [n, *size, c]."""
    back = geometry.backwards() if max(geometry.strides) == max(geometry.dilations) == 1 else None
    if back is None or weights.shape[3] != 1:
        return None
    return depthwise(gradient, np.ascontiguousarray(weights[::-1, ::-1]), back)


def _takes(geometry: Geometry, *arrays: Any) -> bool:
    """Whether the compiled kernels take these arrays, of which the first are images, and these windows."""
    return takes(*arrays) and all(array.size for array in arrays) and _fits(geometry)


@lru_cache(256)  # nodes keep their geometries
def _fits(geometry: Geometry) -> bool:
    """Whether windows are such as the compiled kernels take."""
    return (
        len(geometry.window) == 2
        and min(geometry.out) > 0
        and max(*geometry.size, *geometry.strides, *geometry.dilations, *geometry.window) <= _MOST
        and prod(geometry.window) <= _MOST_TAPS
    )


def _before(geometry: Geometry) -> _Pair:
    return tuple(pad for pad, _ in geometry.pad)


def _sizes(geometry: Geometry, images: Any) -> tuple[_Pair, ...]:
    """The sizes of images and windows in the form of the compiled kernels."""
    return (
        images.shape,
        geometry.out,
        geometry.window,
        geometry.strides,
        geometry.dilations,
        _before(geometry),
    )


def _phases(geometry: Geometry) -> Iterator[_Phase]:
    """The gradient of images under windows with strides, as convolutions of the output's gradient without."""
    axes = []
    for size, (before, after), window, stride in zip(
        geometry.size, geometry.pad, geometry.window, geometry.strides, strict=True
    ):
        inner, own = size - before - after, []
        # Of a stride longer than the image, which may be of any length, most phases see nothing of it.
        for phase in sorted({at % stride for at in range(before, before + min(inner, stride))}):
            # Of the elements phase, phase + stride, … of the padded image, those in the image.
            first, end = (max(0, -(-(edge - phase) // stride)) for edge in (before, before + inner))
            taps = len(range(phase, window, stride))
            place = slice(phase + first * stride - before, inner, stride)
            if end > first:
                own.append(
                    (place, slice(phase, None, stride), taps, end - first, taps - 1 - first if taps else 0)
                )
        axes.append(own)
    for parts in product(*axes):
        place, seen_by, window, out, before = zip(*parts, strict=True)
        yield _Phase(place, seen_by, window, out, before)
