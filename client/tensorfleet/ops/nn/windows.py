"""Sliding windows over images and volumes: their number, and the padding they need.

Shared by the shape rules and the kernels of convolution and pooling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STRIDES = "strides: list(int)"
PADDING = 'padding: {"SAME", "VALID", "EXPLICIT"}'
EXPLICIT_PADDINGS = "explicit_paddings: list(int) = []"
DATA_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'
DILATIONS = "dilations: list(int) = [1, 1, 1, 1]"

# Of volumes:
STRIDES_3D = "strides: list(int) >= 5"
PADDING_3D = 'padding: {"SAME", "VALID"}'
DATA_FORMAT_3D = 'data_format: {"NDHWC", "NCDHW"} = "NDHWC"'
DILATIONS_3D = "dilations: list(int) = [1, 1, 1, 1, 1]"


@dataclass(frozen=True, slots=True)
class Span:
    """The `count` windows along one dimension of the input, with the padding at both ends."""

    count: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a node, as its attributes describe them.

    Dimensions of space are height and width of images; depth, height and width of volumes.

    Attributes:
        channels_first: images are [batch, channels, height, width] instead of channels last.
        strides, dilations: one number for each dimension of space.
        explicit: (before, after) for each dimension of space; zeros unless `padding` is b"EXPLICIT".
    """

    channels_first: bool
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: bytes
    explicit: tuple[tuple[int, int], ...]

    @property
    def channel_axis(self) -> int:
        return 1 if self.channels_first else len(self.strides) + 1

    @property
    def space_axes(self) -> range:
        """The axes of the dimensions of space."""
        first = 2 if self.channels_first else 1
        return range(first, first + len(self.strides))

    def span(self, axis: int, size: int, window: int) -> Span:
        """The windows along a dimension of space; `axis` 0 is the first one.

        Raises:
            ValueError: a window is larger than the input.
        """
        stride, reach = self.strides[axis], (window - 1) * self.dilations[axis] + 1
        if self.padding == b"SAME":
            count = -(-size // stride)
            padding = max((count - 1) * stride + reach - size, 0)
            return Span(count, padding // 2, padding - padding // 2)
        before, after = self.explicit[axis]
        if size + before + after < reach:
            raise ValueError(
                f"Negative dimension size caused by subtracting {reach} from {size + before + after}"
            )
        return Span((size + before + after - reach) // stride + 1, before, after)

    def running_span(self, axis: int, size: int, window: int) -> Span:
        """`span` in a step, where an input that a window just does not fit into has no windows.

        Raises:
            ValueError: a window is larger than the input by a stride or more.
        """
        stride, reach = self.strides[axis], (window - 1) * self.dilations[axis] + 1
        before, after = (0, 0) if self.padding == b"SAME" else self.explicit[axis]
        if self.padding == b"SAME" or size + before + after >= reach:
            return self.span(axis, size, window)
        over = size + before + after - reach + stride
        if over <= -stride:
            raise ValueError(
                f"Computed output size would be negative: {-(-over // stride)} [input_size: {size}, "
                f"effective_filter_size: {reach}, stride: {stride}]"
            )
        return Span(0, before, after)

    def count(self, axis: int, size: int | None, window: int | None) -> int | None:
        """The number of windows along a dimension of space; None if it is not known."""
        if size is None or (window is None and self.padding != b"SAME"):
            return None
        return self.span(axis, size, 1 if window is None else window).count

    def shape(self, batch: int | None, space: Any, channels: int | None) -> tuple[int | None, ...]:
        """The shape of images or volumes, in the node's data format."""
        return (batch, channels, *space) if self.channels_first else (batch, *space, channels)


def windows_of(attrs: dict[str, Any]) -> Windows:
    """The windows that a node's attributes describe.

    Raises:
        ValueError: invalid attributes.
    """
    data_format = attrs.get("data_format", b"NHWC")
    rank = 5 if b"D" in data_format else 4
    first = 2 if data_format in (b"NCHW", b"NCDHW") else 1
    space = slice(first, first + rank - 2)
    strides, dilations = attrs["strides"], attrs.get("dilations", [1] * rank)
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != rank:
            raise ValueError(
                f"Sliding window {name} field must specify {rank} dimensions, but got: {len(values)}"
            )
    if min(strides[space]) <= 0 or min(dilations[space]) <= 0:
        raise ValueError("Inner dimension strides and dilations must be greater than 0")
    flat = attrs.get("explicit_paddings") or [0] * (2 * rank)
    if attrs["padding"] != b"EXPLICIT" and any(flat):
        raise ValueError("explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT")
    if len(flat) != 2 * rank:
        raise ValueError(f"explicit_paddings attribute must contain {2 * rank} values, but got: {len(flat)}")
    if min(flat) < 0:
        raise ValueError("All elements of explicit_paddings must be nonnegative")
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
    if any(any(pair) for axis, pair in enumerate(pairs) if axis not in range(rank)[space]):
        raise ValueError("Nonzero explicit padding in the batch or depth dimensions is not supported")
    return Windows(first == 2, tuple(strides[space]), tuple(dilations[space]), attrs["padding"], pairs[space])


def conv_windows(attrs: dict[str, Any], rank: int) -> Windows:
    """The windows of a `Conv`, whose filter has `rank` dimensions.

    Raises:
        ValueError: invalid attributes.
    """
    is_first = attrs["data_format"] == b"CHANNELS_FIRST"
    formats = {4: (b"NHWC", b"NCHW"), 5: (b"NDHWC", b"NCDHW")}
    dilations = attrs["dilations"] or [1] * rank
    return windows_of({**attrs, "data_format": formats[rank][is_first], "dilations": dilations})


def spread(value: Any, data_format: str, name: str) -> list[int]:
    """One number for each dimension of images or volumes.

    Args:
        value: one number for all dimensions of space, one for each of them, or one for each dimension.
        name: the name of the argument, for the error.

    Raises:
        ValueError: a wrong number of values.
    """
    space = 3 if "D" in data_format else 2
    numbers = list(value) if isinstance(value, (list, tuple)) or hasattr(value, "__len__") else [value]
    if len(numbers) == space + 2:
        return numbers
    if len(numbers) not in (1, space):
        raise ValueError(
            f"{name} should be of length 1, {space} or {space + 2}. Received: {name}={value} of length "
            f"{len(numbers)}"
        )
    numbers *= space // len(numbers)
    return [1, 1, *numbers] if data_format.startswith("NC") else [1, *numbers, 1]
