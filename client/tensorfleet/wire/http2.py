"""HTTP/2 requests that pass through: a header is added to each, and all else stays as it is.

A block of headers may have literals at its end that no table knows of (RFC 7541, 6.2.3), so one more header
changes nothing of what the two sides have agreed on. Flow control, resets, pings and trailers are not read.
"""

from __future__ import annotations

from collections.abc import Callable

MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_HEADERS = 64 * 1024  # bytes of one frame of headers
_FRAME_BYTES = 16384  # that every receiver takes
_HEAD = 9

_HEADERS, _CONTINUATION = 1, 9
_END_STREAM, _END_HEADERS, _PADDED, _PRIORITY = 1, 4, 8, 0x20
_AUTHORIZATION = b"\x1f\x08"  # a literal that is never indexed, whose name is the 23rd of the static table

Buffer = bytes | memoryview


def authorization(value: str) -> bytes:
    """The header `authorization` in the form of a block's last literal."""
    data = value.encode("ascii")
    return _AUTHORIZATION + _integer(len(data), 7) + data


def _integer(value: int, bits: int) -> bytes:
    """A number with a prefix of so many bits (RFC 7541, 5.1); the bits before it are 0."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((value,))
    found = bytearray((most,))
    value -= most
    while value >= 128:
        found.append(value % 128 + 128)
        value //= 128
    found.append(value)
    return bytes(found)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


class AddedHeader:
    """What a client sends, with one more header in each of its requests.

    Args:
        block: gives the header as `authorization` does; called for each request.
    """

    def __init__(self, block: Callable[[], bytes]) -> None:
        self._block = block
        self._magic = len(MAGIC)  # bytes of it that are still to come
        self._held = bytearray()  # the beginning of what cannot be passed on in part
        self._passing = 0  # bytes left of a frame that is passed on as it comes
        self._newest = 0  # the request that was begun last
        self._continues = 0  # the stream whose headers go on in the next frame
        self._adds = False  # whether these are of a new request

    def feed(self, data: memoryview) -> list[Buffer]:
        """What is to be sent on for the next bytes; they must not change before it is sent.

        Raises:
            ValueError: they are not HTTP/2.
        """
        out: list[Buffer] = []
        start = at = 0  # what lies between is passed on as it is
        size = len(data)
        while at < size:
            if self._passing:
                some = min(self._passing, size - at)
                self._passing -= some
                at += some
                continue
            if self._magic:
                some = min(self._magic, size - at)
                done = len(MAGIC) - self._magic
                if data[at : at + some] != MAGIC[done : done + some]:
                    raise ValueError("it does not speak gRPC")
                self._magic -= some
                at += some
                continue
            # The head of a frame and, of one with headers, its payload: as a whole, once it is there.
            if not self._held and self._passes(data[at : at + _HEAD]):
                at += _HEAD
                continue
            if at > start:
                out.append(data[start:at])
            while at < size and (wanted := self._wanted()):
                some = min(wanted, size - at)
                self._held += data[at : at + some]
                at += some
            if not self._wanted():
                out.append(self._rewritten())
                self._held.clear()
            start = at
        if at > start:
            out.append(data[start:at])
        return out

    def _passes(self, head: memoryview) -> bool:
        """Whether a frame with this head, if all of that is there, is passed on as it is."""
        if len(head) < _HEAD or head[3] in (_HEADERS, _CONTINUATION) or self._continues:
            return False
        self._passing = int.from_bytes(head[:3], "big")
        return True

    def _wanted(self) -> int:
        """How many bytes are missing of what is held."""
        held = self._held
        if len(held) < _HEAD:
            return _HEAD - len(held)
        if held[3] not in (_HEADERS, _CONTINUATION):
            return 0
        size = int.from_bytes(held[:3], "big")
        if size > MAX_HEADERS:
            raise ValueError(f"a frame of headers has {size} bytes")
        return _HEAD + size - len(held)

    def _rewritten(self) -> bytes:
        held = bytes(self._held)
        kind, flags = held[3], held[4]
        stream = int.from_bytes(held[5:_HEAD], "big") & 0x7FFFFFFF
        if self._continues and (kind, stream) != (_CONTINUATION, self._continues):
            raise ValueError("headers are not continued")
        if kind == _HEADERS:
            self._adds = stream > self._newest
            self._newest = max(stream, self._newest)
        elif kind == _CONTINUATION:
            if not self._continues:
                raise ValueError("there are no headers to continue")
        else:
            self._passing = int.from_bytes(held[:3], "big")
            return held
        ends = bool(flags & _END_HEADERS)
        self._continues = 0 if ends else stream
        if not (ends and self._adds):
            return held
        payload = held[_HEAD:]
        if kind == _HEADERS and flags & _PADDED:
            if not payload or payload[0] >= len(payload):
                raise ValueError("headers are padded with more than there is")
            payload = payload[1 : len(payload) - payload[0]]
            flags &= ~_PADDED
        added = self._block()
        if len(payload) + len(added) <= _FRAME_BYTES:
            return _frame(kind, flags, stream, payload + added)
        first = _frame(kind, flags & ~_END_HEADERS, stream, payload)
        return first + _frame(_CONTINUATION, _END_HEADERS, stream, added)
