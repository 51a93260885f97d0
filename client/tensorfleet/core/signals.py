"""Waiting for what a handler of signals does."""

from __future__ import annotations

import threading

_SECONDS = 0.5


def wait_for(event: threading.Event) -> None:
    """Returns when an event is set, which a handler of signals may do.

    Python runs handlers on the main thread, between two instructions. A signal that comes between the last
    look at signals and the beginning of a wait does not end it, so that the event would never be set: each
    wait is short.
    """
    while not event.wait(_SECONDS):
        pass
