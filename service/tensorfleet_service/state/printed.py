"""What ops print: into the log of a process that has one for its task, else to the process's own streams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from tensorfleet.core.long_texts import grouped

Write = Callable[[str, Iterable[str]], None]
"""Writes the pieces of a text to a stream, of which the name is one of `PrintV2`'s."""


def _as_it_is(stream: str, text: Iterable[str]) -> None:
    file = sys.stdout if stream == "stdout" else sys.stderr
    for part in grouped(text):
        file.write(part)
    file.flush()


_write: Write = _as_it_is


def through(write: Write = _as_it_is) -> None:
    """Has a function print from now on, as a task's log shall have no line that a client made."""
    global _write
    _write = write


def write(stream: str, text: Iterable[str]) -> None:
    """Prints the pieces of a text; the names of log levels are streams, too, all of them the standard error.

    A log has the beginning of a long text alone.
    """
    _write(stream, text)
