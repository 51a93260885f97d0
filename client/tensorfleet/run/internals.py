"""What TensorFlow's internal modules have and no public namespace: the places `client.…` of the tables."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.functions.defun import Defun as Defun
from tensorfleet.ops.data_flow.barriers import Barrier as Barrier
from tensorfleet.run import python
from tensorfleet.session.session import Session
from tensorfleet.session.timeline import Timeline


def scalar_shape() -> TensorShape:
    """The shape of rank 0 (`tensor_shape.scalar`)."""
    return TensorShape([])


def vector_shape(length: Any) -> TensorShape:
    """The shape of a vector with so many elements (`tensor_shape.vector`)."""
    return TensorShape([length])


def matrix_shape(rows: Any, cols: Any) -> TensorShape:
    """The shape of a matrix (`tensor_shape.matrix`)."""
    return TensorShape([rows, cols])


def list_local_devices(session_config: Any = None) -> list[Any]:
    """This process's devices (`device_lib.list_local_devices`): `name`, `device_type`, `memory_limit`."""
    with Session(config=session_config) as session:
        return [
            SimpleNamespace(
                name=device.name,
                device_type=device.device_type,
                memory_limit=device.memory_limit_bytes,
                physical_device_desc="",
            )
            for device in session.list_devices()
        ]


device_lib = SimpleNamespace(list_local_devices=list_local_devices)
timeline = SimpleNamespace(Timeline=Timeline)

# The modules of the folder `python`, imported only by programs that use them.
_MODULES = frozenset(module.name for module in iter_modules(python.__path__))


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{python.__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
