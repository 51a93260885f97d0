"""Windows that slide over images: how many there are, and how much padding they need.

What convolution and pooling share, in shape rules as in kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorfleet.core.dims import Dims

STRIDES = "strides: list(int)"
PADDING = 'padding: {"SAME", "VALID", "EXPLICIT"}'
EXPLICIT_PADDINGS = "explicit_paddings: list(int) = []"
DATA_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'
DILATIONS = "dilations: list(int) = [1, 1, 1, 1]"


@dataclass(frozen=True, slots=True)
class Span:
    """The windows along one dimension: `count` of them, over the input with padding at both ends."""

    count: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows slide, as a node's attributes say. Pairs are for height and width.

    Attributes:
        channels_first: images are [batch, channels, height, width] instead of channels last.
        explicit: (before, after) for height and width, if `padding` is b"EXPLICIT".
    """

    channels_first: bool
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: bytes
    explicit: tuple[tuple[int, int], ...]

    @property
    def channel_axis(self) -> int:
        return 1 if self.channels_first else 3

    @property
    def space_axes(self) -> tuple[int, ...]:
        """The dimensions of height and width."""
        return (2, 3) if self.channels_first else (1, 2)

    def span(self, axis: int, size: int, window: int) -> Span:
        """The windows along height (0) or width (1).

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

    def count(self, axis: int, size: int | None, window: int | None) -> int | None:
        """The number of windows along height (0) or width (1), None while it is not known."""
        if size is None or (window is None and self.padding != b"SAME"):
            return None
        return self.span(axis, size, 1 if window is None else window).count

    def shape(self, batch: int | None, space: Any, channels: int | None) -> tuple[int | None, ...]:
        """The shape of images, in the node's data format."""
        return (batch, channels, *space) if self.channels_first else (batch, *space, channels)


def windows_of(attrs: dict[str, Any]) -> Windows:
    """The windows that a node's attributes describe.

    Raises:
        ValueError: attributes that make no sense.
    """
    channels_first = attrs.get("data_format") == b"NCHW"
    height = 2 if channels_first else 1
    strides, dilations = attrs["strides"], attrs.get("dilations", [1, 1, 1, 1])
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != 4:
            raise ValueError(f"Sliding window {name} field must specify 4 dimensions, but got: {len(values)}")
    if min(strides[height : height + 2]) <= 0 or min(dilations[height : height + 2]) <= 0:
        raise ValueError("Inner dimension strides and dilations must be greater than 0")
    flat = attrs.get("explicit_paddings") or [0] * 8
    if attrs["padding"] != b"EXPLICIT" and any(flat):
        raise ValueError("explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT")
    if len(flat) != 8:
        raise ValueError(f"explicit_paddings attribute must contain 8 values, but got: {len(flat)}")
    at = 2 * height
    return Windows(
        channels_first,
        (strides[height], strides[height + 1]),
        (dilations[height], dilations[height + 1]),
        attrs["padding"],
        ((flat[at], flat[at + 1]), (flat[at + 2], flat[at + 3])),
    )


def known_shape(dims: Dims) -> tuple[int | None, ...]:
    """An image's shape, of rank 4. Raises ValueError where it has another rank."""
    if dims is None:
        return (None,) * 4
    if len(dims) != 4:
        raise ValueError(f"Shape must be rank 4 but is rank {len(dims)}")
    return dims
