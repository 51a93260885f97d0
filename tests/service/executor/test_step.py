"""Steps on one task: partitions that wait, tensors that come in any order, and what failed steps leave."""

from __future__ import annotations

import gc
import itertools
import queue
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.executor import step as step_module
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.kernels import registry
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.tracing.trace import StepTrace
from tensorfleet_service.worker.task_graph import TaskGraph
from tensorfleet_service.worker.worker import Worker
from tests.service.graphs import graph

TIMEOUT = 20.0
TASK, OTHER = "/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"
DEVICES = [*(f"{TASK}/device:CPU:{i}" for i in range(3)), f"{OTHER}/device:CPU:0"]


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(TASK, task_devices(TASK, 1, cpus=3, gpus=0), 1)
    made.create_session("session", False)
    yield made
    made.close()


class Done:
    """The callback of a step, which waits for it."""

    def __init__(self) -> None:
        self.calls: list[tuple[errors.OpError | None, Sequence[Any]]] = []
        self._ended = threading.Event()

    def __call__(self, error: errors.OpError | None, values: Sequence[Any]) -> None:
        self.calls.append((error, values))
        self._ended.set()

    def result(self) -> list[Any]:
        assert self._ended.wait(TIMEOUT)
        ((error, values),) = self.calls
        assert error is None, error
        return list(values)

    def error(self) -> errors.OpError:
        assert self._ended.wait(TIMEOUT)
        ((error, values),) = self.calls
        assert error is not None
        assert not values
        return error


def register(
    worker: Worker, text: str, feeds: Sequence[str], fetches: Sequence[str], short: bool = True
) -> tuple[TaskGraph, dict[str, int]]:
    """This task's part of a graph, and from the nodes that it receives to the numbers of their edges."""
    nodes = prune(graph(text), feeds, fetches, [])
    place(nodes, DEVICES, DEVICES[0])
    own = [
        node
        for part in partition(nodes, {TASK: 1, OTHER: 2})
        if task_of(part.device) == TASK
        for node in part.nodes
    ]
    _, made = worker.register_graph("session", own)
    if short:
        for plan in made.plans:
            plan.seconds = 0.0  # so that they run on the threads that resume them
    edges = {
        node.attrs["tensor_name"].decode().rpartition("_")[2]: int(node.attrs["_edge"])
        for node in own
        if node.op == "_Recv" and task_of(node.attrs["send_device"].decode()) == OTHER
    }
    return made, edges


def arrivals(made: TaskGraph) -> list[int]:
    """The edges that come from the other task, in the order in which the plans wait for them."""
    return [
        int(node.attrs["_edge"])
        for plan in made.plans
        for node in plan.nodes
        if node.op == "_Recv" and task_of(node.attrs["send_device"].decode()) == OTHER
    ]


THREE = """
    x = Placeholder()
    a = Neg(x) @ /task:1
    b = Exp(x) @ /task:1
    c = Square(x) @ /task:1
    ab = Sub(a, b) @ /task:0/cpu:0
    abc = Mul(ab, c) @ /task:0/cpu:0
    """


@pytest.mark.parametrize("short", [True, False], ids=["inline", "pool"])
@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_tensors_in_any_order(worker: Worker, order: tuple[int, ...], before: int, short: bool) -> None:
    """Some arrive before the request to run, the others after it."""
    made, _ = register(worker, THREE, ["x"], ["abc"], short)
    tensors = list(zip(arrivals(made), [np.float32(7), np.float32(5), np.float32(3)], strict=True))
    done = Done()
    for i in order[:before]:
        worker.deliver(1, tensors[i][:1], tensors[i][1:])
    worker.run(made, 1, [], done)
    for i in order[before:]:
        assert not done.calls
        worker.deliver(1, tensors[i][:1], tensors[i][1:])
    assert done.result() == [6.0]
    assert worker.steps == 0


