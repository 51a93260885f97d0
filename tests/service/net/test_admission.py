"""Shares of a task: connections, and memory for what arrives."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet.wire import reader
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.frames import FrameTooLarge, Kind, encode
from tensorfleet.wire.limits import GROWN_FROM_BYTES
from tensorfleet.wire.reader import Reader
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.admission import Admission, client_of, limit_stalls
from tests.until import Call, until


def test_places() -> None:
    admission = Admission(most=3, per_client=2)
    first = admission.admit("a")
    admission.admit("a")
    with pytest.raises(errors.ResourceExhaustedError, match=r"a has 2 .*TENSORFLEET_MAX_CLIENT_CONNECTIONS"):
        admission.admit("a")
    other = admission.admit("b")
    with pytest.raises(errors.ResourceExhaustedError, match=r"have 3 .*TENSORFLEET_MAX_CONNECTIONS"):
        admission.admit("c")
    first.leave()
    admission.admit("c")
    other.leave()
    assert admission._total == sum(admission._clients.values()) == 2


def test_the_stranger_who_came_first_goes_first() -> None:
    admission = Admission()
    pairs = [socket.socketpair() for _ in range(limits.MAX_STRANGERS + 2)]
    connections = [Connection(ours) for ours, _ in pairs]
    try:
        admission.arrived(connections[0])
        admission.gone(connections[0])  # has said HELLO
        for connection in connections[1:]:
            admission.arrived(connection)
        assert [c._closed for c in connections] == [False, True, *[False] * limits.MAX_STRANGERS]
    finally:
        for (_, theirs), connection in zip(pairs, connections, strict=True):
            connection.close()
            theirs.close()


def test_what_arrives_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    admission = Admission(bytes=300, client_bytes=100)
    a, other = admission.admit("a"), admission.admit("b")
    a.take(1000, held=0)  # alone, it may have what it needs
    a.take(1000, held=1000)
    a.give_back(2000)
    a.take(80, held=0)
    other.take(80, held=0)
    waits = Call(lambda: a.take(50, held=0))
    until(lambda: admission._room._waiters)  # type: ignore[attr-defined]
    a.give_back(80)
    waits.result()
    monkeypatch.setattr(timeouts, "ROOM_SECONDS", 0.05)
    with pytest.raises(MemoryError, match=r"50 bytes .*from a, of 100 \(TENSORFLEET_MAX_CLIENT_ARRIVING_MB"):
        a.take(60, held=0)
    admission.admit("c").take(100, held=0)
    with pytest.raises(MemoryError, match=r"on their way, of 300 \(TENSORFLEET_MAX_ARRIVING_MB"):
        admission.admit("d").take(100, held=0)


@pytest.fixture
def pair() -> Any:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def sent(sock: socket.socket, *frames: list[Any]) -> threading.Thread:
    def send() -> None:
        for frame in frames:
            for part in frame:
                sock.sendall(part)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["numbers", "strings", "a message"])
def test_a_frame_is_counted_while_it_arrives(pair: Any, kind: str) -> None:
    ours, theirs = pair
    size = 2 * GROWN_FROM_BYTES + 12345 + len(kind)  # of memory that is not there yet
    data = np.random.default_rng(0).integers(0, 255, size, np.uint8)
    if kind == "numbers":
        frame = encode(Kind.RUN, 1, tensors=[data, np.float32(7)])
    elif kind == "strings":
        frame = encode(Kind.RUN, 1, tensors=[np.array([data.tobytes(), b"x"], object)])
    else:
        frame = encode(Kind.CALL, 1, 1, data.tobytes())
    reader = Reader(ours)
    counted: list[int] = []

    class Counts:
        def take(self, size: int, held: int) -> None:
            assert held == sum(counted)
            counted.append(size)

        def give_back(self, size: int) -> None:
            assert size == sum(counted)
            counted.append(-size)

    reader.account = Counts()
    thread = sent(theirs, frame, encode(Kind.RUN, 2))
    got = reader.read()
    assert sum(counted) == 0
    # The strings are preceded by their lengths.
    assert size <= sum(n for n in counted if n > 0) <= size + 10
    assert counted[0] == GROWN_FROM_BYTES
    if kind == "numbers":
        assert np.array_equal(got.tensors[0], data)
        assert got.tensors[1] == 7
    elif kind == "strings":
        assert got.tensors[0].tolist() == [data.tobytes(), b"x"]
    else:
        assert got.meta == data.tobytes()
    assert reader.read().number == 2
    thread.join()


@pytest.mark.parametrize("enough_for", [0, 1, 2])
def test_a_frame_without_room_is_skipped(pair: Any, enough_for: int) -> None:
    """Whenever room is missing, what follows is read."""
    ours, theirs = pair
    reader = Reader(ours)
    given = []

    class Full:
        def take(self, size: int, held: int) -> None:
            if len(given) == enough_for:
                raise MemoryError("no room for what arrives")
            given.append(size)

        def give_back(self, size: int) -> None:
            assert size == sum(given)

    reader.account = Full()
    data = np.zeros(4 * GROWN_FROM_BYTES + 1, np.uint8)
    thread = sent(theirs, encode(Kind.RUN, 1, tensors=[data, np.zeros(3)]), encode(Kind.RUN, 2))
    with pytest.raises(FrameTooLarge, match="no room for what arrives") as caught:
        reader.read()
    reader.skip(caught.value)
    assert reader.read().number == 2
    thread.join()


def test_memory_for_a_claim_is_not_taken(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a claim of 500 MiB with a few bytes, the first part alone."""
    ours, theirs = pair
    made: list[int] = []
    real = reader.mmap.mmap

    def counted(fileno: int, length: int, flags: int) -> Any:
        made.append(length)
        return real(fileno, length, flags)

    monkeypatch.setattr(reader.mmap, "mmap", counted)
    frame = encode(Kind.RUN, 1, tensors=[np.zeros(500 << 20, np.uint8)])
    theirs.sendall(frame[0] + bytes(1000))
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(EOFError):
        Reader(ours).read()
    assert made == [GROWN_FROM_BYTES]


