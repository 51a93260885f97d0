"""TLS on connections of the stream: a socket that encrypts, and a connection that sends by it.

The library's state is used by one thread at a time, under a lock that is never held for I/O: a thread that
waits for bytes does not keep another one from sending. Large tensors are encrypted in pieces, straight from
their arrays, and decrypted straight into them. Once both sides have said HELLO, `tls_records` does that,
where it is there: it needs the interpreter once for each tensor, not once for each record of 16 KiB.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from tensorfleet.security import identity
from tensorfleet.security.identity import Identity
from tensorfleet.wire import tls_records
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.limits import MAX_HANDSHAKE_BYTES, MAX_SEND_BUFFERS, SEALED_BYTES
from tensorfleet.wire.reader import Reader

_RECORD_BYTES = 16 * 1024
_RECORD_OVERHEAD = 22
_HELD_BYTES = _RECORD_BYTES + 256  # of a record that has come in part, the library may have so much
_DESCRIPTOR = struct.Struct("i")
_WAITALL = int(socket.MSG_WAITALL)  # an operator of an enum takes a microsecond


class TlsSocket:
    """A connected socket after its TLS handshake, with those methods of a socket that the stream uses.

    Reading is done by one thread at a time, and sending, too.

    Attributes:
        identity: of the other side's certificate.
        records: what reads and writes in place of this class, from `greeted` on; None if nothing does.

    Raises:
        OSError: the handshake failed, or took longer than the socket's timeout.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, server_side: bool) -> None:
        self._sock = sock
        self.family = sock.family
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side)
        tls_records.prefer(self._tls)
        self._lock = threading.Lock()
        self.records: Any = None
        self._received = bytearray(SEALED_BYTES)
        self._view = memoryview(self._received)
        # HELLO comes with a descriptor, which the bytes of the handshake may bring already.
        self._takes_descriptors = sock.family == socket.AF_UNIX and hasattr(socket, "CMSG_LEN")
        self._descriptors: list[int] = []
        try:
            self._handshake()
        except BaseException:
            self._drop_descriptors()
            raise
        self.identity: Identity = identity.of_ssl(self._tls.getpeercert())

    def _handshake(self) -> None:
        timeout = self._sock.gettimeout()
        end = None if timeout is None else time.monotonic() + timeout
        left = MAX_HANDSHAKE_BYTES
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._flush()  # the alert, which tells the other side why
                raise
            else:
                self._flush()
                self._sock.settimeout(timeout)
                return
            if end is not None:
                self._sock.settimeout(max(end - time.monotonic(), 1e-3))
            received = self._receive(min(left, SEALED_BYTES))
            left -= received
            if not received:
                raise ConnectionError("the connection was closed during the TLS handshake")
            if not left:
                raise ConnectionError("the TLS handshake takes too many bytes")

    def greeted(self) -> None:
        """Reads and writes by compiled code from now on, if there is any; nobody else is at the socket."""
        if not self._takes_descriptors:
            self.records = tls_records.over(self._tls, self._in, self._sock)
        if self.records is not None:
            # A call less for each message.
            self.recv_into = self.records.recv_into  # type: ignore[method-assign]
            self.sendall = self.records.sendall  # type: ignore[method-assign]

    def _flush(self) -> None:
        if data := self._out.read():
            self._sock.sendall(data)

    # Sending

    def seal(self, parts: Iterable[Any]) -> bytes:
        """Encrypts some bytes; what is to be sent for them, in this order."""
        with self._lock:
            write = self._tls.write
            for part in parts:
                written, size = write(part) if part else 0, len(part)
                while written < size:
                    written += write(memoryview(part)[written:])
            return self._out.read()

    def send_sealed(self, data: Any, flags: int = 0) -> int:
        """Sends some of what `seal` gave; how many bytes."""
        return self._sock.send(data, flags)

    def sendall(self, data: Any) -> None:
        if len(data) <= SEALED_BYTES:
            self._sock.sendall(self.seal((data,)))
        else:
            self.sendmsg((data,))

    def sendmsg(self, buffers: Iterable[Any], ancillary: Sequence[Any] = (), flags: int = 0) -> int:
        """Sends all of some buffers, and descriptors with the first of their bytes."""
        total = 0
        rest: list[Any] = list(buffers)
        if self.records is not None and not ancillary:
            while rest:
                total += self.records.send(rest, True)
                rest = rest[MAX_SEND_BUFFERS:]
            return total
        while rest:
            parts, rest = split(rest, SEALED_BYTES)
            total += sum(map(len, parts))
            sealed = self.seal(parts)
            if ancillary:
                sealed = sealed[self._sock.sendmsg([sealed], ancillary, flags) :]
                ancillary = ()
            self._sock.sendall(sealed)
        return total

    # Receiving

    def recv_into(self, view: Any, size: int = 0, flags: int = 0) -> int:
        """Fills a buffer with what has come, or as a whole with MSG_WAITALL; 0 at the end of the stream."""
        view = memoryview(view)[: size or None]
        whole = bool(int(flags) & _WAITALL)
        size = len(view)
        got = received = 0
        while True:
            with self._lock:
                if received:
                    self._in.write(self._view[:received])
                try:
                    # Without a look at what there is, each message would end with an exception.
                    while got < size and (self._in.pending or self._tls.pending()):
                        read = self._tls.read(size - got, view[got:] if got else view)
                        if not read:
                            return got
                        got += int(read)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLZeroReturnError:
                    return got
            if got == size or (got and not whole):
                return got
            # No more than what belongs to these bytes, so that what follows is left to the socket.
            left = size - got
            wanted = left + _RECORD_OVERHEAD * (1 + left // _RECORD_BYTES)
            certain = left - self._in.pending - _HELD_BYTES
            if whole and certain > 0:
                received = self._fetch(min(certain, SEALED_BYTES), socket.MSG_WAITALL)
            else:
                received = self._fetch(min(wanted, SEALED_BYTES), 0)
            if not received:
                return got

    def _receive(self, size: int) -> int:
        """Hands on what has come to the library; how many bytes."""
        received = self._fetch(size, 0)
        with self._lock:
            self._in.write(self._view[:received])
        return received

    def _fetch(self, size: int, flags: int) -> int:
        """Fills the buffer with what has come; how many bytes."""
        if self._takes_descriptors:
            space = socket.CMSG_LEN(_DESCRIPTOR.size)
            received, ancillary, _, _ = self._sock.recvmsg_into(
                [self._view[:size]], space, flags | socket.MSG_CMSG_CLOEXEC
            )
            self._keep(ancillary)
        else:
            received = self._sock.recv_into(self._received, size, flags)
        return received

    def recvmsg(
        self, size: int, ancillary_size: int = 0, flags: int = 0
    ) -> tuple[bytes, list[Any], int, None]:
        """As a socket's: bytes, and the descriptor that has come until now; later ones are not taken."""
        buffer = bytearray(size)
        received = self.recv_into(buffer)
        self._takes_descriptors = False
        data = b"".join(map(_DESCRIPTOR.pack, self._descriptors))
        self._descriptors = []
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, data)] if data else []
        return bytes(buffer[:received]), ancillary, 0, None

    def _keep(self, ancillary: Iterable[tuple[int, int, bytes]]) -> None:
        """Keeps the first descriptor that comes: nobody makes this process open more than that."""
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                whole = data[: len(data) - len(data) % _DESCRIPTOR.size]
                self._descriptors += [found for (found,) in _DESCRIPTOR.iter_unpack(whole)]
        self._drop_descriptors(1)

    def _drop_descriptors(self, kept: int = 0) -> None:
        for descriptor in self._descriptors[kept:]:
            os.close(descriptor)
        del self._descriptors[kept:]

    # The socket itself

    def settimeout(self, seconds: float | None) -> None:
        self._sock.settimeout(seconds)
        if self.records is not None:
            self.records.settimeout(seconds)

    def getsockopt(self, *arguments: Any) -> Any:
        return self._sock.getsockopt(*arguments)

    def setsockopt(self, *arguments: Any) -> None:
        self._sock.setsockopt(*arguments)

    def getpeername(self) -> Any:
        return self._sock.getpeername()

    def fileno(self) -> int:
        return self._sock.fileno()

    def shutdown(self, how: int) -> None:
        self._sock.shutdown(how)

    def close(self) -> None:
        self._drop_descriptors()
        self._sock.close()
        if self.records is not None:
            self.records.close()

    @property
    def pending(self) -> int:
        """Bytes that have come and were not read."""
        return self._in.pending if self.records is None else int(self.records.pending())


