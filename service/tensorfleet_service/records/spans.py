"""The positions of the values of features in serialized Examples.

An Example is a message of tags and lengths, with names and values in between. Two Examples with the same
tags, lengths and names at the same positions have their values at the same positions, too, which is so for
most records of one writer. So the positions found in one are tried on all others of its length at once, and
only if that fails an Example is read tag by tag.

The compiled scanner, which `columns` calls if it is installed, finds the same. No other module knows the wire
format of Examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

MISSING, BYTES, FLOATS, INTS, MANY_BYTES = 0, 1, 2, 3, 4
"""The content of a span: nothing; one string; packed floats; packed varints; strings with their tags."""

Spans = tuple[int, ...]
"""(kind, start, end) for each feature, one after the other."""

_SAMPLES = 8  # number of Examples of one length from which comparing all of them at once pays
_LAYOUTS = 64  # number of lengths whose layouts are kept


class _Irregular(Exception):
    """An Example that may be valid, but is not in the form that serializers write."""


class _Layout:
    """The positions of the values in Examples of one length.

    Attributes:
        spans: of the wanted features.
        fixed: the positions of the bytes that this layout requires.
        content: the values of these bytes.
    """

    __slots__ = ("content", "fixed", "spans")

    def __init__(self, data: bytes, spans: Spans, free: list[tuple[int, int]]) -> None:
        fixed = np.ones(len(data), bool)
        for start, end in free:
            fixed[start:end] = False
        self.spans = spans
        self.fixed = np.flatnonzero(fixed)
        self.content = np.frombuffer(data, np.uint8)[self.fixed]


class Scanner:
    """Finds the values of some features.

    Args:
        keys: the names of the features.
        message: the class of the messages, such as Example, which reads those that are not in the form that
            serializers write.
    """

    def __init__(self, keys: Sequence[bytes], message: Any) -> None:
        self.keys = tuple(keys)
        self._places = {key: i for i, key in reversed(list(enumerate(keys)))}
        self._count = len(keys)
        self._message = message
        self._layouts: dict[int, _Layout] = {}

    def scan(self, items: list[bytes]) -> tuple[list[bytes], list[Spans]]:
        """The Examples, some of them serialized anew, and the spans of their features.

        Raises:
            ValueError: one is no Example; its index in `items` is the error's argument.
        """
        lengths = list(map(len, items))
        distinct = set(lengths)
        if len(distinct) == 1 and len(items) >= _SAMPLES:
            found = self._alike(items)
            if found is not None:
                return items, found
        spans: list[Spans | None] = [None] * len(items)
        if len(distinct) * _SAMPLES <= len(items):
            groups: dict[int, list[int]] = {}
            for i, length in enumerate(lengths):
                groups.setdefault(length, []).append(i)
            for group in groups.values():
                if len(group) >= _SAMPLES:
                    self._fill(items, group, spans)
        result: list[Spans] = []
        written: list[bytes] | None = None
        for i, known in enumerate(spans):
            if known is None:
                try:
                    known = self._one(items[i])[0]
                except (_Irregular, IndexError):
                    if written is None:
                        written = list(items)
                    written[i] = self.rewritten(items[i], i)
                    known = self._one(written[i])[0]
            result.append(known)
        return written or items, result

    def _alike(self, items: list[bytes]) -> list[Spans] | None:
        """The spans of Examples of one length, if all have the same layout; else None."""
        layout = self._layout(items[0])
        if layout is None:
            return None
        table = np.frombuffer(b"".join(items), np.uint8).reshape(len(items), -1)
        if (table[:, layout.fixed] == layout.content).all():
            return [layout.spans] * len(items)
        return None

    def _fill(self, items: list[bytes], group: list[int], spans: list[Spans | None]) -> None:
        layout = self._layout(items[group[0]])
        if layout is None:
            return
        table = np.frombuffer(b"".join([items[i] for i in group]), np.uint8).reshape(len(group), -1)
        alike = (table[:, layout.fixed] == layout.content).all(1).tolist()
        for i, same in zip(group, alike, strict=True):
            if same:
                spans[i] = layout.spans

    def _layout(self, data: bytes) -> _Layout | None:
        layout = self._layouts.get(len(data))
        if layout is None or (data and not _fits(layout, data)):
            try:
                layout = _Layout(data, *self._one(data))
            except (_Irregular, IndexError):
                return None
            if len(self._layouts) >= _LAYOUTS:
                self._layouts = {}
            self._layouts[len(data)] = layout
        return layout

    def rewritten(self, data: bytes, number: int) -> bytes:
        """A message, serialized anew.

        Raises:
            ValueError: it is no such message; `number` is the error's argument.
        """
        from google.protobuf.message import DecodeError

        try:
            message = self._message.FromString(data)
        except DecodeError:
            raise ValueError(number) from None
        message.DiscardUnknownFields()
        return bytes(message.SerializeToString())

    def _one(self, data: bytes) -> tuple[Spans, list[tuple[int, int]]]:
        """The spans of an Example, and the parts of it that may differ in Examples of the same layout.

        Raises:
            _Irregular, IndexError: it is not in the form that serializers write.
        """
        spans = [MISSING, 0, 0] * self._count
        free: list[tuple[int, int]] = []
        end = len(data)
        if not end:
            return tuple(spans), free
        if data[0] != 0x0A:
            raise _Irregular
        place = 1
        size = data[place]
        place += 1
        if size >= 0x80:
            size, place = _varint(data, place - 1)
        if place + size != end:
            raise _Irregular
        places = self._places
        while place < end:
            # An entry of the map: its tag and length, tag, length and bytes of the key, and of the feature.
            if data[place] != 0x0A:
                raise _Irregular
            size = data[place + 1]
            place += 2
            if size >= 0x80:
                size, place = _varint(data, place - 1)
            stop = place + size
            if data[place] != 0x0A:
                raise _Irregular
            size = data[place + 1]
            place += 2
            if size >= 0x80:
                size, place = _varint(data, place - 1)
            key = data[place : place + size]
            place += size
            if data[place] != 0x12:
                raise _Irregular
            size = data[place + 1]
            place += 2
            if size >= 0x80:
                size, place = _varint(data, place - 1)
            if place + size != stop or stop > end:
                raise _Irregular
            index = places.get(key)
            if index is None:
                free.append((place, stop))
            elif size:
                # The feature: which list, and its length; a packed list has a tag and a length as well.
                tag = data[place]
                size = data[place + 1]
                place += 2
                if size >= 0x80:
                    size, place = _varint(data, place - 1)
                if place + size != stop:
                    raise _Irregular
                if tag == 0x0A:
                    kind, place = _strings(data, place, stop, free)
                elif tag == 0x12 or tag == 0x1A:
                    kind = FLOATS if tag == 0x12 else INTS
                    if size:
                        if data[place] != 0x0A:
                            raise _Irregular
                        size = data[place + 1]
                        place += 2
                        if size >= 0x80:
                            size, place = _varint(data, place - 1)
                        if place + size != stop or (kind == FLOATS and size % 4):
                            raise _Irregular
                        if kind == INTS and data[stop - 1] >= 0x80:
                            raise _Irregular
                    free.append((place, stop))
                else:
                    raise _Irregular
                spans[3 * index : 3 * index + 3] = kind, place, stop
            else:
                spans[3 * index : 3 * index + 3] = MISSING, 0, 0
            place = stop
        return tuple(spans), free


def _fits(layout: _Layout, data: bytes) -> bool:
    return bool((np.frombuffer(data, np.uint8)[layout.fixed] == layout.content).all())


def _strings(data: bytes, place: int, stop: int, free: list[tuple[int, int]]) -> tuple[int, int]:
    """The kind of a list of strings, and the start of its span, which is the string itself if it is one."""
    start = place
    count = 0
    while place < stop:
        if data[place] != 0x0A:
            raise _Irregular
        size = data[place + 1]
        place += 2
        if size >= 0x80:
            size, place = _varint(data, place - 1)
        free.append((place, place + size))
        place += size
        count += 1
    if place != stop:
        raise _Irregular
    return (BYTES, free[-1][0]) if count == 1 else (MANY_BYTES, start)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A length, and the position after it."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 28:
            raise _Irregular


# Values


def floats(pieces: list[bytes]) -> tuple[np.ndarray[Any, Any], list[int]]:
    """The numbers in packed lists, one after the other, and the count of each list."""
    return np.frombuffer(b"".join(pieces), "<f4"), [len(piece) >> 2 for piece in pieces]


def integers(pieces: list[bytes]) -> tuple[np.ndarray[Any, Any], list[int]]:
    """The numbers in packed lists of varints, one after the other, and the count of each list.

    Raises:
        ValueError: a varint has no end, or is longer than ten bytes.
    """
    data = np.frombuffer(b"".join(pieces), np.uint8)
    lengths = list(map(len, pieces))
    is_last = data < 0x80  # the highest bit is clear only in the last byte of a varint
    if is_last.all():
        return data.astype(np.int64), lengths
    ends = np.cumsum(lengths)
    if not is_last[ends[ends > 0] - 1].all():
        raise ValueError("a varint has no end")
    last = np.flatnonzero(is_last)
    first = np.empty_like(last)
    first[0] = 0
    first[1:] = last[:-1] + 1
    sizes = last - first
    longest = int(sizes.max())
    if longest > 9:
        raise ValueError("a varint is longer than ten bytes")
    values = (data[first] & 0x7F).astype(np.uint64)
    for place in range(1, longest + 1):
        longer = np.flatnonzero(sizes >= place)
        bits = (data[first[longer] + place] & 0x7F).astype(np.uint64)
        values[longer] |= bits << np.uint64(7 * place)
    counts = np.diff(np.searchsorted(last, ends, "left"), prepend=0)
    return values.view(np.int64), counts.tolist()


def strings(piece: bytes) -> list[bytes]:
    """The strings of a list in which a tag and a length precede each."""
    found = []
    place, end = 0, len(piece)
    while place < end:
        size = piece[place + 1]
        place += 2
        if size >= 0x80:
            size, place = _varint(piece, place - 1)
        found.append(piece[place : place + size])
        place += size
    return found
