"""Health: whether a task is alive, and whether work should be sent to it, with the reasons if not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Health:
    """The state of one task that probes ask about. Nothing here depends on other tasks.

    Args:
        drain_limit: time in seconds for which running steps may go on while the task drains.
        now: a clock that only goes forward, in seconds.
    """

    def __init__(self, drain_limit: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.drain_limit = drain_limit
        self._now = now
        self._lock = threading.Lock()
        self._serving = False
        self._draining_since: float | None = None
        self._lacks: tuple[str, ...] = ()
        self._watchers: list[Callable[[], None]] = []

    def lacks(self, *reasons: str) -> None:
        """Notes reasons for which the task cannot work as long as it lives."""
        self._change(lacks=reasons)

    def serves(self) -> None:
        """Notes that the task has begun to serve."""
        self._change(serving=True)

    def drains(self) -> None:
        """Notes that the task takes no new steps any more."""
        self._change(draining=True)

    def _change(
        self, serving: bool = False, draining: bool = False, lacks: tuple[str, ...] | None = None
    ) -> None:
        with self._lock:
            self._serving = self._serving or serving
            if draining and self._draining_since is None:
                self._draining_since = self._now()
            if lacks is not None:
                self._lacks = lacks
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher()

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Has `changed` called at each change; returns the function that ends that."""
        with self._lock:
            self._watchers.append(changed)

        def end() -> None:
            with self._lock:
                if changed in self._watchers:
                    self._watchers.remove(changed)

        return end

    @property
    def started(self) -> bool:
        """Whether the task has begun to serve."""
        return self._serving

    @property
    def draining_seconds(self) -> float:
        """The time for which the task has been draining, in seconds; 0 if it is not."""
        since = self._draining_since
        return 0.0 if since is None else max(self._now() - since, 1e-9)

    def reasons(self) -> list[str]:
        """The reasons why no work should be sent to the task, a sentence each; empty if it should."""
        found = [] if self._serving else ["starting: the task does not serve yet"]
        if self._draining_since is not None:
            found.append("draining: running steps end, new ones are refused")
        return [*found, *self._lacks]

    @property
    def ready(self) -> bool:
        """Whether work should be sent to the task."""
        return not self.reasons()
