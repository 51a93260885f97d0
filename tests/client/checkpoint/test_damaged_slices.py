"""Files of the first checkpoint format whose header says what cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensorfleet.checkpoint import slice_file, table
from tensorfleet.core import errors
from tensorfleet.proto.saved_tensor_slice_pb2 import SavedSliceMeta, SavedTensorSlices


def shaped(*sizes: int) -> Callable[[SavedSliceMeta], None]:
    def change(meta: SavedSliceMeta) -> None:
        del meta.shape.dim[:], meta.slice[0].extent[:]
        for size in sizes:
            meta.shape.dim.add(size=size)
            meta.slice[0].extent.add()

    return change


def from_to(start: int, length: int) -> Callable[[SavedSliceMeta], None]:
    def change(meta: SavedSliceMeta) -> None:
        meta.slice[0].extent[0].start, meta.slice[0].extent[0].length = start, length

    return change


def of_type(enum: int) -> Callable[[SavedSliceMeta], None]:
    def change(meta: SavedSliceMeta) -> None:
        meta.type = enum  # type: ignore[assignment]

    return change


def without_an_axis(meta: SavedSliceMeta) -> None:
    meta.slice[0].extent.pop()


def listed_twice(meta: SavedSliceMeta) -> None:
    meta.slice.add().CopyFrom(meta.slice[0])


@pytest.mark.parametrize(
    "change",
    [
        *(shaped(-1, 4), shaped(2**62, 2), shaped(*[1] * 70), without_an_axis),
        *(from_to(1, 3), from_to(-1, 1), from_to(0, 2**40), of_type(0), of_type(999), of_type(20)),
        listed_twice,
    ],
)
def test_a_damaged_header_is_data_loss(change: Callable[[SavedSliceMeta], None], tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoint")
    slice_file.write(path, [("a", np.ones((3, 4), np.float32), "")])
    items = dict(table.read(Path(path).read_bytes()))
    head = SavedTensorSlices.FromString(items[b""])
    change(head.meta.tensor[0])
    items[b""] = head.SerializeToString()
    Path(path).write_bytes(table.write(sorted(items.items())))
    reader = slice_file.SliceReader(path, [path])
    with pytest.raises(errors.DataLossError, match="tensor a is damaged"):
        reader.read("a")
