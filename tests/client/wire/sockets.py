"""Pairs of sockets, and threads at their ends."""

from __future__ import annotations

import socket
import threading
from typing import Any

TIMEOUT = 20.0

Pair = tuple[socket.socket, socket.socket]


def in_thread(function: Any, *arguments: Any) -> threading.Thread:
    """A thread that has begun to call `function`."""
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def join(thread: threading.Thread) -> None:
    """Waits for a thread's end; fails where it does not come."""
    thread.join(TIMEOUT)
    assert not thread.is_alive()
