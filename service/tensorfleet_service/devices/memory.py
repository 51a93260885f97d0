"""The memory budget of a task's process: an allocation beyond it fails, before the system kills the process.

All arrays of a step (outputs and temporaries of kernels, received and fed tensors, unrolled constants) are
private memory of the process, which the system itself counts before it is used: beyond the limit RLIMIT_DATA
an allocation fails, with a MemoryError that names shape and dtype. So all memory is counted in one place, at
no cost for steps. `refresh`, which the task's watchdog calls, adjusts the limit to the use of other processes
in the same container.

Shared memory is not part of that count: an arena asks `has_room` before it grows.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import resource
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorfleet.core import errors
from tensorfleet.core.environment import integer
from tensorfleet.wire import shared_memory
from tensorfleet.wire.buffers import SHARED

log = logging.getLogger(__name__)

VARIABLE = "TENSORFLEET_MEMORY_MB"

_CGROUPS = Path("/sys/fs/cgroup")
_STACK_BYTES = 8 << 20  # of a thread; counted by the system, but hardly used
_RESERVED_PART = 0.05  # part of the limit for page tables, sockets, and allocations that must not fail
_SHARED_PART = 0.25  # largest part of the limit that may be shared memory
_MIN_RESERVE_BYTES, _MAX_RESERVE_BYTES = 24 << 20, 512 << 20
_BUSY_SAMPLES = 10  # within which memory that a step has just allocated is used, at one of them at least
_FILE_BYTES = 1 << 16  # more than the size of any file from which the memory is read


@dataclass(frozen=True)
class Limit:
    """A limit on memory in bytes, its source, and the group whose use is read; None for this process."""

    size: int
    source: str
    cgroup: Path | None = None


def find_limit(environ: Mapping[str, str] = os.environ) -> Limit | None:
    """The limit of this process: the setting, else the smallest of its control groups' and the machine's.

    None if the setting is 0, or the system does not tell its memory.
    """
    if environ.get(VARIABLE):
        given = integer(VARIABLE, 0, environ) << 20
        return Limit(given, VARIABLE) if given else None
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        groups = Path("/proc/self/cgroup").read_text()
    except (OSError, ValueError):
        return None
    least = Limit(machine, "the machine's memory")
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = _CGROUPS / "memory" if controllers else _CGROUPS
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        # In a container, the path may be the host's; the root of the mount is then the container's group.
        own = root / path.strip("/")
        for group in [own, *own.parents] if own.is_relative_to(root) else [root]:
            if not group.is_relative_to(root):
                break
            size = _number(group / name)
            if size is not None and size < least.size:
                least = Limit(size, "the container's memory limit", group)
    return least


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


_kept: dict[tuple[int, str], int] = {}


def _read(path: str | Path) -> bytes:
    """The current content of a system file.

    The files stay open, so that memory is counted even when all descriptors of the process are in use. A
    forked process opens its own, as its parent's are about the parent.
    """
    key = (os.getpid(), str(path))
    descriptor = _kept.get(key)
    if descriptor is None:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        descriptor = _kept.setdefault(key, opened)
        if descriptor != opened:
            os.close(opened)  # another thread has opened it meanwhile
    return os.pread(descriptor, _FILE_BYTES, 0)


def _fields(path: str | Path) -> dict[str, int]:
    """The numbers of a file of lines such as `Name: 5 kB`, in its own units."""
    found = re.findall(rb"^(\w+):?\s+(\d+)", _read(path), re.MULTILINE)
    return {name.decode(): int(number) for name, number in found}


class Budget:
    """The memory budget of this process, limited from `install` on."""

    def __init__(self) -> None:
        self.limit: Limit | None = None
        self.was_exhausted = False  # since the watchdog's last check
        self._lock = threading.Lock()
        self._untouched = 0
        self._first_untouched = 0
        self._threads = 0
        self._samples: list[tuple[int, int]] = []
        self._with_reserve: tuple[int, int] | None = None  # for setrlimit

    def install(self, limit: Limit | None) -> None:
        """Limits this process. Called when it has all the memory that it needs without any step."""
        if limit is None or not hasattr(resource, "RLIMIT_DATA"):
            return
        try:
            self.limit = limit
            self.rebase()
            self._first_untouched = self._untouched
        except (OSError, KeyError, ValueError) as e:
            self.limit = None
            log.warning("no memory limit can be set for this process: %s", e)
            return
        shared_memory.may_grow = self.has_room
        log.info("memory limit: %s, from %s", readable(limit.size), limit.source)

    def rebase(self, is_busy: bool = False) -> bool:
        """Counts memory that is allocated but unused as free: stacks, holes in the C library's heap.

        While steps run, some of it is about to be used. So in a busy process the least of several samples
        counts, one for each call; returns whether there were enough of them.
        """
        status = _fields("/proc/self/status")
        sample = (status["VmData"] - status["RssAnon"]) << 10, status["Threads"]
        if is_busy:
            self._samples.append(sample)
            if len(self._samples) < _BUSY_SAMPLES:
                return False
            sample = min(self._samples)
        self._samples.clear()
        self._untouched, self._threads = sample
        self.refresh()
        return True

    @property
    def has_holes(self) -> bool:
        """Whether much memory can be filled without being counted, so that `refresh` must be called more
        often.
        """
        if self.limit is None:
            return False
        return bool(self._samples) or self._untouched > self._first_untouched + _MIN_RESERVE_BYTES

    @property
    def _usable(self) -> int:
        assert self.limit is not None
        return max(self.limit.size - self._reserve, 0)

    @property
    def _reserve(self) -> int:
        assert self.limit is not None
        return min(max(int(self.limit.size * _RESERVED_PART), _MIN_RESERVE_BYTES), _MAX_RESERVE_BYTES)

    def refresh(self) -> None:
        """Sets the system's limit anew, given the use of all others; has no effect before `install`."""
        if self.limit is None:
            return
        with self._lock:
            status = _fields("/proc/self/status")
            others = max(self._in_use(status) - (status["RssAnon"] << 10), 0)
            threads = max(status["Threads"] - self._threads, 0)
            size = self._usable - others + self._untouched + threads * _STACK_BYTES
            # The system does not count holes that are filled.
            left = self._usable - others - (status["RssAnon"] << 10)
            size = min(size, (status["VmData"] << 10) + left)
            # At the limit every small allocation would fail, even one that precedes freeing memory. A part of
            # the reserve is for those, as long as it is not used.
            emergency = self._reserve // 2
            size = max(size, (status["VmData"] << 10) + min(max(left + emergency, 0), emergency))
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            if hard != resource.RLIM_INFINITY:
                size = min(size, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
            more = size + emergency
            self._with_reserve = (more if hard == resource.RLIM_INFINITY else min(more, hard), hard)

    def open_reserve(self) -> None:
        """Lets this process use a part of the reserve until the next `refresh`, to report what failed and
        why.

        It allocates nothing itself.
        """
        if self._with_reserve is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._with_reserve)

    def in_use(self) -> int:
        """The part of the limit that is used, in bytes."""
        return self._in_use(_fields("/proc/self/status"))

    def room(self) -> int:
        """The bytes that may be allocated now; without a limit, the size of the largest message."""
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        if self.limit is None or soft == resource.RLIM_INFINITY:
            return sys.maxsize
        return max(soft - (_fields("/proc/self/status")["VmData"] << 10), 0)

    def has_room(self, size: int) -> bool:
        """Whether `size` more bytes of shared memory are within the limit, and within the part for it.

        An arena keeps its memory, so it must not take what steps need later.
        """
        if self.limit is None:
            return True
        status = _fields("/proc/self/status")
        shared = status["RssShmem"] << 10
        if shared + size > self.limit.size * _SHARED_PART or self._in_use(status) + size > self._usable:
            return False
        self.refresh()
        return True

    def release(self) -> None:
        """Gives free memory that the process keeps back to the system."""
        SHARED.drop_free()
        _trim()

    def make_room(self, size: int) -> None:
        """Gives free memory that the C library keeps back to the system, if `size` bytes do not fit beside
        it.
        """
        if self.limit is not None and self.room() < size:
            _trim()

    def _in_use(self, status: Mapping[str, int]) -> int:
        limit = self.limit
        own = (status["RssAnon"] + status["RssShmem"]) << 10
        if limit is None or (limit.cgroup is None and limit.source == VARIABLE):
            return own
        if limit.cgroup is None:
            machine = _fields("/proc/meminfo")
            return (machine["MemTotal"] - machine["MemAvailable"]) << 10
        stat = _fields(limit.cgroup / "memory.stat")
        # The system can reclaim pages of files at any time.
        if "total_active_file" not in stat:  # version 2 of control groups
            used = int(_read(limit.cgroup / "memory.current"))
            return max(used - stat["active_file"] - stat["inactive_file"], own)
        used = int(_read(limit.cgroup / "memory.usage_in_bytes"))
        return max(used - stat["total_active_file"] - stat["total_inactive_file"], own)


def _trim() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


BUDGET = Budget()
"""The memory budget of this process."""


def exhausted(what: str) -> errors.OpError:
    """The error for want of memory; gives free memory back to the system."""
    BUDGET.open_reserve()
    try:
        return _exhausted(what)
    except MemoryError:  # other threads have used the reserve; the error is reported all the same
        return errors.ResourceExhaustedError(None, None, what)


def _exhausted(what: str) -> errors.OpError:
    in_use, limit = BUDGET.in_use() if Path("/proc/self/status").exists() else 0, BUDGET.limit
    BUDGET.was_exhausted = True
    BUDGET.release()
    if limit is None:
        return errors.ResourceExhaustedError(None, None, f"{what}; this process uses {readable(in_use)}.")
    advice = f"raise {VARIABLE}" if limit.source == VARIABLE else f"raise it, or set {VARIABLE}"
    return errors.ResourceExhaustedError(
        None,
        None,
        f"{what}; {readable(in_use)} of {readable(limit.size)} are in use ({limit.source}). Compute it in "
        f"smaller parts, or {advice}.",
    )


def readable(size: int) -> str:
    """A size in bytes for people, such as `1.50 GiB`."""
    return f"{size / (1 << 30):.2f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
