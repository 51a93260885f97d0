"""Sessions on the GPUs of a stand-in for CuPy or, with `--gpu`, on those of this machine."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

import pytest

from tensorfleet_service.collectives.device_value import library
from tensorfleet_service.devices import cublas, gpu
from tests.cluster.processes import Cluster
from tests.gpu import strict_cupy
from tests.gpu.strict_array import Machine, machine
from tests.gpu.strict_cublas import Library


class RealMachine:
    """The GPUs of this machine, on which nothing is counted: tests that look at counts are skipped."""

    @property
    def counters(self) -> NoReturn:
        pytest.skip("only the stand-in counts")

    @counters.setter
    def counters(self, value: Any) -> None:
        pytest.skip("only the stand-in counts")

    @property
    def pools(self) -> NoReturn:
        pytest.skip("only the stand-in shows its memory")


@pytest.fixture
def gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Makes `import cupy` give the stand-in: `gpus(2)` for two GPUs; returns what counts the copies."""
    if request.config.getoption("gpu"):
        yield _real
        return
    find = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> ModuleSpec | None:
        return ModuleSpec("cupy", None) if name == "cupy" else find(name, package)

    def install(count: int = 1, memory: int = 1 << 30) -> Machine:
        machine.reset(count, memory)
        monkeypatch.setitem(sys.modules, "cupy", strict_cupy.module)
        monkeypatch.setitem(sys.modules, "cupy.cuda", strict_cupy.module.cuda)
        library.cache_clear()
        monkeypatch.setattr(cublas, "library", lambda: strict_cublas)
        monkeypatch.setattr(importlib.util, "find_spec", found)
        return machine

    strict_cublas = Library()

    yield install
    library.cache_clear()
    machine.reset(1)


@pytest.fixture
def is_stand_in(request: pytest.FixtureRequest) -> bool:
    """Whether the GPUs are those of the stand-in, which counts."""
    return not request.config.getoption("gpu")


@pytest.fixture
def gpu_cluster(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[Cluster]]:
    """Makes clusters of real processes, whose workers have GPUs; see `_cluster`."""
    return functools.partial(_cluster, bool(request.config.getoption("gpu")))


@contextmanager
def _cluster(
    is_real: bool, jobs: dict[str, int], own: dict[int, dict[str, str]] | None = None, apart: int = 0
) -> Iterator[Cluster]:
    """A cluster of tasks, each with the stand-in's GPUs or, with `--gpu`, with GPUs of this machine.

    Args:
        jobs: how many tasks of each; those of "ps" have no GPU.
        own: environments of workers, which only the stand-in understands.
        apart: how many GPUs each worker has for itself, if it matters; else workers may share one.
    """
    if is_real and own:
        pytest.skip("only the stand-in does that")
    workers = jobs["worker"]
    if is_real:
        _real(max(apart * workers, 1))
    cluster = Cluster(jobs, dict.fromkeys(jobs, "grpc+stream"))
    for (job, index), task in cluster.tasks.items():
        if job == "ps":
            task.settings["gpus"] = 0
        elif is_real and apart:
            chosen = ",".join(str(index * apart + i) for i in range(apart))
            task.settings["config"] = {"gpuOptions": {"visibleDeviceList": chosen}}
        elif not is_real:
            task.settings["stand_in"] = (own or {}).get(index, {})
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def xp(gpus: Callable[..., Any]) -> Any:
    """CuPy, or the stand-in."""
    gpus()
    return importlib.import_module("cupy")


def _real(count: int = 1, memory: int = 0) -> RealMachine:
    found, why = gpu.visible()
    if not found:
        pytest.fail(f"--gpu needs a GPU: {why}")
    if found < count:
        pytest.skip(f"needs {count} GPUs, and there is {found}")
    if memory:
        pytest.skip("only the stand-in is that small")
    return RealMachine()
