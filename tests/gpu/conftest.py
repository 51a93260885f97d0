"""Sessions on the GPUs of a stand-in for CuPy or, with `--gpu`, on those of this machine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

import pytest

from tensorfleet_service.devices import gpu
from tests.gpu import strict_cupy
from tests.gpu.strict_array import Machine, machine


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
        monkeypatch.setattr(importlib.util, "find_spec", found)
        return machine

    yield install
    machine.reset(1)


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
