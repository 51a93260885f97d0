"""Pausing Python's cyclic garbage collector while a graph is built up.

Graph work makes hundreds of thousands of lasting objects and hardly any garbage; the collector would walk
over all of them again and again, which doubles the time at 100,000 nodes. Reference counting goes on
meanwhile.
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


def _settle() -> None:
    """Makes what was built old, if that is much: else the next collection of new objects walks over it all.

    The lists of objects are joined, whatever their lengths; nothing is visited.
    """
    if gc.get_count()[0] >= MANY and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
