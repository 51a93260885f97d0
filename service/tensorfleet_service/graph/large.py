"""The end of large graphs, which comes in pieces, and the collector's part in it.

Python frees a container, with all that only it refers to, by one call: a second for a million nodes, during
which no other thread runs. So what has many nodes gives its containers to `discard`: a thread empties them
item by item, and ends when there is nothing left.

A process that only serves tasks leaves graphs out of the collector's work (`tensorfleet.core.gc_pause`). What
was left out and then became a cycle stays until the collector looks at everything: once a large graph is
gone, if those that are left are small.
"""

from __future__ import annotations

import _thread
import logging
import os
from collections import deque
from collections.abc import Iterable
from typing import Any

from tensorfleet.core import gc_pause
from tensorfleet_service.graph.graph import NEXT_ITERATIONS, Node

log = logging.getLogger(__name__)

LARGE = 1 << 12
"""Number of items from which on containers are emptied in pieces."""

FEW = 1 << 13
"""Number of nodes, of all that is alive, up to which the collector may look at everything."""

_alive: dict[int, int] = {}  # the nodes of owners, by identity; each change is one call, without a lock
_discarded: deque[tuple[Any, ...]] = deque()
_at_work = _thread.allocate_lock()


def take_apart(*containers: list[Node] | dict[str, Node]) -> None:
    """Empties containers of nodes that nobody uses any more, and first takes the nodes' edges away.

    Otherwise a node would live on by those that take its outputs, and all would end with the last of them.
    """
    for container in containers:
        for node in container.values() if isinstance(container, dict) else container:
            node.inputs, node.controls = [], []
    for container in containers:
        _empty(container)


def end(nodes: list[Node]) -> None:
    """Takes nodes apart that one stage of the graph work leaves behind, if they are many or have cycles."""
    if len(nodes) >= LARGE or any(node.op in NEXT_ITERATIONS for node in nodes):
        take_apart(nodes)


def empty(*containers: list[Any] | dict[Any, Any]) -> None:
    """Drops what is in containers that nobody uses any more, item by item if it is much."""
    for container in containers:
        if len(container) >= LARGE:
            _empty(container)


def keep(owner: object, size: int) -> None:
    """Counts the nodes of an owner, until it calls `discard`; those of a known one anew."""
    _alive[id(owner)] = size


def discard(
    owner: object, nodes: Iterable[list[Node] | dict[str, Node]] = (), more: Iterable[Any] = ()
) -> None:
    """Has the containers of an owner that ends emptied, if they are large, or may have cycles.

    Args:
        nodes: containers of nodes that nobody else uses.
        more: other lists and dicts of its own.
    """
    if _alive is None:
        return  # the interpreter has let go of this module: the process ends
    was_large = _alive.pop(id(owner), 0) >= LARGE
    graphs, others = tuple(nodes), tuple(more)
    if not was_large and sum(map(len, graphs)) + sum(map(len, others)) < LARGE:
        for container in graphs:
            for node in container.values() if isinstance(container, dict) else container:
                if node.op in NEXT_ITERATIONS:
                    node.inputs = []  # the edges that make cycles of loops
        return
    _discarded.append((graphs, others))
    # This may be called in the middle of anything, by whoever lets go of an owner: it must wait for no lock.
    if _at_work.acquire(blocking=False):
        try:
            _thread.start_new_thread(_work, ())
        except RuntimeError:  # there is no thread, as at the end of the process
            _discarded.clear()
            _at_work.release()


def _work() -> None:
    while True:
        try:
            while _discarded:
                nodes, more = _discarded.popleft()
                take_apart(*nodes)
                for container in more:
                    _empty(container)
                del nodes, more
            if sum(list(_alive.values())) <= FEW:
                gc_pause.look_at_all()
        except Exception:
            log.exception("a large graph could not be taken apart")
        _at_work.release()
        # What has come since the last look has found the lock taken.
        if not _discarded or not _at_work.acquire(blocking=False):
            return


def _empty(container: list[Any] | dict[Any, Any]) -> None:
    take = container.popitem if isinstance(container, dict) else container.pop
    while container:
        take()


def _in_child() -> None:
    global _at_work
    _at_work = _thread.allocate_lock()
    _discarded.clear()


os.register_at_fork(after_in_child=_in_child)
