"""Settings of the C library's allocator, so that it keeps the memory that a step frees for the next one.

By default, glibc gives freed blocks of some hundred kilobytes back to the system at once, and gets them
again,
page by page, in the next step: a page fault for each 4 KB costs more than most kernels. It raises its
thresholds to the values that are set here only when a program has freed arrays of 32 MB.
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
    """Sets glibc's thresholds to the greatest values that it chooses itself, unless the environment sets
    them.

    Returns whether they were set; other C libraries have no such thresholds.
    """
    if any(name in os.environ for name in _OWN_SETTINGS):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        log.debug("the C library's allocator cannot be told to keep memory")
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_BYTES) and mallopt(_M_TRIM_THRESHOLD, 2 * _LARGEST_BYTES))
