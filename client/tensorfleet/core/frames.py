"""The stacks of this process's threads."""

from __future__ import annotations

import sys
from types import FrameType

from tensorfleet.core.gc_pause import paused


def current_frames() -> dict[int, FrameType]:
    """The innermost frame of each thread, by the thread's number (`sys._current_frames`).

    CPython before 3.11.9 and 3.12.1 makes the result under a lock that each new and each ending thread takes.
    A collection at that time may run a finalizer that lets other threads run, which then wait for that lock
    without letting this one go on: the whole process stands still, for ever.
    """
    with paused():
        return sys._current_frames()
