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
                gc.enable()
