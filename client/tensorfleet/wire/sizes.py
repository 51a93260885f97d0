"""What requests by gRPC say about their size, in their metadata: gRPC says nothing before they are there."""

from __future__ import annotations

SIZE = "tensorfleet-bytes"
SMALL = "small"
SMALL_BYTES = 1 << 20
"""A request of less is small: then this is all that it says, and HTTP/2 sends it as one byte."""

_SMALL = ((SIZE, SMALL),)


def metadata(size: int) -> tuple[tuple[str, str], ...]:
    """The metadata of a request of so many bytes."""
    return _SMALL if size < SMALL_BYTES else ((SIZE, str(size)),)
