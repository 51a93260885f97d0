"""GrpcSocket: a call by gRPC with streams in both directions, on which frames travel as on a socket.

Where only the gRPC port of a task can be reached, or it has no other, clients and tasks of ours make one such
call and keep it: a step is then a message there and one back, without a call's metadata, and without a
message's serialization. Bytes are sent in messages of at most MESSAGE_BYTES, which need not end where frames
do. TLS is that of the channel.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Full, Queue
from time import monotonic
from typing import Any

import grpc

from tensorfleet.core import errors
from tensorfleet.security.calls import metadata, open_channel
from tensorfleet.security.identity import Identity
from tensorfleet.security.settings import Security

_logger = logging.getLogger("tensorfleet")

PATH = "/tensorfleet.FleetService/Connect"
MESSAGE_BYTES = 1 << 20
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", 2 * MESSAGE_BYTES),
    # Fewer round trips and pieces than by HTTP/2's own 64 and 16 KB.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 2 * MESSAGE_BYTES),
    ("grpc.http2.max_frame_size", MESSAGE_BYTES),
    ("grpc.use_local_subchannel_pool", 1),  # a TCP connection of its own
)
_TIME = struct.Struct("@ll")


class GrpcSocket(ABC):
    """Those methods of a connected socket that the stream uses.

    Receiving is done by one thread at a time. Where the call has ended with an error, methods raise OSError.

    Attributes:
        identity: of the other side's certificate, on the side that was called.
    """

    family = socket.AF_UNSPEC
    identity: Identity | None = None

    def __init__(self, peer: tuple[str, int]) -> None:
        self._peer = peer
        self._rest = memoryview(b"")
        self._timeout: float | None = None
        self._stall: float | None = None

    # Receiving

    @abstractmethod
    def _receive(self, timeout: float | None) -> bytes | None:
        """The next message; None at the end of the stream.

        Raises:
            TimeoutError: it did not come in time.
            OSError: the call has failed.
        """

    def recv_into(self, view: Any, size: int = 0, flags: int = 0) -> int:
        """Fills a buffer with what has come, or as a whole with MSG_WAITALL; 0 at the end of the stream."""
        view = memoryview(view)[: size or None]
        got, size = 0, len(view)
        while got < size:
            if not self._rest and ((got and not flags & socket.MSG_WAITALL) or not self._next()):
                break
            count = min(size - got, len(self._rest))
            view[got : got + count] = self._rest[:count]
            self._rest = self._rest[count:]
            got += count
        return got

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Some bytes; with MSG_PEEK they are received again."""
        if not self._rest and not self._next():
            return b""
        data = bytes(self._rest[:size])
        if not flags & socket.MSG_PEEK:
            self._rest = self._rest[len(data) :]
        return data

    def _next(self) -> bool:
        """Receives the next message that is not empty; False if there is none."""
        while not self._rest:
            try:
                data = self._receive(self._stall if self._timeout is None else self._timeout)
            except TimeoutError:
                if self._timeout is None:
                    raise BlockingIOError(errno.EAGAIN, "nothing came for long") from None
                raise
            if data is None:
                return False
            self._rest = memoryview(data)
        return True

    # Sending

    @abstractmethod
    def _transmit(self, data: bytes, wait: bool) -> bool:
        """Sends a message, or begins to; False if it would have to wait for that, and shall not."""

    def sendmsg(self, buffers: Iterable[Any], ancillary: Sequence[Any] = (), flags: int = 0) -> int:
        """Sends some buffers; how many bytes, with MSG_DONTWAIT perhaps not all."""
        sent, wait = 0, not flags & socket.MSG_DONTWAIT
        for message in _messages(buffers):
            if not self._transmit(message, wait):
                if not sent:
                    raise BlockingIOError(errno.EAGAIN, "what was sent before is on its way")
                break
            sent += len(message)
        return sent

    def send(self, data: Any, flags: int = 0) -> int:
        return self.sendmsg((data,), (), flags)

    def sendall(self, data: Any) -> None:
        self.sendmsg((data,))

    # The rest of a socket

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        """Takes the time after which a read ends with BlockingIOError; other options are gRPC's matter."""
        if (level, option) == (socket.SOL_SOCKET, socket.SO_RCVTIMEO):
            seconds, microseconds = _TIME.unpack(value)
            self._stall = seconds + microseconds / 1e6 or None

    def getpeername(self) -> tuple[str, int]:
        return self._peer

    def fileno(self) -> int:
        return -1

    @abstractmethod
    def shutdown(self, how: int = socket.SHUT_RDWR) -> None:
        """Ends the stream: whoever receives, on whichever thread, gets to its end."""

    @abstractmethod
    def close(self) -> None:
        """Ends the call."""


