"""Checkpoints of the first format (Save, SaveSlices, Restore, …) beside TensorFlow's, both ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet
from tensorfleet.checkpoint import table
from tensorfleet.proto.saved_tensor_slice_pb2 import SavedTensorSlices
from tests.compat import op_programs
from tests.compat.op_programs import Maker

real.disable_v2_behavior()

VALUES: dict[str, Any] = {
    "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scalar": np.int64(-7),
    "strings": np.array([b"a", b"", b"bc" * 100], object),
    "half": np.float16([1, 2.5]),
    "bool": np.array([[True], [False]]),
    "complex": np.complex64([1j, 2]),
    "complex128": np.complex128([[3 - 1j]]),
    "double": np.float64([np.nan, np.inf]),
    "int8": np.int8([-3, 4]),
    "int16": np.int16([-3, 4]),
    "int32": np.int32([-3, 4]),
    "uint8": np.uint8([3, 255]),
    "uint16": np.uint16([3, 65535]),
    "empty": np.zeros((0, 3), np.float32),
}


def run(tf: Any, build: Callable[[Maker], Any]) -> Any:
    """What the nodes give in a library, or the class of the error."""
    return op_programs.run(tf, build)


def save(path: Path) -> Callable[[Maker], Any]:
    return lambda make: make("Save", str(path), list(VALUES), list(VALUES.values()))


def restore(path: Path, name: str, value: Any) -> Callable[[Maker], Any]:
    dtype = np.asarray(value).dtype
    return lambda make: make("Restore", str(path), name, dt=make.tf.as_dtype(dtype))


def entries(path: Path) -> tuple[dict[bytes, bytes], Any]:
    """The entries of a file: those of the tensors, and the metadata by name, as their order is a hash's."""
    items = table.read(path.read_bytes())
    meta = SavedTensorSlices.FromString(items.pop(b"")).meta
    return items, (sorted(map(str, meta.tensor)), str(meta.versions))


def test_files_are_tensorflows_and_each_reads_the_others(tmp_path: Path) -> None:
    paths = {tf: tmp_path / tf.__name__ for tf in (fleet, real)}
    for tf, path in paths.items():
        outcome = run(tf, save(path))
        assert not outcome.error, outcome.text
    assert entries(paths[fleet]) == entries(paths[real])
    for tf, other in ((fleet, real), (real, fleet)):
        for name, value in VALUES.items():
            outcome = run(tf, restore(paths[other], name, value))
            assert not outcome.error, outcome.text
            (found,) = outcome.values
            np.testing.assert_array_equal(np.asarray(found, np.asarray(value).dtype), value)


def slices(make: Maker, path: Path) -> Any:
    whole, upper = VALUES["matrix"], np.ones((2, 3))
    specs = ["", "4 3 0,2:-", "4 3 2,2:-"]
    return make("SaveSlices", str(path), ["m", "z", "z"], specs, [whole, upper, upper * 2])


def test_parts_of_tensors(tmp_path: Path) -> None:
    for tf in (fleet, real):
        path = tmp_path / tf.__name__
        assert not run(tf, lambda make, path=path: slices(make, path)).error
    assert entries(tmp_path / fleet.__name__) == entries(tmp_path / real.__name__)
    for spec in ("4 3 1,2:0,2", "4 3 -:-", "", "4 3 0,2:-", "5 3 1,2:0,2"):
        found = [
            run(
                tf,
                lambda make, tf=tf, spec=spec: make(
                    *("RestoreSlice", str(tmp_path / tf.__name__), "z", spec), dt=make.tf.float64
                ),
            )
            for tf in (fleet, real)
        ]
        assert found[0].error == found[1].error, spec
        assert found[0].shapes == found[1].shapes, spec
        np.testing.assert_array_equal(found[0].values, found[1].values)
    for tf in (fleet, real):
        made = run(
            tf,
            lambda make: make("RestoreV2", str(tmp_path / real.__name__), ["z"], [""], dtypes=["float64"]),
        )
        np.testing.assert_array_equal(made.values[0], [[1] * 3] * 2 + [[2] * 3] * 2)


FAULTS: dict[str, Callable[[Maker, Path], Any]] = {
    "another type": lambda make, path: make("Restore", str(path), "matrix", dt=make.tf.float64),
    "no such name": lambda make, path: make("Restore", str(path), "else", dt=make.tf.float32),
    "no such name, by RestoreV2": lambda make, path: make(
        "RestoreV2", str(path), ["else"], [""], dtypes=["float32"]
    ),
    "no file": lambda make, path: make("Restore", f"{path}-else", "matrix", dt=make.tf.float32),
    "a pattern": lambda make, path: make("Restore", f"{path}*", "matrix", dt=make.tf.float32),
    "fewer values": lambda make, path: make("Save", str(path), ["a", "b"], [1]),
    "a value unlike its slice": lambda make, path: make("SaveSlices", str(path), ["a"], ["4 3 0,2:-"], [1]),
    "a type that the format lacks": lambda make, path: make(
        "Save", str(path), ["a"], [make.tf.constant([1], make.tf.bfloat16)]
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    assert not run(real, save(path)).error
    found = [run(tf, lambda make: FAULTS[fault](make, path)) for tf in (fleet, real)]
    assert found[0].error == found[1].error, found[0].text
    if not found[0].error and found[1].values:
        np.testing.assert_array_equal(found[0].values, found[1].values)


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    assert not run(real, save(path)).error
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    assert run(fleet, restore(path, "matrix", VALUES["matrix"])).error == "DataLossError"
