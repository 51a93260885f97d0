"""`slim.queues`: queue runners for the duration of a block."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.train.coordinator import Coordinator


@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Runs the threads of all queue runners for the duration of a block (`slim.queues.QueueRunners`)."""
    coordinator = Coordinator()
    threads: list[threading.Thread] = []
    for runner in framework.get_collection(GraphKeys.QUEUE_RUNNERS):
        threads += runner.create_threads(session, coord=coordinator, daemon=True, start=True)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
