"""TFRecord files: each record with its length, and with a checksum of either.

Event files are of this format as well.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.checkpoint import checksum
from tensorfleet.core import errors, file_io
from tensorfleet.core.compat import as_bytes
from tensorfleet.records.compression import Readable, deflater, inflated
from tensorfleet.records.options import TFRecordOptions

BUFFER = 1 << 18
"""How many bytes of a file are read at a time."""

_HEAD = 12  # bytes before a record: its length, and the length's checksum
_TAIL = 4  # bytes after a record: its checksum
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_PIECE = 1 << 24  # bytes: as much of a long record is asked for at a time, whatever its length claims


def framed(data: bytes) -> bytes:
    """A record's bytes in the file."""
    length = _LENGTH.pack(len(data))
    checksums = checksum.masked(length), checksum.masked(data)
    return b"".join((length, _CHECKSUM.pack(checksums[0]), data, _CHECKSUM.pack(checksums[1])))


class RecordReader:
    """The records of an opened file, some at a time.

    Attributes:
        offset: where in the file's content the next record begins that `read` will give.
    """

    def __init__(self, file: Readable, buffer: int = BUFFER) -> None:
        self._file = file
        self._size = max(buffer, _HEAD)
        self._buffer = b""
        self._place = 0
        self._error: errors.OpError | None = None
        self._head = b""  # of the record before: equal heads need no second check
        self._length = 0
        self.offset = 0

    def read(self) -> list[bytes]:
        """The records that come next; none at the end of the file.

        Raises:
            DataLossError: the file is damaged, or ends inside of a record; those before it were given.
        """
        while self._error is None:
            records = self._whole()
            if records:
                return records
            if self._error is None and not self._fill():
                return []
        raise self._error

    def _fill(self) -> bool:
        """Reads on, at least to the end of the next record; False at the end of the file."""
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
        """The records that are whole in the buffer."""
        import google_crc32c

        value = google_crc32c.value
        buffer, place, end = self._buffer, self._place, len(self._buffer)
        records: list[bytes] = []
        checksums: list[int] = []
        tails: list[bytes] = []
        while (body := place + _HEAD) <= end:
            head = buffer[place:body]
            if head != self._head:
                length = head[:8]
                if _CHECKSUM.unpack_from(head, 8)[0] != checksum.masked(length):
                    break
                self._head, self._length = head, _LENGTH.unpack(length)[0]
            stop = body + self._length
            if stop + _TAIL > end:
                break
            data = buffer[body:stop]
            place = stop + _TAIL
            records.append(data)
            checksums.append(value(data) if len(data) < BUFFER else checksum.extend(0, data))
            tails.append(buffer[stop:place])
        else:
            head = self._head
        good = _first_bad(checksums, b"".join(tails))
        if good < len(records):
            del records[good:]
            place = self._place + sum(map(len, records)) + (_HEAD + _TAIL) * good
        self.offset += place - self._place
        self._place = place
        if good < len(checksums):
            self._damaged(f"corrupted record at {self.offset + _HEAD}")
        elif head != self._head:
            self._damaged(f"corrupted record at {self.offset} (Is this even a TFRecord file?)")
        return records

    def _damaged(self, text: str) -> None:
        self._error = errors.DataLossError(None, None, text)

    def close(self) -> None:
        self._file.close()


def _first_bad(checksums: list[int], stored: bytes) -> int:
    """How many records there are before the first whose checksum is another than the stored one."""
    wanted = np.frombuffer(stored, "<u4")
    found = checksum.mask_all(np.array(checksums, np.uint64))
    differs = np.flatnonzero(found != wanted)
    return int(differs[0]) if differs.size else len(checksums)


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file (`tf.python_io.tf_record_iterator`).

    Args:
        options: a TFRecordOptions, or the kind of compression.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is damaged, or ends inside of a record.
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
        """Opens a file, which is emptied if there is one.

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
        """Hands what was written to the file system.

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
