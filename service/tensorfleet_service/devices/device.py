"""Devices: where kernels run, and which array module they compute with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a task.

    Attributes:
        name: the canonical name, such as "/job:worker/replica:0/task:1/device:CPU:0".
        type: "CPU", "GPU" or "NULL".
        memory_bytes: what it may hold.
        incarnation: differs from start to start of the task.
        description: the physical device, for people.
        xp: the array module of its kernels.
    """

    name: str
    type: str
    memory_bytes: int
    incarnation: int
    description: str
    xp: ModuleType

    def attributes(self) -> DeviceAttributes:
        return DeviceAttributes(
            name=self.name,
            device_type=self.type,
            memory_limit=self.memory_bytes,
            incarnation=self.incarnation,
            physical_device_desc=self.description,
        )


def task_devices(task: str, incarnation: int, cpus: int = 1, gpus: int | None = None) -> list[Device]:
    """The devices of a task.

    Args:
        task: such as "/job:worker/replica:0/task:1".
        incarnation: the task's.
        cpus: how many CPU devices it shows; they share the machine's cores.
        gpus: how many GPUs at most; None for all that CuPy sees, 0 never loads CuPy.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    devices = [
        Device(f"{task}/device:CPU:{i}", "CPU", memory, incarnation + i, "NumPy", np)
        for i in range(max(cpus, 1))
    ]
    if gpus != 0:
        from tensorfleet_service.devices import gpu

        devices += gpu.devices(task, incarnation + 1000, gpus)
    return devices


def null_devices(task: str, count: int) -> list[Device]:
    """Devices that compute nothing: for placing and partitioning without a machine behind."""
    return [Device(f"{task}/device:CPU:{i}", "NULL", 0, 0, "null", np) for i in range(count)]
