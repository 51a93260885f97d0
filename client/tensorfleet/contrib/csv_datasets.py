"""Data sets in memory from files (`tf.contrib.learn.datasets`). Nothing is downloaded."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core.file_io import GFile
from tensorfleet.records import mnist


class Dataset(NamedTuple):
    """Samples and their labels, two arrays."""

    data: Any
    target: Any


def load_csv_with_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A data set from a CSV file whose first row begins with the numbers of samples and of features
    (`tf.contrib.learn.datasets.base.load_csv_with_header`).

    Args:
        target_dtype: the dtype of the labels.
        features_dtype: the dtype of the features.
        target_column: the column of the labels.

    Raises:
        ValueError: the file has another number of rows or of columns than its header says.
    """
    header, *rows = _rows(filename)
    count, features = int(header[0]), int(header[1])
    if len(rows) != count or any(len(row) != features + 1 for row in rows):
        raise ValueError(f"{filename}: the header says {count} rows of {features} features and a label.")
    return _dataset(rows, target_dtype, features_dtype, target_column)


def load_csv_without_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A data set from a CSV file without a header (`tf.contrib.learn.datasets.base.load_csv_without_header`).

    Args:
        target_dtype: the dtype of the labels.
        features_dtype: the dtype of the features.
        target_column: the column of the labels.
    """
    return _dataset(_rows(filename), target_dtype, features_dtype, target_column)


def _rows(filename: Any) -> list[list[str]]:
    with GFile(filename, "r") as file:
        return [row for row in csv.reader(str(file.read()).splitlines()) if row]


def _dataset(rows: list[list[str]], target_dtype: Any, features_dtype: Any, column: int) -> Dataset:
    target = np.array([row.pop(column) for row in rows]).astype(target_dtype)
    return Dataset(np.array(rows).astype(features_dtype), target)


def load_iris(data_path: Any = None) -> Dataset:
    """Fisher's irises from the file iris.csv (`tf.contrib.learn.datasets.load_iris`).

    Raises:
        ValueError: no path is given; the file is not part of this library.
    """
    return load_csv_with_header(_given(data_path, "iris.csv"), np.int64, np.float64)


def load_boston(data_path: Any = None) -> Dataset:
    """Prices of houses from the file boston_house_prices.csv (`tf.contrib.learn.datasets.load_boston`).

    Raises:
        ValueError: no path is given; the file is not part of this library.
    """
    return load_csv_with_header(_given(data_path, "boston_house_prices.csv"), np.float64, np.float64)


def _given(data_path: Any, name: str) -> Any:
    if data_path is None:
        raise ValueError(
            f"TensorFleet has no {name}: give its path as data_path. (TensorFlow 1's package had it, in "
            "tensorflow/contrib/learn/python/learn/datasets/data.)"
        )
    return data_path


def load_mnist(train_dir: str = "MNIST-data") -> mnist.Datasets:
    """The MNIST database from its four files in a directory (`tf.contrib.learn.datasets.mnist.load_mnist`).

    Raises:
        FileNotFoundError: a file is missing.
    """
    return mnist.read_data_sets(train_dir)


DATASETS: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "boston": load_boston,
    "mnist": load_mnist,
}


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """The data set "mnist", from the directory MNIST-data (`tf.contrib.learn.datasets.load_dataset`).

    Args:
        name: "mnist"; "iris" and "boston" have functions that take a path.
        size, test_with_fake_data: of texts, which are not here.

    Raises:
        ValueError: an unknown name, or one that needs a path.
        FileNotFoundError: a file is missing.
    """
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}. There are {', '.join(DATASETS)}.")
    return DATASETS[name]()


def shrink_csv(filename: str, ratio: int) -> None:
    """Writes each `ratio`-th row of a CSV file beside it, into a file whose name ends in "_small"
    (`tf.contrib.learn.datasets.base.shrink_csv`)."""
    path = Path(filename)
    with GFile(str(path.with_name(f"{path.stem}_small{path.suffix}")), "w") as small:
        for row in _rows(filename)[::ratio]:
            small.write(",".join(row) + "\n")
