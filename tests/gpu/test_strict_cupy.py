"""The stand-in for CuPy refuses what a GPU refuses, has CuPy's names, and counts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet_service
from tests.gpu import strict_array, strict_cuda, strict_nccl
from tests.gpu.cupy_names import CUDA_CLASSES, FILE, describe, has_nccl
from tests.gpu.strict_array import CUDARuntimeError, Machine, OutOfMemoryError, Unnoticed
from tests.gpu.strict_cupy import module as cp


@pytest.fixture
def machine(gpus: Callable[..., Machine]) -> Machine:
    return gpus(2, memory=1 << 20)  # skips where there is a GPU


def on_device(*shape: int) -> Any:
    return cp.ones(shape, np.float32)


REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "np.asarray(x)": (TypeError, lambda: np.asarray(on_device(2))),
    "x + a NumPy array": (TypeError, lambda: on_device(2) + np.ones(2, np.float32)),
    "a NumPy array + x": (TypeError, lambda: np.ones(2, np.float32) + on_device(2)),
    "a function of a NumPy array": (TypeError, lambda: cp.sum(np.ones(2, np.float32))),
    "stacking both": (TypeError, lambda: cp.stack([on_device(2), np.ones(2, np.float32)])),
    "assigning a NumPy array": (TypeError, lambda: on_device(2).__setitem__(0, np.ones(1))),
    "objects": (TypeError, lambda: cp.asarray(np.array([b"x"], object))),
    "strings": (TypeError, lambda: cp.asarray("text")),
    "times": (TypeError, lambda: cp.zeros(2, "datetime64[s]")),
    "a size on the device": (TypeError, lambda: cp.zeros(cp.asarray([2, 3]))),
    "an index on the device as a number": (TypeError, lambda: range(cp.asarray(3))),
    "a function that CuPy lacks": (AttributeError, lambda: cp.nanquantile_of),
    "an argument that CuPy lacks": (TypeError, lambda: cp.sum(on_device(2), where=on_device(2) > 0)),
    "too many arguments": (TypeError, lambda: cp.flip(on_device(2), 0, 1)),
    "a ufunc's method that CuPy lacks": (
        NotImplementedError,
        lambda: cp.logical_and.reduce(on_device(2) > 0),
    ),
    "products at indices": (NotImplementedError, lambda: cp.multiply.at(on_device(2), cp.asarray([0]), 2.0)),
    "sums of int64 at indices": (TypeError, lambda: cp.add.at(cp.zeros(2, np.int64), cp.asarray([0]), 2)),
    "a dtype without a loop": (TypeError, lambda: cp.bitwise_and(on_device(2), on_device(2))),
    "an output of another kind": (
        TypeError,
        lambda: cp.add(cp.ones(2, np.float64), 1.0, out=cp.ones(2, np.int32)),
    ),
    "linear algebra of half precision": (TypeError, lambda: cp.linalg.inv(cp.ones((2, 2), np.float16))),
    "an index out of range": (Unnoticed, lambda: on_device(2)[cp.asarray([2])]),
    "a singular matrix": (Unnoticed, lambda: cp.linalg.inv(cp.zeros((2, 2), np.float32))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(machine: Machine, case: str) -> None:
    error, call = REFUSED[case]
    with pytest.raises(error):
        call()


def test_numbers_of_rank_0_stay_arrays(machine: Machine) -> None:
    x = on_device(2, 3)
    for found in (x.sum(), x[0, 0], cp.max(x), x.sum() * 2, np.exp(x.sum()), cp.argmax(x)):
        assert isinstance(found, cp.ndarray)
        assert found.shape == ()


def test_an_array_belongs_to_a_device(machine: Machine) -> None:
    x = on_device(2)
    with strict_cuda.Device(1):
        with pytest.raises(ValueError, match="array device = 0 while current = 1"):
            x + 1
        copied = cp.asarray(x)
        assert copied.device == strict_cuda.Device(1)
        assert machine.counters.peer == [(2,)]
    with pytest.raises(RuntimeError, match="invalid device"):
        strict_cuda.Device(2).use()


def test_views_share_memory_and_copies_do_not(machine: Machine) -> None:
    x = on_device(2, 3)
    x[0].fill(5)
    x.reshape(6)[3:] = 7
    x.copy()[...] = 0
    np.testing.assert_array_equal(x.get(), [[5, 5, 5], [7, 7, 7]])
    assert x[0].base is x


def test_copies_and_waits_are_counted(machine: Machine) -> None:
    x = cp.asarray(np.ones((2, 3), np.float32))
    assert machine.counters.to_device == [(2, 3)]
    y = x * 2 + x
    assert machine.counters.synchronizations == 0
    assert float(y.sum()) == 18
    assert (machine.counters.synchronizations, machine.counters.to_host) == (1, [()])
    y[y > 2]
    cp.nonzero(y)
    assert machine.counters.synchronizations == 3
    cp.asnumpy(y, blocking=False)
    assert machine.counters.synchronizations == 3


def test_memory_has_an_end(machine: Machine) -> None:
    pool = machine.pools[0]
    x = on_device(1 << 16)
    assert pool.used == 1 << 18
    with pytest.raises(OutOfMemoryError, match="Out of memory allocating 1,048,576 bytes"):
        on_device(1 << 18)
    view = x[1:]
    del x
    assert pool.used == 1 << 18
    del view
    assert pool.used == 0


IN_A_CAPTURE: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "a copy to the host": (RuntimeError, lambda x: x.get()),
    "a number for the host": (RuntimeError, lambda x: float(x[0])),
    "a copy from the host": (RuntimeError, lambda x: cp.asarray(np.ones(2))),
    "a wait": (CUDARuntimeError, lambda x: cp.cuda.get_current_stream().synchronize()),
    "a size that depends on values": (CUDARuntimeError, lambda x: cp.nonzero(x)),
    "a product by CuPy's cuBLAS": (NotImplementedError, lambda x: x[None] @ x[:, None]),
    "memory that is not its own": (CUDARuntimeError, lambda x: _in_common_memory(x)),
    "giving memory back": (CUDARuntimeError, lambda x: cp.get_default_memory_pool().free_all_blocks()),
    "the legacy stream": (CUDARuntimeError, lambda x: _on_the_legacy_stream(x)),
}


def _in_common_memory(x: Any) -> Any:
    with strict_array.machine.allocating(None):
        return x + 1.0


def _on_the_legacy_stream(x: Any) -> Any:
    with cp.cuda.Stream(null=True):
        return x + 1.0


@pytest.mark.parametrize("what", IN_A_CAPTURE)
def test_what_a_capture_refuses(machine: Machine, what: str) -> None:
    error, refused = IN_A_CAPTURE[what]
    x, pool, stream = on_device(2), cp.cuda.MemoryPool(), cp.cuda.Stream(non_blocking=True)
    refused(x)
    with cp.cuda.using_allocator(pool.malloc), stream:
        stream.begin_capture()
        with pytest.raises(error):
            refused(x)
        if error is CUDARuntimeError and what != "the legacy stream":
            with pytest.raises(CUDARuntimeError, match="CaptureInvalidated"):
                stream.end_capture()
        else:
            stream.end_capture()
        refused(x)


def test_a_captured_graph_runs_on_what_is_there_then(machine: Machine) -> None:
    x, pool, stream = on_device(2), cp.cuda.MemoryPool(), cp.cuda.Stream(non_blocking=True)
    with cp.cuda.using_allocator(pool.malloc), stream:
        stream.begin_capture()
        assert stream.is_capturing()
        y = cp.exp(x) * 2.0
        x += 1.0
        graph = stream.end_capture()
    assert x.get().tolist() == [1, 1], "nothing runs in a capture"
    assert np.isnan(y.get()).all()
    for value in (1.0, 2.0):
        graph.launch()
        np.testing.assert_allclose(y.get(), 2 * np.exp([value] * 2), rtol=1e-6)
    assert x.get().tolist() == [3, 3]
    assert machine.counters.graphs == 2
    del x
    with pytest.raises(Unnoticed, match="given back"):
        graph.launch()
    assert pool.total_bytes() > 0
    del y
    pool.free_all_blocks()
    assert machine.pools[0].outside == 0


def test_the_names_are_those_of_cupy() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    lines = FILE.read_text().splitlines()
    if not has_nccl():
        lines = [line for line in lines if not line.startswith("cuda nccl.")]
    assert describe(cupy) == lines, "run python -m tests.gpu.cupy_names"


def test_the_stand_in_has_nothing_that_cupy_cuda_lacks() -> None:
    real = {line.removeprefix("cuda ") for line in FILE.read_text().splitlines() if line.startswith("cuda ")}
    own = {name for name in vars(strict_cuda.runtime) if not name.startswith("_")}
    missing = {f"runtime.{name}" for name in own} - real
    for place in CUDA_CLASSES:
        found = functools.reduce(getattr, place.split("."), strict_cuda) if _has(place) else None
        missing |= {f"{place}.{name}" for name in vars(found or object) if name[0] != "_"} - real
    missing |= {f"nccl.{name}" for name in vars(strict_nccl) if name.startswith("NCCL_")} - real
    assert not missing


def test_what_the_service_takes_of_cupy_cuda_is_there() -> None:
    """By the text of its source: what is called there on `….cuda`, in the release that is described."""
    real = {line.removeprefix("cuda ") for line in FILE.read_text().splitlines() if line.startswith("cuda ")}
    folder = Path(tensorfleet_service.__file__).parent
    used = {"nccl.available"}
    for path in folder.rglob("*.py"):
        text = path.read_text()
        assert "cuda.nccl" not in text, f"{path}: an attribute only once it is imported"
        if "cuda" in text:
            used |= set(re.findall(r"\bcuda\.((?:runtime\.|memory\.|nccl\.)?[A-Za-z_]\w*)", text))
            used |= {f"nccl.{name}" for name in re.findall(r"\bnccl\.(get_unique_id|group\w+|Nccl\w+)", text)}
            used |= {f"runtime.{name}" for name in re.findall(r"\bruntime\.([a-z][A-Za-z]+)\(", text)}
    used -= {"runtime", "memory", "nccl"}
    assert {"runtime.ipcOpenMemHandle", "nccl.groupStart", "UnownedMemory"} <= used
    assert used <= real, f"CuPy has no {sorted(used - real)}"


def _has(place: str) -> bool:
    return hasattr(strict_cuda, place.split(".")[0])
