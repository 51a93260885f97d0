"""What requests by gRPC say about their size, in their metadata: gRPC says nothing before they are there."""

from __future__ import annotations

from tensorfleet.wire.limits import SMALL_REQUEST_BYTES

SIZE = "tensorfleet-bytes"
SMALL = "small"

_SMALL = ((SIZE, SMALL),)


def metadata(size: int) -> tuple[tuple[str, str], ...]:
    """The metadata of a request of so many bytes."""
    return _SMALL if size < SMALL_REQUEST_BYTES else ((SIZE, str(size)),)
