"""The memory that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The files with a container's limit, of versions 2 and 1 of control groups."""


def memory_limit() -> int:
    """The limit of the container or the machine's memory, whichever is less, in bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in LIMITS:
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():
            return min(int(text), machine)
    return machine
