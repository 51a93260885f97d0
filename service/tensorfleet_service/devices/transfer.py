"""Copies between the host's memory and a device's, at the edges of partitions on that device."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Move = Callable[[Any], Any]


def movers(xp: ModuleType) -> tuple[Move, Move] | None:
    """(to the device, to the host) for values of a step; None if the device computes in the host's memory.

    Strings, variables and all other values that are not arrays of numbers are left as they are.
    """
    if xp is np:
        return None

    def to_device(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            return xp.asarray(value)
        return value

    def to_host(value: Any) -> Any:
        if isinstance(value, xp.ndarray):
            array = xp.asnumpy(value)
            return array if array.ndim else array[()]
        return value

    return to_device, to_host
