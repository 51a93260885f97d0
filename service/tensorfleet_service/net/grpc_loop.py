"""The event loop of this process's calls to and from other tasks by gRPC, on a thread of its own.

gRPC's own way of waiting for several calls starts a thread when the first of them begins, and hands each
answer to it, so that a step with few messages costs more for threads than for messages. Here all calls of the
process are made and answered on one event loop. Nothing that may take long, such as a kernel, may run on it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

import grpc
import numpy as np

from tensorfleet.security.calls import NO_PROXY
from tensorfleet.wire.sizes import metadata

log = logging.getLogger(__name__)

Ended = Callable[["grpc.RpcError | None", bytes], None]

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_context = contextvars.Context()
"""The context in which the loop runs functions for other threads, with the loop's settings of NumPy."""

_T = TypeVar("_T")

INLINE_BYTES = 65_536
"""Number of bytes from which work whose time grows with the bytes is done on another thread."""


def _running() -> asyncio.AbstractEventLoop:
    """The loop, which starts with the first peer."""
    global _loop, _thread
    with _lock:
        if _loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run, args=(loop,), name="grpc calls", daemon=True)
            try:
                thread.start()
            except BaseException:
                loop.close()
                raise
            _loop, _thread = loop, thread
        return _loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    _context.run(np.seterr, all="ignore")
    asyncio.set_event_loop(loop)
    loop.run_forever()


def is_here() -> bool:
    """Whether the calling thread is the loop's, which must not wait."""
    return threading.current_thread() is _thread


def wait_for(what: Coroutine[Any, Any, _T], seconds: float) -> _T:
    """Runs a coroutine on the loop, and waits for its end.

    Raises:
        TimeoutError: it takes longer.
        RuntimeError: the calling thread is the loop's own.
    """
    if is_here():
        what.close()
        raise RuntimeError("the thread that hears the answers must not wait for one")
    return asyncio.run_coroutine_threadsafe(what, _running()).result(seconds)


def _closed() -> grpc.RpcError:
    nothing = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, nothing, nothing, "closed")


def _failed(cause: Exception) -> grpc.RpcError:
    nothing = grpc.aio.Metadata()
    if isinstance(cause, MemoryError):
        text = "Out of memory for the answer of another task"
        return grpc.aio.AioRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, nothing, nothing, text)
    log.error("a call to another task failed", exc_info=cause)
    return grpc.aio.AioRpcError(
        grpc.StatusCode.INTERNAL, nothing, nothing, f"{type(cause).__name__}: {cause}"
    )


class Call:
    """A call of a method, which is given by its full name.

    `ended` is called once, on the loop, with the answer or an error, unless the call is cancelled before.
    """

    __slots__ = ("_cancelled", "_channel", "_data", "_ended", "_name", "_task")

    def __init__(self, channel: Channel, name: str, data: bytes, ended: Ended) -> None:
        self._channel = channel
        self._name = name
        self._data = data
        self._ended = ended
        self._cancelled = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Sends the request, without waiting."""
        self._channel.calls.add(self)
        self._channel.do(self._begin)

    def _begin(self) -> None:
        if not self._cancelled:
            self._task = self._channel.loop.create_task(self._ask())

    async def _ask(self) -> None:
        error, answer = None, b""
        try:
            answer = await self._channel.ask(self._name, self._data)
        except grpc.RpcError as e:
            error = e
        except (
            asyncio.CancelledError,
            grpc.aio.UsageError,
        ):  # the call or the channel was cancelled or closed
            error = _closed()
        except Exception as e:  # such as no memory for the answer
            error = _failed(e)
        finally:
            self._data = b""
            self._channel.calls.discard(self)
        if not self._cancelled:
            try:
                self._ended(error, answer)
            except Exception:
                log.exception("the answer to %s could not be used", self._name)

    def cancel(self) -> None:
        """Cancels the call, from any thread; has no effect if it has ended."""
        self._cancelled = True
        self._channel.do(self._stop)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._channel.calls.discard(self)


class Channel:
    """A connection to another task, for calls from any thread.

    Args:
        credentials: gRPC's credentials, for TLS.
        shown: the function from a method and its request to the metadata that identify the caller.

    Attributes:
        calls: the calls that have not ended.
    """

    def __init__(
        self,
        address: str,
        options: tuple[tuple[str, int], ...],
        credentials: Any = None,
        shown: Callable[[str, bytes], tuple[tuple[str, str], ...]] | None = None,
    ) -> None:
        self.loop = _running()
        self.calls: set[object] = set()
        self._address = address
        self._options = options
        self._credentials = credentials
        self._shown = shown
        self._channel: Any = None
        self._stubs: dict[str, Any] = {}
        self._closing: asyncio.Task[None] | None = None

    def wait(self, name: str, data: bytes, timeout: float) -> bytes:
        """The answer to a call.

        Raises:
            RpcError: there is none within `timeout` seconds, or it is an error.
            RuntimeError: the calling thread is the loop's own.
        """
        if is_here():
            raise RuntimeError("the event loop's thread must not wait for an answer")

        async def ask() -> bytes:
            return await self.ask(name, data, timeout)

        call = object()
        self.calls.add(call)
        try:
            return asyncio.run_coroutine_threadsafe(ask(), self.loop).result()
        except (CancelledError, grpc.aio.UsageError):
            raise _closed() from None
        except MemoryError as e:
            raise _failed(e) from None
        finally:
            self.calls.discard(call)

    def do(self, function: Callable[[], object]) -> None:
        """Runs a function on the loop, at once if this is its thread."""
        if is_here():
            function()
        else:
            self.loop.call_soon_threadsafe(function, context=_context)

    async def ask(self, name: str, data: bytes, timeout: float | None = None) -> bytes:
        """The answer to a call; for the loop."""
        said = metadata(len(data))
        if self._shown is not None:
            if len(data) > INLINE_BYTES:  # a proof reads all bytes, for which other calls should not wait
                said += await self.loop.run_in_executor(None, self._shown, name, data)
            else:
                said += self._shown(name, data)
        answer: bytes = await self.stub(name)(data, timeout=timeout, metadata=said)
        return answer

    def stub(self, name: str) -> Any:
        """The function that calls a method, for use on the loop."""
        found = self._stubs.get(name)
        if found is None:
            if self._channel is None:
                self._channel = (
                    grpc.aio.insecure_channel(self._address, options=(*self._options, *NO_PROXY))
                    if self._credentials is None
                    else grpc.aio.secure_channel(self._address, self._credentials, options=self._options)
                )
            found = self._stubs[name] = self._channel.unary_unary(name)
        return found

    def close(self) -> None:
        """Ends the connection and the calls on it, without waiting."""

        def end() -> None:
            if self._channel is not None:
                self._closing = self.loop.create_task(self._channel.close())

        self.do(end)
