"""How the GPUs of this machine are, as NVIDIA's management library (NVML) tells."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of a GPU. None: the GPU does not tell, as a slice of one (MIG) does not.

    Attributes:
        utilization: the share, 0 to 1, of the last moment (1/6 to 1 second) in which a kernel ran.
        memory_utilization: the share of it in which memory was read or written.
        temperature: of the chip, in degrees Celsius.
        power: watts that the whole board draws.
        corrected_errors, uncorrected_errors: memory errors (ECC) since the driver was loaded.
    """

    utilization: float | None
    memory_utilization: float | None
    temperature: float | None
    power: float | None
    corrected_errors: int | None
    uncorrected_errors: int | None


@functools.cache
def _library() -> Any:
    """The bindings of NVML, ready for use; None where they or the library are missing."""
    try:
        import pynvml
    except ImportError:
        log.info("nvidia-ml-py is not installed: no metrics of the GPUs' condition")
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as e:
        log.warning("NVML gives no metrics of the GPUs' condition: %s", e)
        return None
    return pynvml


def condition(number: int) -> Condition | None:
    """The condition of a GPU by its number in CuPy; None where NVML does not know it.

    NVML counts otherwise than CUDA, and knows nothing of CUDA_VISIBLE_DEVICES, so the GPU is found by its
    address on the bus.
    """
    nvml = _library()
    if nvml is None:
        return None
    import cupy

    runtime = cupy.cuda.runtime
    try:
        handle = nvml.nvmlDeviceGetHandleByPciBusId(runtime.deviceGetPCIBusId(number))
    except (nvml.NVMLError, runtime.CUDARuntimeError) as e:
        log.debug("NVML does not know GPU %d: %s", number, e)
        return None

    def ask(function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(handle, *args)
        except nvml.NVMLError as e:
            log.debug("GPU %d does not tell %s: %s", number, function.__name__, e)
            return None

    rates = ask(nvml.nvmlDeviceGetUtilizationRates)
    milliwatts = ask(nvml.nvmlDeviceGetPowerUsage)
    corrected, uncorrected = (
        ask(nvml.nvmlDeviceGetTotalEccErrors, kind, nvml.NVML_VOLATILE_ECC)
        for kind in (nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
    )
    return Condition(
        None if rates is None else rates.gpu / 100,
        None if rates is None else rates.memory / 100,
        ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
        None if milliwatts is None else milliwatts / 1000,
        corrected,
        uncorrected,
    )
