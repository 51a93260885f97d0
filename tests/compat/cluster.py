"""Clusters of real processes for the tests: each task is a TaskServer of its own, on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.ports import free_ports

START_SECONDS = 60.0
STOP_SECONDS = 20.0

# The task ends with its standard input, so that it never outlives the tests, however these end.
_TASK = """
import json, logging, os, sys, threading
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer

logging.basicConfig(level=logging.INFO)
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = TaskServer(ClusterSpec(cluster), job, index)
server.start()
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print("serving", flush=True)
server.join()
"""


@dataclass
class Cluster:
    """A running cluster: the addresses of its tasks, and what they write."""

    jobs: dict[str, list[str]]
    logs: dict[str, Path] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def target(self, job: str, index: int = 0) -> str:
        return f"grpc://{self.jobs[job][index]}"

    def log(self, job: str, index: int = 0) -> str:
        """The output of the task so far."""
        return self.logs[f"{job}-{index}"].read_text(errors="replace")

    def wait_for_log(self, text: str, job: str, index: int = 0, seconds: float = 10.0) -> None:
        """Waits until the task has written `text`."""
        end = time.monotonic() + seconds
        while text not in self.log(job, index):
            assert time.monotonic() < end, f"no {text!r} within {seconds} s in:\n{self.log(job, index)}"
            time.sleep(0.02)


@contextmanager
def running(tasks: dict[str, int], directory: Path) -> Iterator[Cluster]:
    """A cluster with so many tasks of each job; its logs go to `directory`."""
    ports = iter(free_ports(sum(tasks.values())))
    cluster = Cluster({job: [f"localhost:{next(ports)}" for _ in range(n)] for job, n in tasks.items()})
    with ExitStack() as stack:
        for job, addresses in cluster.jobs.items():
            for index in range(len(addresses)):
                stack.enter_context(_task(cluster, job, index, directory))
        for name, process in cluster.processes.items():
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first == b"serving\n", f"{name} did not start:\n{cluster.logs[name].read_text()}"
        yield cluster


@contextmanager
def _task(cluster: Cluster, job: str, index: int, directory: Path) -> Iterator[None]:
    name = f"{job}-{index}"
    path = cluster.logs[name] = directory / f"{name}.log"
    command = [sys.executable, "-c", _TASK, json.dumps(cluster.jobs), job, str(index)]
    with path.open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    cluster.processes[name] = process
    try:
        yield
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_SECONDS)
        process.stdout.close()
