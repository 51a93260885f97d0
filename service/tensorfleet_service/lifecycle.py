"""The end of a task: a signal drains it, and the process goes on as if its server had been stopped."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

log = logging.getLogger(__name__)


class Stoppable(Protocol):
    """What `wait_and_drain` needs of a server."""

    def join(self) -> object:
        """Returns when the server has stopped."""
        ...

    def stop(self, grace: float) -> None:
        """Lets what is running end within `grace` seconds, then stops; does nothing if it has stopped."""
        ...


def wait_and_drain(server: Stoppable, grace: float, over: threading.Event | None = None) -> None:
    """Returns when the server has stopped: by somebody's `stop`, or because SIGTERM or SIGINT came.

    The first signal drains the server, with `grace` seconds for what is running; a second one ends the
    process at once. A signal for which the program has its own handler is left to that, and so are all of
    them outside of the main thread, where Python cannot handle any. Whoever sets `over` drains the server
    as the first signal does.
    """
    over = over or threading.Event()

    def watch() -> None:
        server.join()
        over.set()

    with draining_signals(over):
        threading.Thread(target=watch, name="join", daemon=True).start()
        over.wait()
        server.stop(grace)


@contextmanager
def draining_signals(over: threading.Event) -> Iterator[None]:
    """Within it, the first SIGTERM or SIGINT sets `over`; see `wait_and_drain`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(signum: int, frame: FrameType | None) -> None:
        if over.is_set():
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
        log.info("%s: draining", signal.Signals(signum).name)
        over.set()

    defaults = (signal.SIG_DFL, signal.default_int_handler)
    taken = {
        s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(s) in defaults
    }
    try:
        for signum in taken:
            signal.signal(signum, handle)
        yield
    finally:
        for signum, previous in taken.items():
            signal.signal(signum, previous)
