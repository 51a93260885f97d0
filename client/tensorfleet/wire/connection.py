"""Connections of the stream transport: sending without waiting, and opening sockets."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from tensorfleet.core import errors
from tensorfleet.wire.frames import Kind, encode, encode_pushes, pack_error
from tensorfleet.wire.limits import MAX_PAYLOAD_BYTES, MAX_PUSHES, MAX_SEND_BUFFERS, SMALL_BYTES
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.shared_memory import Arena
from tensorfleet.wire.traffic import Traffic


class Connection:
    """One socket with frames in both directions.

    Sending never blocks the caller: what the socket does not take at once is left to a writer thread, in
    order.
    Reading is done by one thread, which the owner provides.

    Attributes:
        sock, name, reader: of the connection.
        arena: memory for large tensors that the other side shares.
        traffic: where is counted what is sent and received.
    """

    def __init__(self, sock: socket.socket, name: str = "") -> None:
        tune(sock)
        self.sock = sock
        self.name = name
        self.reader = Reader(sock)
        self.arena: Arena | None = None
        self.traffic = self.reader.traffic
        self._lock = threading.Lock()
        self._queue: deque[list[Any]] = deque()
        self._changed = threading.Condition(self._lock)  # the queue, or whether the connection is open
        self._writer: threading.Thread | None = None
        self._closed = False

    def count_in(self, traffic: Traffic) -> None:
        """Counts what is sent and received from now on in `traffic`, which connections may share."""
        self.traffic = self.reader.traffic = traffic
        if self.arena is not None:
            self.arena.traffic = traffic

    def send(self, buffers: list[Any]) -> None:
        """Sends a frame's buffers; inside of `cork`, at its end.

        Raises:
            OSError: the connection is closed or broken.
        """
        self.traffic.sent += 1
        waiting = _corked.frames
        if waiting is None:
            self._send(buffers)
        else:
            waiting.setdefault(self, []).append(buffers)

    def push(self, step_id: int, edge: int, tensor: Any) -> None:
        """Sends a tensor of a step; inside of `cork`, small ones of the same step as one frame, which comes
        before the large ones: it is received while those are still being copied.

        Raises:
            OSError: the connection is closed or broken.
            InvalidArgumentError, ResourceExhaustedError: it cannot be sent.
        """
        waiting = _corked.frames
        if waiting is None:
            self.send(encode_pushes(step_id, (edge,), (tensor,), self.arena))
            return
        frames = waiting.setdefault(self, [])
        for frame in frames:
            if isinstance(frame, _Pushes) and frame.step_id == step_id and len(frame.edges) < MAX_PUSHES:
                break
        else:
            frame = _Pushes(step_id)
            frames.append(frame)
        if getattr(tensor, "nbytes", MAX_PAYLOAD_BYTES) > SMALL_BYTES:
            self.send(encode_pushes(step_id, (edge,), (tensor,), self.arena))
            return
        if not frame.edges:
            self.traffic.sent += 1
        frame.edges.append(edge)
        frame.tensors.append(tensor)

    def send_now(self, buffers: list[Any]) -> None:
        """Like `send`, but inside of `cork`, too, it is sent at once.

        Raises:
            OSError: the connection is closed or broken.
        """
        self.traffic.sent += 1
        self._send(buffers)

    def beat(self) -> None:
        """Sends a sign of life, unless frames are on their way that are one; it is not counted."""
        if not self._queue:
            with contextlib.suppress(OSError):  # the thread that reads sees the end of the connection
                self._send(_BEAT)

    def _send(self, buffers: list[Any]) -> None:
        with self._lock:
            if self._closed:
                raise OSError("connection closed")
            if self._queue:
                self._queue.append(buffers)
                return
            rest = self._try(buffers)
            if rest:
                self._queue.append(rest)
                if self._writer is None:
                    writer = threading.Thread(target=self._write, name=f"write {self.name}", daemon=True)
                    try:
                        writer.start()
                    except (RuntimeError, MemoryError) as e:
                        # A part of a frame is sent, and nobody is there to send the rest.
                        self._shut_down()
                        raise OSError(f"connection given up: {e}") from None
                    self._writer = writer
                self._changed.notify_all()

    def _try(self, buffers: list[Any]) -> list[Any]:
        """Sends what the socket takes without waiting; what is left."""
        sock = self.sock
        try:
            if len(buffers) == 1:
                data = buffers[0]
                sent = sock.send(data, socket.MSG_DONTWAIT)
                self.traffic.sent_bytes += sent
                return [] if sent == len(data) else [memoryview(data)[sent:]]
            sent = sock.sendmsg(buffers[:MAX_SEND_BUFFERS], [], socket.MSG_DONTWAIT)
        except BlockingIOError:
            return buffers
        self.traffic.sent_bytes += sent
        return _after(buffers, sent)

    def _write(self) -> None:
        try:
            while True:
                with self._lock:
                    while not self._queue and not self._closed:
                        self._changed.wait()
                    if self._closed:
                        return
                    buffers = self._queue[0]
                while buffers:
                    buffers = self._part(buffers)
                with self._lock:
                    if self._closed:
                        return
                    self._queue.popleft()
                    if not self._queue:
                        self._changed.notify_all()
        except OSError:
            self.close()  # the reading thread sees the end of the connection, and tells whom it concerns

    def _part(self, buffers: list[Any]) -> list[Any]:
        """Sends some of the buffers, waiting for the socket; what is left."""
        sent = self.sock.sendmsg(buffers[:MAX_SEND_BUFFERS])
        self.traffic.sent_bytes += sent
        return _after(buffers, sent)

    @property
    def waiting(self) -> int:
        """The number of frames that the socket has not taken yet; those of one `cork` count as one."""
        return len(self._queue)

    def flush(self, timeout: float) -> bool:
        """Waits until the socket has taken everything; False if it has not within `timeout` seconds."""
        with self._lock:
            return self._changed.wait_for(lambda: self._closed or not self._queue, timeout)

    def refuse(self, error: errors.OpError) -> None:
        """Ends the connection, whose other side does not keep to the protocol, and tells it why."""
        code, text = pack_error(error)
        with contextlib.suppress(OSError):
            self.send_now(encode(Kind.ERROR, 0, code, text))
        self.close()

    def _shut_down(self) -> None:
        """Has the thread that reads see the end of the connection."""
        with contextlib.suppress(OSError):  # not connected any more
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends the connection; the thread that reads it gets EOFError or OSError."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.clear()
            self._changed.notify_all()
        self._shut_down()
        self.sock.close()
        self.reader.close()
        if self.arena is not None:
            self.arena.close()


_BEAT = encode(Kind.BEAT, 0)


class _Pushes:
    """Small tensors of a step that are held back."""

    __slots__ = ("edges", "step_id", "tensors")

    def __init__(self, step_id: int) -> None:
        self.step_id = step_id
        self.edges: list[int] = []
        self.tensors: list[Any] = []

    def encoded(self) -> list[Any]:
        """The buffers of the frame; where a tensor cannot be sent, those of an ABORT of this step alone."""
        try:
            return encode_pushes(self.step_id, self.edges, self.tensors)
        except errors.OpError as e:
            code, text = pack_error(e)
            return encode(Kind.ABORT, self.step_id, code, text)


class _Corked(threading.local):
    frames: dict[Connection, list[list[Any] | _Pushes]] | None = None


_corked = _Corked()


class cork:
    """Holds back what this thread sends, and writes it at the end: one wake-up per connection.

    For code that is known to be short. A connection that breaks is not reported to the sender then, but to
    the thread that reads it.
    """

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer = _corked.frames
        if self._outer is None:
            _corked.frames = {}

    def __exit__(self, *_: object) -> None:
        if self._outer is None:
            frames, _corked.frames = _corked.frames, None
            assert frames is not None
            for connection, waiting in frames.items():
                buffers: list[Any] = []
                for frame in waiting:
                    if not isinstance(frame, _Pushes):
                        buffers += frame
                    elif frame.edges:
                        buffers += frame.encoded()
                if len(buffers) > 1 and sum(map(len, buffers)) <= SMALL_BYTES:
                    buffers = [b"".join(buffers)]
                try:
                    connection._send(buffers)
                except OSError:
                    pass  # its reading thread sees the same, and ends what depends on it


def _after(buffers: list[Any], sent: int) -> list[Any]:
    """The rest of the buffers after so many bytes."""
    for i, data in enumerate(buffers):
        size = len(data)
        if sent < size:
            return [memoryview(data)[sent:] if sent else data, *buffers[i + 1 :]]
        sent -= size
    return []


def tune(sock: socket.socket) -> None:
    """Low latency, large windows, and a dead peer noticed within half a minute."""
    sock.settimeout(None)
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
    else:
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, buffer, 4 << 20)


def open_socket(addresses: Sequence[str], timeout: float) -> socket.socket:
    """A connection to the first address that answers: `unix:@name` (this machine only), `tcp:host:port`.

    Raises:
        UnavailableError: none does; with the address and error of each.
    """
    failures = []
    for address in addresses:
        scheme, _, rest = address.partition(":")
        try:
            if scheme == "unix":
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                try:
                    sock.settimeout(timeout)
                    sock.connect("\0" + rest[1:])
                except OSError:
                    sock.close()
                    raise
                return sock
            host, _, port = rest.rpartition(":")
            return socket.create_connection((host.strip("[]"), int(port)), timeout)
        except OSError as e:
            failures.append(f"{address}: {e}")
    raise errors.UnavailableError(None, None, "failed to connect to all addresses; " + "; ".join(failures))
