"""The leader of collectives by its messages: members of several tasks, whose joins have the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorfleet_service.collectives.call import Call, Verb
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.worker.collectives.leader import Leader
from tests.service.collectives.test_collectives import call

TASKS = [f"/job:worker/replica:0/task:{i}" for i in range(4)]
PEERS: list[Any] = [SimpleNamespace(task=task, incarnation=1) for task in TASKS]


class Told(list[tuple[str, Verb, list[int]]]):
    """Which tasks are told what, of which joins."""

    def send(self, peer: Any, verb: Verb, number: int, fields: dict[str, Any], tensors: Any) -> None:
        self.append((peer.task, verb, fields["joins"]))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def leader(told: Told) -> Iterator[Leader]:
    deadlines = Deadlines()
    yield Leader(told.send, (TASKS[0], 1), deadlines, lambda *_: None, lambda _: True, lambda: TASKS)
    deadlines.close()


def request(task: int, size: int = 3) -> Call:
    device = f"{TASKS[task]}/device:CPU:0"
    return replace(call("reduce", [np.ones(100_000)] * size), device=device, seconds=60.0)


def late(leader: Leader, task: int, number: int, age: float = 0.0, size: int = 3) -> None:
    fields = {"call": request(task, size).to_dict(), "known": [], "after": None}
    leader.receive(PEERS[task], Verb.LATE, number, fields | {"base": 90, "rounds": 4, "age": age})


def test_who_has_its_result_leaves_alone(leader: Leader, told: Told) -> None:
    for task in (1, 2):
        late(leader, task, number=7)
    leader.receive(PEERS[2], Verb.LEFT, 7, {})
    leader.receive(PEERS[0], Verb.STOPPED, 0, {
        "device": f"{TASKS[0]}/device:CPU:0", "group_key": 1, "instance_key": 2, "text": "it has failed",
    })  # fmt: skip
    assert told == [(TASKS[1], Verb.FAIL, [7])], "the other one still waits"
    assert len(leader) == 0


def test_who_fails_is_not_taken_for_another_task(leader: Leader, told: Told) -> None:
    for task in (1, 2):
        late(leader, task, number=7)
    leader.receive(PEERS[2], Verb.LEAVE, 7, {"text": "its step has ended"})
    told.clear()
    late(leader, 2, number=8, age=50.0)  # which waits since before the failure of its own earlier step
    assert not told
    late(leader, 1, number=8, age=50.0)  # which has waited for the member that has failed
    assert (TASKS[1], Verb.FAIL, [8]) in told
