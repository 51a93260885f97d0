"""`tf.app`: the frame of a program with flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "flags":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("tensorfleet.api.flags")


def run(main: Callable[[Sequence[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Reads the flags, calls `main` with the other arguments, and exits with its result (`tf.app.run`).

    Args:
        main: by default the function `main` of the program.
        argv: the program's name and its arguments, by default those of the command line.
    """
    from tensorfleet.api import flags

    rest = flags.FLAGS(list(sys.argv if argv is None else argv), known_only=True)
    sys.exit((main or sys.modules["__main__"].main)(rest))
