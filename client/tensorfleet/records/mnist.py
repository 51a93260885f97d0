"""The MNIST database for training, with the interface of TensorFlow 1.x's tutorials.

Unlike TensorFlow's module, this one never downloads missing files. Without the database, train on the sample
in this package: `read_data_sets(None, validation_size=100)`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorfleet.records.idx import read_idx, sample_dir

IMAGE_PIXELS = 784
NUM_CLASSES = 10
TRAIN_IMAGES = "train-images-idx3-ubyte.gz"
TRAIN_LABELS = "train-labels-idx1-ubyte.gz"
TEST_IMAGES = "t10k-images-idx3-ubyte.gz"
TEST_LABELS = "t10k-labels-idx1-ubyte.gz"
SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"


class DataSet:
    """Images and labels, with batches of them (`tensorflow.contrib.learn.datasets.mnist.DataSet`)."""

    def __init__(
        self,
        images: npt.NDArray[Any],
        labels: npt.NDArray[Any],
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: npt.DTypeLike = np.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        """A data set from arrays.

        Args:
            images: uint8 of shape [n, rows, columns, 1].
            labels: of shape [n], or [n, 10] if they are one-hot.
            fake_data: ignore the arrays; next_batch returns images of ones, labelled 0.
            one_hot: whether the labels of fake data are one-hot.
            dtype: float32 for pixels scaled to [0, 1], uint8 for pixels as they are.
            reshape: flatten each image to [rows * columns].
            seed: the seed of the shuffling; random by default.

        Raises:
            TypeError: another dtype.
            ValueError: the numbers of images and labels differ, or images to flatten have more than one
                channel.
        """
        self._dtype = np.dtype(dtype)
        if self._dtype not in (np.uint8, np.float32):
            raise TypeError(f"Invalid image dtype {self._dtype}, expected uint8 or float32")
        self._random = np.random.default_rng(seed)
        self._fake = fake_data
        self._one_hot = one_hot
        self._epochs_completed = 0
        self._index_in_epoch = 0
        if fake_data:
            self._num_examples = 10_000
            self._images = self._labels = np.empty(0)
            return
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}: the counts differ")
        self._num_examples = len(images)
        if reshape:
            if images.shape[3] != 1:
                raise ValueError(f"cannot flatten images of {images.shape[3]} channels, expected 1")
            images = images.reshape(len(images), images.shape[1] * images.shape[2])
        if self._dtype == np.float32:
            images = images.astype(np.float32) * np.float32(1 / 255)
        self._images = images
        self._labels = labels

    @property
    def images(self) -> npt.NDArray[Any]:
        """All images, [n, rows * columns] or [n, rows, columns, 1], in the order of the current epoch."""
        return self._images

    @property
    def labels(self) -> npt.NDArray[Any]:
        """All labels in the order of the images: [n], or [n, 10]."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """The number of images."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """The number of completed passes of next_batch through all examples."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Returns the next images and labels; a batch across the end of an epoch continues in the next one.

        Raises:
            ValueError: batch_size is negative or greater than num_examples.
        """
        if fake_data or self._fake:
            return self._fake_batch(batch_size)
        if not 0 <= batch_size <= self._num_examples:
            raise ValueError(
                f"batch_size is {batch_size}, expected 0 to {self._num_examples}, the number of examples"
            )
        start = self._index_in_epoch
        if start == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]

        rest_images, rest_labels = self._images[start:], self._labels[start:]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = end - self._num_examples
        return (
            np.concatenate([rest_images, self._images[:end]]),
            np.concatenate([rest_labels, self._labels[:end]]),
        )

    def _fake_batch(self, batch_size: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        value = 255 if self._dtype == np.uint8 else 1
        images = np.full((batch_size, IMAGE_PIXELS), value, self._dtype)
        labels = np.zeros(batch_size, np.uint8)
        return images, dense_to_one_hot(labels, NUM_CLASSES) if self._one_hot else labels

    def _shuffle(self) -> None:
        # Indexing makes new arrays, so earlier batches keep their content.
        order = self._random.permutation(self._num_examples)
        self._images = self._images[order]
        self._labels = self._labels[order]


class Datasets(NamedTuple):
    """The three parts of a database."""

    train: DataSet
    validation: DataSet
    test: DataSet


def dense_to_one_hot(labels: npt.NDArray[Any], num_classes: int) -> npt.NDArray[np.float64]:
    """Turns class numbers of shape [n] into rows of shape [n, num_classes] with a single 1."""
    one_hot = np.zeros((len(labels), num_classes))
    one_hot[np.arange(len(labels)), labels] = 1
    return one_hot


def read_data_sets(
    train_dir: str | os.PathLike[str] | None,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: npt.DTypeLike = np.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = SOURCE_URL,
) -> Datasets:
    """Reads the four MNIST files of a directory.

    `tensorflow.examples.tutorials.mnist.input_data.read_data_sets`, without downloads.

    Args:
        train_dir: the directory, with files as they are distributed or decompressed (without `.gz`). None for
            the sample in this package, whose 1,000 training images need a smaller validation_size than the
            default.
        fake_data: read no files; see DataSet.
        one_hot: labels as rows of shape [10] instead of class numbers.
        dtype: float32 (pixels from 0 to 1) or uint8 (from 0 to 255).
        reshape: flat images of 784 pixels instead of [28, 28, 1].
        validation_size: the number of training images, from the first on, that become the validation set.
        seed: the seed of the shuffling.
        source_url: a source of the files, to name in the error for missing ones.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, images and labels do not fit each other, or validation_size is negative
            or greater than the number of training images.
    """
    if fake_data:
        empty = np.empty(0)
        train, validation, test = (
            DataSet(empty, empty, fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)
        )
        return Datasets(train, validation, test)

    directory = sample_dir() if train_dir is None else Path(train_dir)
    images, labels = _read_pair(directory, TRAIN_IMAGES, TRAIN_LABELS, one_hot, source_url)
    test_images, test_labels = _read_pair(directory, TEST_IMAGES, TEST_LABELS, one_hot, source_url)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}. "
            f"({directory} has {len(images)} training images.)"
        )

    def data_set(images: npt.NDArray[Any], labels: npt.NDArray[Any]) -> DataSet:
        return DataSet(images, labels, dtype=dtype, reshape=reshape, seed=seed)

    return Datasets(
        train=data_set(images[validation_size:], labels[validation_size:]),
        validation=data_set(images[:validation_size], labels[:validation_size]),
        test=data_set(test_images, test_labels),
    )


def _read_pair(
    directory: Path, images_name: str, labels_name: str, one_hot: bool, source_url: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Reads images of shape [n, rows, columns, 1] and their labels, and checks that they fit each other."""
    images_path = _find(directory, images_name, source_url)
    labels_path = _find(directory, labels_name, source_url)
    images = _read(images_path, rank=3, what="images [n, rows, columns]")
    labels = _read(labels_path, rank=1, what="labels [n]")
    if len(images) != len(labels):
        raise ValueError(
            f"{labels_path}: expected as many labels as {images_path} has images, {len(images)}, "
            f"found {len(labels)}"
        )
    if labels.size and labels.max() >= NUM_CLASSES:
        raise ValueError(f"{labels_path}: expected labels from 0 to {NUM_CLASSES - 1}, found {labels.max()}")
    return images[..., np.newaxis], dense_to_one_hot(labels, NUM_CLASSES) if one_hot else labels


def _read(path: Path, rank: int, what: str) -> npt.NDArray[Any]:
    array = read_idx(path)
    if array.ndim != rank or array.dtype != np.uint8:
        raise ValueError(f"{path}: expected {what} of uint8, found shape {array.shape} of {array.dtype}")
    return array


def _find(directory: Path, name: str, source_url: str) -> Path:
    for candidate in (directory / name, directory / name.removesuffix(".gz")):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"{directory / name}: no such file, nor one without .gz. Nothing is downloaded: put the four MNIST "
        f"files there (TensorFlow's tutorials got them from {source_url}), or give train_dir=None for the "
        f"packaged sample"
    )
