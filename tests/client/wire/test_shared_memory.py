"""Memory shared by the two sides of a connection: its places, and how the two agree on it."""

from __future__ import annotations

import gc
import os
import random
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensorfleet.wire import frames, shared_memory
from tensorfleet.wire.frames import Kind, encode
from tensorfleet.wire.hello import answer_hello, say_hello
from tensorfleet.wire.limits import SHARED_FROM_BYTES
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.shared_memory import Arena, Borrowed

if not shared_memory.SUPPORTED:
    pytest.skip("needs Linux", allow_module_level=True)

KB, MB = 1 << 10, 1 << 20
Sides = tuple[tuple[socket.socket, Reader], tuple[socket.socket, Reader]]


def identity(descriptor: int) -> tuple[int, int]:
    about = os.fstat(descriptor)
    return about.st_dev, about.st_ino


def open_files() -> set[tuple[int, int]]:
    """What this process has open. A number would not do: other tests' connections may end meanwhile."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(identity(int(name)))
        except OSError:
            continue  # the descriptor of the listing itself
    return found


def pair(size: int) -> tuple[Arena, Borrowed]:
    arena = Arena(size)
    return arena, Borrowed(os.dup(arena.descriptor))


def bytes_of(value: int, size: int) -> np.ndarray[Any, Any]:
    return np.full(size, value, np.uint8)


# -------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.bool_, np.int8])
@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
def test_a_tensor_arrives_as_it_was(dtype: Any, order: str) -> None:
    arena, borrowed = pair(8 * MB)
    value = np.random.default_rng(1).integers(0, 2, (300, 70, 6)).astype(dtype)
    value = {"C": value, "F": np.asfortranarray(value), "strided": value[::2], "reversed": value[::-1]}[order]
    place = arena.put(value)
    assert place is not None
    found = borrowed.array(*place, value.nbytes).view(dtype).reshape(value.shape)
    np.testing.assert_array_equal(found, value)
    assert found.flags.writeable
    value = value.copy()
    found[0] = 1  # it is the receiver's own
    value[0] = 1
    np.testing.assert_array_equal(found, value)


def test_a_place_is_free_once_nobody_refers_to_the_tensor() -> None:
    arena, borrowed = pair(4 * MB)
    first = arena.put(bytes_of(1, MB))
    assert first is not None
    array = borrowed.array(*first, MB)
    view = array.reshape(2, -1)[1].view(np.float32)
    assert arena.lent == MB
    del array
    assert arena.lent == MB, "a view of it is left"
    second = arena.put(bytes_of(2, MB))
    assert second is not None
    assert second[1] != first[1]
    del view
    assert arena.lent == MB
    third = arena.put(bytes_of(3, 100 * KB))
    assert third is not None
    assert third[1] == first[1], "the first place that is free"


def test_what_does_not_fit_is_not_taken() -> None:
    arena, borrowed = pair(4 * MB)
    assert arena.put(bytes_of(0, 4 * MB)) is None, "the first page is not for tensors"
    places = [arena.put(bytes_of(i, MB)) for i in range(4)]
    assert [place is None for place in places] == [False, False, False, True]
    arrays = [borrowed.array(*place, MB) for place in places[:3] if place is not None]
    del arrays[1]
    assert arena.put(bytes_of(7, 2 * MB)) is None
    place = arena.put(bytes_of(7, MB))
    assert place == (places[1][0] if places[1] else None, places[1][1] if places[1] else None)
    assert [array[0] for array in arrays] == [0, 2]


def test_there_are_as_many_places_as_slots() -> None:
    arena, _borrowed = pair(256 * MB)
    value = bytes_of(1, KB)
    places = [arena.put(value) for _ in range(1100)]
    assert sum(place is not None for place in places) == 1024
    assert len({place for place in places if place}) == 1024


def test_memory_that_the_system_does_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(28, "No space left on device")

    arena, _borrowed = pair(4 * MB)
    assert arena.put(bytes_of(1, MB)) is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", refuse)
        assert arena.put(bytes_of(1, MB)) is None
    assert arena.put(bytes_of(1, MB)) is not None


def test_unused_memory_is_not_taken_from_the_system() -> None:
    arena, _borrowed = pair(1 << 30)
    assert arena.put(bytes_of(1, MB)) is not None
    assert os.fstat(arena.descriptor).st_blocks * 512 < 2 * MB


def test_tensors_outlive_the_arena_and_the_connection() -> None:
    before = open_files()
    arena, borrowed = pair(4 * MB)
    place = arena.put(bytes_of(5, MB))
    assert place is not None
    array = borrowed.array(*place, MB)
    del arena, borrowed
    gc.collect()
    assert (array == 5).all()
    del array
    gc.collect()
    assert not open_files() - before


def test_threads_put_and_give_back() -> None:
    """Every tensor has the bytes that its sender gave it, until it is given back."""
    arena, borrowed = pair(4 * MB)
    wrong: list[Any] = []
    refused = [0] * 4

    def run(number: int) -> None:
        chance = random.Random(number)
        held: list[tuple[int, Any]] = []
        for i in range(400):
            value, size = (number * 400 + i) % 251, chance.randrange(KB, 600 * KB)
            place = arena.put(bytes_of(value, size))
            if place is None:
                refused[number] += 1
            else:
                held.append((value, borrowed.array(*place, size)))
            if place is None or chance.random() < 0.6:
                chance.shuffle(held)
                for expected, array in held[: len(held) // 2 + 1]:
                    if not (array == expected).all():
                        wrong.append((number, i, expected))
                del held[: len(held) // 2 + 1]
                array = None

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert 0 < sum(refused) < 1200
    assert arena.lent == 0


@pytest.mark.parametrize(
    ("slot", "begin", "size"),
    [(1024, 4096, 10), (0, 0, 10), (0, 4095, 1), (0, 4096, 4 * MB), (0, 4 * MB, 1), (2**63, 4096, 1)],
)
def test_a_place_that_does_not_exist(slot: int, begin: int, size: int) -> None:
    _arena, borrowed = pair(4 * MB)
    with pytest.raises(ValueError, match="outside of the shared memory"):
        borrowed.array(slot, begin, size)


def test_only_memory_that_stays_as_long_as_it_is_is_borrowed(tmp_path: Any) -> None:
    unsealed = os.memfd_create("other", os.MFD_ALLOW_SEALING)
    os.ftruncate(unsealed, MB)
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    reading, writing = os.pipe()
    given = {identity(descriptor) for descriptor in (unsealed, file, reading, writing)}
    for descriptor in (unsealed, file, reading, writing):
        with pytest.raises(ValueError, match="shared memory"):
            Borrowed(descriptor)
    assert not given & open_files()


# ------------------------------------------------------------------------------------------------ agreement


@pytest.fixture
def sides() -> Iterator[Sides]:
    """The side that opened a connection, and the side that accepted it."""
    first, second = socket.socketpair()
    with first, second:
        for sock in (first, second):
            sock.settimeout(20)
        yield (first, Reader(first)), (second, Reader(second))


def greet(sides: Sides) -> tuple[Any, Any]:
    answers: list[Any] = []

    def answer() -> None:
        try:
            answers.append(answer_hello(*sides[1], {"who": "second"}))
        except Exception as e:
            answers.append(e)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        said: Any = say_hello(*sides[0], {"who": "first"})
    except Exception as e:
        sides[0][0].close()
        said = e
    thread.join(20)
    return said, answers[0]


def test_both_sides_share_memory(sides: Sides) -> None:
    said, heard = greet(sides)
    assert said[0]["who"] == "second"
    assert heard[0]["who"] == "first"
    value = np.random.default_rng(1).random((300, 100))
    for (about, arena), (sender, _), (_, reader) in ((said, *sides), (heard, *sides[::-1])):
        assert arena is not None, about
        small, text = np.arange(10), np.array([b"a", b"bc"], object)
        frame = encode(Kind.RESULT, 1, 0, b"", [small, value, text, value[:50]], arena=arena)
        assert sum(map(len, frame)) < 50 * 800 + 1000, "the last one is too small to be shared"
        for buffer in frame:
            sender.sendall(buffer)
        found = reader.read().tensors
        for a, b in zip(found, [small, value, text, value[:50]], strict=True):
            np.testing.assert_array_equal(a, b)
        assert arena.lent == -(-value.nbytes // 4096) * 4096
        assert arena.traffic.sent_bytes == value.nbytes
        del found, a
        assert arena.lent == 0


def test_without_room_tensors_go_by_socket(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "SIZE", MB)
    (_, arena), _ = greet(sides)
    value = np.arange(SHARED_FROM_BYTES, dtype=np.uint64)  # half of the memory
    frames = [encode(Kind.RESULT, i, 0, b"", [value], arena=arena) for i in range(3)]
    assert [sum(map(len, frame)) < KB for frame in frames] == [True, False, False]
    reader = sides[1][1]
    held = []
    for frame in frames:
        thread = threading.Thread(target=sides[0][0].sendall, args=(b"".join(frame),))
        thread.start()
        (tensor,) = reader.read().tensors
        np.testing.assert_array_equal(tensor, value)
        held.append(tensor)
        thread.join(20)


@pytest.mark.parametrize("reason", ["no memory", "off", "another user", "tcp", "little room", "their room"])
def test_no_memory_is_shared(sides: Sides, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = sides
    if reason == "no memory":

        def refuse(*_: Any) -> int:
            raise OSError(24, "Too many open files")

        monkeypatch.setattr(os, "memfd_create", refuse)
    elif reason == "off":
        monkeypatch.setattr(shared_memory, "SIZE", 0)
    elif reason == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: 123456)
    elif reason == "little room":
        second[1].max_payload = MB
    elif reason == "their room":
        first[1].max_payload = KB
    elif reason == "tcp":
        listener = socket.create_server(("127.0.0.1", 0))
        a = socket.create_connection(listener.getsockname(), 20)
        b, _ = listener.accept()
        listener.close()
        b.settimeout(20)
        sides = first, second = (a, Reader(a)), (b, Reader(b))
    before = open_files()
    said, heard = greet(sides)
    assert (said[0]["who"], heard[0]["who"]) == ("second", "first")
    assert (said[1], heard[1]) == (None, None)
    assert first[1].borrowed is None
    assert second[1].borrowed is None
    assert not open_files() - before
    for sock, _ in sides:
        sock.close()


def test_each_side_says_how_much_it_takes(sides: Sides) -> None:
    sides[0][1].max_payload = MB
    said, heard = greet(sides)
    assert heard[1] is not None
    assert sides[0][1].borrowed is not None
    assert sides[0][1].borrowed.size == MB
    assert sides[1][1].borrowed is not None
    assert sides[1][1].borrowed.size == shared_memory.SIZE
    assert said[1] is not None


def test_a_stranger_passes_something_else(sides: Sides, tmp_path: Any) -> None:
    before = open_files()
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    (frame,) = encode(Kind.HELLO, 0, 0, frames.MAGIC + b'{"shared_memory": 1000000}')
    socket.send_fds(sides[0][0], [frame], [file])
    os.close(file)
    with pytest.raises(ValueError, match="shared memory"):
        answer_hello(*sides[1], {"who": "second"})
    gc.collect()
    assert not open_files() - before


@pytest.mark.parametrize("hello", [b"{}", b'{"shared_memory": "x"}', b'{"shared_memory": null}', b"[]", b"{"])
def test_a_hello_that_does_not_say_what_comes_with_it(sides: Sides, hello: bytes) -> None:
    before = open_files()
    arena = Arena(MB)
    (frame,) = encode(Kind.HELLO, 0, 0, frames.MAGIC + hello)
    socket.send_fds(sides[0][0], [frame], [arena.descriptor])
    del arena
    with pytest.raises(ValueError):  # noqa: PT011  whatever it says, the connection ends
        answer_hello(*sides[1], {"who": "second"})
    gc.collect()
    assert not open_files() - before


def test_tensors_in_memory_that_is_not_shared(sides: Sides) -> None:
    arena = Arena(4 * MB)
    for buffer in encode(Kind.RESULT, 1, 0, b"", [np.zeros(MB, np.uint8)], arena=arena):
        sides[0][0].sendall(buffer)
    with pytest.raises(ValueError, match="cannot be 1048576 shared bytes"):
        sides[1][1].read()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_is_shared_is_let_go_with_the_connection(sides: Sides) -> None:
    before = open_files()
    said, heard = greet(sides)
    assert open_files() - before
    for _, reader in sides:
        reader.borrowed = None
    del said, heard
    gc.collect()
    assert not open_files() - before
