"""Functions of `tf.keras.utils` for arrays, and for files that datasets come from."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: str = "float32") -> Any:
    """One-hot rows for numbers of classes.

    Args:
        num_classes: by default one more than the greatest number.

    Example:
        >>> tf.keras.utils.to_categorical([0, 2]).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    numbers = np.array(y, dtype="int")
    shape = numbers.shape
    if len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    flat = numbers.ravel()
    count = int(flat.max()) + 1 if num_classes is None else num_classes
    rows = np.zeros((len(flat), count), dtype=dtype)
    rows[np.arange(len(flat)), flat] = 1
    return rows.reshape((*shape, count))


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """An array divided by its norm along `axis`; where that is 0, it stays."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


def get_file(
    fname: str,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: str | None = None,
) -> str:
    """The path of a file in the cache, ~/.keras/datasets by default. Nothing is downloaded.

    Raises:
        FileNotFoundError: the file is not there.
        ValueError: its hash is another one.
    """
    root = cache_dir or os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    path = os.path.join(os.path.expanduser(root), cache_subdir, fname)
    if untar and not os.path.exists(path):
        path = f"{path}.tar.gz"
    if not os.path.exists(path):
        source = f" It is at {origin}." if origin else ""
        raise FileNotFoundError(
            f"There is no file {path}: TensorFleet downloads nothing. Put the file there yourself.{source}"
        )
    wanted = file_hash or md5_hash
    if wanted and os.path.isfile(path):
        kind = "sha256" if hash_algorithm == "sha256" or len(wanted) == 64 else "md5"
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        if found != wanted:
            raise ValueError(f"The {kind} of {path} is {found}, not {wanted}. Replace the file.")
    if (extract or untar) and os.path.isfile(path):
        return _extracted(path, archive_format)
    return path


def _extracted(path: str, archive_format: str) -> str:
    """The path without the ending of the archive, which is unpacked if it is not there."""
    import tarfile
    import zipfile

    target = path
    for ending in (".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip"):
        target = target.removesuffix(ending)
    if target != path and os.path.exists(target):
        return target
    directory = os.path.dirname(path)
    if archive_format in ("auto", "tar") and tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(directory, filter="data")
    elif archive_format in ("auto", "zip") and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as package:
            package.extractall(directory)
    return target
