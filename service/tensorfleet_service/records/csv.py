"""Lines of comma-separated values: their fields, and the numbers in them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import bytes_of, excerpt
from tensorfleet.records.compression import Readable
from tensorfleet.records.tfrecord import BUFFER
from tensorfleet_service.records.columns import object_array
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

_QUOTE = b'"'
_LIMITS = {dtypes.int32: 2**31, dtypes.int64: 2**63}
_PART = 1 << 20
"""Number of bytes that are split into fields by one call."""

_LOOKS = 1 << 12
"""Number of fields, or of quotes in one, between two looks at the step."""

MAX_DIGITS = 1 << 16
"""Limit on the characters of a number's text."""

_END = re.compile(rb"\r\n?|\n")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class _Open(Exception):
    """A quoted field has no end."""


def _no_more() -> bytes:
    raise _Open


class Format:
    """The format in which records are written.

    Args:
        delimiter: between fields.
        quotes: whether a field may be quoted, with quotes inside doubled.
        missing: the text of a field without a value; an empty field has none either.
        columns: the indices of the fields to take, ascending; empty: all of them.

    Raises:
        InvalidArgumentError: the delimiter is not one character.
    """

    def __init__(self, delimiter: bytes, quotes: bool, missing: bytes, columns: Sequence[int] = ()) -> None:
        if len(delimiter) != 1:
            raise _invalid("field_delim should be only 1 char")
        self.delimiter = delimiter
        self._quotes = quotes
        self._missing = missing
        self._columns = columns

    def fields(self, record: bytes) -> list[bytes]:
        """The fields of a single record.

        Raises:
            InvalidArgumentError: a quote is misplaced.
        """
        if not record:
            return []
        if not self._quotes or (_QUOTE not in record and b"\n" not in record and b"\r" not in record):
            return self.plain(record)
        try:
            return self.split(record, "Unquoted fields cannot have quotes/CRLFs inside", b'"\n\r')
        except _Open:
            raise _invalid("Quoted field has to end with quote followed by delim or end") from None

    def plain(self, record: bytes) -> list[bytes]:
        """The fields of a record without quotes."""
        if len(record) <= _PART:
            return record.split(self.delimiter)
        found = unlocked.Listed()
        begin = 0
        while True:
            check_step()
            end = record.find(self.delimiter, begin + _PART)
            if end < 0:
                found += record[begin:].split(self.delimiter)
                return found
            found += record[begin:end].split(self.delimiter)
            begin = end + 1

    def split(
        self, record: bytes, misplaced: str, special: bytes, more: Callable[[], bytes] = _no_more
    ) -> list[bytes]:
        """The fields of a record, in which `special` characters are allowed in quotes only.

        Args:
            more: gives what follows, where a field in quotes has not ended; it raises _Open if nothing does.

        Raises:
            InvalidArgumentError: one stands outside of quotes (the message is `misplaced`), or a quote is not
                doubled.
            _Open: a field in quotes has no end.
        """
        found = unlocked.Listed()
        place, delimiter = 0, self.delimiter
        while True:
            if not len(found) % _LOOKS:
                check_step()
            if record[place : place + 1] == _QUOTE:
                field, place, record = self._quoted(record, place + 1, more)
            else:
                stop = record.find(delimiter, place)
                stop = len(record) if stop < 0 else stop
                field, place = record[place:stop], stop
                if _has(field, special):
                    raise _invalid(misplaced)
            found.append(field)
            if place >= len(record):
                return found
            place += 1  # the delimiter

    def _quoted(self, record: bytes, place: int, more: Callable[[], bytes]) -> tuple[bytes, int, bytes]:
        """The quoted field whose text begins at `place`, the position after its closing quote, and the part
        of the record where that is: what came before is not looked through again.
        """
        text = bytearray()
        for number in itertools.count():
            if not number % _LOOKS:
                check_step()
            stop = record.find(_QUOTE, place)
            if stop < 0:
                text += record[place:]
                record, place = more(), 0
                continue
            after = record[stop + 1 : stop + 2]
            if after != _QUOTE:
                break
            text += record[place : stop + 1]
            place = stop + 2
        if after and after != self.delimiter:
            raise _invalid("Quote inside a string has to be escaped by another quote")
        if not text:
            return record[place:stop], stop + 1, record
        text += record[place:stop]
        return bytes_of(text), stop + 1, record

    def take(self, fields: list[bytes]) -> list[bytes]:
        """The fields of the wanted columns that exist."""
        return [fields[i] for i in self._columns if i < len(fields)] if self._columns else fields

    def value(self, field: bytes, dtype: DType, default: Any, place: int, where: str, lacks: str) -> Any:
        """The value of a field.

        Args:
            default: the value of an empty field; an array without elements: the field is required.
            place, where, lacks: the field's index, and two ends of messages.

        Raises:
            InvalidArgumentError: a required field is empty, or the text is not of the dtype.
        """
        if not field or field == self._missing:
            if not default.size:
                raise _invalid(f"Field {place} is required but missing in record{lacks}")
            return default.reshape(-1)[0]
        if dtype is dtypes.string:
            return field
        try:
            return _number(field, dtype)
        except ValueError:
            name = {dtypes.float32: "float", dtypes.float64: "double"}.get(dtype, dtype.name)
            text = excerpt(field)
            raise _invalid(f"Field {place} in record{where} is not a valid {name}: {text}") from None


