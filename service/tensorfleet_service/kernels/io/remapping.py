"""GenerateVocabRemapping, LoadAndRemapMatrix: rows and columns of a checkpoint, found by their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.files import reported
from tensorfleet.core import dtypes
from tensorfleet.core.files import Files, path_of
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, name_text


def _text(value: Any, name: str, read: Callable[[bytes], str] = path_of) -> str:
    """A scalar string, by default the name of a file."""
    value = host_array(value)
    if value.ndim:
        raise invalid(f"{name} must be a scalar, got shape {list(value.shape)}")
    return read(value[()])


def _words(files: Files, path: str) -> Iterator[bytes]:
    with reported(path), files.open_for_read(path) as file:
        for line in file:
            yield line.rstrip(b"\r\n")


@kernel("GenerateVocabRemapping")
def generate_vocab_remapping(node: KernelNode) -> Kernel:
    attrs, files, xp = node.attrs, node.resources.files, node.xp
    offset, count, old_size = attrs["new_vocab_offset"], attrs["num_new_vocab"], attrs["old_vocab_size"]

    def run(new_vocab_file: Any, old_vocab_file: Any) -> Any:
        new, old = _text(new_vocab_file, "new_vocab_file"), _text(old_vocab_file, "old_vocab_file")
        places: dict[bytes, int] = {}
        for place, word in enumerate(islice(_words(files, old), None if old_size < 0 else old_size)):
            if places.setdefault(word, place) != place:
                raise invalid(f"{old} has the word {word!r} in line {places[word]} and in line {place}")
        if old_size > len(places):
            raise invalid(f"Invalid vocab_size in {old}: expected {old_size} but got {len(places)}")
        words = list(islice(_words(files, new), offset, offset + count))
        if len(words) < count:
            raise invalid(f"{new} has {offset + len(words)} lines, and {offset + count} are asked for")
        found = np.array([places.get(word, -1) for word in words], np.int64)
        return xp.asarray(found), np.int32(np.count_nonzero(found >= 0))

    return run


@kernel("LoadAndRemapMatrix")
def load_and_remap_matrix(node: KernelNode) -> Kernel:
    attrs, files, xp = node.attrs, node.resources.files, node.xp
    shape = attrs["num_rows"], attrs["num_cols"]

    def run(ckpt_path: Any, old_tensor_name: Any, row_remapping: Any, col_remapping: Any, values: Any) -> Any:
        rows, columns, values = map(host_array, (row_remapping, col_remapping, values))
        if rows.shape != shape[:1]:
            raise invalid(f"Size of row_remapping is {list(rows.shape)} instead of being equal to {shape[0]}")
        if columns.ndim != 1 or (len(columns) and columns.shape != shape[1:]):
            raise invalid(f"Provided col_remapping has shape {list(columns.shape)}, not [0] or [{shape[1]}]")
        given = np.ones(shape, bool)
        given[rows < 0] = False
        given[:, np.flatnonzero(columns < 0)] = False
        missing = shape[0] * shape[1] - int(np.count_nonzero(given))
        if values.ndim != 1 or len(values) != missing:
            raise invalid(
                f"{missing} elements are not in the checkpoint, and initializing_values has {values.size}"
            )
        result = np.empty(shape, np.float32)
        with BundleReader(_text(ckpt_path, "ckpt_path"), files) as reader:
            name = _text(old_tensor_name, "old_tensor_name", name_text)
            _fill(reader, name, rows, columns, attrs["max_rows_in_memory"], result)
        result[~given] = values
        return xp.asarray(result)

    return run


def _fill(reader: BundleReader, name: str, rows: Any, columns: Any, at_once: int, result: Any) -> None:
    """Copies the rows and columns that the matrix has.

    Args:
        at_once: the number of rows of the checkpoint in memory at a time; all if it is not positive.
    """
    full, dtype = reader.shape(name), reader.dtype(name)
    if dtype is not dtypes.float32 or len(full) != 2:
        raise invalid(f"Tensor {name} must be a matrix of float32, but is {dtype.name} {list(full)}")
    if not len(columns) and full[1] != result.shape[1]:
        raise invalid(f"Tensor {name} has {full[1]} columns, and {result.shape[1]} are asked for")
    if (rows >= full[0]).any() or (columns >= full[1]).any():
        raise invalid(f"A remapping asks for more than tensor {name} has: {list(full)}")
    kept = np.flatnonzero(columns >= 0) if len(columns) else slice(None)
    taken = columns[kept] if len(columns) else slice(None)
    step = at_once if at_once > 0 else max(full[0], 1)
    for start in range(0, full[0], step):
        stop = min(start + step, full[0])
        targets = np.flatnonzero((rows >= start) & (rows < stop))
        if not len(targets):
            continue
        part = reader.read(name, f"{full[0]} {full[1]} {start},{stop - start}:0,{full[1]}")
        chosen = part[rows[targets] - start]
        result[targets[:, None], np.arange(result.shape[1])[kept]] = chosen[:, taken]
