"""The registration of a signature: on all tasks at the same time, and without the session's lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tensorfleet.core import errors
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.master.members import Functions, Registered
from tensorfleet_service.master.session import MasterSession
from tests.service.graphs import graph_def
from tests.service.master.fakes import FIVE, Cluster, FakeMember, broken
from tests.until import Call, until

TIMEOUT = 20.0
GRAPH = "x = Placeholder()\na = Neg(x) @ /task:0\nb = Neg(a) @ /task:1\nc = Neg(x) @ /task:1"


def test_tasks_register_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(FIVE)
    together = threading.Barrier(5)
    for member in cluster.members:
        registered = member.register

        def register(*arguments: Any, registered: Any = registered) -> Registered:
            together.wait(TIMEOUT)
            result: Registered = registered(*arguments)
            return result

        monkeypatch.setattr(member, "register", register)
    signature = cluster.session.prepare(("x", "y"), ("e",), ())
    assert [part.member for part in signature.parts] == cluster.members


class SlowMember(FakeMember):
    """A task that registers nothing before the test lets it."""

    def __init__(self, index: int, registrations: list[str]) -> None:
        super().__init__(index, registrations)
        self.asked = threading.Event()
        self.free = threading.Event()

    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        self.asked.set()
        assert self.free.wait(TIMEOUT)
        return super().register(session, nodes, functions)


@pytest.fixture
def slow() -> Iterator[tuple[SlowMember, FakeMember, MasterSession]]:
    """A session of a slow task and of one that answers at once."""
    registrations: list[str] = []
    members = SlowMember(0, registrations), FakeMember(1, registrations)
    session = MasterSession("session", ConfigProto(), members)
    session.extend(graph_def(GRAPH))
    yield *members, session
    members[0].free.set()


Slow = tuple[SlowMember, FakeMember, MasterSession]


def test_a_slow_task_keeps_nobody_from_the_session(slow: Slow) -> None:
    member, _, session = slow
    call = Call(lambda: session.prepare(("x",), ("b",), ()))
    assert member.asked.wait(TIMEOUT)
    assert session.extend(graph_def("z = Placeholder()")) == 2
    assert [part.member.task[-1] for part in session.prepare(("x",), ("c",), ()).parts] == ["1"]
    session.close()
    assert member.deleted == ["session"]
    member.free.set()
    with pytest.raises(errors.AbortedError, match="is not found"):
        call.result()
    assert not member.graphs


def test_a_signature_that_is_in_work_is_not_prepared_twice(slow: Slow) -> None:
    member, _, session = slow
    calls = [Call(lambda: session.prepare(("x",), ("b",), ())) for _ in range(4)]
    assert member.asked.wait(TIMEOUT)
    member.free.set()
    signatures = [call.result() for call in calls]
    assert all(signature is signatures[0] for signature in signatures)
    assert len(member.graphs) == 1


def test_a_refusal_does_not_wait_for_a_slow_task(slow: Slow) -> None:
    member, other, session = slow
    other.refusal = broken("no such kernel")
    with pytest.raises(errors.InvalidArgumentError, match="no such kernel"):
        session.prepare(("x",), ("b",), ())
    assert not member.free.is_set()
    member.free.set()
    until(lambda: len(member.given_back) == 1)
    assert not member.graphs
