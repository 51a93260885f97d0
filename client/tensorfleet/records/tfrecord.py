"""TFRecord files: records, each with its length and checksums of both.

Event files have this format, too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.checkpoint import checksum
from tensorfleet.core import errors, file_io
from tensorfleet.core.compat import as_bytes
from tensorfleet.records.compression import Readable, deflater, inflated
from tensorfleet.records.options import TFRecordOptions

BUFFER = 1 << 18
"""The number of bytes of a file to read at a time."""

_HEAD = 12  # bytes before a record: its length, and the length's checksum
_TAIL = 4  # bytes after a record: its checksum
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_HEADER = struct.Struct("<QI")
_BETWEEN = struct.Struct("<IQI")  # a record's checksum, and the header of the next one
_PIECE = 1 << 24  # bytes of a long record to read at a time, as its length may be damaged


def framed(data: bytes) -> bytes:
    """A record as it is in the file: length, checksum, data, checksum."""
    length = _LENGTH.pack(len(data))
    checksums = checksum.masked(length), checksum.masked(data)
    return b"".join((length, _CHECKSUM.pack(checksums[0]), data, _CHECKSUM.pack(checksums[1])))


class Split(NamedTuple):
    """The complete records in a buffer.

    Attributes:
        records: the records up to the first one that is damaged or incomplete.
        place: the position after them in the buffer.
        wrong: the damage at `place`: 0 for none, 1 for the length, 2 for the record.
        length: the length of the record at `place`, if its header is in the buffer.
    """

    records: list[bytes]
    place: int
    wrong: int
    length: int


WRONG_HEAD, WRONG_RECORD = 1, 2

Splitter = Callable[[bytes, int], tuple[list[bytes], int, int, int]]
"""A function that splits a buffer from a position on."""


class RecordReader:
    """Reads the records of an opened file, some at a time.

    Args:
        split: the function that finds records in a buffer, by default `split_records`.

    Attributes:
        offset: the position in the file's content of the next record that `read` returns.
    """

    def __init__(self, file: Readable, buffer: int = BUFFER, split: Splitter | None = None) -> None:
        self._file = file
        self._split = split or split_records
        self._size = max(buffer, _HEAD)
        self._buffer = b""
        self._place = 0
        self._error: errors.OpError | None = None
        self._length = 0
        self.offset = 0

    def read(self) -> list[bytes]:
        """The next records; none at the end of the file.

        Raises:
            DataLossError: the file is damaged, or ends inside of a record; earlier ones were returned.
        """
        while self._error is None:
            records = self._whole()
            if records:
                return records
            if self._error is None and not self._fill():
                return []
        raise self._error

    def _fill(self) -> bool:
        """Reads at least to the end of the next record; returns False at the end of the file."""
        kept = self._buffer[self._place :]
        self._place = 0
        missing = self._length + _HEAD + _TAIL - len(kept) if len(kept) >= _HEAD else 0
        parts = [kept]
        while True:
            part = self._file.read(min(max(self._size, missing), _PIECE))
            parts.append(part)
            missing -= len(part)
            if not part or missing <= 0:
                break
        self._buffer = b"".join(parts)
        if part:
            return True
        if len(self._buffer) >= _HEAD:
            text = f"truncated record at {self.offset}' failed with Read less bytes than requested"
            self._error = errors.DataLossError(None, None, text)
            raise self._error
        return False

    def _whole(self) -> list[bytes]:
        """The complete records in the buffer."""
        records, place, wrong, self._length = self._split(self._buffer, self._place)
        self.offset += place - self._place
        self._place = place
        if wrong == WRONG_RECORD:
            self._damaged(f"corrupted record at {self.offset + _HEAD}")
        elif wrong == WRONG_HEAD:
            self._damaged(f"corrupted record at {self.offset} (Is this even a TFRecord file?)")
        return records

    def _damaged(self, text: str) -> None:
        self._error = errors.DataLossError(None, None, text)

    def close(self) -> None:
        self._file.close()


def split_records(buffer: bytes, place: int) -> Split:
    """The complete records in a buffer from `place` on."""
    import google_crc32c

    value, header, between = google_crc32c.value, _HEADER.unpack_from, _BETWEEN.unpack_from
    start, end = place, len(buffer)
    if place + _HEAD > end:
        return Split([], place, 0, 0)
    records: list[bytes] = []
    checksums: list[int] = []
    tails: list[int] = []
    wrong = 0
    length, head = header(buffer, place)
    while True:
        if head != _of_length(length):
            wrong = WRONG_HEAD
            break
        body = place + _HEAD
        stop = body + length
        if stop + _TAIL > end:
            break
        data = buffer[body:stop]
        records.append(data)
        checksums.append(value(data) if length < BUFFER else checksum.extend(0, data))
        place = stop + _TAIL
        if place + _HEAD > end:
            tails += _CHECKSUM.unpack_from(buffer, stop)
            length = 0
            break
        tail, length, head = between(buffer, stop)
        tails.append(tail)
    good = _first_bad(checksums, tails)
    if good < len(records):
        del records[good:]
        return Split(records, start + sum(map(len, records)) + (_HEAD + _TAIL) * good, WRONG_RECORD, 0)
    return Split(records, place, wrong, length)


@lru_cache(1 << 12)
def _of_length(length: int) -> int:
    """The checksum in the header of a record; files have many records of the same lengths."""
    return checksum.masked(_LENGTH.pack(length))


def _first_bad(checksums: list[int], stored: list[int]) -> int:
    """The number of records before the first one whose checksum differs from the stored one."""
    differs = np.flatnonzero(checksum.mask_all(np.array(checksums, np.uint64)) != np.array(stored, np.uint64))
    return int(differs[0]) if differs.size else len(checksums)


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file (`tf.python_io.tf_record_iterator`).

    Args:
        options: a TFRecordOptions, or the kind of compression.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, or ends inside of a record.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    reader = RecordReader(inflated(file_io.open_binary(path, "rb"), kind))
    try:
        while records := reader.read():
            yield from records
    finally:
        reader.close()


class TFRecordWriter:
    """Writes records to a file (`tf.io.TFRecordWriter`).

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/train.tfrecord"
        >>> with tf.io.TFRecordWriter(path, "GZIP") as writer:
        ...     writer.write(b"a record")
        >>> list(tf.io.tf_record_iterator(path, "GZIP"))
        [b'a record']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        """Opens a file, which is emptied if it exists.

        Args:
            options: a TFRecordOptions, or the kind of compression: "GZIP", "ZLIB" or "".

        Raises:
            NotFoundError, PermissionDeniedError: the file cannot be made.
        """
        kind = TFRecordOptions.get_compression_type_string(options)
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(kind)
        self._deflate = deflater(options, kind) if kind else None
        self._file: Any = file_io.open_binary(path, "wb")

    def write(self, record: str | bytes) -> None:
        """Appends a record.

        Raises:
            FailedPreconditionError: the file is closed.
        """
        data = framed(as_bytes(record))
        self._open_file().write(data if self._deflate is None else self._deflate.compress(data))

    def flush(self) -> None:
        """Passes the written data to the file system.

        Raises:
            FailedPreconditionError: the file is closed.
        """
        file = self._open_file()
        if self._deflate is not None:
            import zlib

            file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
        file.flush()

    def close(self) -> None:
        """Writes the end of the file; a second call has no effect."""
        file, self._file = self._file, None
        if file is not None:
            with file:
                if self._deflate is not None:
                    file.write(self._deflate.flush())

    def _open_file(self) -> Any:
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer is closed.")
        return self._file

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()
