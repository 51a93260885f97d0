"""Windows that slide over volumes: what convolution and pooling in three dimensions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.ops.nn.windows import Windows
from tensorfleet.ops.shape_rules import with_rank

PADDING_3D = 'padding: {"SAME", "VALID"}'
DATA_FORMAT_3D = 'data_format: {"NDHWC", "NCDHW"} = "NDHWC"'
STRIDES_3D = "strides: list(int) >= 5"
DILATIONS_3D = "dilations: list(int) = [1, 1, 1, 1, 1]"


@dataclass(frozen=True, slots=True)
class Volumes(Windows):
    """How windows slide over volumes; triples are for depth, height and width."""

    @property
    def channel_axis(self) -> int:
        return 1 if self.channels_first else 4

    @property
    def space_axes(self) -> tuple[int, ...]:
        return (2, 3, 4) if self.channels_first else (1, 2, 3)


def volumes_of(attrs: dict[str, Any]) -> Volumes:
    """The windows that a node's attributes describe.

    Raises:
        ValueError: attributes that make no sense.
    """
    channels_first = attrs["data_format"] == b"NCDHW"
    first = 2 if channels_first else 1
    strides, dilations = attrs["strides"], attrs.get("dilations", [1] * 5)
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != 5:
            raise ValueError(f"Sliding window {name} field must specify 5 dimensions, but got: {len(values)}")
    if min(strides[first : first + 3]) <= 0 or min(dilations[first : first + 3]) <= 0:
        raise ValueError("Inner dimension strides and dilations must be greater than 0")
    return Volumes(
        channels_first,
        tuple(strides[first : first + 3]),
        tuple(dilations[first : first + 3]),
        attrs["padding"],
        ((0, 0),) * 3,
    )


def volume_shape(dims: Dims) -> tuple[int | None, ...]:
    """A volume's shape, of rank 5. Raises ValueError where it has another rank."""
    return with_rank(dims, 5)


def spread_3d(value: Any, data_format: str, name: str) -> list[int]:
    """Five numbers, one for each dimension of volumes, from one, three or five.

    Raises:
        ValueError: another number of them.
    """
    numbers = list(value) if isinstance(value, (list, tuple)) or hasattr(value, "__len__") else [value]
    if len(numbers) == 5:
        return numbers
    if len(numbers) not in (1, 3):
        raise ValueError(
            f"{name} should be of length 1, 3 or 5. Received: {name}={value} of length {len(numbers)}"
        )
    space = numbers * (3 // len(numbers))
    return [1, 1, *space] if data_format.startswith("NC") else [1, *space, 1]
