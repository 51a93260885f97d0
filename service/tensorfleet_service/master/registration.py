"""Registration of the parts of a signature, on all tasks at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from tensorfleet.core import gc_pause
from tensorfleet_service.master.members import Registered
from tensorfleet_service.net import limits

if TYPE_CHECKING:
    from tensorfleet_service.master.graph_work import TaskPart


def register(session: str, parts: Sequence[TaskPart]) -> list[Registered]:
    """Registers the parts; the master's own, the last one, on the calling thread. Results are in their order.

    If a task refuses, the others drop what they have registered; the caller does not wait for those that have
    not answered yet.

    Raises:
        OpError: a node has no kernel, or a task does not answer; the first error that occurs.
    """
    remote = [part for part in parts if not part.member.is_local]
    if len(remote) == len(parts) == 1:
        return [_register(session, remote[0])]
    futures: list[Future[Registered]] = []
    local: list[Registered] = []
    executor = ThreadPoolExecutor(min(len(remote), limits.MAX_TASK_THREADS), "register") if remote else None
    try:
        if executor is not None:
            futures = [executor.submit(_register, session, part) for part in remote]
        with gc_pause.paused():
            local += [_register(session, part) for part in parts if part.member.is_local]
        wait(futures, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future.done():
                future.result()
        return [future.result() for future in futures] + local
    except BaseException:
        _take_back(futures, local)
        raise
    finally:
        if executor is not None:
            executor.shutdown(wait=False)


def _register(session: str, part: TaskPart) -> Registered:
    return part.member.register(session, part.nodes, part.functions)


def _take_back(futures: Iterable[Future[Registered]], local: Iterable[Registered]) -> None:
    for done in local:
        done.member.deregister(done.handle)
    for future in futures:
        if not future.cancel():
            future.add_done_callback(_deregister)


def _deregister(future: Future[Registered]) -> None:
    if not future.cancelled() and future.exception() is None:
        done = future.result()
        done.member.deregister(done.handle)
