"""Gathering: connects a new session to all other tasks of the cluster at the same time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from tensorfleet.core import errors
from tensorfleet_service.master.members import Member
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.peers import AnyPeer, Peers

log = logging.getLogger(__name__)


_MAY_PASS = (errors.UNAVAILABLE, errors.DEADLINE_EXCEEDED, errors.ABORTED, errors.CANCELLED)

Found = Member | errors.OpError


def is_final(error: errors.OpError) -> bool:
    """Whether waiting longer is of no use, as when another task answers at the address."""
    return error.error_code not in _MAY_PASS


def gather(
    peers: Peers,
    session: str,
    tasks: Sequence[str],
    timeout: float,
    join: Callable[[AnyPeer], Member],
) -> list[Found]:
    """The members of a session, or an error, for each of `tasks`.

    An error that waiting does not mend ends it at once, and is the last of the list. The log names tasks that
    do not answer.

    Args:
        session: the handle.
        timeout: for each task, in seconds.
        join: the function from a connected peer to a member; raises OpError.
    """
    over = threading.Event()
    end = time.monotonic() + timeout

    def connect(task: str) -> Found:
        while True:
            peer = None
            try:
                left = max(end - time.monotonic(), 0)
                peer = peers.get(task, min(left, timeouts.CONNECT_ATTEMPT_SECONDS))
                return join(peer)
            except errors.OpError as e:
                if is_final(e) or over.is_set() or peers.closed or time.monotonic() >= end:
                    return e
                if peer is not None and peer.lost is None:
                    return e
                # The task is not there yet, or the connection was to its process before a restart.

    def drop(future: Future[Found]) -> None:
        if not future.cancelled():
            member = future.result()
            if isinstance(member, Member):
                member.delete_session(session)

    executor = ThreadPoolExecutor(min(len(tasks), limits.MAX_TASK_THREADS), thread_name_prefix="connect")
    futures = {executor.submit(connect, task): task for task in tasks}
    pending = set(futures)
    say_at = time.monotonic() + timeouts.FIRST_NOTICE_SECONDS
    try:
        while pending:
            done, pending = wait(pending, max(say_at - time.monotonic(), 0), FIRST_COMPLETED)
            for future in done:
                found = future.result()
                if isinstance(found, errors.OpError) and is_final(found):
                    before = [f.result() for f in futures if f not in pending and f is not future]
                    return [*before, found]
            if pending and time.monotonic() >= say_at:
                say_at += timeouts.NEXT_NOTICE_SECONDS
                left = max(end - time.monotonic(), 0)
                absent = [futures[future] for future in futures if future in pending]
                _say(peers, absent, left)
        return [future.result() for future in futures]
    finally:
        over.set()
        executor.shutdown(wait=False, cancel_futures=True)
        for future in pending:
            future.add_done_callback(drop)


def _say(peers: Peers, tasks: Sequence[str], left: float) -> None:
    lines = [
        f"  {task} at {peers.addresses[task]}: {peers.problems.get(task, 'no answer yet')}" for task in tasks
    ]
    log.warning(
        "a session of %s waits for %d other tasks, for at most %.0f s more:\n%s",
        peers.task,
        len(tasks),
        left,
        "\n".join(lines),
    )
