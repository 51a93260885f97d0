"""Which exports to keep: functions that choose among lists of `Path`s."""

from __future__ import annotations

import heapq
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensorfleet.core import file_io


class Path(NamedTuple):
    """The directory of an export, and its version; `get_paths` gives None as the version first."""

    path: str
    export_version: Any


Choice = Callable[[Sequence[Path]], list[Path]]


def largest_export_versions(n: int) -> Choice:
    """Chooses the `n` newest exports."""
    return lambda paths: sorted(heapq.nlargest(n, paths, key=lambda path: path.export_version))


def one_of_every_n_export_versions(n: int) -> Choice:
    """Chooses of each `n` versions (0 to n, n + 1 to 2n, …) the newest export."""

    def choose(paths: Sequence[Path]) -> list[Path]:
        newest: dict[int, Path] = {}
        for path in paths:
            interval = math.ceil(path.export_version / n) if path.export_version else 1
            before = newest.get(interval)
            if before is None or before.export_version < path.export_version:
                newest[interval] = path
        return sorted(newest.values())

    return choose


def mod_export_version(n: int) -> Choice:
    """Chooses the exports whose versions are multiples of `n`."""
    return lambda paths: sorted(path for path in paths if path.export_version % n == 0)


def union(lf: Choice, rf: Choice) -> Choice:
    """Chooses what either of two choices does."""
    return lambda paths: sorted({*lf(paths), *rf(paths)})


def negation(f: Choice) -> Choice:
    """Chooses what `f` does not."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


def get_paths(base_dir: str, parser: Callable[[Path], Path | None]) -> list[Path]:
    """The paths in a directory that `parser` gives a version to; it returns None for others."""
    found = (
        parser(Path(os.path.join(base_dir, name.rstrip("/")), None)) for name in file_io.listdir(base_dir)
    )
    return sorted(path for path in found if path)
