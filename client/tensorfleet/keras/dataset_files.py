"""The data sets of `tf.keras.datasets`, from files in the cache: nothing is downloaded."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from tensorfleet.keras import backend as K
from tensorfleet.keras.array_utils import get_file

_Data = tuple[tuple[Any, Any], tuple[Any, Any]]
_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def load_mnist(path: str = "mnist.npz") -> _Data:
    """Handwritten digits: images (n, 28, 28) of uint8 and their numbers, for training and for tests.

    Raises:
        FileNotFoundError: the file is not in ~/.keras/datasets.
    """
    with np.load(get_file(path, origin=_ORIGIN + "mnist.npz")) as data:
        return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])


def load_fashion_mnist() -> _Data:
    """Images of clothes (n, 28, 28) and the numbers of their kinds, for training and for tests.

    Raises:
        FileNotFoundError: the files are not in ~/.keras/datasets/fashion-mnist.
    """
    import gzip

    found = []
    for part in ("train", "t10k"):
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
            name = f"{part}-{kind}-ubyte.gz"
            path = get_file(
                name, origin=_ORIGIN + name, cache_subdir=os.path.join("datasets", "fashion-mnist")
            )
            with gzip.open(path) as file:
                found.append(np.frombuffer(file.read(), np.uint8, offset=skip))
    (x, y), (x_test, y_test) = found[:2], found[2:]
    return (x.reshape(len(y), 28, 28), y), (x_test.reshape(len(y_test), 28, 28), y_test)


def load_boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> _Data:
    """Prices of houses by 13 features, for training and for tests.

    Raises:
        FileNotFoundError: the file is not in ~/.keras/datasets.
    """
    with np.load(get_file(path, origin=_ORIGIN + "boston_housing.npz")) as data:
        x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


class _Arrays(pickle.Unpickler):
    """Reads dicts of arrays: of classes and functions only those that make arrays."""

    _allowed = frozenset(
        (module, name)
        for core in ("numpy.core.multiarray", "numpy._core.multiarray")
        for module, name in ((core, "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"))
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise pickle.UnpicklingError(f"A batch of CIFAR holds no {module}.{name}. Replace the file.")
        return super().find_class(module, name)


def _cifar_batch(path: str, label: bytes) -> tuple[Any, Any]:
    with open(path, "rb") as file:
        held = _Arrays(file, encoding="bytes").load()
    return np.asarray(held[b"data"]).reshape(-1, 3, 32, 32), held[label]


def _cifar(directory: str, parts: tuple[list[str], list[str]], label: bytes) -> _Data:
    root = get_file(
        directory, origin=f"https://www.cs.toronto.edu/~kriz/{directory.replace('batches-py', 'python')}"
    )
    result = []
    for names in parts:
        batches = [_cifar_batch(os.path.join(root, name), label) for name in names]
        x = np.concatenate([images for images, _ in batches])
        y = np.concatenate([np.asarray(labels) for _, labels in batches]).reshape(-1, 1)
        result.append((x.transpose(0, 2, 3, 1) if K.image_data_format() == "channels_last" else x, y))
    return result[0], result[1]


def load_cifar10() -> _Data:
    """Images (n, 32, 32, 3) of ten kinds and the numbers of their kinds (n, 1).

    Raises:
        FileNotFoundError: the directory is not in ~/.keras/datasets.
    """
    training = [f"data_batch_{i}" for i in range(1, 6)]
    return _cifar("cifar-10-batches-py", (training, ["test_batch"]), b"labels")


def load_cifar100(label_mode: str = "fine") -> _Data:
    """Images (n, 32, 32, 3) of a hundred kinds and the numbers of their kinds (n, 1).

    Args:
        label_mode: "fine" for 100 kinds, "coarse" for 20.

    Raises:
        FileNotFoundError: the directory is not in ~/.keras/datasets.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    return _cifar("cifar-100-python", (["train"], ["test"]), f"{label_mode}_labels".encode())
