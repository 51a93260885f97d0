"""Tasks that are looked at: in this process, and as a cluster of processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer

HOW = "not installed: on Debian, `apt-get install --no-install-recommends prometheus` has it, with promtool"


def program(name: str) -> str:
    """The path of a program; skips the test where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is {HOW}")
    return path


@pytest.fixture(scope="session")
def promtool() -> str:
    return program("promtool")


@pytest.fixture(scope="session")
def prometheus() -> str:
    return program("prometheus")


@pytest.fixture(autouse=True)
def _sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions reach the servers of this process by sockets, unless a test says otherwise."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "stream")


MakeServer = Callable[..., TaskServer]


@pytest.fixture
def server() -> Iterator[MakeServer]:
    """Starts a task of a cluster of one in this process: `server(gpus=1)`."""
    made: list[TaskServer] = []

    def make(**settings: Any) -> TaskServer:
        task = TaskServer(ClusterSpec({"worker": ["localhost:0"]}), "worker", 0, **settings)
        made.append(task)
        task.start()
        return task

    yield make
    for task in made:
        task.stop(grace=1.0)
