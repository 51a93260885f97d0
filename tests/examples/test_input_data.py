"""The IDX reader and the MNIST tutorial's `input_data`, on real files: whole, and broken in each way."""

from __future__ import annotations

import gzip
import hashlib
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tensorfleet.examples.idx import read_idx, sample_dir
from tensorfleet.examples.tutorials.mnist import input_data
from tensorfleet.examples.tutorials.mnist.input_data import DataSet, read_data_sets

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}
FILES = (input_data.TRAIN_IMAGES, input_data.TRAIN_LABELS, input_data.TEST_IMAGES, input_data.TEST_LABELS)


def encode(array: npt.NDArray[Any]) -> bytes:
    header = bytes([0, 0, CODES[array.dtype.str[1:]], array.ndim]) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def images(count: int) -> npt.NDArray[np.uint8]:
    """Returns images whose pixels all equal their index."""
    return np.broadcast_to(np.arange(count, dtype=np.uint8)[:, None, None], (count, 28, 28)).copy()


def labels(count: int) -> npt.NDArray[np.uint8]:
    return (np.arange(count) % 10).astype(np.uint8)


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """Returns a directory with 20 training and 10 test images, compressed."""
    for name, array in zip(FILES, (images(20), labels(20), images(10), labels(10)), strict=True):
        (tmp_path / name).write_bytes(gzip.compress(encode(array)))
    return tmp_path


class TestReadIdx:
    @pytest.mark.parametrize("dtype", sorted(CODES))
    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_gives_what_was_written(self, tmp_path: Path, dtype: str, suffix: str) -> None:
        written = np.arange(-6, 6).astype(dtype).reshape(2, 3, 2)
        path = tmp_path / f"array{suffix}"
        path.write_bytes(gzip.compress(encode(written)) if suffix else encode(written))

        read = read_idx(path)

        assert read.dtype == np.dtype(dtype)
        assert read.dtype.isnative
        assert read.flags.writeable
        np.testing.assert_array_equal(read, written)

    def test_gzip_is_seen_by_content_without_the_suffix(self, tmp_path: Path) -> None:
        path = tmp_path / "labels"
        path.write_bytes(gzip.compress(encode(labels(3))))
        np.testing.assert_array_equal(read_idx(str(path)), [0, 1, 2])

    def test_no_elements(self, tmp_path: Path) -> None:
        path = tmp_path / "none"
        path.write_bytes(encode(images(0)))
        assert read_idx(path).shape == (0, 28, 28)

    def test_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"absent\.gz"):
            read_idx(tmp_path / "absent.gz")

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"", "expected two zero bytes .* found an empty file"),
            (b"\0\0\x08", "not an IDX file"),
            (b"\x89PNG....", "not an IDX file: .* found 89 50 4e 47"),
            (b"\0\0\x07\x01\0\0\0\0", "type code"),
            (encode(labels(4))[:6], "truncated: expected a header of 8 bytes, found 6"),
            (encode(labels(4))[:-1], r"truncated: expected 4 bytes of elements for shape \(4,\), found 3"),
            (encode(labels(4)) + b"!", r"too long: expected 4 bytes of elements for shape \(4,\), found 5"),
        ],
        ids=["empty", "short", "png", "type", "header", "truncated", "trailing"],
    )
    def test_broken_content(self, tmp_path: Path, content: bytes, problem: str) -> None:
        path = tmp_path / "broken"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .*{problem}"):
            read_idx(path)

    @pytest.mark.parametrize("damage", ["cut", "checksum", "deflate", "header", "plain"])
    def test_broken_gzip(self, tmp_path: Path, damage: str) -> None:
        whole = bytearray(gzip.compress(encode(images(5)), mtime=0))
        if damage == "checksum":
            whole[-8] ^= 0xFF
        elif damage == "deflate":
            whole[10:14] = b"\xff" * 4
        content = {"cut": whole[:-20], "header": whole[:5], "plain": bytearray(encode(labels(5)))}.get(
            damage, whole
        )
        path = tmp_path / "broken.gz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .*gzip file"):
            read_idx(path)