@pytest.mark.parametrize(
    ("text", "sends_first"),
    [
        ("x = Placeholder()\na = Neg(x) @ /task:1\nb = Exp(a) @ /task:0/cpu:0", False),
        ("x = Placeholder()\na = Neg(x) @ /task:0/cpu:0\nb = Exp(a) @ /task:1", True),
        ("x = Placeholder()\na = Neg(x) @ /task:1\nc = Neg(a) @ /task:0/cpu:0\nb = Exp(c) @ /task:1", False),
    ],
    ids=["receives", "sends", "receives, then sends"],
)
def test_whether_a_graph_sends_before_it_waits(worker: Worker, text: str, sends_first: bool) -> None:
    made, _ = register(worker, text, ["x"], ["b"])
    assert made.sends_first == sends_first


PING_PONG = """
    x = Placeholder() @ /task:0/cpu:0
    a = Neg(x) @ /task:0/cpu:0
    b = Square(a) @ /task:0/cpu:1
    c = AddV2(b, a) @ /task:0/cpu:0
    d = Mul(c, b) @ /task:0/cpu:1
    e = Sub(d, c) @ /task:0/cpu:0
    f = Neg(e) @ /task:0/cpu:2
    """


@pytest.mark.parametrize("may_block", [True, False])
@pytest.mark.parametrize("short", [True, False], ids=["inline", "pool"])
def test_plans_that_feed_each_other(worker: Worker, short: bool, may_block: bool) -> None:
    made, _ = register(worker, PING_PONG, ["x"], ["f", "b"], short)
    assert len(made.plans) == 3
    for step in range(20):
        done = Done()
        worker.run(made, step, [np.float32(3)], done, None, may_block)
        by_index = dict(zip(made.layout.rets, done.result(), strict=True))
        assert by_index == {0: -48.0, 1: 9.0}
    assert worker.steps == 0


def test_an_endless_exchange_on_one_thread(worker: Worker) -> None:
    """Two plans that feed each other 2,000 times need no depth of calls."""
    text = "x = Placeholder()\ns0 = Neg(x) @ /task:0/cpu:0\n"
    text += "\n".join(f"s{i} = Neg(s{i - 1}) @ /task:0/cpu:{i % 2}" for i in range(1, 2000))
    made, _ = register(worker, text, ["x"], ["s1999"])
    done = Done()
    worker.run(made, 1, [np.float32(3)], done)
    assert done.result() == [3.0]


def test_a_trace_of_waiting_plans(worker: Worker) -> None:
    made, _ = register(worker, PING_PONG, ["x"], ["f"])
    trace = StepTrace()
    done = Done()
    worker.run(made, 1, [np.float32(3)], done, trace)
    done.result()
    stats = trace.step_stats().dev_stats
    names = {node.node_name for device in stats for node in device.node_stats}
    assert {"a", "b", "c", "d", "e", "f"} <= names
    assert sorted(device.device for device in stats) == DEVICES[:3]


