"""`tensorflow.python.eager.tape`: what records operations for gradients. Graphs need no record."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tensorfleet.run.python.context import graph_mode


def stop_recording() -> AbstractContextManager[None]:
    """A scope in which nothing would be recorded, as nowhere."""
    return graph_mode()
