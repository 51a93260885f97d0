"""Records in files: TFRecords, lines, parts of equal length, or the whole of a file.

A source gives several records at a time, which makes the work for each small.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import BinaryIO

from tensorfleet.core import errors
from tensorfleet.records.compression import Readable, inflated
from tensorfleet.records.tfrecord import BUFFER, RecordReader
from tensorfleet_service.devices import native
from tensorfleet_service.records.files import ProgramFiles

_PIECE = 1 << 20  # limit on the bytes skipped or read at a time, for programs that ask for more


class Source(ABC):
    """The records of one file."""

    @abstractmethod
    def read(self) -> list[bytes]:
        """The next records, of which there may be several; none at the end."""

    @abstractmethod
    def key(self, record: bytes) -> str:
        """The key of the next record, unique in its file. Called once for each record, in their order."""

    @abstractmethod
    def close(self) -> None:
        """Closes the file."""


Open = Callable[[bytes], Source]
"""Opens the file of a name as a source."""


class Records(Source):
    """The records of a TFRecord file; keys are the positions where they begin."""

    def __init__(self, file: Readable, buffer: int = BUFFER) -> None:
        self._reader = RecordReader(file, buffer, native.native and native.native.split_records)
        self._place = 0

    def read(self) -> list[bytes]:
        return self._reader.read()

    def key(self, record: bytes) -> str:
        place = self._place
        self._place += len(record) + 16
        return str(place)

    def close(self) -> None:
        self._reader.close()


class _Numbered(Source):
    """Records whose keys are numbers."""

    def __init__(self, file: Readable, first: int) -> None:
        self._file = file
        self._number = first

    def key(self, record: bytes) -> str:
        number = self._number
        self._number += 1
        return str(number)

    def close(self) -> None:
        self._file.close()


class Lines(_Numbered):
    """The lines of a file, without their ends; keys are numbers from 1 on.

    Args:
        skip: the number of lines to leave out at the beginning; the keys count them.
        everywhere: whether to remove all carriage returns, not only those at the ends of lines.
    """

    def __init__(self, file: Readable, skip: int = 0, everywhere: bool = False, buffer: int = BUFFER) -> None:
        super().__init__(file, skip + 1)
        self._lines = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file, buffer)  # type: ignore[type-var]
        self._skip = skip
        self._everywhere = everywhere

    def read(self) -> list[bytes]:
        while True:
            lines = self._lines.readlines(BUFFER)
            if self._skip and lines:
                left, self._skip = lines[self._skip :], max(self._skip - len(lines), 0)
                if not left:
                    continue
                lines = left
            if self._everywhere:
                return [line.rstrip(b"\n").replace(b"\r", b"") for line in lines]
            return [line.removesuffix(b"\n").removesuffix(b"\r") for line in lines]


class Parts(_Numbered):
    """The parts of a file that are `size` bytes long each; keys are numbers from 0 on.

    Args:
        length: of the content that has parts, in bytes; None: up to `footer` bytes before its end.
        header: bytes before the first part.
        hop: bytes from the beginning of one part to that of the next; 0: `size`.
    """

    def __init__(self, file: Readable, size: int, header: int = 0, footer: int = 0, hop: int = 0) -> None:
        super().__init__(file, 0)
        self._size = size
        self._footer = footer
        self._hop = hop or size
        self._buffer = b""
        self._skip = header
        self._ended = False

    @property
    def rest(self) -> int:
        """The number of bytes left over after the last part, once the file has ended."""
        return len(self._buffer) - self._footer

    def read(self) -> list[bytes]:
        while not self._ended:
            found = self._file.read(max(BUFFER, min(self._size, _PIECE)))
            self._ended = not found
            buffer = self._buffer + found
            skipped = min(self._skip, len(buffer))
            self._skip -= skipped
            size, hop, end = self._size, self._hop, len(buffer) - self._footer
            starts = range(skipped, end - size + 1, hop)
            parts = [buffer[start : start + size] for start in starts]
            place = starts[-1] + hop if parts else skipped
            self._skip += max(place - len(buffer), 0)
            self._buffer = buffer[place:]
            if parts:
                return parts
        return []


class Whole(Source):
    """A file as one record, whose key is its name alone."""

    def __init__(self, file: Readable) -> None:
        self._file: Readable | None = file

    def read(self) -> list[bytes]:
        file, self._file = self._file, None
        if file is None:
            return []
        try:
            return [file.read()]
        finally:
            file.close()

    def key(self, record: bytes) -> str:
        return ""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Name(Source):
    """The name of a file as its record."""

    def __init__(self, name: bytes) -> None:
        self._names = [name]

    def read(self) -> list[bytes]:
        names, self._names = self._names, []
        return names

    def key(self, record: bytes) -> str:
        return ""

    def close(self) -> None:
        pass


def opener(files: ProgramFiles, make: Callable[[BinaryIO], Source]) -> Open:
    """The function that opens a file as a source."""
    return lambda name: make(files.open_for_read(name))


def content(file: BinaryIO, kind: str) -> Readable:
    """The content of a file with compression `kind`."""
    return inflated(file, kind)


def check_not_negative(**values: int) -> None:
    """Raises InvalidArgumentError where a number of bytes or lines is negative."""
    for name, value in values.items():
        if value < 0:
            raise errors.InvalidArgumentError(None, None, f"{name} must be >= 0 not {value}")
