"""What kernels of convolution and pooling in three dimensions share: padded volumes, and windows of them."""

from __future__ import annotations

from itertools import product
from typing import Any

from tensorfleet import errors
from tensorfleet.dims import format_dims
from tensorfleet.ops.nn_volumes import Volumes, volumes_of

Position = tuple[int, int, int]


def node_volumes(attrs: dict[str, Any]) -> Volumes:
    """The windows of a node.

    Raises:
        InvalidArgumentError: attributes that make no sense.
    """
    try:
        return volumes_of(attrs)
    except ValueError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


class VolumeGeometry:
    """The windows over volumes of one size.

    Attributes:
        out: how many windows there are along depth, height and width.
        pad: (before, after) of each.
        size: depth, height and width of the padded volume.
    """

    __slots__ = ("_dilations", "_inner", "_strides", "out", "pad", "size", "window")

    def __init__(self, windows: Volumes, size: tuple[int, ...], window: tuple[int, ...]) -> None:
        try:
            spans = [windows.span(axis, size[axis], window[axis]) for axis in range(3)]
        except ValueError as e:
            raise errors.InvalidArgumentError(None, None, str(e)) from None
        self.out = tuple(span.count for span in spans)
        self.pad = tuple((span.before, span.after) for span in spans)
        self.size = tuple(n + span.before + span.after for n, span in zip(size, spans, strict=True))
        self.window = tuple(window)
        self._strides, self._dilations = windows.strides, windows.dilations
        parts = (slice(span.before, span.before + n) for n, span in zip(size, spans, strict=True))
        self._inner: tuple[slice, ...] = (slice(None), *parts)

    @property
    def is_padded(self) -> bool:
        return any(n for pair in self.pad for n in pair)

    def padded(self, xp: Any, volumes: Any, fill: Any = 0) -> Any:
        """Volumes [batch, depth, height, width, …] with their padding around."""
        if not self.is_padded:
            return volumes
        full = xp.full((len(volumes), *self.size, *volumes.shape[4:]), fill, volumes.dtype)
        full[self._inner] = volumes
        return full

    def inner(self, padded: Any) -> Any:
        """The volumes without their padding."""
        return padded[self._inner]

    def positions(self) -> list[Position]:
        """All (plane, row, column) of a window."""
        planes, rows, columns = self.window
        return list(product(range(planes), range(rows), range(columns)))

    def at(self, position: Position) -> tuple[slice, ...]:
        """The index of what all windows see at a position of theirs, in padded volumes."""
        parts = [slice(None)]
        for axis, offset in enumerate(position):
            start, stride = offset * self._dilations[axis], self._strides[axis]
            parts.append(
                slice(start, start + max(self.out[axis] - 1, 0) * stride + min(self.out[axis], 1), stride)
            )
        return tuple(parts)


def volumes_last(xp: Any, volumes: Any, windows: Volumes) -> Any:
    """Volumes as [batch, depth, height, width, channels]."""
    return xp.ascontiguousarray(volumes.transpose(0, 2, 3, 4, 1)) if windows.channels_first else volumes


def volumes_formatted(xp: Any, volumes: Any, windows: Volumes) -> Any:
    """Volumes with channels last, in the node's data format."""
    return xp.ascontiguousarray(volumes.transpose(0, 4, 1, 2, 3)) if windows.channels_first else volumes


def check_rank_5(value: Any, name: str) -> None:
    """Raises InvalidArgumentError for an array of another rank."""
    if value.ndim != 5:
        raise errors.InvalidArgumentError(
            None, None, f"{name} must be 5-dimensional, got {format_dims(value.shape)}"
        )


def sizes_5(value: Any, name: str) -> tuple[int, ...]:
    """A shape that came as a tensor of five numbers.

    Raises:
        InvalidArgumentError: another number of them.
    """
    if value.ndim != 1 or value.size != 5:
        raise errors.InvalidArgumentError(
            None, None, f"{name} must be a vector of 5 elements, got shape {format_dims(value.shape)}"
        )
    return tuple(value.tolist())
