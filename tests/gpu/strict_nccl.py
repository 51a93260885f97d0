"""`cupy.cuda.nccl` of the stand-in: collectives among processes, and among GPUs of one, over Unix sockets.

As NCCL it computes on the memory that pointers name, behind the host's back: a stream's events are done only
when all members have come. A member that is lost is waited for until `abort`.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.gpu.strict_array import machine

available = True
NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN = range(4)
NCCL_INT8, NCCL_UINT8, NCCL_INT32, NCCL_UINT32, NCCL_INT64, NCCL_UINT64 = range(6)
NCCL_HALF, NCCL_FLOAT, NCCL_DOUBLE = 6, 7, 8
_TYPES = ("i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
_OPS = (np.add, np.multiply, np.maximum, np.minimum)
_HEAD = struct.Struct("<IQ")
_LIMIT_SECONDS = 60.0
DIES_AT = "STRICT_NCCL_DIES_AT"
"""The environment variable of a process that dies in a collective: in which one, by its number."""
_own = threading.local()
made = 0
"""How many communicators this process has made."""
_used: set[tuple[bytes, int]] = set()
streams: dict[int, list[threading.Thread]] = {}
"""What is under way on each stream, by its pointer."""


class NcclError(RuntimeError):
    pass


def get_version() -> int:
    return 22800


def get_unique_id() -> bytes:
    return secrets.token_hex(64).encode()


def groupStart() -> None:
    _own.__dict__.setdefault("groups", []).append([])


def groupEnd() -> None:
    queued = _own.groups.pop()
    threads = [call() for call in queued]
    for thread in threads:
        if thread is not None:
            thread.join()


def _do(call: Callable[[], threading.Thread | None]) -> None:
    """Runs a call now, or at the end of the group."""
    groups = _own.__dict__.get("groups")
    if groups:
        groups[-1].append(call)
        return
    thread = call()
    if thread is not None:
        thread.join()


class NcclCommunicator:
    def __init__(self, ndev: int, commId: bytes, rank: int, config: Any = None) -> None:
        global made
        assert len(commId) == 128
        made += 1
        if (commId, rank) in _used:
            raise NcclError("NCCL_ERROR_SYSTEM: nobody listens any more for members with this id")
        _used.add((commId, rank))
        self._size, self._rank = ndev, rank
        self._name = commId.decode()
        self._gpu = machine.current
        self._aborted = threading.Event()
        self._links: dict[int, socket.socket] = {}
        self._turn = threading.Lock()
        self._count = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"\0strict-{self._name[:60]}-{rank}")
        self._listener.listen(ndev)
        _do(lambda: self._begun(self._connect))

    def _begun(self, function: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=function, daemon=True)
        thread.start()
        return thread

    def _connect(self) -> None:
        end = time.monotonic() + _LIMIT_SECONDS
        for rank in range(self._rank):
            link = socket.socket(socket.AF_UNIX)
            while True:
                try:
                    link.connect(f"\0strict-{self._name[:60]}-{rank}")
                    break
                except ConnectionRefusedError:
                    assert time.monotonic() < end, f"rank {rank} does not come"
                    self._aborted.wait(0.002)
            _send(link, self._rank)
            self._links[rank] = link
        while len(self._links) < self._size - 1:
            self._listener.settimeout(max(end - time.monotonic(), 0.01))
            link, _ = self._listener.accept()
            link.settimeout(None)
            self._links[_receive(link)] = link
        self._listener.close()

    # Collectives

    def allReduce(self, sendbuf: int, recvbuf: int, count: int, datatype: int, op: int, stream: int) -> None:
        def combine(parts: list[Any]) -> Any:
            total = parts[0]
            for part in parts[1:]:
                total = _OPS[op](total, part)
            return total

        self._queue(("reduce", count, datatype, op), sendbuf, recvbuf, count, count, combine, stream)

    def allGather(self, sendbuf: int, recvbuf: int, count: int, datatype: int, stream: int) -> None:
        what = "gather", count, datatype
        self._queue(what, sendbuf, recvbuf, count, count * self._size, np.concatenate, stream)

    def broadcast(
        self, sendbuff: int, recvbuff: int, count: int, datatype: int, root: int, stream: int
    ) -> None:
        what = "broadcast", count, datatype, root
        self._queue(what, sendbuff, recvbuff, count, count, lambda parts: parts[root], stream)

    def _queue(
        self,
        what: tuple[Any, ...],
        source: int,
        target: int,
        count: int,
        result: int,
        combine: Callable[[list[Any]], Any],
        stream: int,
    ) -> None:
        if self._aborted.is_set():
            raise NcclError("NCCL_ERROR_INVALID_ARGUMENT: the communicator was aborted")
        dtype = np.dtype(_TYPES[what[2]])

        def run() -> None:
            with self._turn:
                self._count += 1
                if os.environ.get(DIES_AT) == str(self._count):
                    os._exit(9)
                own = _memory(source, count, dtype).copy()
                parts = self._exchange((self._count, what), own)
                if parts is not None:
                    _memory(target, result, dtype)[:] = combine(parts)

        def begin() -> None:
            streams.setdefault(stream, []).append(self._begun(run))

        _do(begin)

    def _exchange(self, what: Any, own: Any) -> list[Any] | None:
        """All members' parts in the order of the ranks; None if the communicator is aborted."""
        parts = {self._rank: own}
        for link in self._links.values():
            try:
                threading.Thread(target=_send, args=(link, (what, own)), daemon=True).start()
            except OSError:
                break
        for rank, link in self._links.items():
            try:
                theirs, parts[rank] = _receive(link)
            except (OSError, EOFError):
                assert self._aborted.wait(_LIMIT_SECONDS), "a lost member is waited for, and nobody aborts"
                return None
            assert theirs == what, f"members do not agree: {theirs} and {what}"
        return [parts[rank] for rank in range(self._size)]

    def check_async_error(self) -> None:
        pass

    def abort(self) -> None:
        self._aborted.set()
        for link in self._links.values():
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            link.close()

    def destroy(self) -> None:
        self.abort()

    def size(self) -> int:
        return self._size

    def rank_id(self) -> int:
        return self._rank

    def device_id(self) -> int:
        return self._gpu


def is_done(stream: int) -> bool:
    """Whether nothing is under way on a stream."""
    left = streams.get(stream, [])
    left[:] = [thread for thread in left if thread.is_alive()]
    return not left


def _memory(pointer: int, count: int, dtype: np.dtype[Any]) -> Any:
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(pointer), dtype)


def _send(link: socket.socket, value: Any) -> None:
    data = pickle.dumps(value)
    try:
        link.sendall(_HEAD.pack(0, len(data)) + data)
    except OSError:
        pass  # the member is lost, which its receiver notices


def _receive(link: socket.socket) -> Any:
    _, size = _HEAD.unpack(_read(link, _HEAD.size))
    return pickle.loads(_read(link, size))


def _read(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)
