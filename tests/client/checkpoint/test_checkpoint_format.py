"""The files of checkpoints: written, read, damaged, cut off, merged."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from tensorfleet.checkpoint import checksum, files, merge, slices, table, varint
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import BundleWriter
from tensorfleet.core import errors, file_io

STRINGS = np.array([[b"", b"ab"], [b"\x00\xff", b"x" * 300]], object)


def write(prefix: Path, **tensors: Any) -> str:
    with BundleWriter(str(prefix)) as writer:
        for name, value in tensors.items():
            writer.add(name, value)
    return str(prefix)


def test_crc_is_the_known_one() -> None:
    # The check value of CRC-32C in its specification.
    assert checksum.extend(0, b"123456789") == 0xE3069283
    assert checksum.extend(checksum.extend(0, b"1234"), b"56789") == 0xE3069283
    array = np.frombuffer(b"123456789" * 300_000, np.uint8)
    assert checksum.extend(0, array) == checksum.extend(0, array.tobytes())


@given(st.integers(0, 2**64 - 1))
def test_varints_come_back(value: int) -> None:
    assert varint.decode(b"x" + varint.encode(value) + b"y", 1) == (value, 1 + len(varint.encode(value)))


@given(st.dictionaries(st.binary(max_size=40), st.binary(max_size=50), max_size=60))
def test_tables_come_back(items: dict[bytes, bytes]) -> None:
    assert table.read(table.write(sorted(items.items()))) == items


def test_table_of_many_blocks() -> None:
    items = {f"key{i:05d}".encode(): bytes(1000) for i in range(2000)}
    data = table.write(sorted(items.items()))
    assert table.read(data) == items


def test_every_flipped_byte_of_a_table_is_noticed() -> None:
    items = {b"a": b"1", b"ab": b"2", b"b": b"3"}
    data = table.write(sorted(items.items()))
    for i in range(len(data)):
        broken = bytearray(data)
        broken[i] ^= 0x55
        # The metaindex block and the padding of the footer are not used.
        try:
            assert table.read(bytes(broken)) == items
        except table.CorruptTable:
            continue


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_slice_keys_sort_as_their_numbers(a: int, b: int) -> None:
    first, second = (slices.key(b"v", slices.Slice(((n, 5),))) for n in (a, b))
    assert (first < second) == (a < b)
    assert (first == second) == (a == b)


def test_slice_key_of_a_small_slice() -> None:
    part = slices.Slice(((0, 3), (3, 3)))
    assert slices.key(b"p", part) == b"\x00p\x00\x01\x01\x02\x80\x83\x83\x83"
    assert slices.key(b"\x00\xff", part).startswith(b"\x00\x00\xff\xff\x00\x00\x01")


@pytest.mark.parametrize("spec", ["5 3", "5 0,2:0,3", "5 3 0,2", "5 3 4,2:0,3", "a 0,1", "5 0,0"])
def test_wrong_slice_specifications(spec: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="shape_and_slice"):
        slices.parse(spec)


ARRAYS = [
    *(np.array([[0, 1], [2, 100]]).astype(t) for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")),
    *(np.array([0, -1.5, np.inf]).astype(t) for t in ("f2", "f4", "f8", ml_dtypes.bfloat16)),
    np.array([1 + 2j], np.complex64),
    np.array([1 + 2j], np.complex128),
    np.array([True, False]),
    np.float32(3.5),
    np.ones((0, 3), np.float32),
    np.arange(24.0).reshape(2, 3, 4).T,
    STRINGS,
    np.array(b"alone", object),
    np.empty((0,), object),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_arrays_come_back(array: Any, tmp_path: Path) -> None:
    with BundleReader(write(tmp_path / "m", before=np.arange(3), x=array)) as reader:
        found = reader.read("x")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_slices_come_back_whole_and_in_other_parts(tmp_path: Path) -> None:
    whole = np.arange(15.0).reshape(5, 3)
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add("p", whole[:2], "5 3 0,2:0,3")
        writer.add("p", whole[2:], "5 3 2,3:-")
        writer.add("q", whole, "5 3 0,5:0,3")
    with BundleReader(str(tmp_path / "m")) as reader:
        assert list(reader.entries) == ["p", "q"]
        np.testing.assert_array_equal(reader.read("p"), whole)
        np.testing.assert_array_equal(reader.read("p", "5 3 2,3:-"), whole[2:])
        np.testing.assert_array_equal(reader.read("p", "5 3 1,2:1,2"), whole[1:3, 1:])
        np.testing.assert_array_equal(reader.read("q", "5 3 1,2:1,2"), whole[1:3, 1:])
        with pytest.raises(errors.InvalidArgumentError, match=r"tensor_name = p; .*\[5,4\].*\[5,3\]"):
            reader.read("p", "5 4 0,2:0,4")


def test_slices_that_leave_a_gap_are_not_found(tmp_path: Path) -> None:
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add("p", np.ones(2), "5 0,2")
    with BundleReader(str(tmp_path / "m")) as reader, pytest.raises(errors.NotFoundError, match="tensor p"):
        reader.read("p")


def test_slices_that_overlap_are_not_read(tmp_path: Path) -> None:
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add("p", np.ones(3), "4 0,3")
        writer.add("p", np.ones(2), "4 2,2")
    with BundleReader(str(tmp_path / "m")) as reader, pytest.raises(errors.DataLossError, match="p overlap"):
        reader.read("p")


def test_what_cannot_be_added(tmp_path: Path) -> None:
    writer = BundleWriter(str(tmp_path / "m"))
    writer.add("a", np.ones(2))
    with pytest.raises(errors.InvalidArgumentError, match="Adding duplicate key: a"):
        writer.add("a", np.ones(2))
    with pytest.raises(errors.InvalidArgumentError, match="tensor b has shape"):
        writer.add("b", np.ones(3), "5 0,2")
    writer.add("c", np.ones(2), "5 0,2")
    with pytest.raises(errors.InvalidArgumentError, match="slices of tensor c"):
        writer.add("c", np.ones(2), "6 2,2")
    writer.__exit__(ValueError, ValueError(), None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [np.arange(100.0), STRINGS], ids=["numbers", "strings"])
def test_every_flipped_byte_of_the_data_is_data_loss(value: Any, tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", x=value)
    data = Path(files.data_path(prefix, 0, 1))
    content = data.read_bytes()
    for i in range(len(content)):
        broken = bytearray(content)
        broken[i] ^= 0x10
        data.write_bytes(broken)
        with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match=r"00001.* tensor x"):
            reader.read("x")


@pytest.mark.parametrize("size", [0, 1, 799])
def test_truncated_data(size: int, tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", x=np.arange(100.0))
    data = Path(files.data_path(prefix, 0, 1))
    data.write_bytes(data.read_bytes()[:size])
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match=r"truncated: tensor x"):
        reader.read("x")


def test_truncated_index(tmp_path: Path) -> None:
    prefix = write(tmp_path / "m", x=np.arange(100.0))
    index = Path(files.index_path(prefix))
    content = index.read_bytes()
    for size in range(0, len(content), 7):
        index.write_bytes(content[:size])
        with pytest.raises(errors.DataLossError, match=r"m\.index"):
            BundleReader(prefix)


def test_missing_files_and_tensors(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match=r"Failed to find any matching files for .*none"):
        BundleReader(str(tmp_path / "none"))
    prefix = write(tmp_path / "m", x=np.arange(100.0))
    with BundleReader(prefix) as reader, pytest.raises(errors.NotFoundError, match=r"Key y not found in .*m"):
        reader.read("y")
    os.unlink(files.data_path(prefix, 0, 1))
    with BundleReader(prefix) as reader, pytest.raises(errors.NotFoundError, match=r"data-00000-of-00001"):
        reader.read("x")


def test_an_error_leaves_the_older_checkpoint_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = write(tmp_path / "m", x=np.arange(3))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self: files.NewFile, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    with monkeypatch.context() as patch:
        patch.setattr(files.NewFile, "write", full)
        with pytest.raises(errors.ResourceExhaustedError, match=r"m\.data.*No space left"):
            write(tmp_path / "m", x=np.arange(4))
    writer = BundleWriter(prefix)
    writer.add("x", np.arange(5))
    writer.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_full_disk_is_noticed(tmp_path: Path) -> None:
    # A device that is always full stands for the file.
    writer = BundleWriter(str(tmp_path / "m"))
    writer._data.file.close()
    writer._data.file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
        writer.add("x", np.arange(5))
    writer.__exit__(OSError, OSError(), None)
    assert list(tmp_path.iterdir()) == []


def test_directories_are_made_one_deep(tmp_path: Path) -> None:
    write(tmp_path / "new" / "m", x=np.arange(3))
    with pytest.raises(errors.NotFoundError, match="No such file or directory"):
        BundleWriter(str(tmp_path / "a" / "b" / "m"))


def test_several_shards_may_make_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = os.mkdir

    def make_after_another(path: str) -> None:
        mkdir(path)
        mkdir(path)

    monkeypatch.setattr(os, "mkdir", make_after_another)
    write(tmp_path / "new" / "m", x=np.arange(3))
    file_io.mkdir(tmp_path / "other")
    assert (tmp_path / "other").is_dir()


def test_merging(tmp_path: Path) -> None:
    first = write(tmp_path / "t" / "a", x=np.arange(3))
    second = tmp_path / "t" / "b"
    with BundleWriter(str(second)) as writer:
        writer.add("y", STRINGS)
        writer.add("p", np.ones(2), "4 0,2")
    third = tmp_path / "t" / "c"
    with BundleWriter(str(third)) as writer:
        writer.add("p", np.zeros(2), "4 2,2")
    merged = str(tmp_path / "m")
    merge.merge([first, str(second), str(third)], merged)
    merge.remove_empty_directories([first])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"m.data-0000{i}-of-00003" for i in range(3)),
        "m.index",
    ]
    with BundleReader(merged) as reader:
        np.testing.assert_array_equal(reader.read("x"), np.arange(3))
        np.testing.assert_array_equal(reader.read("y"), STRINGS)
        np.testing.assert_array_equal(reader.read("p"), [1, 1, 0, 0])


def test_merging_without_a_part_explains_and_changes_nothing(tmp_path: Path) -> None:
    there = write(tmp_path / "a", x=np.arange(3))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(errors.NotFoundError, match=r"b did not exist .*sharded=False"):
        merge.merge([there, str(tmp_path / "b")], str(tmp_path / "m"))
    assert sorted(tmp_path.iterdir()) == before
    merge.merge([there, str(tmp_path / "b")], str(tmp_path / "m"), allow_missing=True)
    with BundleReader(str(tmp_path / "m")) as reader:
        np.testing.assert_array_equal(reader.read("x"), np.arange(3))


def test_merging_the_same_tensor_twice(tmp_path: Path) -> None:
    parts = [write(tmp_path / name, x=np.arange(3)) for name in ("a", "b")]
    with pytest.raises(errors.InvalidArgumentError, match="Duplicate tensor keyed by x"):
        merge.merge(parts, str(tmp_path / "m"))


def test_a_save_removes_what_killed_ones_have_left(tmp_path: Path) -> None:
    """Files that are old and that nobody writes; not those of a save that goes on."""

    def left(name: str, age: float) -> Path:
        path = tmp_path / name
        path.write_bytes(b"half")
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    old = left(f"model.ckpt-5.data-00000-of-00001.tempstate{'a' * 32}", 3600)
    young = left(f"model.ckpt-5.index.tempstate{'b' * 32}", 1)
    other = left("notes.tempstate", 3600)
    written = files.NewFile(str(tmp_path / "model.ckpt-6.index"))
    os.utime(written.temporary, (0, 0))
    with BundleWriter(str(tmp_path / "model.ckpt-10")) as writer:
        writer.add("v", np.float32(1))
    assert not old.exists()
    assert young.exists()
    assert other.exists()
    written.complete()
    written.publish()
    assert (tmp_path / "model.ckpt-6.index").exists()
    assert (tmp_path / "model.ckpt-10.index").exists()
