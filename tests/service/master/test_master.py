"""The master over members that only count: messages of a step, repeated steps, errors, partial runs, ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.master import graph_work
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember, MemberDone
from tensorfleet_service.master.session import MasterSession
from tensorfleet_service.net import limits
from tensorfleet_service.worker.worker import Worker
from tests.service.graphs import graph_def
from tests.service.master.fakes import FIVE, TWO, Cluster, FakeMember, broken
from tests.until import until

TIMEOUT = 20.0

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
    assert not cluster.session._steps._running


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
        monkeypatch.setattr(graph_work, stage, refuse)
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
    signature = session.prepare(("x", "y"), ("c",), ())
    assert [part.member.task[-1] for part in signature.parts] == ["1", "2", "0"]
    assert signature.direct is None
    assert session.prepare(("x",), ("a",), ()).direct is not None
    worker.close()


# ------------------------------------------------------------------------------------------------ errors


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
    assert not cluster.session._steps._running


def test_a_step_ends_in_time_though_nobody_can_say_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> Sequence[str]:
        raise KeyError("plan")

    monkeypatch.setattr(FakeMember, "activity", fails)
    cluster = Cluster(TWO, 2)
    cluster.start({"x": 1}, ["b"])
    (step,) = cluster.session._steps._running.values()
    step.fail(step.late(3.0))
    ((error, _),) = cluster.calls
    assert isinstance(error, errors.DeadlineExceededError)
    assert "within 3 s" in error.message


def test_a_step_ends_in_time_though_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    cluster = Cluster(TWO, 2)
    cluster.start({"x": 1}, ["b"])
    (step,) = cluster.session._steps._running.values()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fails)
        step.time_out(3.0)
    ((error, _),) = cluster.calls
    assert isinstance(error, errors.DeadlineExceededError)


def test_an_error_after_the_end_changes_nothing() -> None:
    cluster = Cluster(TWO, 2)
    cluster.start({"x": 1}, ["b"])
    (step,) = cluster.session._steps._running.values()
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
    assert not cluster.session._steps._running


def test_an_interrupt_in_the_start_leaves_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(TWO, 2)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster.members[1], "run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cluster.start({"x": 1}, ["b"])
    assert type(cluster.calls[0][0]) is errors.CancelledError
    assert not cluster.session._steps._running
    assert [len(member.aborts) for member in cluster.members] == [1, 1]


def test_a_refused_registration_is_taken_back_everywhere() -> None:
    cluster = Cluster(FIVE)
    cluster.members[3].refusal = broken("no such kernel")
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="no such kernel"):
            cluster.session.prepare(("x", "y"), ("e",), ())
        until(lambda: not any(member.graphs for member in cluster.members))
    cluster.members[3].refusal = None
    cluster.start({"x": 1, "y": 2}, ["e"])
    assert cluster.counts() == [(1, 0)] * 5


# ------------------------------------------------------------------------------------------------ limits


def test_a_registration_without_memory_is_taken_back_everywhere() -> None:
    cluster = Cluster(FIVE)
    refusal: Any = MemoryError("no memory is left")
    cluster.members[2].refusal = refusal
    with pytest.raises(MemoryError):
        cluster.session.prepare(("x", "y"), ("e",), ())
    assert not any(member.graphs for member in cluster.members)


def test_signatures_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SIGNATURES", 3)
    cluster = Cluster("x = Placeholder()\n" + "\n".join(f"n{i} = Neg(x) @ /task:1" for i in range(6)), 2)
    signatures = [cluster.session.prepare(("x",), (f"n{i}",), ()) for i in range(6)]
    assert cluster.session.signatures == 3
    assert len(cluster.members[1].graphs) == 3
    assert cluster.session.prepare(("x",), ("n5",), ()) is signatures[5]
    # Who still has an old one runs it: it is prepared once more.
    cluster.session.start(signatures[0], [1], lambda *result: cluster.calls.append(result))
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
    assert cluster.session.signatures == 0
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
    signature = session.prepare(("x",), ("b",), ())
    tasks.master.reset(["box"])
    assert tasks.containers == [["box"]]
    assert tasks.master.sessions() == []
    with pytest.raises(errors.AbortedError, match=r"closed by Session\.reset"):
        session.start(signature, [1], lambda *_: None)


def test_a_draining_master_takes_no_sessions() -> None:
    tasks = Tasks()
    tasks.session()
    assert tasks.master.drain(0.01)
    with pytest.raises(errors.UnavailableError, match="shutting down"):
        tasks.session()
