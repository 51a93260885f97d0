"""The C library's allocator, told to keep what a step frees for the next step.

At first glibc gives freed memory of some hundred kilobytes back to the system at once, and gets it again,
page by page, in the next step: a page fault for each 4 KB costs more than most kernels. Only a program that
has freed arrays of 32 MB gets the thresholds that are set here from the start.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os

log = logging.getLogger(__name__)

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_LARGEST_BYTES = 32 << 20
_OWN_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


@functools.cache
def keep_freed_memory() -> bool:
    """Sets glibc's thresholds to the greatest that it comes to by itself, unless the environment sets them.

    Returns whether that was done: other C libraries have no such thresholds.
    """
    if any(name in os.environ for name in _OWN_SETTINGS):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        log.debug("the C library's allocator cannot be told to keep memory")
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_BYTES) and mallopt(_M_TRIM_THRESHOLD, 2 * _LARGEST_BYTES))