def split(buffers: Sequence[Any], size: int) -> tuple[list[Any], list[Any]]:
    """The first `size` bytes of some buffers, and what is left of them."""
    first: list[Any] = []
    for i, data in enumerate(buffers):
        if len(data) > size:
            view = memoryview(data)
            return [*first, view[:size]] if size else first, [view[size:], *buffers[i + 1 :]]
        first.append(data)
        size -= len(data)
    return first, []


class TlsReader(Reader):
    """Reads frames from a TlsSocket."""

    def __init__(self, sock: TlsSocket) -> None:
        super().__init__(sock)  # type: ignore[arg-type]  # it has those methods that are used
        self._tls = sock

    @property
    def buffered(self) -> bool:
        return self._end > self._start or self._tls.pending > 0


class _Sealed:
    """Bytes that are encrypted already."""

    __slots__ = ("data",)

    def __init__(self, data: memoryview) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)


class TlsConnection(Connection):
    """A connection whose frames are encrypted."""

    def __init__(self, sock: TlsSocket, name: str = "") -> None:
        super().__init__(sock, name)  # type: ignore[arg-type]
        self._tls = sock
        self.reader = TlsReader(sock)
        self.traffic = self.reader.traffic

    def _try(self, buffers: list[Any]) -> list[Any]:
        records = self._tls.records
        if records is not None:
            sent = records.send(buffers, False)
            if sent < 0 or len(buffers) > MAX_SEND_BUFFERS:
                return self._rest(buffers, sent)
            self.traffic.sent_bytes += sent
            return []
        while buffers:
            before = buffers
            buffers = self._some(buffers, socket.MSG_DONTWAIT)
            if buffers and type(buffers[0]) is _Sealed:
                return buffers
            assert buffers is not before
        return buffers

    def _part(self, buffers: list[Any]) -> list[Any]:
        records = self._tls.records
        return self._some(buffers, 0) if records is None else self._rest(buffers, records.send(buffers, True))

    def _rest(self, buffers: list[Any], sent: int) -> list[Any]:
        """What is left of buffers of which `records` have sent some; not empty while anything waits."""
        if sent >= 0:
            self.traffic.sent_bytes += sent
            return buffers[MAX_SEND_BUFFERS:]
        self.traffic.sent_bytes += ~sent
        _, rest = split(buffers, ~sent)
        return rest or [b""]

    def _some(self, buffers: list[Any], flags: int) -> list[Any]:
        """Encrypts some of the buffers, and sends what the socket takes; what is left."""
        rest: list[Any]
        if type(buffers[0]) is _Sealed:
            sealed, rest = buffers[0].data, buffers[1:]
        else:
            if len(buffers) == 1 and len(buffers[0]) <= SEALED_BYTES:
                parts, rest = buffers, []
            else:
                parts, rest = split(buffers, SEALED_BYTES)
            self.traffic.sent_bytes += sum(map(len, parts))
            sealed = memoryview(self._tls.seal(parts))
        try:
            sent = self._tls.send_sealed(sealed, flags)
        except BlockingIOError:
            sent = 0
        if sent < len(sealed):
            return [_Sealed(sealed[sent:]), *rest]
        return rest
