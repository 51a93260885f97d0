"""GPUs: what CuPy sees on this machine."""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorfleet_service.devices.device import Device

log = logging.getLogger(__name__)


def devices(task: str, incarnation: int, limit: int | None) -> list[Device]:
    """The GPUs of this machine as devices of a task; none where CuPy is not installed or sees none."""
    from tensorfleet_service.devices.device import Device

    if importlib.util.find_spec("cupy") is None:
        return []
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as e:
        log.warning("CuPy is installed but sees no GPU: %s", e)
        return []
    found = []
    for i in range(count if limit is None else min(limit, count)):
        properties = cupy.cuda.runtime.getDeviceProperties(i)
        name = properties["name"].decode()
        found.append(
            Device(f"{task}/device:GPU:{i}", "GPU", properties["totalGlobalMem"], incarnation + i, name, cupy)
        )
    return found