def _messages(buffers: Iterable[Any]) -> Iterator[bytes]:
    """The bytes of some buffers in messages, as few as there can be."""
    parts: list[Any] = []
    size = 0
    for data in buffers:
        if size + len(data) > MESSAGE_BYTES:
            view = memoryview(data)
            while size + len(view) > MESSAGE_BYTES:
                count = MESSAGE_BYTES - size
                yield b"".join((*parts, view[:count]))
                parts, size, view = [], 0, view[count:]
            data = view
        parts.append(data)
        size += len(data)
    if size:
        yield parts[0] if len(parts) == 1 and type(parts[0]) is bytes else b"".join(parts)


def open_grpc_socket(address: str, security: Security, incarnation: int = 0, task: str = "") -> GrpcSocket:
    """Begins to call a task of ours at `host:port`; whether somebody is there shows what is received.

    Args:
        security: what this process shows.
        incarnation: of the task that is called.
        task: the task that calls; "" for a client.

    Raises:
        InvalidArgumentError: others could read the token on the network.
    """
    shown = metadata(security, address, PATH, b"", incarnation, task)
    channel = open_channel(address, _OPTIONS, security)
    host, _, port = address.rpartition(":")
    peer = host, int(port) if port.isdecimal() else 0
    try:
        return EventSocket(channel, peer, shown)
    except (ImportError, AttributeError, TypeError, ValueError) as e:  # another version of grpcio
        _logger.info("calls by gRPC take some time more than they need: %s: %s", type(e).__name__, e)
        return IteratorSocket(channel, peer, shown)


_Metadata = tuple[tuple[str, str], ...]


def _failure(code: int, details: str) -> Exception:
    """The error of a call that has ended with a status."""
    if code in (errors.UNAUTHENTICATED, errors.PERMISSION_DENIED):
        return errors.from_code(code, details)
    return ConnectionResetError(errno.ECONNRESET, details)


_BEGUN, _SENT, _RECEIVED, _ENDED = range(4)
_NO_FLAGS = 0


class EventSocket(GrpcSocket):
    """The side that calls, where a thread that waits takes the call's events from gRPC itself.

    The public interface of grpcio has that only for calls with one response: others are heard on a thread of
    the channel, which wakes the one that waits, and are sent by yet another. So this takes what those are
    made of, which is not public.
    """

    def __init__(self, channel: Any, peer: tuple[str, int], shown: _Metadata = ()) -> None:
        from grpc._cython import cygrpc

        super().__init__(peer)
        # What is used later, too, has to be there before the call begins: another socket may then take over.
        _ = cygrpc.SegregatedCall.operate, cygrpc.SegregatedCall.next_event, cygrpc.SegregatedCall.cancel
        _ = cygrpc.BatchOperationEvent.tag, cygrpc.BatchOperationEvent.batch_operations
        _ = cygrpc.ReceiveMessageOperation.message
        _ = cygrpc.ReceiveStatusOnClientOperation.code, cygrpc.ReceiveStatusOnClientOperation.details
        self._channel = channel
        self._changed = threading.Condition(threading.Lock())
        self._arrived: deque[bytes] = deque()
        self._due = {_BEGUN, _ENDED}
        self._taking = False  # whether a thread takes the events, for all
        self._status: tuple[int, str] | None = None
        self._closed = False
        self._message = cygrpc.SendMessageOperation
        self._receipt = cygrpc.ReceiveMessageOperation
        self._cancelled = cygrpc.StatusCode.cancelled
        self._call = channel._channel.segregated_call(
            cygrpc.PropagationConstants.GRPC_PROPAGATE_DEFAULTS,
            PATH.encode(),
            None,
            None,
            None,
            None,
            (
                (
                    (
                        cygrpc.SendInitialMetadataOperation(shown, _NO_FLAGS),
                        cygrpc.ReceiveInitialMetadataOperation(_NO_FLAGS),
                    ),
                    _BEGUN,
                ),
                ((cygrpc.ReceiveStatusOnClientOperation(_NO_FLAGS),), _ENDED),
            ),
            None,
            None,
        )

    def _until(self, ready: Callable[[], object], end: float | None = None) -> None:
        """Waits; the first thread that does so takes the events, and tells the others.

        To be called under the lock, which is not held meanwhile. Raises TimeoutError at the monotonic time
        `end`, which ends the call if this thread takes the events.
        """
        while not ready():
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                raise TimeoutError("timed out")
            if self._taking:
                self._changed.wait(left)
                continue
            timer = None
            if left is not None:
                timer = threading.Timer(left, self._cancel)
                timer.daemon = True
                timer.start()
            self._taking = True
            self._changed.release()
            event = None
            try:
                event = self._call.next_event()
            finally:
                if timer is not None:
                    timer.cancel()
                self._changed.acquire()
                self._taking = False
                self._changed.notify_all()
                if event is None:  # gRPC has let go of the call, as this thread was interrupted
                    self._due.clear()
                    self._status = self._cancelled, "interrupted"
            self._note(event)

    def _note(self, event: Any) -> None:
        tag = event.tag
        self._due.discard(tag)
        if tag == _RECEIVED:
            data = event.batch_operations[0].message()
            if data is not None:
                self._arrived.append(data)
        elif tag == _ENDED:
            operation = event.batch_operations[0]
            self._status = operation.code(), operation.details()

    def _start(self, operations: tuple[Any, ...], tag: int) -> None:
        self._due.add(tag)
        begun = False
        try:
            begun = self._call.operate(operations, tag)
        except ValueError as e:
            raise ConnectionResetError(errno.ECONNRESET, str(e)) from None
        finally:
            if not begun:  # there will be no event of it
                self._due.discard(tag)
        if not begun:  # the thread that takes the events has the last one, and is about to note it
            raise ConnectionResetError(errno.ECONNRESET, "the call has ended")

    def _receive(self, timeout: float | None) -> bytes | None:
        end = None if timeout is None else monotonic() + timeout
        with self._changed:
            if not self._arrived and self._status is None and not self._closed and _RECEIVED not in self._due:
                self._start((self._receipt(_NO_FLAGS),), _RECEIVED)
            self._until(lambda: self._arrived or self._status is not None, end)
            if self._arrived:
                return self._arrived.popleft()
            assert self._status is not None
            code, details = self._status
            if not code or self._closed:
                return None
            if end is not None and monotonic() >= end:
                raise TimeoutError("timed out")
            raise _failure(code, details)

    def _transmit(self, data: bytes, wait: bool) -> bool:
        with self._changed:
            if _SENT in self._due:
                if not wait:
                    return False
                end = None if self._timeout is None else monotonic() + self._timeout
                self._until(lambda: _SENT not in self._due, end)
                if end is not None and monotonic() >= end:
                    raise TimeoutError("timed out")
            if self._closed or self._status is not None:
                why = self._status[1] if self._status is not None else ""
                raise BrokenPipeError(errno.EPIPE, why or "the call has ended")
            self._start((self._message(data, _NO_FLAGS),), _SENT)
        return True

    def _cancel(self) -> None:
        if self._due:
            self._call.cancel(self._cancelled, "closed")

    def shutdown(self, how: int = socket.SHUT_RDWR) -> None:
        self._closed = True
        self._cancel()

    def close(self) -> None:
        self.shutdown()
        with self._changed:
            self._until(lambda: not self._due)  # at once: the call is cancelled
        self._channel.close()


