"""What convolution and pooling kernels share: images with channels last, padded, and windows of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet import errors
from tensorfleet.dims import format_dims
from tensorfleet.ops.nn_windows import Windows, windows_of
from tensorfleet_service.kernels.blocks import BLOCK_BYTES


def node_windows(attrs: dict[str, Any]) -> Windows:
    """The windows of a node.

    Raises:
        InvalidArgumentError: attributes that make no sense.
    """
    try:
        return windows_of(attrs)
    except ValueError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


class Geometry:
    """The windows over images of one size.

    Attributes:
        out: how many windows there are along height and width.
        pad: ((before, after), (before, after)).
        size: height and width of the padded image.
    """

    __slots__ = ("dilations", "out", "pad", "size", "strides", "window")

    def __init__(self, windows: Windows, size: tuple[int, ...], window: tuple[int, ...]) -> None:
        try:
            spans = [windows.span(axis, size[axis], window[axis]) for axis in (0, 1)]
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
        (top, _), (left, _) = self.pad
        full = xp.full((len(images), *self.size, *images.shape[3:]), fill, images.dtype)
        full[:, top : top + images.shape[1], left : left + images.shape[2]] = images
        return full

    def inner(self, padded: Any) -> Any:
        """The images without their padding."""
        (top, bottom), (left, right) = self.pad
        return padded[:, top : padded.shape[1] - bottom, left : padded.shape[2] - right]

    def at(self, row: int, column: int) -> tuple[Any, ...]:
        """The index of what all windows see at (row, column) of theirs, in padded images."""
        parts: list[Any] = [slice(None)]
        for axis, offset in enumerate((row, column)):
            start, stride = offset * self.dilations[axis], self.strides[axis]
            parts.append(slice(start, start + (self.out[axis] - 1) * stride + 1, stride))
        return tuple(parts)

    def positions(self) -> list[tuple[int, int]]:
        """All (row, column) of a window."""
        return [(row, column) for row in range(self.window[0]) for column in range(self.window[1])]

    def patches(self, xp: Any, padded: Any) -> Any:
        """A view [batch, out height, out width, window height, window width, channels] of padded images."""
        batch, high, wide, deep = padded.strides
        (down, right), (row, column) = self.strides, self.dilations
        return xp.lib.stride_tricks.as_strided(
            padded,
            (len(padded), *self.out, *self.window, padded.shape[3]),
            (batch, high * down, wide * right, high * row, wide * column, deep),
        )

    def backwards(self) -> Geometry | None:
        """The windows of outputs that see each element of an image, where neighbours see neighbours.

        None where the padding is larger than a window, so that not all outputs would be seen.
        """
        (top, bottom), (left, right) = self.pad
        high, wide = self.window
        if max(top, bottom) >= high or max(left, right) >= wide:
            return None
        made = object.__new__(Geometry)
        made.out = (self.size[0] - top - bottom, self.size[1] - left - right)
        made.pad = ((high - 1 - top, high - 1 - bottom), (wide - 1 - left, wide - 1 - right))
        made.size = (made.out[0] + high - 1, made.out[1] + wide - 1)
        made.strides = made.dilations = (1, 1)
        made.window = self.window
        return made


def rows_of_patches(geometry: Geometry, images: Any) -> int:
    """Of how many rows of windows the patches fit the cache."""
    row: int = geometry.out[1] * geometry.window[0] * geometry.window[1] * images.shape[3] * images.itemsize
    return max(1, min(geometry.out[0], BLOCK_BYTES // row))


def each_image(images: Any, geometry: Geometry, part: tuple[int, int]) -> Iterator[tuple[int, Any]]:
    """The numbers of images, and the patches [out height, out width, *window, channels] of each in turn."""
    if not geometry.is_padded:
        patches = geometry.patches(np, images)
        for i in range(*part):
            yield i, patches[i]
        return
    padded = np.zeros((1, *geometry.size, images.shape[3]), images.dtype)
    inner, patches = geometry.inner(padded)[0], geometry.patches(np, padded)[0]
    for i in range(*part):
        inner[...] = images[i]
        yield i, patches


def channels_last(xp: Any, images: Any, windows: Windows) -> Any:
    """Images as [batch, height, width, channels]."""
    return xp.ascontiguousarray(images.transpose(0, 2, 3, 1)) if windows.channels_first else images


def as_formatted(xp: Any, images: Any, windows: Windows) -> Any:
    """Images with channels last, in the node's data format."""
    return xp.ascontiguousarray(images.transpose(0, 3, 1, 2)) if windows.channels_first else images


def check_rank_4(value: Any, name: str) -> None:
    """Raises InvalidArgumentError for an array of another rank."""
    if value.ndim != 4:
        raise errors.InvalidArgumentError(
            None, None, f"{name} must be 4-dimensional{format_dims(value.shape)}"
        )
