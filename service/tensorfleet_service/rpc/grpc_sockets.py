"""Calls of clients and tasks of ours that stay, as sockets: the side that is called.

gRPC's events come on the event loop. What arrives is handed to the thread that receives, one for each call;
what any thread sends, the loop writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import unquote

import grpc

from tensorfleet.security import identity as identities
from tensorfleet.wire.grpc_socket import MESSAGE_BYTES, GrpcSocket

log = logging.getLogger(__name__)

ARRIVED_BYTES = 4 << 20
"""While so many bytes have arrived that nobody has taken, no more are received."""

SENDING_BYTES = 4 << 20
"""While so many bytes are on their way, who sends waits."""

END_SECONDS = 5.0
"""For the other side to take what was sent before the end."""


class ServedSocket(GrpcSocket):
    """A call to this process. To be made on the event loop.

    Attributes:
        let_in: is to be called once it is known whose it is.
        writes_anywhere: whether messages begin to be written on any thread, for all calls of the process; a
            version of grpcio in which only the loop may do so is noticed by the first message.
    """

    writes_anywhere = True

    def __init__(self, context: Any, let_in: Callable[[], None] = lambda: None) -> None:
        super().__init__(_place(peer_of(context)))
        self.let_in = let_in
        self.identity = identities.of_grpc(context.auth_context())
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._arrived: SimpleQueue[bytes | None] = SimpleQueue()
        self._unread = 0  # bytes
        self._taken = asyncio.Event()
        self._leaving: deque[bytes] = deque()
        self._unsent = 0  # bytes
        self._is_writing = False  # becomes False on the loop alone
        # Held while gRPC is handed a message, which takes no I/O: it must not be after the call's end, as
        # gRPC does not check that, and the process would end.
        self._handing = threading.Lock()
        self._is_over = False
        self._left = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._closed = False
        self._ended = asyncio.Event()

    # On the thread that receives, and those that send

    def _receive(self, timeout: float | None) -> bytes | None:
        try:
            data = self._arrived.get(timeout=timeout)
        except Empty:
            raise TimeoutError("timed out") from None
        if data is None:
            self._arrived.put(None)  # for whoever asks again
            return None
        with self._lock:
            was_full = self._unread >= ARRIVED_BYTES
            self._unread -= len(data)
            is_full = self._unread >= ARRIVED_BYTES
        if was_full and not is_full:
            self._on_loop(self._taken.set)
        return data

    def _transmit(self, data: bytes, wait: bool) -> bool:
        with self._room:
            while self._unsent >= SENDING_BYTES and not self._closed:
                if not wait:
                    return False
                self._room.wait()
            if self._closed:
                raise BrokenPipeError(errno.EPIPE, "the call has ended")
            self._unsent += len(data)
            if self._is_writing:
                self._leaving.append(data)
                return True
            self._is_writing = True
        try:
            self._write(data)
        except (Exception, asyncio.CancelledError) as e:
            self._on_loop(partial(self._fail, e))
            raise BrokenPipeError(errno.EPIPE, f"the call has ended: {e}") from None
        return True

    def _write(self, data: bytes) -> None:
        """Writes a message.

        It leaves in the first step of gRPC's coroutine, which is done here, on any thread, as the loop would
        have to be woken for it. The loop does the rest.
        """
        if not ServedSocket.writes_anywhere:
            self._on_loop(partial(self._write_there, data))
            return
        try:
            with self._handing:
                self._check_call()
                writing = self._context.write(data)
                waits = writing.send(None)
        except StopIteration:
            self._on_loop(partial(self._written, len(data)))
        except (RuntimeError, AttributeError, TypeError) as e:  # such as that no loop runs on this thread
            log.info("messages by gRPC are written by the event loop alone: %s: %s", type(e).__name__, e)
            ServedSocket.writes_anywhere = False
            self._on_loop(partial(self._write_there, data))
        else:
            self._on_loop(partial(self._await, writing, waits, len(data)))

    def _check_call(self) -> None:
        if self._is_over:
            raise BrokenPipeError(errno.EPIPE, "the call has ended")

    def shutdown(self, how: int = socket.SHUT_RDWR) -> None:
        with self._room:
            self._closed = True
            self._room.notify_all()
        self._arrived.put(None)
        self._on_loop(self._ended.set)

    def close(self) -> None:
        self.shutdown()

    @property
    def is_closed(self) -> bool:
        """Whether the call has ended, on whichever side."""
        return self._closed

    def _on_loop(self, function: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(function)

    # On the loop

    def _write_there(self, data: bytes) -> None:
        """Writes a message by the public interface of grpcio alone."""
        self._writing = self._loop.create_task(self._write_whole(data))

    async def _write_whole(self, data: bytes) -> None:
        try:
            self._check_call()
            await self._context.write(data)
        except (Exception, asyncio.CancelledError) as e:
            self._fail(e)
        else:
            self._written(len(data))

    def _await(self, writing: Coroutine[Any, Any, None], waits: asyncio.Future[Any], size: int) -> None:
        if not asyncio.isfuture(waits):
            ServedSocket.writes_anywhere = False  # for later calls: this one's message is half written
            writing.close()
            self._fail(RuntimeError(f"a message waits for {type(waits).__name__}, not for a future"))
            return
        waits.add_done_callback(lambda _: self._resume(writing, size))

    def _resume(self, writing: Coroutine[Any, Any, None], size: int) -> None:
        try:
            waits = writing.send(None)
        except StopIteration:
            self._written(size)
        except (Exception, asyncio.CancelledError) as e:
            self._fail(e)
        else:
            self._await(writing, waits, size)

    def _written(self, size: int) -> None:
        with self._room:
            self._unsent -= size
            self._room.notify_all()
            if not self._leaving:
                self._is_writing = False
                self._left.set()
                return
            data = self._leaving.popleft()
        try:
            self._write(data)
        except (Exception, asyncio.CancelledError) as e:
            self._fail(e)

    def _fail(self, error: BaseException) -> None:
        """The call is over, as the thread that receives sees, too."""
        log.debug("a stream by gRPC was not written to: %s", error)
        with self._room:
            self._leaving.clear()
            self._is_writing = False
        self._left.set()
        self.shutdown()

    async def _read(self) -> None:
        try:
            await self._receive_all()
        except Exception as e:  # such as no memory for a message
            log.info("a stream by gRPC was not read to its end: %s: %s", type(e).__name__, e)
            self.shutdown()

    async def _receive_all(self) -> None:
        while True:
            data = await self._context.read()
            if data is grpc.aio.EOF:
                self._arrived.put(None)
                return
            if len(data) > MESSAGE_BYTES:
                raise ValueError(f"a message of {len(data)} bytes, of at most {MESSAGE_BYTES}")
            with self._lock:
                self._unread += len(data)
                full = self._unread >= ARRIVED_BYTES
            self._arrived.put(data)
            while full:
                self._taken.clear()
                with self._lock:
                    full = self._unread >= ARRIVED_BYTES
                if full:
                    await self._taken.wait()

    async def serve(self) -> None:
        """Receives until one side ends the call, and what was sent before has left."""
        reading = asyncio.create_task(self._read())
        try:
            await self._ended.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    while self._is_writing:
                        self._left.clear()
                        await self._left.wait()
        finally:
            reading.cancel()
            with self._handing:
                self._is_over = True
            self.shutdown()


def peer_of(context: Any) -> str:
    """gRPC's name of the other side of a call, which must be under way: else the process would end."""
    return str(context.peer())


def _place(peer: str) -> tuple[str, int]:
    """Host and port of gRPC's name of the other side, such as ipv4:127.0.0.1:1234."""
    host, _, port = unquote(peer).partition(":")[2].rpartition(":")
    return host.strip("[]"), int(port) if port.isdecimal() else 0