def _has(text: bytes, characters: bytes) -> bool:
    return any(text.find(character) >= 0 for character in characters)


def _number(field: bytes, dtype: DType) -> Any:
    if len(field) > MAX_DIGITS or b"_" in field:
        raise ValueError
    if dtype in _LIMITS:
        number = int(field)
        if not -_LIMITS[dtype] <= number < _LIMITS[dtype]:
            raise ValueError
        return number
    try:
        return float(field)
    except ValueError:
        text = field.strip().decode()
        if not text.lstrip("+-").lower().startswith("0x"):
            raise
        try:
            return float.fromhex(text)
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf


def column(values: Sequence[Any], dtype: DType) -> np.ndarray[Any, Any]:
    """A vector of the values of fields."""
    if dtype is dtypes.string:
        return object_array(values)
    kept = np.float64 if dtype.is_floating else dtype.np
    result = np.empty(len(values), dtype.np)
    with np.errstate(over="ignore"):
        for begin in range(0, len(values), unlocked.LISTED):
            part = slice(begin, begin + unlocked.LISTED)
            result[part] = np.array(values[part], kept)
    return result


class CsvReader:
    """The records of a file, in which a quoted field may span several lines.

    Args:
        header: whether to leave out the first record.
    """

    def __init__(self, file: Readable, form: Format, quotes: bool, header: bool) -> None:
        self._file = file
        self._form = form
        self._quotes = quotes
        self._header = header
        self._lines = self._read()

    def _read(self) -> Iterator[tuple[bytes, bytes]]:
        """The lines and their ends."""
        begun: list[bytes] = []  # the parts of a line whose end has not come
        half = b""
        while data := self._file.read(BUFFER):
            check_step()
            data = half + data
            half = b""
            place = 0
            for match in _END.finditer(data):
                if match.end() == len(data) and match[0] == b"\r":
                    half = b"\r"  # perhaps half of the end of a line
                    break
                begun.append(data[place : match.start()])
                yield b"".join(begun), match[0]
                begun.clear()
                place = match.end()
            begun.append(data[place : len(data) - len(half)])
        line = b"".join(begun)
        if line or half:
            yield line, half

    def read(self) -> list[bytes] | None:
        """The fields of the next record; None at the end.

        Raises:
            InvalidArgumentError: a quote is misplaced.
        """
        while True:
            found = self._record()
            if not self._header or found is None:
                return found
            self._header = False

    def _record(self) -> list[bytes] | None:
        line, end = next(self._lines, (None, b""))
        if line is None:
            return None
        if not self._quotes or _QUOTE not in line:
            return self._form.plain(line)

        def more() -> bytes:
            nonlocal end
            before = end
            following, end = next(self._lines, (None, b""))
            if following is None:
                raise _Open
            return before + following

        try:
            return self._form.split(line, "Unquoted fields cannot have quotes inside", _QUOTE, more)
        except _Open:
            raise _invalid("Reached end of file without closing quoted field in record") from None

    def close(self) -> None:
        self._file.close()
