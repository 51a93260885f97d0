"""Common parts of convolution and pooling: padded images or volumes, and the windows over them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.ops.nn.windows import Windows, windows_of
from tensorfleet_service.devices.blocks import BLOCK_BYTES
from tensorfleet_service.threads.running import check as check_step

Position = tuple[int, ...]
"""(row, column), or (plane, row, column)."""


def node_windows(attrs: dict[str, Any]) -> Windows:
    """The windows of a node, over volumes where its data format has a depth.

    Raises:
        InvalidArgumentError: the attributes describe no windows.
    """
    try:
        return windows_of(attrs)
    except ValueError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


def convolution_windows(attrs: dict[str, Any]) -> Windows:
    """The windows of a convolution's node.

    Raises:
        InvalidArgumentError: the attributes describe no windows.
        UnimplementedError: the windows skip images or channels.
    """
    windows = node_windows(attrs)
    others = (0, windows.channel_axis)
    for name in ("strides", "dilations"):
        if any(attrs.get(name, [1] * rank_of(windows))[axis] != 1 for axis in others):
            text = f"Current implementation does not yet support {name} in the batch and depth dimensions."
            raise errors.UnimplementedError(None, None, text)
    return windows


class Geometry:
    """The windows over images or volumes of one size.

    Attributes:
        out: how many windows there are along (depth,) height and width.
        pad: (before, after) of each.
        size: (depth,) height and width of the padded images.
    """

    __slots__ = ("dilations", "out", "pad", "size", "strides", "window")

    def __init__(self, windows: Windows, size: tuple[int, ...], window: tuple[int, ...]) -> None:
        try:
            sizes = enumerate(zip(size, window, strict=True))
            spans = [windows.running_span(axis, *pair) for axis, pair in sizes]
        except ValueError as e:
            raise errors.InvalidArgumentError(None, None, str(e)) from None
        self.out = tuple(span.count for span in spans)
        self.pad = tuple((span.before, span.after) for span in spans)
        self.size = tuple(n + span.before + span.after for n, span in zip(size, spans, strict=True))
        self.strides, self.dilations, self.window = windows.strides, windows.dilations, tuple(window)

    @property
    def is_padded(self) -> bool:
        return any(n for pair in self.pad for n in pair)

    def padded(self, xp: Any, images: Any, fill: Any = 0) -> Any:
        """Images [batch, height, width, …] with their padding around."""
        if not self.is_padded:
            return images
        full = xp.full((len(images), *self.size, *images.shape[len(self.size) + 1 :]), fill, images.dtype)
        self.inner(full)[...] = images
        return full

    def inner(self, padded: Any) -> Any:
        """The images without their padding."""
        ends = zip(self.pad, self.size, strict=True)
        return padded[(slice(None), *(slice(before, n - after) for (before, after), n in ends))]

    def at(self, position: Position) -> tuple[slice, ...]:
        """The index, in padded images, of the elements at one position of all windows."""
        parts = [slice(None)]
        for offset, step, stride, count in zip(position, self.dilations, self.strides, self.out, strict=True):
            parts.append(slice(offset * step, offset * step + count * stride, stride))
        return tuple(parts)

    def positions(self) -> Iterator[Position]:
        """All positions of a window, by rows.

        Raises:
            OpError: the step has ended.
        """
        for position in product(*map(range, self.window)):
            check_step()
            yield position

    def patches(self, xp: Any, padded: Any) -> Any:
        """A view [batch, *out, *window, channels] of padded images."""
        batch, *space, deep = padded.strides
        between = (n * stride for n, stride in zip(space, self.strides, strict=True))
        within = (n * step for n, step in zip(space, self.dilations, strict=True))
        shape = (len(padded), *self.out, *self.window, padded.shape[-1])
        return xp.lib.stride_tricks.as_strided(padded, shape, (batch, *between, *within, deep))

    def backwards(self) -> Geometry | None:
        """The windows over outputs that contain each element of an image, for strides and dilations of 1.

        None where the padding is larger than a window, so that not all outputs would be seen.
        """
        pad = tuple(
            (n - 1 - before, n - 1 - after) for n, (before, after) in zip(self.window, self.pad, strict=True)
        )
        if min(map(min, pad)) < 0:
            return None
        made = object.__new__(Geometry)
        made.out = tuple(n - before - after for n, (before, after) in zip(self.size, self.pad, strict=True))
        made.pad = pad
        made.size = tuple(n + window - 1 for n, window in zip(made.out, self.window, strict=True))
        made.strides = made.dilations = (1,) * len(pad)
        made.window = self.window
        return made


class Geometries:
    """The geometries of a node, which mostly meets the same sizes again: the last one is kept."""

    __slots__ = ("_last", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._last: tuple[tuple[int, ...], tuple[int, ...], Geometry] | None = None

    def __call__(self, size: tuple[int, ...], window: tuple[int, ...]) -> Geometry:
        """The windows over images of a size.

        Raises:
            InvalidArgumentError: a window is larger than the images.
        """
        last = self._last  # other steps may run the node at the same time
        if last is None or last[0] != size or last[1] != window:
            last = self._last = size, window, Geometry(self._windows, size, window)
        return last[2]


def rows_of_patches(geometry: Geometry, images: Any) -> int:
    """The number of rows of windows whose patches fit the cache."""
    row: int = geometry.out[1] * prod(geometry.window) * images.shape[3] * images.itemsize
    return max(1, min(geometry.out[0], BLOCK_BYTES // row))


def each_image(images: Any, geometry: Geometry, part: tuple[int, int]) -> Iterator[tuple[int, Any]]:
    """The numbers of images, and the patches [out height, out width, *window, channels] of each in turn."""
    if not geometry.is_padded:
        patches = geometry.patches(np, images)
        for i in range(*part):
            check_step()
            yield i, patches[i]
        return
    padded = np.zeros((1, *geometry.size, images.shape[3]), images.dtype)
    inner, patches = geometry.inner(padded)[0], geometry.patches(np, padded)[0]
    for i in range(*part):
        check_step()
        inner[...] = images[i]
        yield i, patches


def channels_last(xp: Any, images: Any, windows: Windows) -> Any:
    """Images as [batch, height, width, channels]."""
    return xp.ascontiguousarray(xp.moveaxis(images, 1, -1)) if windows.channels_first else images


def as_formatted(xp: Any, images: Any, windows: Windows) -> Any:
    """Images with channels last, in the node's data format."""
    return xp.ascontiguousarray(xp.moveaxis(images, -1, 1)) if windows.channels_first else images


