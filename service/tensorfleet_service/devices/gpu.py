"""The GPUs of this machine, as CuPy sees them."""

from __future__ import annotations

import importlib.util
import logging
import sys
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.devices import cudnn
from tensorfleet_service.devices.cuda_graphs import held_bytes
from tensorfleet_service.devices.device import Device
from tensorfleet_service.devices.scope import Scope, pool_state

if TYPE_CHECKING:
    from tensorfleet.proto.config_pb2 import GPUOptions

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


def devices(
    task: str, incarnation: int, limit: int | None, options: GPUOptions | None = None
) -> list[Device]:
    """The GPUs of this machine as devices of a task; none where CuPy is not installed or sees none.

    Args:
        limit: the largest number of devices; None for all.
        options: which GPUs, in which order (`visible_device_list`), and how much memory of each.

    Raises:
        InvalidArgumentError: the options name a GPU that is not there, or twice, or more memory than it has.
    """
    count, why = visible()
    if not count:
        if importlib.util.find_spec("cupy") is not None:
            log.warning("%s", why)
        return []
    import cupy

    found = []
    for i, number in enumerate(_chosen(count, options)[:limit]):
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        size = _limit_memory(cupy, number, properties["totalGlobalMem"], options)
        text = f"device: {number}, name: {properties['name'].decode()}"
        scope = Scope(cupy, number)
        found.append(Device(f"{task}/device:GPU:{i}", "GPU", size, incarnation + i, text, cupy, scope))
    if found:
        log.info("convolutions on GPUs: %s", cudnn.description())
    return found


def _chosen(count: int, options: GPUOptions | None) -> list[int]:
    """The numbers of the GPUs that become GPU:0, GPU:1, …"""
    text = "" if options is None else options.visible_device_list.strip()
    if not text:
        return list(range(count))
    chosen = []
    for part in text.split(","):
        number = int(part) if part.strip().isdecimal() else -1
        if not 0 <= number < count:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"'visible_device_list' names '{part.strip()}', and there are the GPUs 0 to {count - 1}",
            )
        if number in chosen:
            raise errors.InvalidArgumentError(
                None, None, f"visible_device_list names GPU {number} twice: {text}"
            )
        chosen.append(number)
    return chosen


def _limit_memory(cupy: Any, number: int, total: int, options: GPUOptions | None) -> int:
    """Limits the pool of a GPU, which grows up to that. Returns the most that it may hold, in bytes."""
    fraction = 0.0 if options is None else options.per_process_gpu_memory_fraction
    if not fraction:
        return total
    if not 0 < fraction <= 1:
        raise errors.InvalidArgumentError(
            None, None, f"per_process_gpu_memory_fraction is {fraction}, and must be in (0, 1]"
        )
    size = int(total * fraction)
    with cupy.cuda.Device(number):
        cupy.get_default_memory_pool().set_limit(size=size)
    return size


def memory(number: int) -> tuple[int, int, int, int]:
    """A GPU's memory, in bytes: total, used by all processes, in this process's pools, in its arrays.

    What captured graphs keep is in both of the latter.
    """
    import cupy

    with cupy.cuda.Device(number):
        free, total = cupy.cuda.runtime.memGetInfo()
        pool = cupy.get_default_memory_pool()
        graphs = held_bytes(number)
        return total, total - free, pool.total_bytes() + graphs, pool.used_bytes() + graphs


def is_exhausted(error: BaseException) -> bool:
    """Whether an exception is for want of a GPU's memory."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(error, cupy.cuda.memory.OutOfMemoryError)


def exhausted(what: str, device: str, error: BaseException) -> errors.OpError:
    """The error for want of a GPU's memory, with the state of its pool."""
    import cupy

    state = getattr(error, "__notes__", None) or [pool_state(cupy)]
    return errors.ResourceExhaustedError(
        None,
        None,
        f"Out of memory on {device} in {what}: {error} {state[0]} Compute it in smaller parts, such as "
        "smaller batches, or on a GPU with more memory.",
    )
