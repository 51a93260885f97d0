"""Texts and bytes of any length, decoded and copied by parts.

Python does each by one call, during which no other thread of the process runs: 0.7 s for each gigabyte that
is copied, and a minute for a gigabyte that is not UTF-8.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

COPIED = 1 << 20
"""Number of bytes that are copied at a time: half a millisecond."""

DECODED = 1 << 15
"""Number of bytes that are decoded at a time: 10 ms where none of them is UTF-8."""

_decoder = codecs.getincrementaldecoder("utf-8")


def excerpt(data: bytes) -> str:
    """Bytes from outside as a message shows them: without the middle, if that is long; escapes for what is
    not UTF-8.
    """
    if len(data) <= DECODED:
        return data.decode("utf-8", "backslashreplace")
    first, last = data[: DECODED // 2], data[-DECODED // 2 :]
    return f"{excerpt(first)} … {excerpt(last)}"


def decoded(data: bytes, look: Callable[[], object] = bool) -> Iterator[str]:
    """The whole text of bytes, with escapes for what is not UTF-8.

    Args:
        look: called before each part; it may raise.
    """
    if len(data) <= DECODED:
        yield data.decode("utf-8", "backslashreplace")
        return
    decoder = _decoder("backslashreplace")
    for begin in range(0, len(data), DECODED):
        look()
        yield decoder.decode(data[begin : begin + DECODED], begin + DECODED >= len(data))


def grouped(texts: Iterable[str]) -> Iterator[str]:
    """The same text in fewer pieces: all of it, if it is short."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= COPIED:
            yield "".join(group)
            group.clear()
            size = 0
    if group:
        yield "".join(group)


def beginning(texts: Iterable[str], most: int) -> str:
    """The first `most` characters of a text, and `…` where it is longer. It is not made further than that."""
    found: list[str] = []
    left = most
    for text in texts:
        found.append(text[:left])
        if len(text) > left:
            found.append(" …")
            break
        left -= len(text)
    return "".join(found)


def bytes_of(buffer: Any) -> bytes:
    """As `bytes(buffer)`, of a contiguous one. `b"".join` of bytes needs no such help: other threads run."""
    view = memoryview(buffer)
    if view.nbytes <= COPIED:
        return view.tobytes()
    rest = view.cast("B")
    file = io.BytesIO()  # grows without a copy where the system moves pages, and gives away what it has
    for begin in range(0, len(rest), COPIED):
        file.write(rest[begin : begin + COPIED])
    return file.getvalue()
