"""Entry points: functions and classes that other installed packages offer to this one."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from tensorfleet.core import installing


class NotInstalledError(ImportError):
    """The service's package, of which this one needs something, is not installed."""


@functools.cache
def load_entry_point(group: str, name: str, absent: str) -> Any:
    """The object that an installed package registered under a name; looked up once.

    Args:
        group, name: as in the package's `[project.entry-points]`.
        absent: the message of the error that there is no such package; "{how}" in it is replaced.

    Raises:
        NotInstalledError: no package registered anything under the name, or it is gone.
    """
    from importlib import metadata  # imports much that most programs need not have

    for entry in metadata.entry_points(group=group, name=name):
        package = entry.module.partition(".")[0]
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            break
        return entry.load()
    raise NotInstalledError(absent.replace("{how}", installing.the_service()))