def rank_of(windows: Windows) -> int:
    """The rank of images (4) or volumes (5)."""
    return len(windows.space_axes) + 2


def check_rank(value: Any, name: str, windows: Windows) -> None:
    """Raises InvalidArgumentError for an array of another rank than images, volumes or weights have."""
    rank = rank_of(windows)
    if value.ndim != rank:
        raise errors.InvalidArgumentError(
            None, None, f"{name} must be {rank}-dimensional: {format_dims(value.shape)}"
        )


def sizes_of(value: Any, name: str, windows: Windows) -> tuple[int, ...]:
    """A shape of images, volumes or weights that came as a tensor.

    Raises:
        InvalidArgumentError: another number of dimensions, or a negative one.
    """
    rank = rank_of(windows)
    if value.shape == (rank,):
        sizes = tuple(value.tolist())
        if min(sizes) < 0:
            raise errors.InvalidArgumentError(
                None, None, f"Elements of {name} must not be negative, got {format_dims(sizes)}"
            )
        return sizes
    shape = format_dims(value.shape)
    if rank == 5:
        message = f"{name} must be a vector of 5 elements, got shape {shape}"
    elif value.ndim != 1:
        message = f"{name} must be 1-dimensional, got {shape}"
    else:
        message = f"{name} must have 4 elements, got {value.size}"
    raise errors.InvalidArgumentError(None, None, message)
