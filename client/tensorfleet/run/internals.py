"""What programs take from TensorFlow's internal modules, and no public namespace has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tensorfleet.contrib.more_cells import linear as linear
from tensorfleet.core import nest as nest
from tensorfleet.core.shapes import TensorShape
from tensorfleet.ops.state.initializers import Initializer as Initializer
from tensorfleet.run import file_io as file_io
from tensorfleet.saved_model import freeze_graph as freeze_graph
from tensorfleet.session.session import Session
from tensorfleet.session.timeline import Timeline


def scalar_shape() -> TensorShape:
    """The shape of rank 0 (`tensor_shape.scalar`)."""
    return TensorShape([])


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
