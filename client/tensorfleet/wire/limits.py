"""The sizes and times of connections; limits that a task's settings set are in the service's `net.limits`."""

from __future__ import annotations

SMALL_BYTES = 16 * 1024
"""Payloads up to this size are sent in one write with the header."""

SHARED_FROM_BYTES = 64 * 1024
"""Tensors from this size on go through shared memory; smaller ones are faster through the socket."""

POOLED_FROM_BYTES = 1 << 20
"""Arrays from this size on are taken from pooled memory."""

READ_BUFFER_BYTES = 64 * 1024
MAX_HEAD_BYTES = 1 << 31
MAX_PAYLOAD_BYTES = 1 << 48
MAX_HELLO_BYTES = 4 * 1024
"""Limit for a frame of a peer that has not yet said who it is."""

GROWN_FROM_BYTES = 32 << 20
"""Larger tensors get memory as their bytes arrive, doubled each time."""

COUNTED_FROM_BYTES = 1 << 20
"""Smaller tensors do not count as memory for received data."""

MAX_AUTH_BYTES = 4096
"""Limit for a frame of the proof before HELLO."""

MAX_PUSHES = 1000
"""The greatest number of small tensors in one frame."""

MAX_SEND_BUFFERS = 64
"""The greatest number of buffers in one call of sendmsg."""

# TLS

SEALED_BYTES = 256 * 1024
"""The number of bytes to encrypt before they are sent."""

MAX_HANDSHAKE_BYTES = 64 * 1024
"""Limit for a peer that has not yet sent a certificate, which has a few thousand bytes."""

# gRPC

SMALL_REQUEST_BYTES = 1 << 20
"""A request below this size says only that it is small, which HTTP/2 sends as one byte."""


# Times

HELLO_SECONDS = 10.0
"""Limit for the first frame of a connection, of either side."""

HEARTBEAT_SECONDS = 10.0
"""Default of TENSORFLEET_HEARTBEAT_SECONDS, the silence after which another process is taken for lost."""

GREETING_SECONDS = 1.0
"""Limit for a gRPC port to greet a new connection, when a heart asks whether its process is alive."""
