"""Counts of what goes over connections."""

from __future__ import annotations


class Traffic:
    """The bytes and frames that went over the connections to another side while this object counts.

    Plain numbers, which the threads that send and receive add to.

    Attributes:
        received, sent: frames, or messages of gRPC.
        received_bytes, sent_bytes: as the socket has taken or given them, and as shared memory has; of
            messages by gRPC, their size.
    """

    __slots__ = ("received", "received_bytes", "sent", "sent_bytes")

    def __init__(self) -> None:
        self.received = self.received_bytes = self.sent = self.sent_bytes = 0
