"""TFRecord files: what is written is read, damage is found, and a length that lies costs no memory."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import tensorfleet as tf
from tensorfleet.checkpoint import checksum
from tensorfleet.records.tfrecord import RecordReader, framed


def written(path: Path, records: list[bytes], options: object = None) -> bytes:
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["", "ZLIB", "GZIP"])
def test_what_is_written_is_read(tmp_path: Path, kind: str) -> None:
    records = [b"", b"x", bytes(range(256)) * 5000, *(b"%d" % i for i in range(1000)), b"y" * (1 << 20)]
    written(tmp_path / "file", records, kind)
    assert list(tf.python_io.tf_record_iterator(tmp_path / "file", kind)) == records


def test_options_and_errors(tmp_path: Path) -> None:
    options = tf.io.TFRecordOptions(tf.io.TFRecordCompressionType.GZIP, compression_level=1)
    assert written(tmp_path / "file", [b"abc"], options)[:2] == b"\x1f\x8b"
    assert tf.io.TFRecordOptions.get_compression_type_string(options) == "GZIP"
    with pytest.raises(ValueError, match="Not a valid compression_type"):
        tf.io.TFRecordOptions("LZ4")
    with pytest.raises(tf.errors.NotFoundError, match="absent"):
        list(tf.io.tf_record_iterator(tmp_path / "absent"))
    writer = tf.io.TFRecordWriter(tmp_path / "other")
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"x")


def test_each_damaged_bit_is_found(tmp_path: Path) -> None:
    content = written(tmp_path / "file", [b"first", b"second"])
    for place in range(len(content)):
        broken = bytearray(content)
        broken[place] ^= 0x10
        (tmp_path / "file").write_bytes(broken)
        found: list[bytes] = []
        with pytest.raises(tf.errors.DataLossError, match="record at"):
            found.extend(tf.io.tf_record_iterator(tmp_path / "file"))
        assert found == [b"first"][: place // 21]
    (tmp_path / "file").write_bytes(content[:-1])
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 21"):
        list(tf.io.tf_record_iterator(tmp_path / "file"))


class Counted(io.BytesIO):
    most = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.most = max(self.most, size or 0)
        return super().read(size)


def test_a_length_that_lies_is_not_asked_for_at_once() -> None:
    length = struct.pack("<Q", 1 << 60)
    file = Counted(length + struct.pack("<I", checksum.masked(length)) + b"x" * 1000)
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        RecordReader(file).read()
    assert file.most < 1 << 25


@given(st.lists(st.binary(max_size=60), max_size=30), st.integers(1, 100))
def test_any_buffer_size(records: list[bytes], buffer: int) -> None:
    reader = RecordReader(io.BytesIO(b"".join(map(framed, records))), buffer)
    found: list[bytes] = []
    while more := reader.read():
        found += more
    assert found == records
    assert reader.offset == sum(len(record) + 16 for record in records)


@pytest.mark.parametrize("kind", ["ZLIB", "GZIP"])
def test_damaged_compression(tmp_path: Path, kind: str) -> None:
    content = written(tmp_path / "file", [b"record"] * 100, kind)
    (tmp_path / "file").write_bytes(content[: len(content) // 2])
    with pytest.raises(tf.errors.DataLossError):
        list(tf.io.tf_record_iterator(tmp_path / "file", kind))
    with pytest.raises(tf.errors.DataLossError):
        list(tf.io.tf_record_iterator(tmp_path / "file", "GZIP" if kind == "ZLIB" else "ZLIB"))