def test_a_frame_that_stops_is_given_up_and_silence_is_not(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    monkeypatch.setattr(timeouts, "STALL_SECONDS", 0.1)
    limit_stalls(ours)
    reader = Reader(ours)
    call = Call(reader.read)
    with pytest.raises(AssertionError, match="no end"):
        call.result(0.5)
    theirs.sendall(encode(Kind.RUN, 1)[0])
    assert call.result().number == 1
    theirs.sendall(encode(Kind.RUN, 1)[0][:7])
    with pytest.raises(TimeoutError, match="header does not end"):
        reader.read()
    reader = Reader(ours)
    theirs.sendall(encode(Kind.CALL, 1, 1, bytes(200_000))[0][:70_000])
    with pytest.raises(OSError):  # noqa: PT011  of the system's wording
        reader.read()


def test_names_of_clients(pair: Any) -> None:
    assert client_of(pair[0]) == f"process {os.getpid()} of user {os.geteuid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as sock,
    ):
        assert client_of(sock) == "127.0.0.1"


def test_who_has_most_strangers_loses_one() -> None:
    """So an address that sends many drives out nobody else's, however old these are."""
    admission = Admission()
    pairs = [socket.socketpair() for _ in range(limits.MAX_STRANGERS + 50)]
    connections = [Connection(ours) for ours, _ in pairs]
    try:
        for connection in connections[:5]:
            admission.arrived(connection, "10.0.0.1")
        for connection in connections[5:]:
            admission.arrived(connection, "10.0.0.2")
        assert [c._closed for c in connections] == [
            *[False] * 5,
            *[True] * 50,
            *[False] * (limits.MAX_STRANGERS - 5),
        ]
    finally:
        for (_, theirs), connection in zip(pairs, connections, strict=True):
            connection.close()
            theirs.close()
