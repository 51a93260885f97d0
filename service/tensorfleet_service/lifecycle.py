"""The end of a task: a signal drains its server, and the process goes on as after `stop`."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from tensorfleet.core.signals import wait_for

log = logging.getLogger(__name__)


class Stoppable(Protocol):
    """The part of a server that `wait_and_drain` needs."""

    def join(self) -> object:
        """Returns when the server has stopped."""
        ...

    def stop(self, grace: float) -> None:
        """Lets running steps end within `grace` seconds, then stops; has no effect if it has stopped."""
        ...


def wait_and_drain(server: Stoppable, grace: float, over: threading.Event | None = None) -> bool:
    """Returns when the server has stopped: True after SIGTERM or SIGINT, False after a call of `stop`.

    The first signal drains the server, with `grace` seconds for running steps; a second one ends the process
    at once, with code 128 + its number. Signals for which the program has its own handler are left to that.
    Outside of the main thread, where Python cannot handle signals, all are. Setting `over` drains the server
    as the first signal does.
    """
    over = over or threading.Event()
    stopped = threading.Event()

    def watch() -> None:
        server.join()
        stopped.set()
        over.set()

    with draining_signals(over):
        threading.Thread(target=watch, name="join", daemon=True).start()
        wait_for(over)
        told = not stopped.is_set()
        server.stop(grace)
    return told


@contextmanager
def draining_signals(over: threading.Event) -> Iterator[None]:
    """Within the context, the first SIGTERM or SIGINT sets `over`; see `wait_and_drain`."""

    def act(signum: int) -> None:
        if over.is_set():
            os._exit(128 + signum)
        log.info("%s: draining", signal.Signals(signum).name)
        over.set()

    with on_signals(act):
        yield


@contextmanager
def on_signals(act: Callable[[int], None]) -> Iterator[None]:
    """Within the context, SIGTERM and SIGINT call `act` with their number, on a thread of its own.

    Python runs handlers on the main thread, between two of its statements, so a signal that comes just before
    that thread begins to wait is handled after the wait. Here the C handler writes to a pipe, which a thread
    reads.
    """
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    taken = {
        s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(s) in defaults
    }
    if not taken or threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def read() -> None:
        while data := os.read(reader, 1):
            if data[0] in taken:
                act(data[0])
        os.close(reader)

    def handled_by_reader(signum: int, frame: FrameType | None) -> None:
        """Does nothing, but must be installed for the C handler to write to the pipe."""

    threading.Thread(target=read, name="signals", daemon=True).start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        for signum in taken:
            signal.signal(signum, handled_by_reader)
        yield
    finally:
        for signum, previous in taken.items():
            signal.signal(signum, previous)
        signal.set_wakeup_fd(before)
        os.close(writer)