class TestReadDataSets:
    def test_splits_and_scales(self, mnist: Path) -> None:
        sets = read_data_sets(mnist, validation_size=5)
        assert [part.num_examples for part in sets] == [15, 5, 10]
        assert sets.train.images.shape == (15, 784)
        assert sets.train.images.dtype == np.float32
        np.testing.assert_allclose(sets.validation.images[:, 0], np.arange(5) / 255, rtol=1e-6)
        np.testing.assert_array_equal(sets.train.labels, labels(20)[5:])
        assert sets.train.labels.dtype == np.uint8

    def test_options(self, mnist: Path) -> None:
        sets = read_data_sets(mnist, one_hot=True, dtype=np.uint8, reshape=False, validation_size=0)
        assert sets.train.images.shape == (20, 28, 28, 1)
        assert sets.train.images.dtype == np.uint8
        np.testing.assert_array_equal(sets.test.labels, np.eye(10))
        assert sets.validation.num_examples == 0

    def test_decompressed_files(self, mnist: Path) -> None:
        for name in FILES:
            packed = mnist / name
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
            packed.unlink()
        assert read_data_sets(str(mnist), validation_size=1).train.num_examples == 19

    @pytest.mark.parametrize("name", FILES)
    def test_missing_file(self, mnist: Path, name: str) -> None:
        (mnist / name).unlink()
        with pytest.raises(FileNotFoundError, match=f"{re.escape(str(mnist / name))}: .*downloaded"):
            read_data_sets(mnist, validation_size=5)

    @pytest.mark.parametrize(
        ("name", "array", "problem"),
        [
            (input_data.TRAIN_LABELS, labels(19), "expected as many labels as .* 20, found 19"),
            (input_data.TEST_IMAGES, images(11), "expected as many labels as .* 11, found 10"),
            (
                input_data.TRAIN_IMAGES,
                labels(20),
                r"expected images \[n, rows, columns\] of uint8, found shape \(20,\)",
            ),
            (
                input_data.TEST_LABELS,
                labels(10).astype(np.int32),
                r"expected labels \[n\] of uint8, .* int32",
            ),
            (input_data.TEST_LABELS, labels(10) + np.uint8(1), "expected labels from 0 to 9, found 10"),
        ],
    )
    def test_files_that_do_not_fit(
        self, mnist: Path, name: str, array: npt.NDArray[Any], problem: str
    ) -> None:
        (mnist / name).write_bytes(gzip.compress(encode(array)))
        with pytest.raises(ValueError, match=problem):
            read_data_sets(mnist, validation_size=5)

    @pytest.mark.parametrize("size", [-1, 21, 5000])
    def test_validation_size_out_of_range(self, mnist: Path, size: int) -> None:
        with pytest.raises(ValueError, match=f"Validation size should be between 0 and 20. Received: {size}"):
            read_data_sets(mnist, validation_size=size)

    def test_fake_data_reads_nothing(self, tmp_path: Path) -> None:
        train = read_data_sets(tmp_path / "absent", fake_data=True, one_hot=True).train
        batch, classes = train.next_batch(3)
        np.testing.assert_array_equal(batch, np.ones((3, 784), np.float32))
        np.testing.assert_array_equal(classes, np.eye(10)[[0, 0, 0]])


class TestSample:
    def test_is_what_its_readme_says(self) -> None:
        readme = (sample_dir() / "README.md").read_text()
        for name in FILES:
            sum_of_file = hashlib.sha256((sample_dir() / name).read_bytes()).hexdigest()
            assert re.search(rf"\| {re.escape(name)} \|.*`{sum_of_file}`", readme), name

    def test_is_balanced_and_of_real_digits(self) -> None:
        sets = read_data_sets(None, validation_size=0)
        np.testing.assert_array_equal(np.bincount(sets.train.labels), np.full(10, 100))
        np.testing.assert_array_equal(np.bincount(sets.test.labels), np.full(10, 50))
        # The nearest mean of a class recognises 0.70 of them (of the whole database 0.82); noise or shuffled
        # labels would give 0.1.
        means = np.stack([sets.train.images[sets.train.labels == digit].mean(axis=0) for digit in range(10)])
        distances = ((sets.test.images[:, None] - means) ** 2).sum(axis=2)
        assert (distances.argmin(axis=1) == sets.test.labels).mean() > 0.6

    def test_default_validation_size_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"between 0 and 1000\. Received: 5000"):
            read_data_sets(None)


class TestNextBatch:
    def data_set(self, count: int = 10, **options: Any) -> DataSet:
        return DataSet(images(count)[..., None], labels(count), dtype=np.uint8, **options)

    def test_in_order_without_shuffling(self) -> None:
        data = self.data_set()
        batches = [data.next_batch(4, shuffle=False) for _ in range(3)]
        assert [batch[:, 0].tolist() for batch, _ in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]
        assert batches[2][1].tolist() == [8, 9, 0, 1]
        assert data.epochs_completed == 1

    def test_each_epoch_gives_every_example_once_in_a_new_order(self) -> None:
        data = self.data_set(seed=3)
        epochs = [[int(n) for _ in range(2) for n in data.next_batch(5)[0][:, 0]] for _ in range(3)]
        assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 3
        assert epochs[0] != list(range(10))
        assert epochs[0] != epochs[1] != epochs[2]
        assert data.epochs_completed == 2

    def test_images_keep_their_labels(self) -> None:
        data = self.data_set()
        for _ in range(7):
            batch, classes = data.next_batch(3)
            assert batch[:, 0].tolist() == classes.tolist()

    def test_a_seed_repeats_the_order(self) -> None:
        first, second, other = (self.data_set(seed=seed).next_batch(10)[1].tolist() for seed in (7, 7, 8))
        assert first == second != other

    @pytest.mark.parametrize("size", [-1, 11])
    def test_size_out_of_range(self, size: int) -> None:
        with pytest.raises(ValueError, match=f"batch_size is {size}, expected 0 to 10"):
            self.data_set().next_batch(size)

    def test_invalid_dtype(self) -> None:
        with pytest.raises(TypeError, match="expected uint8 or float32"):
            DataSet(images(1)[..., None], labels(1), dtype=np.int32)

    def test_counts_that_differ(self) -> None:
        with pytest.raises(ValueError, match="counts differ"):
            DataSet(images(2)[..., None], labels(3))
