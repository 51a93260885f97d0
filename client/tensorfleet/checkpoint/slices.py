"""Parts of tensors: how partitioned variables name them, in graphs and as keys of checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

from tensorfleet.core import errors
from tensorfleet.proto.tensor_slice_pb2 import TensorSliceProto

FULL = -1
"""The length that stands for the whole of a dimension."""


@dataclass(frozen=True)
class Slice:
    """A box in a tensor: the start and the length of each dimension."""

    extents: tuple[tuple[int, int], ...]

    def shape(self, full: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part of a tensor of shape `full`."""
        return tuple(
            size if length == FULL else length for size, (_, length) in zip(full, self.extents, strict=True)
        )

    def index(self, full: tuple[int, ...]) -> tuple[slice, ...]:
        """The part, as an index into the tensor."""
        starts = (start for start, _ in self.extents)
        return tuple(slice(start, start + size) for start, size in zip(starts, self.shape(full), strict=True))

    def fits(self, full: tuple[int, ...]) -> bool:
        """Whether the part is inside of a tensor of shape `full`."""
        return len(full) == len(self.extents) and all(
            length == FULL or (start >= 0 and length > 0 and start + length <= size)
            for size, (start, length) in zip(full, self.extents, strict=True)
        )

    def is_full(self, full: tuple[int, ...]) -> bool:
        """Whether it is the whole tensor."""
        return self.shape(full) == full

    def to_proto(self) -> TensorSliceProto:
        message = TensorSliceProto()
        for start, length in self.extents:
            extent = message.extent.add()
            if length != FULL:
                extent.start, extent.length = start, length
        return message

    @staticmethod
    def from_proto(message: TensorSliceProto) -> Slice:
        return Slice(
            tuple((e.start, e.length) if e.HasField("length") else (0, FULL) for e in message.extent)
        )


def parse(spec: str) -> tuple[tuple[int, ...], Slice]:
    """The shape of the whole and the part of a `shape_and_slice` such as "5 3 0,2:0,3" or "5 3 0,2:-".

    Raises:
        InvalidArgumentError: it is no such text, or the part is not inside of the whole.
    """
    *dims, last = spec.split(" ")
    parts = last.split(":") if last else []
    try:
        full = tuple(int(size) for size in dims)
        extents = tuple(
            (0, FULL) if part == "-" else (int(part.split(",")[0]), int(part.split(",")[1])) for part in parts
        )
    except (ValueError, IndexError):
        raise _invalid(spec, "it is not of the form 'DIM DIM START,LENGTH:START,LENGTH'") from None
    if len(full) != len(extents):
        raise _invalid(spec, f"the shape has {len(full)} dimensions, the slice {len(extents)}")
    part = Slice(extents)
    if not part.fits(full):
        raise _invalid(spec, "the slice is not inside of the shape")
    return full, part


def _invalid(spec: str, why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, f"Invalid shape_and_slice specification {spec!r}: {why}")


def key(name: bytes, part: Slice) -> bytes:
    """The key under which a checkpoint stores a part of the tensor `name`: an OrderedCode, first 0."""
    out = bytearray(b"\0")
    out += _escape(name) + b"\0\1" + _unsigned(len(part.extents))
    for start, length in part.extents:
        out += _signed(start) + _signed(length)
    return bytes(out)


def _escape(name: bytes) -> bytes:
    escaped = {0: b"\0\xff", 0xFF: b"\xff\0"}
    return b"".join(escaped.get(byte, bytes([byte])) for byte in name)


def _unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _signed(value: int) -> bytes:
    """A number as bytes that sort as numbers do: leading ones (zeros, if negative), one per byte, then it."""
    positive = ~value if value < 0 else value
    size = positive.bit_length() // 7 + 1
    header = ((1 << size) - 1) << (8 * size - size)
    bits = (1 << 8 * size) - 1
    return ((value & bits) ^ header).to_bytes(size, "big")
