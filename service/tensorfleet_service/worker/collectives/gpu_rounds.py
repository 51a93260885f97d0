"""GpuRounds: the rounds of a task that NCCL runs, one after the other.

All tasks run them in the order in which the leader began them. That order is the same for all, so two rounds
never wait for each other.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet_service.collectives.device_value import DeviceValue
from tensorfleet_service.worker.collectives.nccl import NcclRound

if TYPE_CHECKING:
    from tensorfleet_service.collectives.member import CollectiveMember

log = logging.getLogger(__name__)


class GpuRounds:
    """The queue of a task's rounds, and the thread that runs them, which ends with the last one.

    Args:
        finished: called with a round that has its results.
        failed: called with a round and the exception that ended it.
    """

    def __init__(
        self, finished: Callable[[NcclRound], None], failed: Callable[[NcclRound, BaseException], None]
    ) -> None:
        self._finished = finished
        self._failed = failed
        self._lock = threading.Lock()
        self._queue: deque[NcclRound] = deque()
        self._thread: threading.Thread | None = None
        self._current: NcclRound | None = None

    def make(self, round_id: int, members: Sequence[CollectiveMember], fields: dict[str, Any]) -> NcclRound:
        """A round of this task's members, whose tensors it takes, from the leader's message that begins it.

        Raises:
            ValueError: a member is on no GPU.
        """
        about = fields["nccl"]
        parts = [
            (member.call, member.value, int(rank), member.group)
            for member, rank in zip(members, about["ranks"], strict=True)
        ]
        for member in members:
            member.value = None
        if not all(isinstance(value, DeviceValue) for _, value, *_ in parts):
            raise ValueError("a collective was to run on GPUs, and has members that are on none")
        size, source = len(fields["members"]), int(about["source"])
        return NcclRound(round_id, parts, str(about["id"]), size, source, self._finished)

    def add(self, added: NcclRound) -> None:
        """Runs a round after those before it. Raises RuntimeError where there is no thread for it."""
        added.when_ended = self._ended
        with self._lock:
            if self._thread is None:
                self._start()
            self._queue.append(added)

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="nccl", daemon=True)
        thread.start()  # it waits for the lock
        self._thread = thread

    def _ended(self, ended: NcclRound) -> None:
        """Notes that a round has ended: NCCL cannot be told to give up while members connect."""
        with self._lock:
            if self._current is ended and ended.connecting:
                log.warning("NCCL waits for members that will not come; later collectives get another thread")
                self._current = self._thread = None
                if self._queue:
                    self._start()

    def _run(self) -> None:
        own = threading.current_thread()
        while True:
            with self._lock:
                if self._thread is not own:
                    return
                if not self._queue:
                    self._thread = self._current = None
                    return
                current = self._current = self._queue.popleft()
            try:
                current.run()
            except Exception as e:
                self._failed(current, e)
            del current
