"""Devices, on which kernels run, with their array modules."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
from tensorfleet_service.devices.scope import Scope


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a task.

    Attributes:
        name: the canonical name, such as "/job:worker/replica:0/task:1/device:CPU:0".
        type: "CPU", "GPU" or "NULL".
        memory_bytes: the size of its memory.
        incarnation: a number that is different at each start of the task.
        description: the physical device, for people.
        xp: the array module of its kernels.
        scope: what makes it current for a thread, where it is a GPU.
    """

    name: str
    type: str
    memory_bytes: int
    incarnation: int
    description: str
    xp: ModuleType
    scope: Scope | None = None

    def attributes(self) -> DeviceAttributes:
        return DeviceAttributes(
            name=self.name,
            device_type=self.type,
            memory_limit=self.memory_bytes,
            incarnation=self.incarnation,
            physical_device_desc=self.description,
        )
