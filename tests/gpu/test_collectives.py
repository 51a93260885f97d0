"""Collectives among GPUs of two processes by the stand-in for NCCL, and the groups that go by the ring."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace as Namespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.ops.collective import collective_ops
from tensorfleet_service.collectives.call import Call, Verb
from tensorfleet_service.collectives.device_value import DeviceValue
from tensorfleet_service.collectives.member import Group
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.worker.collectives import nccl
from tensorfleet_service.worker.collectives.gpu_rounds import GpuRounds
from tensorfleet_service.worker.collectives.leader import Leader
from tests.cluster import ops
from tests.cluster.processes import Cluster
from tests.cluster.together import soon
from tests.gpu import strict_cupy, strict_nccl

Clusters = Callable[..., AbstractContextManager[Cluster]]
JOBS = {"worker": 2}
COUNT = 50_000  # more than goes to the leader with the request
X = np.arange(COUNT, dtype=np.float32)
GPU, CPU = "gpu:0", "cpu:0"


def member(index: int, device: str, make: Callable[[Any], Any]) -> Any:
    with tf.device(f"/job:worker/task:{index}/{device}"):
        return make(tf.constant(X) * (index + 1))


def reduced(index: int, device: str, key: int, size: int = 2, **options: Any) -> Any:
    how = {"merge_op": "Add", "final_op": "Id", "timeout": 60.0, **options}
    return member(index, device, lambda x: collective_ops.all_reduce(x, size, key, key, **how))


def communicators(cluster: Cluster, graph: tf.Graph) -> Any:
    with graph.as_default():
        found = []
        for index in range(len(cluster.tasks)):
            with tf.device(f"/job:worker/task:{index}/cpu:0"):
                found.append(ops.gpu_collectives())
    return found


@pytest.mark.parametrize(
    ("merge", "final", "wanted"),
    [("Add", "Id", X * 3), ("Add", "Div", X * 1.5), ("Max", "Id", X * 2), ("Min", "Id", X)],
)
def test_sums_among_gpus_of_two_processes(
    gpu_cluster: Clusters, is_stand_in: bool, merge: str, final: str, wanted: Any
) -> None:
    with gpu_cluster(JOBS, apart=1) as cluster, tf.Graph().as_default() as graph:
        sums = [reduced(index, GPU, 7, merge_op=merge, final_op=final) for index in range(2)]
        made = communicators(cluster, graph)
        with tf.Session(cluster.target()) as session:
            for _ in range(5):
                for found in session.run(sums):
                    np.testing.assert_array_equal(found, wanted)
            assert not is_stand_in or [int(x) for x in session.run(made)] == [1, 1], (
                "a communicator serves all rounds"
            )


def test_what_is_gathered_and_broadcast(gpu_cluster: Clusters, is_stand_in: bool) -> None:
    with gpu_cluster(JOBS, apart=1) as cluster, tf.Graph().as_default() as graph:
        gathered = [
            member(i, GPU, lambda x: collective_ops.all_gather(x, 2, 1, 1, timeout=60.0)) for i in range(2)
        ]
        sent = member(
            1, GPU, lambda x: collective_ops.broadcast_send(x, [COUNT], tf.float32, 2, 2, 2, timeout=60.0)
        )
        with tf.device("/job:worker/task:0/gpu:0"):
            got = collective_ops.broadcast_recv([COUNT], tf.float32, 2, 2, 2, timeout=60.0)
        made = communicators(cluster, graph)
        with tf.Session(cluster.target()) as session:
            for found in session.run(gathered):
                np.testing.assert_array_equal(found, np.concatenate([X, X * 2]))
            for found in session.run([sent, got]):
                np.testing.assert_array_equal(found, X * 2)
            assert not is_stand_in or [int(x) for x in session.run(made)] == [2, 2], "one for each group"


def test_the_second_versions(gpu_cluster: Clusters, is_stand_in: bool) -> None:
    ops_v2 = collective_ops
    with gpu_cluster(JOBS, apart=1) as cluster, tf.Graph().as_default() as graph:
        sums = [member(i, GPU, lambda x: ops_v2.all_reduce_v2(x, 2, 1, 1, timeout=60.0)) for i in range(2)]
        rows = [member(i, GPU, lambda x: ops_v2.all_gather_v2(x, 2, 2, 2, timeout=60.0)) for i in range(2)]
        sent = member(0, GPU, lambda x: ops_v2.broadcast_send_v2(x, 2, 3, 3, timeout=60.0))
        with tf.device("/job:worker/task:1/gpu:0"):
            got = ops_v2.broadcast_recv_v2([COUNT], tf.float32, 2, 3, 3, timeout=60.0)
        made = communicators(cluster, graph)
        with tf.Session(cluster.target()) as session:
            for found, wanted in ((sums, X * 3), (rows, np.concatenate([X, X * 2])), ([sent, got], X)):
                for one in session.run(found):
                    np.testing.assert_array_equal(one, wanted)
            assert not is_stand_in or [int(x) for x in session.run(made)] == [3, 3]


@pytest.mark.parametrize("way", ["a CPU among them", "by the hint", "small"])
def test_other_groups_go_by_the_ring(gpu_cluster: Clusters, is_stand_in: bool, way: str) -> None:
    with gpu_cluster(JOBS, apart=1) as cluster, tf.Graph().as_default() as graph:
        hint = {"communication_hint": "ring"} if way == "by the hint" else {}
        devices = GPU, CPU if way == "a CPU among them" else GPU
        if way == "small":
            sums = []
            for index in range(2):
                with tf.device(f"/job:worker/task:{index}/gpu:0"):
                    x = tf.constant(X[:10]) * (index + 1)
                    sums.append(collective_ops.all_reduce(x, 2, 7, 7, timeout=60.0))
        else:
            sums = [reduced(index, devices[index], 7, **hint) for index in range(2)]
        made = communicators(cluster, graph)
        with tf.Session(cluster.target()) as session:
            for _ in range(4):  # the first round is the leader's, the others their own
                for found in session.run(sums):
                    np.testing.assert_array_equal(found, X[: len(found)] * 3)
            assert not is_stand_in or [int(x) for x in session.run(made)] == [0, 0]


def test_several_gpus_of_a_task_with_one_of_another(gpu_cluster: Clusters, is_stand_in: bool) -> None:
    with gpu_cluster(JOBS, apart=2) as cluster, tf.Graph().as_default() as graph:
        devices = [(0, "gpu:0"), (0, "gpu:1"), (1, "gpu:0")]
        sums = [reduced(index, device, 7, 3) for index, device in devices]
        made = communicators(cluster, graph)
        with tf.Session(cluster.target()) as session:
            for _ in range(3):
                for found in session.run(sums):
                    np.testing.assert_array_equal(found, X * 4)
            assert not is_stand_in or [int(x) for x in session.run(made)] == [2, 1]


def test_a_member_that_dies_in_a_collective_is_named_and_the_others_abort(
    gpu_cluster: Clusters, is_stand_in: bool
) -> None:
    with gpu_cluster(JOBS, {1: {strict_nccl.DIES_AT: "3"}}) as cluster, tf.Graph().as_default() as graph:
        sums = [reduced(index, GPU, 7) for index in range(2)]
        made = communicators(cluster, graph)
        with tf.Session(cluster.target()) as session:
            for _ in range(2):
                session.run(sums)
            with pytest.raises(errors.UnavailableError, match="/job:worker/replica:0/task:1"):
                session.run(sums)  # NCCL's kernel on the other GPU would wait for good
        cluster["worker", 1].settings["stand_in"] = {}
        cluster["worker", 1].restart()
        with tf.Session(cluster.target()) as session:
            again = [reduced(index, GPU, 9) for index in range(2)]
            for found in session.run(again):
                np.testing.assert_array_equal(found, X * 3)
            assert not is_stand_in or [int(x) for x in session.run(made)] == [2, 1]


def test_a_new_session_connects_the_members_anew(gpu_cluster: Clusters) -> None:
    with gpu_cluster(JOBS, apart=1) as cluster, tf.Graph().as_default():
        sums = [reduced(index, GPU, 7) for index in range(2)]
        for _ in range(2):
            with tf.Session(cluster.target()) as session:
                for _ in range(2):
                    for found in session.run(sums):
                        np.testing.assert_array_equal(found, X * 3)


def test_a_member_that_does_not_come_is_named(gpu_cluster: Clusters) -> None:
    with gpu_cluster(JOBS, apart=1) as cluster, tf.Graph().as_default():
        with tf.device("/job:worker/task:1/cpu:0"):
            failing = ops.fail(tf.constant(X), errors.INTERNAL, "it is out of order", "failing")
        with tf.device("/job:worker/task:1/gpu:0"):
            second = collective_ops.all_reduce(failing, 2, 8, 8, timeout=60.0)
        first = reduced(0, GPU, 8)
        with tf.Session(cluster.target()) as session, pytest.raises(errors.OpError, match="out of order"):
            session.run([first, second])


# One side alone


def call(gpu: str, **other: Any) -> Call:
    fields = {"dtype": "float32", "merge_op": "Add", "kind": "reduce", **other}
    return Call(
        fields["kind"], "CollectiveReduce", "r", "/device:GPU:0", 2, 1, 1, fields["dtype"], (COUNT,),
        fields["merge_op"], "Id", False, 1.0, gpu,
    )  # fmt: skip


def test_which_groups_nccl_serves() -> None:
    assert nccl.serves([call("a"), call("b")])
    assert not nccl.serves([call("a"), call("")])
    assert not nccl.serves([call("a"), call("a")]), "two members on one GPU"
    assert not nccl.serves([call("a", dtype="bool"), call("b", dtype="bool")])
    assert "gpu" not in call("").to_dict(), "tasks of earlier versions do not know it"
    assert Call.from_dict(call("a").to_dict()) == call("a")


def test_a_new_record_of_the_group_gets_a_new_communicator(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id serves to connect the members once, and a new session's records have no communicators."""
    ids = iter(("first", "second", "third"))
    monkeypatch.setattr(nccl, "new_id", lambda: next(ids))
    told: list[dict[str, Any]] = []

    def send(peer: Any, verb: int, number: int, fields: dict[str, Any], tensors: Any) -> None:
        told.append(fields)

    deadlines = Deadlines()
    leader = Leader(send, ("/job:worker/task:0", 1), deadlines, lambda *_: None, lambda _: True, lambda: [])

    def meet(*records: int) -> str:
        told.clear()
        for i, record in enumerate(records):
            name = f"/job:worker/task:0/device:GPU:{i}"
            request = replace(call(str(i)), device=name, seconds=60.0).to_dict()
            fields = {"call": request, "known": [], "after": None, "record": record}
            leader.receive(None, Verb.JOIN, i + 1, fields)
        (start,) = told
        return str(start["nccl"]["id"])

    try:
        assert [meet(1, 2), meet(1, 2), meet(1, 3), meet(1, 3), meet(4, 3)] == [
            "first", "first", "second", "second", "third",
        ]  # fmt: skip
    finally:
        deadlines.close()


