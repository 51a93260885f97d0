"""One more header in each request of a client that speaks HTTP/2: all else passes as it is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from tensorfleet.wire.http2 import MAGIC, AddedHeader, authorization

EXTRA = authorization("Bearer x")


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def added(data: bytes, cuts: tuple[int, ...] = ()) -> bytes:
    """What comes out for some bytes that come in parts."""
    header = AddedHeader(lambda: EXTRA)
    out = bytearray()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        for part in header.feed(memoryview(data[start:end])):
            out += part
    return bytes(out)


SETTINGS = frame(4, 0, 0, b"\x00\x04\x00\x01\x00\x00")
DATA = frame(0, 1, 1, bytes(range(256)) * 40)


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (frame(1, 4, 1, b"abc"), frame(1, 4, 1, b"abc" + EXTRA)),
        (frame(1, 5, 1, b"abc"), frame(1, 5, 1, b"abc" + EXTRA)),
        # With a priority, and padded: the padding is left out.
        (frame(1, 0x24, 1, b"\0\0\0\0\x10abc"), frame(1, 0x24, 1, b"\0\0\0\0\x10abc" + EXTRA)),
        (frame(1, 0x0C, 1, b"\x02abc\0\0"), frame(1, 4, 1, b"abc" + EXTRA)),
        # Headers that go on in another frame.
        (
            frame(1, 0, 1, b"ab") + frame(9, 0, 1, b"c") + frame(9, 4, 1, b"d"),
            frame(1, 0, 1, b"ab") + frame(9, 0, 1, b"c") + frame(9, 4, 1, b"d" + EXTRA),
        ),
        # The two requests of a connection have it both; what ends the first one, as trailers, has not.
        (
            frame(1, 4, 1, b"a") + frame(1, 5, 1, b"t") + frame(1, 4, 3, b"b"),
            frame(1, 4, 1, b"a" + EXTRA) + frame(1, 5, 1, b"t") + frame(1, 4, 3, b"b" + EXTRA),
        ),
        # A frame that is full gets another one behind it.
        (
            frame(1, 5, 1, bytes(16384)),
            frame(1, 1, 1, bytes(16384)) + frame(9, 4, 1, EXTRA),
        ),
    ],
)
def test_each_request_has_one_more_header(sent: bytes, wanted: bytes) -> None:
    assert added(MAGIC + SETTINGS + sent + DATA) == MAGIC + SETTINGS + wanted + DATA


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 12_000), max_size=12))
def test_it_is_the_same_however_the_bytes_come(cuts: list[int]) -> None:
    one = (
        frame(1, 4, 1, b"abc")
        + DATA
        + frame(8, 0, 0, bytes(4))
        + frame(1, 5, 3, b"d")
        + frame(3, 0, 1, b"\0" * 4)
    )
    data = MAGIC + SETTINGS + one
    assert added(data, tuple(cuts)) == added(data)


def test_bytes_by_bytes() -> None:
    data = MAGIC + SETTINGS + frame(1, 4, 1, b"abc") + frame(0, 1, 1, b"xyz") + frame(1, 4, 3, b"")
    assert added(data, tuple(range(len(data)))) == added(data)


def test_what_is_passed_on_is_not_copied() -> None:
    header = AddedHeader(lambda: EXTRA)
    header.feed(memoryview(MAGIC + frame(1, 4, 1, b"abc")))
    large = memoryview(frame(0, 0, 1, bytes(100_000)))
    (part,) = header.feed(large)
    assert isinstance(part, memoryview)
    assert part.obj is large.obj


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        MAGIC + frame(1, 0, 1, b"a") + frame(0, 0, 1, b"b"),
        MAGIC + frame(1, 0, 1, b"a") + frame(9, 4, 3, b"b"),
        MAGIC + frame(9, 4, 1, b"a"),
        MAGIC + frame(1, 0x0C, 1, b"\x09abc"),
        MAGIC + frame(1, 0x0C, 1, b""),
        MAGIC + b"\x01\x00\x01" + bytes((1, 4, 0, 0, 0, 1)) + bytes(65537),
    ],
)
def test_what_is_not_http2_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r"gRPC|headers"):
        added(sent)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_whatever_comes_is_passed_on_or_refused(data: bytes) -> None:
    try:
        found = added(MAGIC + data)
    except ValueError:
        return
    assert found.startswith(MAGIC[: len(found)])


@pytest.mark.parametrize("size", [1, 100, 118, 119, 120, 300, 5000])
def test_the_length_of_a_token_has_any_number_of_bytes(size: int) -> None:
    """127 is where one byte of length is no longer enough."""
    block = authorization("x" * size)
    assert block.endswith(b"x" * size)
    assert block[:2] == b"\x1f\x08"
    length = block[2:-size]
    if size < 127:
        assert length == bytes((size,))
    else:
        assert length[0] == 127
        assert 127 + sum((byte & 127) << (7 * i) for i, byte in enumerate(length[1:])) == size
