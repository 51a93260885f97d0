"""A task's ways to other tasks, for tests of one task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet_service.executor.step import Push


class FakePeers:
    """Tasks that push, and to which `push` sends; by default what is sent goes nowhere."""

    def __init__(self, push: Push = lambda *_: None) -> None:
        self._push = push

    def sender(self, tasks: Iterable[str]) -> Push:
        return self._push

    def pulls_from(self, task: str) -> bool:
        return False

    def pull(self, task: str, step_id: int, edge: int, key: str) -> Callable[[], None]:
        raise AssertionError(task)

    def forget(self, peer: Any) -> None:
        pass