class _Waiting:
    """A communicator whose work on the GPU does not end until it is aborted."""

    def __init__(self) -> None:
        self.id, self.rank, self.stream = "id", 0, self
        self.comm: Any = self
        self.ptr = 0
        self.queued, self.aborting = threading.Event(), threading.Event()
        self.may_end, self.aborted = threading.Event(), threading.Event()
        self.done = False

    def wait_event(self, event: Any) -> None:
        pass

    def record(self) -> Any:
        self.queued.set()
        return self

    def allReduce(self, *arguments: Any) -> None:
        pass

    def check(self) -> None:
        pass

    def abort(self) -> None:
        self.aborting.set()
        assert self.may_end.wait(20)
        self.aborted.set()


def test_what_nccl_writes_to_stays_until_it_is_aborted(gpus: Any, is_stand_in: bool) -> None:
    if not is_stand_in:
        pytest.skip("on the stand-in only")
    gpus(1)
    xp = strict_cupy.module
    comm, group = _Waiting(), Group()
    group.communicator = comm
    failures: list[BaseException] = []
    rounds = GpuRounds(lambda _: None, lambda _, error: failures.append(error))
    ring = nccl.NcclRound(
        1, [(call("a"), DeviceValue(xp, xp.asarray(X)), 0, group)], "id", 1, 0, lambda _: None
    )
    rounds.add(ring)
    assert comm.queued.wait(20)
    ring.end()
    assert comm.aborting.wait(20)
    assert not failures
    (out,) = (weakref.ref(each) for each in ring._outputs)
    assert out() is not None, "NCCL still writes to it"
    assert not ring._lock.locked(), "the task's other rounds would wait for the GPU"
    comm.may_end.set()
    soon(lambda: out() is None, "the memory is given back")
    assert comm.aborted.is_set()


