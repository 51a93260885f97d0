"""A session over tasks that compute nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.executor.feed_layout import layout
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.master.members import Functions, Member, MemberDone, Registered
from tensorfleet_service.master.session import MasterSession
from tensorfleet_service.tracing.trace import StepTrace
from tests.service.graphs import graph_def


class FakeMember(Member):
    """A task that computes nothing: it keeps what it is asked, and answers when the test says so."""

    def __init__(self, index: int, registrations: list[str]) -> None:
        self.task = f"/job:worker/replica:0/task:{index}"
        self.devices = [device.attributes() for device in task_devices(self.task, index + 1, 1, 0)]
        self.graphs: dict[int, list[Node]] = {}
        self.runs: list[tuple[int, int, list[Any], MemberDone]] = []
        self.aborts: list[tuple[int, errors.OpError]] = []
        self.deleted: list[str] = []
        self.given_back: list[int] = []
        self.refusal: errors.OpError | None = None
        self._registrations = registrations
        self._handles = itertools.count(1)

    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        if self.refusal is not None:
            raise self.refusal
        handle = next(self._handles)
        self.graphs[handle] = list(nodes)
        self._registrations.append(self.task)
        return Registered(self, handle, layout(nodes))

    def deregister(self, handle: int) -> None:
        self.graphs.pop(handle, None)
        self.given_back.append(handle)

    def run(
        self,
        handle: int,
        step_id: int,
        values: Sequence[Any],
        done: MemberDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> None:
        assert handle in self.graphs
        self.runs.append((handle, step_id, list(values), done))

    def abort(self, step_id: int, error: errors.OpError) -> None:
        self.aborts.append((step_id, error))

    def delete_session(self, session: str) -> None:
        self.deleted.append(session)
        self.graphs.clear()

    def answer(self, values: Sequence[Any] = (), error: errors.OpError | None = None) -> None:
        """Ends its part of the last step."""
        self.runs[-1][3](error, values)


class Cluster:
    """A session over so many tasks."""

    def __init__(self, text: str, tasks: int = 5) -> None:
        self.registrations: list[str] = []
        self.members = [FakeMember(i, self.registrations) for i in range(tasks)]
        self.session = MasterSession("session", ConfigProto(), self.members)
        self.session.extend(graph_def(text))
        self.calls: list[tuple[errors.OpError | None, list[Any]]] = []

    def start(self, feeds: dict[str, Any], fetches: Sequence[str], targets: Sequence[str] = ()) -> None:
        signature = self.session.prepare(tuple(feeds), tuple(fetches), tuple(targets))
        self.session.start(signature, list(feeds.values()), lambda *result: self.calls.append(result))

    def counts(self) -> list[tuple[int, int]]:
        """How many requests to run and to abort each task got."""
        return [(len(member.runs), len(member.aborts)) for member in self.members]

    def steps(self) -> set[int]:
        return {step for member in self.members for _, step, _, _ in member.runs}


TWO = "x = Placeholder()\na = Neg(x) @ /task:0\nb = Neg(a) @ /task:1\n"
FIVE = """
    x = Placeholder()
    y = Placeholder()
    a = Neg(x) @ /task:0
    b = Neg(a) @ /task:1
    c = AddV2(b, y) @ /task:2
    d = Neg(c) @ /task:3
    e = AddV2(d, a) @ /task:4
    """


def broken(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)
