"""Servers in this process, and sessions that run at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tensorfleet as tf
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer
from tests.ports import free_ports

SECONDS = 60.0


class Servers:
    """The tasks of a job `worker`, with `cpus` devices each."""

    def __init__(self, count: int, cpus: int = 1, protocol: str = "grpc+stream", started: int = 0) -> None:
        spec = ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]})
        config = tf.ConfigProto(device_count={"CPU": cpus})
        self.servers = [
            TaskServer(spec, "worker", i, protocol, config) for i in range(count) if i < (started or count)
        ]
        for server in self.servers:
            server.start()

    def target(self, index: int) -> str:
        return self.servers[index].target

    def remembered(self) -> int:
        """The records of the tasks about collectives that have not ended."""
        return sum(len(server._worker.collectives) for server in self.servers)

    def stop(self) -> None:
        for server in self.servers:
            server.stop(grace=0.5)


def device(task: int, cpu: int = 0) -> Any:
    return tf.device(f"/job:worker/task:{task}/cpu:{cpu}")


def run_in_session(target: str, build: Callable[[], Any], steps: int = 1, **config: Any) -> Any:
    """The fetches that `build` makes in a graph of its own, from the last of so many steps."""
    with tf.Graph().as_default():
        fetches = build()
        with tf.Session(target, config=tf.ConfigProto(**config)) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                result = session.run(fetches)
            return result


def together(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results, or errors, of functions that run at the same time."""
    results: list[Any] = [None] * len(functions)

    def call(index: int) -> None:
        try:
            results[index] = functions[index]()
        except Exception as e:
            results[index] = e

    threads = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    end = time.monotonic() + SECONDS
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
        assert not thread.is_alive(), f"a function did not end; the others: {results}"
    return results


def on_each(count: int, function: Callable[[int], Any]) -> list[Any]:
    """As `together`, of `function(0)`, `function(1)`, …"""
    return together([partial(function, i) for i in range(count)])


def soon(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Waits for a condition. Raises AssertionError if it does not come true."""
    end = time.monotonic() + seconds
    changed = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"{what} within {seconds:g} s"
        changed.wait(0.01)
