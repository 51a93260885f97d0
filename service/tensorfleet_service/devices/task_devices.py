"""The devices that a task has."""

from __future__ import annotations

import os

import numpy as np

from tensorfleet.proto.config_pb2 import GPUOptions
from tensorfleet_service.devices import gpu
from tensorfleet_service.devices.device import Device


def task_devices(
    task: str, incarnation: int, cpus: int = 1, gpus: int | None = None, options: GPUOptions | None = None
) -> list[Device]:
    """The devices of a task.

    Args:
        task: such as "/job:worker/replica:0/task:1".
        incarnation: the task's.
        cpus: the number of CPU devices, which share the machine's cores.
        gpus: the largest number of GPUs; None for all that CuPy sees, 0 never loads CuPy.
        options: which GPUs, and how much memory of each.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    devices = [
        Device(f"{task}/device:CPU:{i}", "CPU", memory, incarnation + i, "NumPy", np)
        for i in range(max(cpus, 1))
    ]
    if gpus != 0:
        devices += gpu.devices(task, incarnation + 1000, gpus, options)
    return devices


def null_devices(task: str, count: int) -> list[Device]:
    """Devices that compute nothing, for placing and partitioning without real ones."""
    return [Device(f"{task}/device:CPU:{i}", "NULL", 0, 0, "null", np) for i in range(count)]