_QUEUED = 4  # messages
_LOOK_SECONDS = 0.5


class IteratorSocket(GrpcSocket):
    """The side that calls, by grpcio's public interface."""

    def __init__(self, channel: Any, peer: tuple[str, int], shown: _Metadata = ()) -> None:
        super().__init__(peer)
        self._channel = channel
        self._requests: Queue[bytes | None] = Queue(_QUEUED)
        self._closed = False
        self._call = channel.stream_stream(PATH)(iter(self._requests.get, None), metadata=shown)

    def _receive(self, timeout: float | None) -> bytes | None:
        late = threading.Event()
        timer = None
        if timeout is not None:
            timer = threading.Timer(timeout, self._end_late, (late,))
            timer.daemon = True
            timer.start()
        try:
            data: bytes = next(self._call)
            return data
        except StopIteration:
            return None
        except grpc.RpcError as e:
            if late.is_set():
                raise TimeoutError("timed out") from None
            if self._closed:
                return None
            raise _failure(e.code().value[0], e.details()) from None
        finally:
            if timer is not None:
                timer.cancel()

    def _end_late(self, late: threading.Event) -> None:
        late.set()
        self._call.cancel()

    def _transmit(self, data: bytes, wait: bool) -> bool:
        end = None if self._timeout is None else monotonic() + self._timeout
        while True:
            if self._closed or not self._call.is_active():
                raise BrokenPipeError(errno.EPIPE, "the call has ended")
            left = _LOOK_SECONDS if end is None else min(end - monotonic(), _LOOK_SECONDS)
            try:
                self._requests.put(data, wait, max(left, 0))
                return True
            except Full:
                if not wait:
                    return False
                if left <= 0:
                    raise TimeoutError("timed out") from None

    def shutdown(self, how: int = socket.SHUT_RDWR) -> None:
        self._closed = True
        self._call.cancel()
        with contextlib.suppress(Full):  # the thread that sends is not waiting then, and sees the end
            self._requests.put_nowait(None)

    def close(self) -> None:
        self.shutdown()
        self._channel.close()
