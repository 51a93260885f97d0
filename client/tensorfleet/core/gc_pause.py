"""Python's cyclic garbage collector, and graphs: it pauses while one is built, and may leave it out later.

Graph work makes hundreds of thousands of lasting objects and hardly any garbage; the collector would walk
over all of them again and again, which doubles the time at 100,000 nodes. Reference counting goes on
meanwhile.

Once a graph is there, each full collection walks over it, and no thread runs for as long as that takes: a
quarter of a second for each 100,000 nodes. A process that serves tasks, and does nothing else, calls
`leave_out`: what is there when a large graph has been built is not looked at, until `look_at_all`. Graphs
have no cycles, or break them, so they end by their counts of references all the same.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

MANY = 1 << 14
"""Number of new objects over which no collection walks after a pause."""

_lock = threading.Lock()
_pauses = 0
_was_enabled = False
_leaves_out = False
_small = 0  # new objects of pauses with few, since they were left out
_left_out = False  # since the last look at everything


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No collection runs inside; blocks may nest and overlap on several threads."""
    global _pauses, _was_enabled
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _was_enabled:
                _settle()
                gc.enable()


def leave_out(leaves: bool = True) -> None:
    """From now on, what was built in a pause is left out of collections, and what is there now, too.

    That holds for all objects of the process: not for one with a program of its own, which may make cycles.
    """
    global _leaves_out, _left_out
    with _lock:
        _leaves_out = _left_out = leaves
        gc.unfreeze()
        gc.collect()
        if leaves:
            gc.freeze()


def look_at_all() -> None:
    """Collects what became garbage of what was left out."""
    global _left_out
    with _lock:
        if not _left_out or _pauses:
            return
        _left_out = False
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def _settle() -> None:
    """Makes what was built old, if that is much: else the next collection of new objects walks over it all.

    The lists of objects are joined, whatever their lengths; nothing is visited.
    """
    global _left_out, _small
    count = gc.get_count()[0]
    if count < MANY:
        _small += count
        if _leaves_out and _small >= MANY:
            # Many small graphs. What is not left out is little: it is looked at before it is.
            _small, _left_out = 0, True
            gc.collect()
            gc.freeze()
    elif _leaves_out:
        _left_out = True
        gc.freeze()
    elif not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
