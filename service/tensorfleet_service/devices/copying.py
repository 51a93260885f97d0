"""Copies of arrays that are larger than the caches, past them and on several threads.

An array that is sent to another process of the machine, or assigned to a variable, is written once here and
read later, or elsewhere. So what its copy would push out of the caches is worth more than the copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.wire import buffers
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.devices.native import native

STREAMED_FROM_BYTES = 16 << 20
"""The size from which a copy goes past the caches: a smaller one is mostly still there when it is read."""


def copy(target: Any, value: Any) -> None:
    """Copies `value` into `target`, an array of the same shape and dtype that shares no memory with it."""
    if (
        native is None
        or value.nbytes < STREAMED_FROM_BYTES
        or value.dtype.hasobject
        or value.dtype != target.dtype
        or not (value.flags.c_contiguous and target.flags.c_contiguous)
    ):
        np.copyto(target, value)
    else:
        native.copy(_bytes(value), _bytes(target), value.nbytes, thread_count())


def _bytes(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def use() -> None:
    """Has arrays copied so that this process sends, or keeps as variables."""
    buffers.copy = copy
