"""The GPUs of this machine, as CuPy sees them."""

from __future__ import annotations

import importlib.util
import logging

from tensorfleet_service.devices.device import Device

log = logging.getLogger(__name__)


def visible() -> tuple[int, str]:
    """The number of GPUs that CuPy sees on this machine, and the reason if it sees none."""
    if importlib.util.find_spec("cupy") is None:
        return 0, "CuPy is not installed"
    import cupy

    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as e:
        return 0, f"CuPy sees no GPU: {e}"
    return count, "" if count else "CuPy sees no GPU"


def devices(task: str, incarnation: int, limit: int | None) -> list[Device]:
    """The GPUs of this machine as devices of a task; none where CuPy is not installed or sees none."""
    count, why = visible()
    if not count:
        if importlib.util.find_spec("cupy") is not None:
            log.warning("%s", why)
        return []
    import cupy

    found = []
    for i in range(count if limit is None else min(limit, count)):
        properties = cupy.cuda.runtime.getDeviceProperties(i)
        name = properties["name"].decode()
        found.append(
            Device(f"{task}/device:GPU:{i}", "GPU", properties["totalGlobalMem"], incarnation + i, name, cupy)
        )
    return found


def memory(number: int) -> tuple[int, int, int, int]:
    """A GPU's memory, in bytes: total, used by all processes, in this process's pool, in its arrays."""
    import cupy

    with cupy.cuda.Device(number):
        free, total = cupy.cuda.runtime.memGetInfo()
        pool = cupy.get_default_memory_pool()
        return total, total - free, pool.total_bytes(), pool.used_bytes()