def test_a_communicator_is_aborted_where_no_thread_is_free_for_that(
    gpus: Any, is_stand_in: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_stand_in:
        pytest.skip("on the stand-in only")
    gpus(1)
    xp = strict_cupy.module
    comm, group = _Waiting(), Group()
    group.communicator = comm
    rounds = GpuRounds(lambda _: None, lambda *_: None)
    value = DeviceValue(xp, xp.asarray(X))
    ring = nccl.NcclRound(1, [(call("a"), value, 0, group)], "id", 1, 0, lambda _: None)
    rounds.add(ring)
    assert comm.queued.wait(20)

    def no_thread(*about: Any, **more: Any) -> Any:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading, "Thread", no_thread)
        ring.end()
    comm.may_end.set()
    assert comm.aborted.wait(20)


def test_a_look_at_the_gpu_keeps_nobody_from_ending_the_round(gpus: Any, is_stand_in: bool) -> None:
    if not is_stand_in:
        pytest.skip("on the stand-in only")
    gpus(1)
    xp = strict_cupy.module
    looking, may_go_on = threading.Event(), threading.Event()

    class Slow(_Waiting):
        def check_async_error(self) -> None:
            self.check()

        def check(self) -> None:
            looking.set()
            assert may_go_on.wait(20)

    comm, group = Slow(), Group()
    group.communicator = comm
    rounds = GpuRounds(lambda _: None, lambda *_: None)
    value = DeviceValue(xp, xp.asarray(X))
    ring = nccl.NcclRound(1, [(call("a"), value, 0, group)], "id", 1, 0, lambda _: None)
    rounds.add(ring)
    assert looking.wait(20)
    is_free = not ring._lock.locked()
    may_go_on.set()
    comm.may_end.set()
    ring.end()
    assert comm.aborted.wait(20)
    assert is_free


def test_nothing_looks_at_a_communicator_that_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library frees it then."""
    calls: list[str] = []

    class Comm:
        def __init__(self, *about: Any) -> None:
            pass

        def check_async_error(self) -> None:
            calls.append("check")

        def abort(self) -> None:
            made.check()
            calls.append("abort")

    monkeypatch.setattr(nccl, "library", lambda: Namespace(NcclCommunicator=Comm))
    xp = Namespace(cuda=Namespace(Stream=lambda non_blocking: None))
    made = nccl.Communicator(xp, "00", 1, 0)
    made.check()
    made.abort()
    made.check()
    made.abort()
    assert calls == ["check", "abort"]


def test_rounds_that_get_no_thread_keep_none_from_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = threading.Event()

    class Round:
        connecting = False

        def run(self) -> None:
            ran.set()

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    rounds = GpuRounds(lambda *_: None, lambda *_: None)
    made: Any = Round()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            rounds.add(made)
    rounds.add(made)
    assert ran.wait(20)
