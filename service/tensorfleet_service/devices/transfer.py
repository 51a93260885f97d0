"""Copies between the host's memory and a device's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

Move = Callable[[Any], Any]


def movers(xp: ModuleType) -> tuple[Move, Move] | None:
    """(to the device, to the host) for values of a step; None if the device computes in the host's memory.

    Strings, variables and all other values that are not arrays of numbers are left as they are. A copy to the
    device is queued on its stream, through pinned memory; one to the host waits for what is queued before it.
    """
    if xp is np:
        return None

    def to_device(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic, xp.ndarray)) and not value.dtype.hasobject:
            return xp.asarray(value)
        return value

    def to_host(value: Any) -> Any:
        if isinstance(value, xp.ndarray):
            array = xp.asnumpy(value)
            return array if array.ndim else array[()]
        return value

    return to_device, to_host


def all_to_host(xp: Any) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that copies the arrays among some values to the host, and waits for all of them at once."""

    def move(values: Sequence[Any]) -> tuple[Any, ...]:
        if not any(isinstance(value, xp.ndarray) for value in values):
            return tuple(values)
        moved = [
            xp.asnumpy(value, blocking=False) if isinstance(value, xp.ndarray) else value for value in values
        ]
        xp.cuda.get_current_stream().synchronize()
        return tuple(
            new if new is old or new.ndim else new[()] for old, new in zip(values, moved, strict=True)
        )

    return move
