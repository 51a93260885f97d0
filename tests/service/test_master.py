"""The master over members that only count: messages of a step, repeated steps, errors, partial runs, ends."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet import errors
from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorfleet_service.devices.device import task_devices
from tensorfleet_service.graph import Node
from tensorfleet_service.master import session as session_module
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember, Member, MemberDone, Registered
from tensorfleet_service.master.partial import PartialRuns
from tensorfleet_service.master.session import MasterSession, Prepared
from tensorfleet_service.observe.trace import StepTrace
from tensorfleet_service.worker.layout import layout
from tensorfleet_service.worker.worker import Worker
from tests.service.graphs import const, graph_def

TIMEOUT = 20.0


class FakeMember(Member):
    """A task that computes nothing: it keeps what it is asked, and answers when the test says so."""

    def __init__(self, index: int, registrations: list[str]) -> None:
        self.task = f"/job:worker/replica:0/task:{index}"
        self.devices = [device.attributes() for device in task_devices(self.task, index + 1, 1, 0)]
        self.graphs: dict[int, list[Node]] = {}
        self.runs: list[tuple[int, int, list[Any], MemberDone]] = []
        self.aborts: list[tuple[int, errors.OpError]] = []
        self.deleted: list[str] = []
        self.refusal: errors.OpError | None = None
        self._registrations = registrations
        self._handles = itertools.count(1)

    def register(self, session: str, nodes: Sequence[Node]) -> Registered:
        if self.refusal is not None:
            raise self.refusal
        handle = next(self._handles)
        self.graphs[handle] = list(nodes)
        self._registrations.append(self.task)
        return Registered(self, handle, layout(nodes))

    def deregister(self, handle: int) -> None:
        del self.graphs[handle]

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
        prepared = self.session.prepare(tuple(feeds), tuple(fetches), tuple(targets))
        self.session.start(prepared, list(feeds.values()), lambda *result: self.calls.append(result))

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


# ---------------------------------------------------------------------------------------------- messages


def test_one_message_to_each_of_two_tasks() -> None:
    cluster = Cluster(TWO, 2)
    for step in range(1, 4):
        cluster.start({"x": step}, ["b", "a"])
        assert cluster.counts() == [(step, 0), (step, 0)]
        assert not cluster.calls[step - 1 :]
        cluster.members[0].answer([10 * step])
        cluster.members[1].answer([20 * step])
        assert cluster.calls[step - 1] == (None, [20 * step, 10 * step])
    assert cluster.members[0].runs[2][2] == [3]  # the fed value goes where it is used
    assert cluster.members[1].runs[2][2] == []
    assert len(cluster.steps()) == 3
    assert len(cluster.registrations) == 2


@pytest.mark.parametrize(
    ("fetches", "tasks"),
    [(["a"], {0}), (["b"], {0, 1}), (["c"], {0, 1, 2}), (["e"], {0, 1, 2, 3, 4}), (["a", "d"], {0, 1, 2, 3})],
    ids=str,
)
def test_one_message_to_each_task_that_takes_part(fetches: list[str], tasks: set[int]) -> None:
    cluster = Cluster(FIVE)
    cluster.start({"x": 1, "y": 2}, fetches)
    assert cluster.counts() == [(int(i in tasks), 0) for i in range(5)]
    for i in tasks:
        member = cluster.members[i]
        own = [int(node.attrs["index"]) for node in member.graphs[1] if node.op == "_Retval"]
        member.answer([f"fetch {index}" for index in own])
    assert cluster.calls == [(None, [f"fetch {i}" for i in range(len(fetches))])]
    assert not cluster.session._running


def test_a_fed_tensor_leaves_out_what_is_before_it() -> None:
    cluster = Cluster(FIVE)
    cluster.start({"c": 1, "a": 2}, ["e"])
    assert cluster.counts() == [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0)]
    assert [member.runs[0][2] for member in cluster.members[3:]] == [[1], [2]]


def test_fed_values_go_to_each_task_that_uses_them() -> None:
    cluster = Cluster("x = Placeholder()\n" + "\n".join(f"n{i} = Neg(x) @ /task:{i}" for i in range(5)))
    value = np.ones(3)
    cluster.start({"x": value}, [f"n{i}" for i in range(5)])
    assert all(member.runs[0][2][0] is value for member in cluster.members)
    for member in cluster.members:
        assert not [node for node in member.graphs[1] if node.op in ("_Send", "_Recv")]


def test_a_repeated_step_does_no_graph_work(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(FIVE)
    cluster.start({"x": 1, "y": 2}, ["e"])

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("graph work was done again")

    for stage in ("prune", "place", "optimize", "partition"):
        monkeypatch.setattr(session_module, stage, refuse)
    for count in range(2, 50):
        cluster.start({"x": 1, "y": 2}, ["e"])
        assert cluster.counts() == [(count, 0)] * 5
    with pytest.raises(AssertionError, match="graph work"):
        cluster.start({"x": 1, "y": 2}, ["d"])


def test_an_extended_graph_keeps_its_signatures() -> None:
    cluster = Cluster(TWO, 2)
    cluster.start({"x": 1}, ["b"])
    assert cluster.session.extend(graph_def("z = Placeholder()"), 1) == 2
    with pytest.raises(errors.AbortedError, match="Expected graph version 1 but the current version is 2"):
        cluster.session.extend(graph_def("w = Placeholder()"), 1)
    cluster.start({"x": 1}, ["b"])
    assert len(cluster.registrations) == 2


def test_the_local_task_runs_last() -> None:
    worker = Worker("/job:worker/replica:0/task:0", task_devices("/job:worker/replica:0/task:0", 1, 1, 0), 1)
    local = LocalMember(worker, "session", False)
    session = MasterSession("session", ConfigProto(), [local, FakeMember(1, []), FakeMember(2, [])])
    session.extend(graph_def(FIVE))
    prepared = session.prepare(("x", "y"), ("c",), ())
    assert [part.member.task[-1] for part in prepared.parts] == ["1", "2", "0"]
    assert prepared.direct is None
    assert session.prepare(("x",), ("a",), ()).direct is not None
    worker.close()


# ------------------------------------------------------------------------------------------------ errors


def broken(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


def test_the_first_error_wins_and_all_tasks_let_go() -> None:
    cluster = Cluster(FIVE)
    cluster.start({"x": 1, "y": 2}, ["e"])
    cluster.members[0].answer()
    first = broken("first")
    cluster.members[2].answer(error=first)
    cluster.members[3].answer(error=broken("second"))
    cluster.members[4].answer(["late"])
    assert cluster.calls == [(first, [])]
    assert cluster.counts() == [(1, 1)] * 5
    (step,) = cluster.steps()
    for member in cluster.members:
        ((aborted, cause),) = member.aborts
        assert aborted == step
        assert type(cause) is errors.AbortedError
        assert cause.message.endswith("ended by another task: first")
    assert not cluster.session._running


def test_an_error_after_the_end_changes_nothing() -> None:
    cluster = Cluster(TWO, 2)
    cluster.start({"x": 1}, ["b"])
    (step,) = cluster.session._running.values()
    cluster.members[0].answer()
    cluster.members[1].answer([1])
    step.fail(broken("late"))
    assert cluster.calls == [(None, [1])]
    assert cluster.counts() == [(1, 0), (1, 0)]


def test_errors_from_several_threads_are_reported_once() -> None:
    cluster = Cluster(FIVE)
    for _ in range(30):
        cluster.start({"x": 1, "y": 2}, ["e"])
    starts = threading.Barrier(5)

    def answer(member: FakeMember) -> None:
        starts.wait(TIMEOUT)
        for run in member.runs:
            run[3](broken(member.task), ())

    threads = [threading.Thread(target=answer, args=(member,)) for member in cluster.members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert len(cluster.calls) == 30
    assert all(error is not None for error, _ in cluster.calls)
    assert all(len(member.aborts) == 30 for member in cluster.members)


@pytest.mark.parametrize("index", range(5))
def test_a_task_that_fails_at_once_is_the_end_of_the_step(
    monkeypatch: pytest.MonkeyPatch, index: int
) -> None:
    cluster = Cluster(FIVE)
    error = broken("at once")

    def fail(handle: int, step: int, values: Any, done: MemberDone, *_: Any) -> None:
        done(error, ())

    monkeypatch.setattr(cluster.members[index], "run", fail)
    cluster.start({"x": 1, "y": 2}, ["e"])
    assert cluster.calls == [(error, [])]
    assert all(len(member.runs) <= 1 for member in cluster.members)
    assert [len(member.runs) for member in cluster.members[index + 1 :]] == [0] * (4 - index)
    assert all(len(member.aborts) == 1 for member in cluster.members)


def test_a_task_that_cannot_be_asked_is_the_end_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(FIVE)
    error = errors.UnavailableError(None, None, "gone")

    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr(cluster.members[2], "run", refuse)
    cluster.start({"x": 1, "y": 2}, ["e"])
    assert cluster.calls == [(error, [])]
    assert not cluster.session._running


def test_an_interrupt_in_the_start_leaves_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(TWO, 2)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster.members[1], "run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cluster.start({"x": 1}, ["b"])
    assert type(cluster.calls[0][0]) is errors.CancelledError
    assert not cluster.session._running
    assert [len(member.aborts) for member in cluster.members] == [1, 1]


def test_a_refused_registration_is_taken_back_everywhere() -> None:
    cluster = Cluster(FIVE)
    cluster.members[3].refusal = broken("no such kernel")
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="no such kernel"):
            cluster.session.prepare(("x", "y"), ("e",), ())
        assert not any(member.graphs for member in cluster.members)
    cluster.members[3].refusal = None
    cluster.start({"x": 1, "y": 2}, ["e"])
    assert cluster.counts() == [(1, 0)] * 5


# ------------------------------------------------------------------------------------------------ limits


def test_signatures_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MAX_SIGNATURES", 3)
    cluster = Cluster("x = Placeholder()\n" + "\n".join(f"n{i} = Neg(x) @ /task:1" for i in range(6)), 2)
    prepared = [cluster.session.prepare(("x",), (f"n{i}",), ()) for i in range(6)]
    assert cluster.session.callables == 3
    assert len(cluster.members[1].graphs) == 3
    assert cluster.session.prepare(("x",), ("n5",), ()) is prepared[5]
    # Who still has an old one runs it: it is prepared once more.
    cluster.session.start(prepared[0], [1], lambda *result: cluster.calls.append(result))
    cluster.members[1].answer(["value"])
    assert cluster.calls == [(None, ["value"])]
    assert len(cluster.registrations) == 7
    assert len(cluster.members[1].graphs) == 3


# -------------------------------------------------------------------------------------------------- ends


def test_close_ends_steps_and_gives_everything_back() -> None:
    cluster = Cluster(FIVE)
    for _ in range(3):
        cluster.start({"x": 1, "y": 2}, ["e"])
    cluster.session.close()
    cluster.session.close()  # again is nothing
    assert [type(error) for error, _ in cluster.calls] == [errors.CancelledError] * 3
    assert cluster.counts() == [(3, 3)] * 5
    assert [member.deleted for member in cluster.members] == [["session"]] * 5
    assert cluster.session.callables == 0
    with pytest.raises(errors.AbortedError, match="Session session is not found"):
        cluster.start({"x": 1, "y": 2}, ["e"])
    assert cluster.counts() == [(3, 3)] * 5


def test_drain_waits_for_the_running_steps() -> None:
    cluster = Cluster(TWO, 2)
    cluster.start({"x": 1}, ["b"])
    assert not cluster.session.drain(time.monotonic() + 0.01)
    with pytest.raises(errors.UnavailableError):
        cluster.start({"x": 1}, ["b"])
    drained: list[bool] = []
    thread = threading.Thread(
        target=lambda: drained.append(cluster.session.drain(time.monotonic() + TIMEOUT))
    )
    thread.start()
    cluster.members[0].answer()
    cluster.members[1].answer(["value"])
    thread.join(TIMEOUT)
    assert drained == [True]
    assert cluster.calls == [(None, ["value"])]


class Tasks:
    """A master over fake members."""

    def __init__(self) -> None:
        self.members = [FakeMember(i, []) for i in range(2)]
        self.containers: list[Sequence[str]] = []
        self.master = Master(lambda handle, config: self.members, self.containers.append)

    def session(self) -> MasterSession:
        return self.master.create_session(graph_def(TWO), ConfigProto())


def test_sessions_of_a_master() -> None:
    tasks = Tasks()
    one, other = tasks.session(), tasks.session()
    assert one.handle != other.handle
    assert tasks.master.session(one.handle) is one
    tasks.master.close_session(one.handle)
    assert tasks.members[0].deleted == [one.handle]
    for _ in range(2):
        with pytest.raises(errors.AbortedError, match=f"Session {one.handle} is not found"):
            tasks.master.close_session(one.handle)
    assert tasks.master.sessions() == [other]


def test_a_wrong_graph_leaves_no_session() -> None:
    tasks = Tasks()
    wrong = graph_def("x = Placeholder()")
    wrong.node[0].op = "NoSuchOp"
    with pytest.raises(errors.NotFoundError, match="NoSuchOp"):
        tasks.master.create_session(wrong, ConfigProto())
    assert tasks.master.sessions() == []
    assert all(len(member.deleted) == 1 for member in tasks.members)


def test_reset_closes_all_sessions() -> None:
    tasks = Tasks()
    session = tasks.session()
    prepared = session.prepare(("x",), ("b",), ())
    tasks.master.reset(["box"])
    assert tasks.containers == [["box"]]
    assert tasks.master.sessions() == []
    with pytest.raises(errors.AbortedError, match=r"closed by Session\.reset"):
        session.start(prepared, [1], lambda *_: None)


def test_a_draining_master_takes_no_sessions() -> None:
    tasks = Tasks()
    tasks.session()
    assert tasks.master.drain(0.01)
    with pytest.raises(errors.UnavailableError, match="shutting down"):
        tasks.session()


# ------------------------------------------------------------------------------ on a task that computes


class Local:
    """A session on one task that computes, on two devices."""

    def __init__(self, text: str) -> None:
        task = "/job:worker/replica:0/task:0"
        self.worker = Worker(task, task_devices(task, 1, 2, 0), 1)
        self.master = Master(lambda handle, config: [LocalMember(self.worker, handle, False)], lambda _: None)
        self.session = self.master.create_session(graph_def(text), ConfigProto())
        self.partial = PartialRuns(self.session)

    def run(self, feeds: dict[str, Any], fetches: Sequence[str], targets: Sequence[str] = ()) -> list[Any]:
        prepared = self.session.prepare(tuple(feeds), tuple(fetches), tuple(targets))
        return self._wait(lambda done: self.session.start(prepared, list(feeds.values()), done))

    def part(self, handle: str, feeds: dict[str, Any], fetches: Sequence[str]) -> list[Any]:
        return self._wait(lambda done: self.partial.run(handle, feeds, fetches, done))

    def _wait(self, start: Callable[[Any], Any]) -> list[Any]:
        ended = threading.Event()
        result: list[Any] = []

        def done(error: errors.OpError | None, values: Sequence[Any]) -> None:
            result.extend((error, list(values)))
            ended.set()

        start(done)
        assert ended.wait(TIMEOUT)
        if result[0] is not None:
            raise result[0]
        return result[1]  # type: ignore[no-any-return]


def test_metadata_of_a_step() -> None:
    local = Local("x = Placeholder()\na = Neg(x)\nb = Neg(a) @ /cpu:1")
    prepared = local.session.prepare(("x",), ("b",), ())
    metadata = RunMetadata()
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)
    ended = threading.Event()
    local.master.run_step(local.session, prepared, [np.float32(1)], lambda *_: ended.set(), options, metadata)
    assert ended.wait(TIMEOUT)
    assert len(metadata.partition_graphs) == 2
    assert len(metadata.step_stats.dev_stats) == 2
    local.worker.close()


PARTIAL = f"""
    x = Placeholder()
    y = Placeholder()
    z = Placeholder()
    c = {const(10, "float32")}
    v = VariableV2() shape=()
    init = Assign(v, c)
    inc = AssignAdd(v, c)
    counted = Identity(inc)
    a = AddV2(x, counted)
    b = Mul(a, y)
    late = AddV2(b, z; ^counted)
    """


@pytest.fixture
def local() -> Any:
    made = Local(PARTIAL)
    made.run({}, [], ["init"])
    yield made
    made.worker.close()


FEEDS = ["x:0", "y:0", "z:0"]
F = np.float32


def test_a_partial_run(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0", "late:0"], [])
    assert local.part(handle, {"x:0": F(1)}, ["a:0"]) == [21]
    assert local.part(handle, {"y:0": F(2)}, ["b:0"]) == [42]
    assert local.part(handle, {"z:0": F(3)}, ["late:0"]) == [45]
    assert local.run({}, ["v"]) == [20]  # what has state ran once
    with pytest.raises(errors.InvalidArgumentError, match="Must run 'setup'"):
        local.part(handle, {}, ["a:0"])


def test_several_fetches_in_one_part(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0", "late:0"], ["counted"])
    assert local.part(handle, {"y:0": F(2), "x:0": F(1)}, ["b:0", "a:0"]) == [42, 21]
    assert local.part(handle, {"z:0": F(3)}, ["late:0"]) == [45]
    assert local.run({}, ["v"]) == [20]


def test_a_reference_that_an_earlier_part_made(local: Local) -> None:
    """A part that uses the reference of an assignment does not assign again."""
    local.session.extend(graph_def_over(local, "next = AddV2(inc, x)"))
    handle = local.partial.setup(FEEDS, ["counted:0", "next:0"], [])
    assert local.part(handle, {}, ["counted:0"]) == [20]
    assert local.part(handle, {"x:0": F(1)}, ["next:0"]) == [21]
    assert local.run({}, ["v"]) == [20]


def test_the_parts_come_in_another_order_than_their_values(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0", "inc:0"], [])
    assert local.part(handle, {"y:0": F(2), "x:0": F(1)}, ["b:0"]) == [42]
    assert local.part(handle, {}, ["a:0"]) == [21]
    assert local.part(handle, {}, ["inc:0"]) == [20]
    assert local.run({}, ["v"]) == [20]


def test_an_output_of_several_is_fed_later(local: Local) -> None:
    local.session.extend(
        graph_def_over(local, "s = IdentityN(x, y) T=float32,float32\np = Neg(s:1)\nq = Neg(s)", 3)
    )
    handle = local.partial.setup(["x:0", "y:0", "s:1"], ["q:0", "p:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match="is missing"):
        local.part(handle, {}, ["p:0"])
    assert local.part(handle, {"s:1": F(5)}, ["p:0"]) == [-5]  # the refused part changed nothing
    assert local.part(handle, {"x:0": F(1), "y:0": F(2)}, ["q:0"]) == [-1]


def graph_def_over(local: Local, lines: str, count: int = 1) -> Any:
    """The message for some more nodes over those of the partial graph."""
    definition = graph_def(PARTIAL + lines)
    del definition.node[:-count]
    return definition


def test_partial_runs_do_not_meet(local: Local) -> None:
    one = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    other = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    assert local.part(one, {"x:0": F(1)}, ["a:0"]) == [21]
    assert local.part(other, {"x:0": F(2)}, ["a:0"]) == [32]
    assert local.part(one, {"y:0": F(2)}, ["b:0"]) == [42]
    assert local.part(other, {"y:0": F(2)}, ["b:0"]) == [64]


@pytest.mark.parametrize(
    ("feeds", "fetches", "message"),
    [
        ({"c:0": F(1)}, ["a:0"], "feed c:0 was not specified"),
        ({"x:0": F(1)}, ["late:0"], "fetch late:0 was not specified"),
        ({"y:0": F(1)}, ["a:0"], "x:0 is missing"),
    ],
)
def test_wrong_parts(local: Local, feeds: dict[str, Any], fetches: list[str], message: str) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match=message):
        local.part(handle, feeds, fetches)


def test_names_are_used_once(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    local.part(handle, {"x:0": F(1)}, ["a:0"])
    with pytest.raises(errors.InvalidArgumentError, match=r"x:0 .*has been fed already"):
        local.part(handle, {"x:0": F(1)}, ["b:0"])
    with pytest.raises(errors.InvalidArgumentError, match=r"a:0 .*has been fetched"):
        local.part(handle, {"y:0": F(1)}, ["a:0"])


def test_a_failed_part_ends_the_partial_run(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    local.part(handle, {"x:0": np.ones(3, F)}, ["a:0"])
    with pytest.raises(errors.InvalidArgumentError, match="Incompatible shapes"):
        local.part(handle, {"y:0": np.ones(2, F)}, ["b:0"])
    with pytest.raises(errors.InvalidArgumentError, match=r"Incompatible shapes|not specified|setup"):
        local.part(handle, {}, ["b:0"])


def test_an_unknown_name_in_a_setup(local: Local) -> None:
    with pytest.raises(errors.NotFoundError, match="nothing"):
        local.partial.setup([], ["nothing:0"], [])


def test_prepared_says_what_it_is_for(local: Local) -> None:
    prepared: Prepared = local.session.prepare(("x",), ("a", "counted"), ())
    assert (prepared.feeds, prepared.fetches) == (1, 2)
    assert prepared.key == (("x",), ("a", "counted"), (), frozenset())
