"""Graphs and sessions of a task: what is registered, what it computes, and that nothing stays behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.executor.feed_layout import Layout, by_device, layout
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.master.partition import partition
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.tracing.trace import StepTrace
from tensorfleet_service.worker import worker as worker_module
from tensorfleet_service.worker.task_graph import TaskGraph
from tensorfleet_service.worker.worker import Worker
from tests.service.graphs import const, graph

TASK = "/job:worker/replica:0/task:0"
CPU0, CPU1 = f"{TASK}/device:CPU:0", f"{TASK}/device:CPU:1"


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(TASK, task_devices(TASK, 1, cpus=2, gpus=0), 1)
    yield made
    made.close()


def nodes(
    text: str, feeds: Sequence[str] = (), fetches: Sequence[str] = (), targets: Sequence[str] = ()
) -> list[Node]:
    pruned = prune(graph(text), feeds, fetches, targets)
    place(pruned, [CPU0, CPU1], CPU0)
    return [node for part in partition(pruned, {TASK: 1}) for node in part.nodes]


def run(worker: Worker, made: TaskGraph, values: Sequence[Any] = (), step: int = 1) -> list[Any]:
    """The fetches of a step that ends on the calling thread."""
    result: list[Any] = []
    for plan in made.plans:
        plan.seconds = 0.0
    worker.run(made, step, values, lambda error, fetched: result.extend((error, list(fetched))))
    error, fetched = result
    if error is not None:
        raise error
    return fetched  # type: ignore[no-any-return]


TEXT = """
    x = Placeholder()
    y = Placeholder()
    z = Placeholder()
    a = Sub(z, x) @ /cpu:1
    b = Sub(y, z) @ /cpu:0
    """


def test_layout() -> None:
    made = nodes(TEXT, ["x", "y", "z"], ["a", "b"])
    assert layout(made) == Layout((0, 1, 2), (0, 1))
    assert layout(by_device(made)[CPU0]) == Layout((1, 2), (1,))
    assert layout(nodes(TEXT, ["z", "y", "x"], ["b"])) == Layout((0, 1), (0,))


def test_fed_values_reach_the_plans_that_take_them(worker: Worker) -> None:
    _, made = worker.register_graph("session", nodes(TEXT, ["x", "y", "z"], ["b", "a"]))
    assert made.simple is None
    fetched = run(worker, made, [np.float32(1), np.float32(20), np.float32(300)])
    assert dict(zip(made.layout.rets, fetched, strict=True)) == {0: -280.0, 1: 299.0}


def test_a_simple_graph_leaves_no_trace_of_its_steps(worker: Worker) -> None:
    _, made = worker.register_graph("session", nodes("x = Placeholder()\na = Neg(x)", ["x"], ["a"]))
    assert made.simple is made.plans[0]
    for step in range(10):
        assert run(worker, made, [np.float32(step)], step) == [-step]
    assert worker.steps_total == 10
    assert worker.steps == 0
    assert not worker._steps._ended


def test_an_error_of_a_simple_graph(worker: Worker) -> None:
    text = "x = Placeholder()\ny = Placeholder()\na = AddV2(x, y)"
    _, made = worker.register_graph("session", nodes(text, ["x", "y"], ["a"]))
    with pytest.raises(errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\]"):
        run(worker, made, [np.ones(2), np.ones(3)])


def test_a_simple_graph_can_be_traced(worker: Worker) -> None:
    _, made = worker.register_graph("session", nodes("x = Placeholder()\na = Neg(x)", ["x"], ["a"]))
    trace = StepTrace()
    calls: list[Any] = []
    worker.run(made, 1, [np.float32(1)], lambda *result: calls.append(result), trace)
    assert calls == [(None, [-1.0])]
    (device,) = trace.step_stats().dev_stats
    assert [stats.node_name for stats in device.node_stats][-1] == "a"
    assert worker.steps == 0


def test_registered_graphs_are_given_back(worker: Worker) -> None:
    registered = [worker.register_graph("session", nodes(TEXT, ["x", "y", "z"], ["a"])) for _ in range(5)]
    handles = [handle for handle, _ in registered]
    assert len(set(handles)) == 5
    assert worker.graphs == 5
    assert worker.graph(handles[2]) is registered[2][1]
    for handle in handles:
        worker.deregister_graph(handle)
        worker.deregister_graph(handle)  # again is nothing
    assert worker.graphs == 0
    with pytest.raises(errors.AbortedError, match=rf"Graph handle {handles[0]} is not found.*{TASK}"):
        worker.graph(handles[0])


def test_handles_differ_from_start_to_start() -> None:
    handles = set()
    for _ in range(20):
        worker = Worker(TASK, task_devices(TASK, 1, 2, 0), 1)
        handles.add(worker.register_graph("session", nodes(TEXT, ["x", "z"], ["a"]))[0])
        worker.close()
    assert len(handles) == 20


STATE = f"""
    c = {const(5, "float32")}
    v = VariableV2() shape=()
    init = Assign(v, c)
    inc = AssignAdd(v, c)
    """


def test_a_deleted_session_leaves_nothing(worker: Worker) -> None:
    watched: list[weakref.ref[Any]] = []
    for session in ("one", "other"):
        worker.create_session(session, isolate=False)
    text = f"shape = {const([2], 'int32')}\nr = RandomUniform(shape) dtype=float32 T=int32\n"
    for _ in range(3):
        _, made = worker.register_graph("one", nodes(text + TEXT, ["x", "z"], ["a", "r"]))
        watched += [weakref.ref(plan.function) for plan in made.plans]
    worker.register_graph("other", nodes(TEXT, ["x", "z"], ["a"]))
    del made
    worker.delete_session("one")
    worker.delete_session("one")
    gc.collect()
    assert not any(ref() for ref in watched)
    assert worker.graphs == 1
    worker.delete_session("other")
    assert worker.graphs == 0
    assert not worker._stateful
    assert not worker._isolated


def test_variables_outlive_sessions(worker: Worker) -> None:
    for session, target in (("one", "init"), ("two", "inc"), ("three", "inc")):
        worker.create_session(session, isolate=False)
        run(worker, worker.register_graph(session, nodes(STATE, [], [], [target]))[1])
        worker.delete_session(session)
    (variable,) = worker.resources.variables()
    assert variable.read() == 15


def test_isolated_sessions_have_their_own_variables(worker: Worker) -> None:
    values = {}
    for session, increments in (("one", 0), ("two", 2), ("three", 1)):
        worker.create_session(session, isolate=True)
        for target in ["init"] + ["inc"] * increments:
            run(worker, worker.register_graph(session, nodes(STATE, [], [], [target]))[1])
    for session in ("one", "two", "three"):
        (values[session],) = run(worker, worker.register_graph(session, nodes(STATE, [], ["v"]))[1])
    assert values == {"one": 5, "two": 15, "three": 10}
    assert worker.resources.variables() == []
    worker.delete_session("two")
    assert set(worker._isolated) == {"one", "three"}


def test_a_random_op_goes_on_from_signature_to_signature(worker: Worker) -> None:
    text = f"shape = {const([2], 'int32')}\nr = RandomUniform(shape) dtype=float32 T=int32 seed=3 seed2=4\n"
    text += "n = Neg(r)"
    worker.create_session("one", isolate=False)
    worker.create_session("two", isolate=False)
    drawn = [
        -run(worker, worker.register_graph(session, nodes(text, [], ["n"]))[1])[0]
        for session in ("one", "one", "two")
    ]
    assert not np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[0], drawn[2])


def test_a_refused_graph_leaves_nothing(worker: Worker) -> None:
    made = nodes(TEXT, ["x", "y", "z"], ["a", "b"])
    for node in made:
        if node.assigned == CPU1:
            node.assigned = f"{TASK}/device:CPU:7"
    with pytest.raises(errors.InvalidArgumentError, match=r"has no device .*CPU:7; it has .*CPU:0, .*CPU:1"):
        worker.register_graph("session", made)
    assert worker.graphs == 0


def test_a_closed_worker_ends_its_steps() -> None:
    worker = Worker(TASK, task_devices(TASK, 1, 2, 0), 1)
    text = "x = Placeholder()\na = Neg(x) @ /cpu:1\nb = Neg(a) @ /cpu:0"
    receiving = by_device(nodes(text, ["x"], ["b"]))[CPU0]
    _, made = worker.register_graph("session", receiving)
    calls: list[Any] = []
    worker.run(made, 1, [], lambda *result: calls.append(result))
    assert worker.steps == 1
    worker.close()
    ((error, _),) = calls
    assert type(error) is errors.CancelledError
    assert error.message == f"{TASK} is shutting down"
    assert worker.steps == 0


def test_nothing_is_registered_for_a_session_that_has_ended(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, and while its graph is compiled, which takes minutes for large ones."""
    worker.create_session("one", isolate=True)
    made = nodes(TEXT, ["x", "z"], ["a"])
    compile_plan = worker_module.Plan

    def slow(*arguments: Any) -> Any:
        plan = compile_plan(*arguments)
        worker.delete_session("one")
        return plan

    monkeypatch.setattr(worker_module, "Plan", slow)
    for _ in range(2):
        with pytest.raises(errors.AbortedError, match="Session one has ended"):
            worker.register_graph("one", made)
    with pytest.raises(errors.AbortedError, match="Session one has ended"):
        worker.create_session("one", isolate=True)
    assert worker.graphs == 0
    assert not worker._libraries
    assert not worker._isolated
    assert not worker._stateful
