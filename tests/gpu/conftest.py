"""Sessions on the GPUs of a stand-in for CuPy."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

from tests.gpu import strict_cupy
from tests.gpu.strict_array import Machine, machine


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Machine]]:
    """Makes `import cupy` give the stand-in: `gpus(2)` for two GPUs; returns what counts the copies."""
    find = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> ModuleSpec | None:
        return ModuleSpec("cupy", None) if name == "cupy" else find(name, package)

    def install(count: int = 1, memory: int = 1 << 30) -> Machine:
        machine.reset(count, memory)
        modules: dict[str, Any] = {"cupy": strict_cupy.module}
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(importlib.util, "find_spec", found)
        return machine

    yield install
    machine.reset(1)