def test_the_longest_stretch_of_a_plan_counts(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the plan waits: whoever resumes it must not run a long stretch on a thread with other work."""
    now = iter([0.0, 5.0, *range(6, 100)])
    monkeypatch.setattr(step_module, "time", SimpleNamespace(perf_counter=lambda: float(next(now))))
    made, _ = register(worker, THREE, ["x"], ["abc"])
    done = Done()
    worker.run(made, 1, [], done)
    for edge in arrivals(made):
        worker.deliver(1, [edge], [np.float32(1)])
    done.result()
    # Five ticks until it waits and one after each of three arrivals; a tenth of the longest counts.
    assert made.plans[0].seconds == pytest.approx(0.5)


# ------------------------------------------------------------------------------------------------- failures


class Big(np.ndarray[Any, Any]):
    """An array that can be watched."""


def big() -> Any:
    return np.zeros(100, np.float32).view(Big)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What is dropped is dropped by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def fail() -> errors.OpError:
    return errors.AbortedError(None, None, "ended by the test")


@pytest.mark.parametrize("arrived", range(3))
def test_a_failure_drops_what_waits(worker: Worker, no_collector: None, arrived: int) -> None:
    made, _ = register(worker, THREE, ["x"], ["abc"])
    done = Done()
    worker.run(made, 1, [], done)
    watched = []
    edges = arrivals(made)
    for edge in [edges[2], edges[0]][:arrived]:  # one that lies there, one that the code holds
        value = big()
        watched.append(weakref.ref(value))
        worker.deliver(1, [edge], [value])
        del value
    assert all(ref() is not None for ref in watched)
    worker.abort(1, fail())
    assert done.error().message == "ended by the test"
    assert all(ref() is None for ref in watched)
    assert worker.steps == 0


def test_tensors_of_a_step_that_never_starts_are_dropped(worker: Worker, no_collector: None) -> None:
    made, _ = register(worker, THREE, ["x"], ["abc"])
    value = big()
    watched = weakref.ref(value)
    worker.deliver(1, [arrivals(made)[0]], [value])
    del value
    assert worker.steps == 1
    worker.abort(1, fail())
    assert watched() is None
    assert worker.steps == 0
    done = Done()
    worker.run(made, 1, [], done)
    assert type(done.error()) is errors.AbortedError
    assert worker.steps == 0


@pytest.mark.parametrize("ended", ["by its end", "by an error"])
def test_late_tensors_are_dropped(worker: Worker, no_collector: None, ended: str) -> None:
    made, _ = register(worker, THREE, ["x"], ["abc"])
    done = Done()
    worker.run(made, 1, [], done)
    if ended == "by its end":
        for edge in arrivals(made):
            worker.deliver(1, [edge], [np.float32(1)])
        done.result()
    else:
        worker.abort(1, fail())
        done.error()
    value = big()
    watched = weakref.ref(value)
    worker.deliver(1, [arrivals(made)[0]], [value])
    del value
    assert watched() is None
    assert worker.steps == 0


def test_a_failing_partition_ends_the_others(worker: Worker, no_collector: None) -> None:
    text = """
        x = Placeholder()
        a = Neg(x) @ /task:1
        b = Square(x) @ /task:1
        p = AddV2(a, a) @ /task:0/cpu:0
        q = Mul(p, b) @ /task:0/cpu:0
        r = AddV2(a, y) @ /task:0/cpu:1
        y = Placeholder()
        """
    made, _ = register(worker, text, ["x", "y"], ["q", "r"])
    done = Done()
    worker.run(made, 1, [np.ones(3)], done)
    first, second, third = arrivals(made)
    value = big()
    watched = weakref.ref(value)
    worker.deliver(1, [first], [value])  # the first partition now waits for b
    del value
    assert not done.calls
    worker.deliver(1, [third], [np.ones(2)])
    assert done.error().message == "Incompatible shapes: [2] vs. [3]\n\t [[{{node r}}]]"
    assert watched() is None
    worker.deliver(1, [second], [np.ones(2)])
    assert worker.steps == 0


def test_a_running_partition_stops_at_its_next_wait(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, no_collector: None
) -> None:
    """The step fails while a partition computes; what it holds goes as soon as it would wait."""
    watched: list[weakref.ref[Any]] = []

    def make(x: Any) -> Any:
        value = big()
        watched.append(weakref.ref(value))
        worker.abort(1, fail())
        return value

    monkeypatch.setitem(registry._factories, "Square", lambda node: make)
    text = "x = Placeholder()\na = Square(x) @ /task:0\nb = Neg(a) @ /task:1\nc = AddV2(a, b) @ /task:0"
    made, _ = register(worker, text, ["x"], ["c"])
    sent: list[Any] = []
    made.push = lambda task, step, edge, value: sent.append(edge)
    done = Done()
    worker.run(made, 1, [np.float32(1)], done)
    assert done.error().message == "ended by the test"
    assert len(sent) == 1
    assert watched[0]() is None


def test_a_failed_send_is_the_error_of_the_step(worker: Worker) -> None:
    text = "x = Placeholder()\na = Neg(x)\nb = Neg(a) @ /task:1\nc = AddV2(a, b)"
    made, _ = register(worker, text, ["x"], ["c"])
    done = Done()
    worker.run(made, 1, [np.float32(1)], done)  # the worker is connected to nobody
    assert done.error().message.startswith(f"{TASK} is not connected to {OTHER}\n\t [[{{{{node _send_")
    assert worker.steps == 0


def test_abort_all(worker: Worker) -> None:
    made, _ = register(worker, THREE, ["x"], ["abc"])
    waiting = [Done() for _ in range(5)]
    for step, done in enumerate(waiting):
        worker.run(made, step, [], done)
    worker.deliver(77, [arrivals(made)[0]], [np.float32(1)])
    assert worker.steps == 6
    worker.abort_all(fail())
    assert {done.error().message for done in waiting} == {"ended by the test"}
    assert worker.steps == 0


def test_only_so_many_steps_wait_for_their_request(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_EARLY_STEPS", 10)
    made, _ = register(worker, THREE, ["x"], ["abc"])
    done = Done()
    worker.run(made, 0, [], done)
    for step in range(1, 30):
        for edge in arrivals(made):
            worker.deliver(step, [edge], [np.float32(step)])
    assert worker.steps == 1 + 10
    last = Done()
    worker.run(made, 29, [], last)
    assert last.result() == [0.0]
    assert not done.calls  # one that runs is not dropped


def test_steps_wait_only_so_long_for_their_request(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = register(worker, THREE, ["x"], ["abc"])
    worker.deliver(1, [arrivals(made)[0]], [np.float32(1)])
    monkeypatch.setattr(timeouts, "EARLY_SECONDS", 0.0)
    worker.deliver(2, [arrivals(made)[0]], [np.float32(1)])
    assert worker.steps == 0
    assert not worker._steps._early


def test_so_many_bytes_wait_for_their_request(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_EARLY_BYTES", 1_000_000)
    made, _ = register(worker, THREE, ["x"], ["abc"])
    arrived = [np.ones(25_000, np.float32) for _ in range(30)]
    watched = [weakref.ref(value) for value in arrived]
    for step in range(30):
        worker.deliver(step, [arrivals(made)[0]], [arrived.pop(0)])
    assert [value() is not None for value in watched] == [False] * 20 + [True] * 10
    assert worker.steps == 10
    dropped, kept = Done(), Done()
    worker.run(made, 0, [], dropped)
    assert isinstance(dropped.error(), errors.ResourceExhaustedError)
    assert "TENSORFLEET_MAX_EARLY_MB" in dropped.error().message
    worker.run(made, 29, [], kept)
    worker.deliver(40, [arrivals(made)[0]], [np.ones(25_000, np.float32)])  # there is room for it again
    assert watched[20]() is not None
    worker.deliver(41, [arrivals(made)[0]], [np.ones(2_000_000, np.float32)])  # which alone is too much
    assert worker.steps == 1  # the one that runs
    assert worker._steps._early_bytes == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_dropped_tensors_goes_back_to_the_system(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used() -> int:
        return int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1]) >> 10  # type: ignore[index]

    made, _ = register(worker, THREE, ["x"], ["abc"])
    before = used()
    kept = []  # between the tensors, so that the heap has holes once they are dropped
    for step in range(200):
        worker.deliver(step, [arrivals(made)[0]], [np.ones(1 << 18, np.float32)])
        kept.append(np.ones(1 << 15, np.float32))
    assert used() > before + 150
    monkeypatch.setattr(timeouts, "EARLY_SECONDS", 0.0)
    worker.deliver(200, [arrivals(made)[0]], [np.float32(1)])
    assert worker.steps == 0
    assert used() < before + 50
    assert len(kept) == 200


def test_ended_steps_are_remembered_for_a_while(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMEMBERED_STEPS", 10)
    for step in range(30):
        worker.abort(step, fail())
    assert list(worker._steps._ended) == list(range(20, 30))


# ---------------------------------------------------------------------------------------------- concurrency


@pytest.mark.parametrize("short", [True, False], ids=["inline", "pool"])
def test_many_steps_at_once(worker: Worker, short: bool) -> None:
    count, threads = 200, 4
    made, _ = register(worker, THREE, ["x"], ["abc"], short)
    work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    finished = [Done() for _ in range(count)]

    def deliver(step: int, edge: int, value: float) -> Callable[[], None]:
        return lambda: worker.deliver(step, [edge], [np.float32(value)])

    def start(step: int) -> Callable[[], None]:
        return lambda: worker.run(made, step, [], finished[step], None, False)

    jobs = [
        job
        for step in range(count)
        for job in (
            start(step),
            *(deliver(step, edge, step + i) for i, edge in enumerate(arrivals(made))),
        )
    ]
    np.random.default_rng(1).shuffle(jobs)
    for job in jobs:
        work.put(job)

    def run() -> None:
        while True:
            try:
                job = work.get_nowait()
            except queue.Empty:
                return
            job()

    runners = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in runners:
        thread.start()
    for step, done in enumerate(finished):
        assert done.result() == [-(step + 2.0)]
    for thread in runners:
        thread.join(TIMEOUT)
    assert worker.steps == 0


class ChangingTime:
    """The time of each plan, which another step changes each time somebody looks."""

    def __init__(self, *times: float) -> None:
        self._times = times
        self._next: dict[int, Iterator[float]] = {}

    def __get__(self, plan: object, owner: type) -> float:
        return next(self._next.setdefault(id(plan), itertools.cycle(self._times)))

    def __set__(self, plan: object, value: float) -> None:
        pass  # the time that the plan took now


@pytest.mark.parametrize("times", [(0.0, 1.0), (1.0, 0.0)], ids=["longer", "shorter"])
@pytest.mark.parametrize("may_block", [True, False])
def test_a_plan_whose_time_changes_meanwhile_runs_once(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, times: tuple[float, float], may_block: bool
) -> None:
    text = """
        x = Placeholder()
        a = Neg(x) @ /task:0/cpu:0
        b = Exp(x) @ /task:0/cpu:1
    """
    made, _ = register(worker, text, ["x"], ["a", "b"])
    assert len(made.plans) == 2
    begun: list[object] = []
    begin = step_module._Run.begin
    monkeypatch.setattr(step_module._Run, "begin", lambda run: (begun.append(run), begin(run)))
    monkeypatch.setattr(type(made.plans[0]), "seconds", ChangingTime(*times))
    done = Done()
    worker.run(made, 1, [np.float32(0)], done, may_block=may_block)
    assert done.result() == [0, 1]
    assert len(begun) == 2


def test_a_step_is_refused_where_all_threads_are_busy(
    worker: Worker, no_collector: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = register(worker, THREE, ["x"], ["abc"])
    edges, done = arrivals(made), Done()
    value = np.zeros(3, np.float32).view(Big)
    watched = weakref.ref(value)
    worker.deliver(1, edges[:1], [value])
    del value
    monkeypatch.setattr(worker.pool, "_limit", 0)
    worker.run(made, 1, [], done)
    error = done.error()
    assert isinstance(error, errors.ResourceExhaustedError)
    assert "TENSORFLEET_MAX_THREADS" in error.message
    assert watched() is None  # what had come for it
    assert worker.steps == 0
    monkeypatch.undo()
    again = Done()
    worker.run(made, 2, [], again)
    worker.deliver(2, edges, [np.float32(7), np.float32(5), np.float32(3)])
    assert again.result() == [6.0]
