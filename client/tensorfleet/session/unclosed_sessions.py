"""Sessions that nobody closed: what they have on their masters is given back on a thread of its own.

An object's end comes on whichever thread drops the last reference or happens to run the cyclic collector: in
the middle of anything, with any lock held. To close a session takes locks and talks to the network. So its
end only puts a note into a queue, and a thread that may block does the rest.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from tensorfleet.core import errors

_logger = logging.getLogger("tensorfleet")
_T = TypeVar("_T")
Close = Callable[[], None]


class _Closer:
    """The thread that closes. It starts with the first session, never in the collector."""

    def __init__(self) -> None:
        # The one queue that may be put into while the same thread is at it: the collector may run there.
        self.queue: queue.SimpleQueue[Close] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="abandoned sessions", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        while True:
            close = self.queue.get()
            try:
                close()
            except errors.OpError as error:
                _logger.debug("A session that nobody closed could not be closed: %s", error)
            except Exception:
                _logger.exception("A session that nobody closed could not be closed")
            del close


_closer = _Closer()


def watch(owner: _T, close: Close) -> weakref.finalize[[Close], _T]:
    """Has `close` called on another thread after the end of `owner`, to which it must not refer.

    At the end of the process nothing is closed: the master sees that the client is gone.
    """
    _closer.start()
    watched = weakref.finalize(owner, _closer.queue.put, close)
    watched.atexit = False
    return watched


def _after_fork() -> None:
    global _closer
    _closer = _Closer()  # the thread is the parent's, and the sessions are, too


os.register_at_fork(after_in_child=_after_fork)
