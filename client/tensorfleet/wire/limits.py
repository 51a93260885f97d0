"""Sizes and times of the stream; limits that a task's settings set are in the service's `net.limits`."""

from __future__ import annotations

SMALL_BYTES = 16 * 1024
"""Payloads up to this size are copied into the header's write."""

SHARED_FROM_BYTES = 64 * 1024
"""Tensors from this size on go through shared memory: a smaller one is sooner in the socket."""

POOLED_FROM_BYTES = 1 << 20
"""Arrays from this size on are taken from memory that is used again."""

READ_BUFFER_BYTES = 64 * 1024
MAX_HEAD_BYTES = 1 << 31
MAX_PAYLOAD_BYTES = 1 << 48
MAX_HELLO_BYTES = 4 * 1024
"""Limit for peers that have not said who they are."""

GROWN_FROM_BYTES = 32 << 20
"""What is larger gets memory as its bytes arrive: as many again as are there."""

COUNTED_FROM_BYTES = 1 << 20
"""Smaller ones do not count as memory for what arrives."""

MAX_AUTH_BYTES = 4096
"""Of a frame of the proof that comes before HELLO."""

MAX_PUSHES = 1000
"""At most so many small tensors become one frame."""

HELLO_SECONDS = 10.0
"""For the first frame of a connection, of either side."""
