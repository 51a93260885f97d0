"""Heartbeats: a process that waits for another one notices when that has fallen silent.

A connection on which nothing comes may lead to a process that computes, to one that is stopped, or to a
machine that is gone. So tasks send each other a sign of life every second, and of whoever is silent for
longer, a `Heart` asks whether its gRPC port still greets a new connection. gRPC greets from threads of its
own: a task whose interpreter is held by a long kernel, and which sends no signs of life, does so at once; a
stopped one, for which the system still accepts connections, does not.

Nothing of it is on a step's way: a heart is one thread, which wakes up ten times within its limit.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Protocol
from weakref import WeakKeyDictionary, WeakSet

import grpc

from tensorfleet.core.environment import number
from tensorfleet.proto import fleet_pb2
from tensorfleet.security.calls import for_client, open_channel
from tensorfleet.security.settings import Security
from tensorfleet.wire.limits import GREETING_SECONDS, HEARTBEAT_SECONDS

VARIABLE = "TENSORFLEET_HEARTBEAT_SECONDS"

_TICKS = 10  # looks within the limit
_SILENT = 0.65  # of the limit without a sign of life, until the other side is asked,
_QUESTION = 0.25  # and of the limit for its answer
_LATE = 3  # ticks: whoever looks so late has been stopped or busy itself, and blames nobody for it

_log = logging.getLogger("tensorfleet")


def limit() -> float:
    """After so many seconds of silence another process is taken for lost; 0: never."""
    return number(VARIABLE, HEARTBEAT_SECONDS)


class Watched(Protocol):
    """A connection to another process; its methods are called by the heart's threads, and never block.

    Attributes:
        address: the gRPC address of the process.
        task, incarnation: of the process; the latter is 0 if it may be another one after a restart.
    """

    @property
    def address(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def incarnation(self) -> int: ...
    def heard(self, now: float) -> float | None:
        """The monotonic time of the last sign of life; None while nothing is expected of the process."""

    def silent(self, why: str) -> None:
        """The process is lost; `why` ends a sentence such as "Lost the connection to X: "."""


class Heart:
    """Looks after connections, on a thread that runs while there are any.

    Args:
        seconds: after so much silence a process is lost; 0: never.
        question: see `ask`.
    """

    def __init__(
        self, seconds: float, question: Callable[[str, float], fleet_pb2.Endpoint | str] | None = None
    ) -> None:
        self.seconds = seconds
        self._question = question or ask
        self._lock = threading.Lock()
        self._watched: WeakKeyDictionary[Watched, float] = WeakKeyDictionary()  # when it answered a question
        self._asked: WeakSet[Watched] = WeakSet()
        self._excused = 0.0
        self._stop = threading.Event()
        self._running = False

    def watch(self, watched: Watched) -> None:
        """Looks after a connection until it is forgotten, or nobody else refers to it."""
        if not self.seconds:
            return
        with self._lock:
            self._watched[watched] = 0.0
            if self._running or self._stop.is_set():
                return
            self._running = True
        try:
            threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()
        except (RuntimeError, MemoryError):  # no thread can be started: the next connection tries again
            with self._lock:
                self._running = False
            _log.warning("no heartbeats: no thread can be started")

    def forget(self, watched: Watched) -> None:
        with self._lock:
            self._watched.pop(watched, None)

    def close(self) -> None:
        """Ends the thread."""
        self._stop.set()

    def _beat(self) -> None:
        tick = self.seconds / _TICKS
        last = time.monotonic()
        while not self._stop.wait(tick):
            now = time.monotonic()
            if now - last > _LATE * tick:
                self._excused = now
            last = now
            with self._lock:
                watched = list(self._watched.items())
                if not watched:
                    self._running = False
                    return
            for one, answered in watched:
                try:
                    self._look(one, answered, now)
                except Exception:
                    _log.exception("a heartbeat failed")
            del watched[:]
            one = None  # type: ignore[assignment]  # nothing is kept alive between two looks

    def _look(self, one: Watched, answered: float, now: float) -> None:
        heard = one.heard(now)
        if heard is None:
            return
        heard = max(heard, answered)
        if now - max(heard, self._excused) < _SILENT * self.seconds:
            return
        with self._lock:
            if one in self._asked:
                return
            self._asked.add(one)
        thread = threading.Thread(target=self._ask, args=(one, heard), name="heartbeat question", daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError) as e:
            with self._lock:
                self._asked.discard(one)  # it is asked at the next look
            _log.warning("%s was silent and cannot be asked now: %s", one.task, e)

    def _ask(self, one: Watched, heard: float) -> None:
        asked = time.monotonic()
        seconds = _QUESTION * self.seconds
        try:
            answer = self._question(one.address, seconds)
            now = time.monotonic()
            with self._lock:
                if one not in self._watched:
                    return
                if isinstance(answer, str):
                    lost = now - asked < _LATE * seconds  # else this process itself was stopped
                else:
                    # Behind an address of several processes, another one may have answered.
                    lost = answer.task == one.task and 0 != one.incarnation != answer.incarnation
                    answer = "another process answers at its address: it has restarted"
                if lost:
                    self._watched.pop(one)
                else:
                    self._watched[one] = now
            if lost:
                since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - (now - heard)))
                one.silent(f"no sign of life for {now - heard:.1f} s, since {since}; last error: {answer}")
        finally:
            with self._lock:
                self._asked.discard(one)


def ask(address: str, seconds: float, security: Security | None = None) -> fleet_pb2.Endpoint | str:
    """Asks the process at a gRPC address whether it lives.

    Args:
        security: what this process shows; by default what a client's environment says.

    Returns:
        What it says of itself, which is nothing if it is too busy, or a server of TensorFlow's; else why it
        seems lost.
    """
    security = for_client(address) if security is None else security
    with open_channel(address, (("grpc.use_local_subchannel_pool", 1),), security) as channel:
        call = channel.unary_unary(
            "/tensorfleet.FleetService/GetEndpoint",
            request_serializer=fleet_pb2.GetEndpointRequest.SerializeToString,
            response_deserializer=fleet_pb2.Endpoint.FromString,
        )
        ready = grpc.channel_ready_future(channel)
        try:
            ready.result(timeout=seconds)
        except grpc.FutureTimeoutError:
            ready.cancel()
            try:
                call(fleet_pb2.GetEndpointRequest(), timeout=GREETING_SECONDS / 10)
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.UNAVAILABLE:
                    return str(error.details())
            return f"{address} does not greet a new connection within {seconds:g} s"
        try:
            endpoint: fleet_pb2.Endpoint = call(fleet_pb2.GetEndpointRequest(), timeout=GREETING_SECONDS)
        except grpc.RpcError:
            return fleet_pb2.Endpoint()
        return endpoint


_own: dict[float, Heart] = {}
_own_lock = threading.Lock()


def own() -> Heart:
    """The heart of this process's sessions."""
    seconds = limit()
    with _own_lock:
        if seconds not in _own:
            _own[seconds] = Heart(seconds)
        return _own[seconds]


def _after_fork() -> None:
    global _own_lock
    _own_lock = threading.Lock()
    _own.clear()  # their threads are the parent's


os.register_at_fork(after_in_child=_after_fork)
