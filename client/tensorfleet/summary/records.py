"""Files of records, as event files are: each record with its length and two checksums."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorfleet.checkpoint import checksum
from tensorfleet.core import errors

if TYPE_CHECKING:
    from tensorfleet.proto.event_pb2 import Event


def record(data: bytes) -> bytes:
    """A record's bytes in the file."""
    length = struct.pack("<Q", len(data))
    return (
        length + struct.pack("<I", checksum.masked(length)) + data + struct.pack("<I", checksum.masked(data))
    )


def read_records(path: str) -> Iterator[bytes]:
    """The records of a file.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, or ends inside of a record.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError as e:
        raise errors.NotFoundError(None, None, f"{path}; {e.strerror}") from e
    with file:
        number = 0
        while head := file.read(12):
            where = f"record {number} of {path}"
            if len(head) < 12 or struct.unpack("<I", head[8:])[0] != checksum.masked(head[:8]):
                raise errors.DataLossError(None, None, f"corrupted or truncated {where}")
            length = struct.unpack("<Q", head[:8])[0]
            data, tail = file.read(length), file.read(4)
            if len(tail) < 4:
                raise errors.DataLossError(None, None, f"truncated {where}")
            if struct.unpack("<I", tail)[0] != checksum.masked(data):
                raise errors.DataLossError(None, None, f"corrupted {where}")
            yield data
            number += 1


def summary_iterator(path: Any) -> Iterator[Event]:
    """The events of an event file (`tf.train.summary_iterator`).

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, or ends inside of a record, as while it is being written.
    """
    from tensorfleet.proto.event_pb2 import Event

    for data in read_records(str(path)):
        yield Event.FromString(data)
