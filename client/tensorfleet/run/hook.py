"""The import hook by which `tensorflow` and its modules are this library, in this process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from tensorfleet.run import paths
from tensorfleet.run.advice import advice


class RedirectError(ImportError):
    """TensorFlow itself was imported before, so that the program would get names of both."""


class _Loader(Loader):
    """Replaces the module that the import machinery made by an existing one."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._module


class Finder(MetaPathFinder):
    """Finds `tensorflow`, `tensorflow_estimator` and their modules, before any other finder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of this library's module for the name; None if the name is not TensorFlow's.

        Raises:
            ModuleNotFoundError: this library has no such module.
        """
        top, _, rest = fullname.partition(".")
        if top not in paths.PACKAGES:
            return None
        module = paths.module(rest)
        if module is None:
            raise ModuleNotFoundError(
                f"TensorFleet has no module {fullname}: {advice(rest)}",
                name=fullname,
            )
        return ModuleSpec(fullname, _Loader(module), is_package=True)


def install() -> None:
    """Redirects imports of `tensorflow` from now on; a second call does nothing.

    Raises:
        RedirectError: TensorFlow was imported before.
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    if before := [name for name in paths.PACKAGES if name in sys.modules]:
        place = getattr(sys.modules[before[0]], "__file__", None) or "unknown file"
        raise RedirectError(
            f"TensorFlow itself was imported before ({place}): a process can have only one of them. Run the "
            "program by `tensorfleet run`, or install the hook before the first import of tensorflow."
        )
    sys.meta_path.insert(0, Finder())
    # Programs set the level and handlers of the log by logging.getLogger("tensorflow").
    ours = logging.getLogger(paths.OURS)
    if logging.Logger.manager.loggerDict.setdefault(paths.THEIRS, ours) is ours:
        # Scripts look for "INFO:tensorflow:" in what programs write.
        ours.name = paths.THEIRS


def uninstall() -> None:
    """Undoes `install`: later imports of `tensorflow` are not redirected."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    loggers = logging.Logger.manager.loggerDict
    ours = logging.getLogger(paths.OURS)
    if loggers.get(paths.THEIRS) is ours:
        ours.name = paths.OURS
        del loggers[paths.THEIRS]
    for name in [n for n in sys.modules if n.partition(".")[0] in paths.PACKAGES]:
        del sys.modules[name]
