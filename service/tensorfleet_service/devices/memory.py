"""The memory budget of a task's process: what would pass it fails, where the system would kill the process.

All that a step makes (outputs of kernels, what they need on the way, received and fed tensors, unrolled
constants) is private memory of the process, and the system itself can count that before it is used: beyond
the limit RLIMIT_DATA an allocation fails, as a MemoryError that names shape and dtype. So there is one place
where everything is counted, whatever asks for it, and a step pays nothing. The limit follows what others in
the same container use, by `refresh`, which the task's watchdog calls.

Shared memory is not in that count: an arena asks `has_room` before it grows.
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
from tensorfleet.wire import shared_memory
from tensorfleet.wire.buffers import SHARED

log = logging.getLogger(__name__)

VARIABLE = "TENSORFLEET_MEMORY_MB"

_CGROUPS = Path("/sys/fs/cgroup")
_STACK_BYTES = 8 << 20  # of a thread: counted by the system, and hardly used
_RESERVED_PART = 0.05  # of the limit: for page tables, sockets, and allocations that must not fail
_SHARED_PART = 0.25  # of the limit: the most that may be shared memory
_MIN_RESERVE_BYTES, _MAX_RESERVE_BYTES = 24 << 20, 512 << 20
_FILE_BYTES = 1 << 16  # more than any of the files has from which memory is counted


@dataclass(frozen=True)
class Limit:
    """A limit of memory, in bytes, who sets it, and where its use is read: None for this process."""

    size: int
    source: str
    cgroup: Path | None = None


def find_limit(environ: Mapping[str, str] = os.environ) -> Limit | None:
    """The limit of this process: the setting, the least of its control groups, or else the machine.

    None if the setting is 0, or the system does not tell.
    """
    text = environ.get(VARIABLE, "")
    if text:
        return Limit(int(text) << 20, VARIABLE) if int(text) else None
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
        # In a container the path may be that on the host: its own group is then the root of what is mounted.
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
    """The content of a file of the system at this moment.

    Such files stay open: memory is counted also where all descriptors of the process are in use. A forked
    process opens its own, as those of its parent tell of the parent.
    """
    key = (os.getpid(), str(path))
    descriptor = _kept.get(key)
    if descriptor is None:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        descriptor = _kept.setdefault(key, opened)
        if descriptor != opened:
            os.close(opened)  # another thread was first
    return os.pread(descriptor, _FILE_BYTES, 0)


def _fields(path: str | Path) -> dict[str, int]:
    """The numbers of a file of lines such as `Name: 5 kB`, in its own units."""
    found = re.findall(rb"^(\w+):?\s+(\d+)", _read(path), re.MULTILINE)
    return {name.decode(): int(number) for name, number in found}


class Budget:
    """The memory of this process, held to a limit from `install` on."""

    def __init__(self) -> None:
        self.limit: Limit | None = None
        self.was_exhausted = False  # since the watchdog has looked
        self._lock = threading.Lock()
        self._untouched = 0
        self._first_untouched = 0
        self._threads = 0
        self._with_reserve: tuple[int, int] | None = None  # for setrlimit

    def install(self, limit: Limit | None) -> None:
        """Holds this process to a limit. To be called once it has all that it has without any step."""
        if limit is None or not hasattr(resource, "RLIMIT_DATA"):
            return
        try:
            self.limit = limit
            self.rebase()
            self._first_untouched = self._untouched
        except (OSError, KeyError, ValueError) as e:
            self.limit = None
            log.warning("this process is held to no memory limit: %s", e)
            return
        shared_memory.may_grow = self.has_room
        log.info("memory: %s, by %s", readable(limit.size), limit.source)

    def rebase(self) -> None:
        """Takes what is allocated, but not used now, for free: stacks, holes in the C library's heap.

        To be called while no step runs.
        """
        status = _fields("/proc/self/status")
        self._untouched = (status["VmData"] - status["RssAnon"]) << 10
        self._threads = status["Threads"]
        self.refresh()

    @property
    def has_holes(self) -> bool:
        """Whether much memory may be filled without the system's count: `refresh` must look more often."""
        return self.limit is not None and self._untouched > self._first_untouched + _MIN_RESERVE_BYTES

    @property
    def _usable(self) -> int:
        assert self.limit is not None
        return max(self.limit.size - self._reserve, 0)

    @property
    def _reserve(self) -> int:
        assert self.limit is not None
        return min(max(int(self.limit.size * _RESERVED_PART), _MIN_RESERVE_BYTES), _MAX_RESERVE_BYTES)

    def refresh(self) -> None:
        """Sets the system's limit anew, from what all others use; does nothing before `install`."""
        if self.limit is None:
            return
        with self._lock:
            status = _fields("/proc/self/status")
            others = max(self._in_use(status) - (status["RssAnon"] << 10), 0)
            threads = max(status["Threads"] - self._threads, 0)
            size = self._usable - others + self._untouched + threads * _STACK_BYTES
            # Holes may be filled, which the system does not count.
            left = self._usable - others - (status["RssAnon"] << 10)
            size = min(size, (status["VmData"] << 10) + left)
            # At the limit each small allocation would fail, also one on the way to free something: those have
            # a part of the reserve, as long as that is not used.
            emergency = self._reserve // 2
            size = max(size, (status["VmData"] << 10) + min(max(left + emergency, 0), emergency))
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            if hard != resource.RLIM_INFINITY:
                size = min(size, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
            more = size + emergency
            self._with_reserve = (more if hard == resource.RLIM_INFINITY else min(more, hard), hard)

    def open_reserve(self) -> None:
        """Lets this process use a part of the reserve until the next `refresh`, to say what failed and why.

        It allocates nothing itself.
        """
        if self._with_reserve is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._with_reserve)

    def in_use(self) -> int:
        """The part of the limit that is used, in bytes."""
        return self._in_use(_fields("/proc/self/status"))

    def room(self) -> int:
        """The bytes that may be allocated now; without a limit, as many as any message has."""
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        if self.limit is None or soft == resource.RLIM_INFINITY:
            return sys.maxsize
        return max(soft - (_fields("/proc/self/status")["VmData"] << 10), 0)

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more of shared memory are within the limit, and within its part of that.

        An arena keeps what it once had, so it must not take what steps need later.
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
        """Gives memory back to the system that is free, but kept."""
        SHARED.drop_free()
        _trim()

    def make_room(self, size: int) -> None:
        """Gives memory back that the C library keeps, where so many bytes have no room beside it."""
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
        # Pages of files can be had back at any time.
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
"""That of this process."""


def exhausted(what: str) -> errors.OpError:
    """The error for what there was no memory for; gives back what is only kept for the next time."""
    BUDGET.open_reserve()
    try:
        return _exhausted(what)
    except MemoryError:  # other threads have used the reserve; who asked is answered all the same
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
    """Such as `1.5 GiB`."""
    return f"{size / (1 << 30):.2f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
