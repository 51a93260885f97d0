"""Steps that are captured as CUDA graphs and replayed: values, and what keeps a step from it."""

from __future__ import annotations

import gc
import importlib
import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.devices import cublas, cuda_graphs, transfer
from tensorfleet_service.devices.scope import Scope
from tensorfleet_service.executor import captured_steps
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.state.variables import Variable
from tests.gpu import strict_cuda
from tests.gpu.strict_array import Machine
from tests.gpu.test_training import OPTIMIZERS, Model, cnn, lstm, mlp

Gpus = Callable[..., Machine]


@pytest.fixture
def graphs(gpus: Gpus, monkeypatch: pytest.MonkeyPatch, is_stand_in: bool) -> Iterator[Gpus]:
    if not is_stand_in:
        pytest.skip("only the stand-in counts graphs")
    monkeypatch.setenv("TENSORFLEET_GPU_GRAPHS", "auto")
    yield gpus
    gc.collect()  # what sessions leave behind is of the GPUs of this test


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Variable]:
    """The tasks' variables by their names, as they are made."""
    made: dict[str, Variable] = {}
    create = Resources.variable

    def keep(self: Resources, container: str, name: str, *rest: Any) -> Variable:
        return made.setdefault(name, create(self, container, name, *rest))

    monkeypatch.setattr(Resources, "variable", keep)
    return made


def plain_mlp() -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    """Without dropout, whose counters are the host's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.nn, "dropout", lambda x, *_, **__: x)
        return mlp()


def optimizer(kind: str = "momentum") -> tf.train.Optimizer:
    return OPTIMIZERS[kind]()


def trained(
    model: Model, machine: Machine | None, kind: str = "momentum", steps: int = 12
) -> tuple[list[Any], list[Any], list[int]]:
    """The losses, the variables, and how many graphs each step ran; without a machine, on the CPU."""
    config = tf.ConfigProto(device_count={} if machine else {"GPU": 0})
    with tf.Graph().as_default():
        loss, feeds = model()
        train = optimizer(kind).minimize(loss, tf.train.get_or_create_global_step())
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses, ran = [], []
            for i in range(steps):
                before = machine.counters.graphs if machine else 0
                shifted = {
                    t: v + np.float32(0.1 * i) if np.asarray(v).dtype == np.float32 else v
                    for t, v in feeds.items()
                }
                losses.append(session.run([loss, train], shifted)[0])
                ran.append(machine.counters.graphs - before if machine else 0)
            return losses, session.run(tf.global_variables()), ran


def compared(graphs: Gpus, model: Model, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trains with graphs and without, on a GPU."""
    machine = graphs()
    losses, variables, ran = trained(model, machine, kind)
    assert ran == [0] * captured_steps.RUNS + [1] * (12 - captured_steps.RUNS)
    monkeypatch.setenv("TENSORFLEET_GPU_GRAPHS", "off")
    expected, expected_variables, ran = trained(model, machine, kind)
    assert not any(ran)
    np.testing.assert_allclose(losses, expected, 1e-4)
    for found, wanted in zip(variables, expected_variables, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-3, 1e-5)


@pytest.mark.parametrize("model", [plain_mlp, cnn, lstm])
def test_a_training_is_replayed_with_the_same_values(
    graphs: Gpus, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(graphs, model, "adam", monkeypatch)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_every_optimizer_is_replayed(graphs: Gpus, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(graphs, plain_mlp, kind, monkeypatch)


def test_a_replay_copies_feeds_and_fetches_and_launches_once(graphs: Gpus) -> None:
    machine = graphs()
    with tf.Graph().as_default():
        loss, feeds = plain_mlp()
        train = optimizer().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(captured_steps.RUNS + 1):
                session.run([loss, train], feeds)
            counters = machine.counters = type(machine.counters)()
            session.run([loss, train], feeds)
    assert sorted(counters.to_device) == sorted(np.shape(v) for v in feeds.values())
    assert (counters.to_host, counters.synchronizations, counters.graphs) == ([()], 1, 1)


class Small:
    """y = x @ w + b, with updates of w."""

    def __init__(self) -> None:
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.w = tf.get_variable("w", initializer=np.ones((3, 2), np.float32))
        self.y = tf.matmul(self.x, self.w)
        self.update = tf.assign_add(self.w, tf.fill([3, 2], 0.5))
        with tf.control_dependencies([self.y]):
            self.step = tf.assign_sub(self.w, 0.1 * tf.matmul(self.x, self.y, transpose_a=True))


def test_changed_shapes_have_graphs_of_their_own(graphs: Gpus) -> None:
    machine = graphs()
    small = Small()
    with tf.Session() as session:
        session.run(small.w.initializer)
        for rows in [2, 3] * (captured_steps.RUNS + 1) + [2, 3, 4, 3, 2]:
            x = np.full((rows, 3), rows, np.float32)
            machine.counters.graphs = 0
            np.testing.assert_array_equal(session.run(small.y, {small.x: x}), x @ np.ones((3, 2)))
            ran = machine.counters.graphs
            assert ran <= 1
        assert ran == 1
        machine.counters.graphs = 0
        session.run(small.y, {small.x: np.ones((4, 3))})
        assert machine.counters.graphs == 0, "four rows came twice"


def test_there_are_only_so_many_graphs_of_a_partition(graphs: Gpus) -> None:
    machine = graphs()
    small = Small()
    with tf.Session() as session:
        session.run(small.w.initializer)
        for rows in range(1, captured_steps.GRAPHS + 3):
            for _ in range(captured_steps.RUNS + 1):
                session.run(small.y, {small.x: np.ones((rows, 3))})
        assert machine.counters.graphs == captured_steps.GRAPHS
        session.run(small.y, {small.x: np.ones((1, 3))})
        assert machine.counters.graphs == captured_steps.GRAPHS + 1


def test_a_replaced_variable_is_noticed(graphs: Gpus, variables: dict[str, Variable]) -> None:
    machine = graphs()
    small = Small()
    x = np.ones((2, 3), np.float32)
    with tf.Session() as session:
        session.run(small.w.initializer)
        repeated(session, small.y, {small.x: x})
        ran = machine.counters.graphs
        held = variables["w"].read()
        session.run(small.update)  # makes another array, as somebody holds this one
        for _ in range(captured_steps.RUNS + 2):
            np.testing.assert_array_equal(session.run(small.y, {small.x: x}), np.full((2, 2), 4.5))
        assert machine.counters.graphs > ran, "it is captured anew"
        np.testing.assert_array_equal(held.get(), np.ones((3, 2)))


def test_a_new_variable_of_the_name_is_noticed(graphs: Gpus) -> None:
    machine = graphs()
    small = Small()
    x = np.ones((2, 3), np.float32)
    server = tf.train.Server.create_local_server()
    try:
        with tf.Session(server.target) as session:
            session.run(small.w.initializer)
            repeated(session, small.y, {small.x: x})
            ran = machine.counters.graphs
            assert ran
            tf.Session.reset(server.target)
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(small.y, {small.x: x})
            assert machine.counters.graphs == ran
    finally:
        server.stop()


def test_a_failing_capture_is_told_once_and_not_tried_again(
    graphs: Gpus, caplog: pytest.LogCaptureFixture
) -> None:
    machine = graphs()
    small = Small()
    cublas.library().fails = True
    with tf.Session() as session, caplog.at_level(logging.WARNING):
        session.run(small.w.initializer)
        for _ in range(captured_steps.RUNS + 4):
            np.testing.assert_array_equal(
                session.run(small.y, {small.x: np.ones((2, 3))}), np.full((2, 2), 3)
            )
        cublas.library().fails = False
        session.run(small.y, {small.x: np.ones((2, 3))})
    assert machine.counters.graphs == 0
    assert [r.message for r in caplog.records if "CUDA graph" in r.message] == [
        "a partition of /job:localhost/replica:0/task:0/device:GPU:0 with 6 ops is not captured as a CUDA "
        "graph, and runs as before: cublasCreate_v2: status 7, the stand-in's status 7"
    ]
    assert machine.pools[0].outside == 0


def repeated(session: tf.Session, fetches: Any, feeds: Any = None, more: int = 2) -> Any:
    """What the last of so many equal runs gives that it was captured, if it can be."""
    for _ in range(captured_steps.RUNS + more):
        found = session.run(fetches, feeds)
    return found


def test_two_sessions_have_graphs_of_their_own_and_share_variables(graphs: Gpus) -> None:
    machine = graphs()
    small = Small()
    server = tf.train.Server.create_local_server()
    x = np.ones((2, 3), np.float32)
    try:
        with tf.Session(server.target) as one, tf.Session(server.target) as two:
            one.run(small.w.initializer)
            for i in range(2 * captured_steps.RUNS + 4):
                session = one if i % 2 else two
                np.testing.assert_array_equal(session.run(small.y, {small.x: x}), np.full((2, 2), 3))
            assert machine.counters.graphs == 4
            one.run(small.w.initializer)  # in place: the graphs see it
            np.testing.assert_array_equal(two.run(small.y, {small.x: x}), np.full((2, 2), 3))
            assert machine.counters.graphs >= 5
    finally:
        server.stop()


def test_two_gpus_capture_each_its_own(graphs: Gpus) -> None:
    machine = graphs(2)
    x = tf.placeholder(tf.float32, [2, 3])
    found = []
    for i in range(2):
        with tf.device(f"/gpu:{i}"):
            w = tf.Variable(np.full((3, 2), i + 1, np.float32))
            found.append(tf.matmul(x, w) + tf.cast(i, tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = repeated(session, found, {x: np.ones((2, 3))})
        np.testing.assert_array_equal(first, np.full((2, 2), 3))
        np.testing.assert_array_equal(second, np.full((2, 2), 7))
        assert machine.counters.graphs == 4
        assert [cuda_graphs.held_bytes(i) > 0 for i in range(2)] == [True, True]


def test_a_partition_that_exchanges_tensors_is_not_captured(graphs: Gpus) -> None:
    machine = graphs(2)
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:1"):
        y = tf.exp(x)
    with tf.device("/gpu:0"):
        z = y + 1.0
    with tf.Session() as session:
        np.testing.assert_allclose(repeated(session, z, {x: [0, 1]}), np.exp([0, 1]) + 1, rtol=1e-6)
    assert machine.counters.graphs == 0


def test_a_closed_session_gives_the_memory_back(graphs: Gpus) -> None:
    machine = graphs()
    with tf.Graph().as_default():
        loss, feeds = cnn()
        train = optimizer().minimize(loss)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        repeated(session, [loss, train], feeds)
        kept = cuda_graphs.held_bytes(0)
        assert machine.pools[0].outside == kept > 0
        session.close()
        del session
    gc.collect()
    assert (machine.pools[0].outside, cuda_graphs.held_bytes(0)) == (0, 0)
    assert not cublas.library().handles


def test_a_graph_stays_within_the_limit(graphs: Gpus, caplog: pytest.LogCaptureFixture) -> None:
    """What it keeps is taken from what the task may have, and given back with it."""
    machine = graphs(1, memory=1 << 29)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.5))
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(tf.exp(tf.tile(x, [1000])))
    with tf.Session(config=config) as session, caplog.at_level(logging.WARNING):
        session.run(y, {x: np.ones(2)})
        limit = machine.pools[0].limit
        assert limit == 1 << 28
        repeated(session, y, {x: np.ones(4000)})
        assert machine.counters.graphs == 2
        assert machine.pools[0].limit == limit - cuda_graphs.held_bytes(0)
        assert cuda_graphs.held_bytes(0) >= 16_000_000
        # This fits beside the graph and the workspace of cuBLAS, but not twice.
        assert repeated(session, y, {x: np.ones(20_000)}) == pytest.approx(20e6 * np.e, rel=1e-2)
    assert machine.counters.graphs == 2
    assert "is not captured as a CUDA graph" in caplog.text
    assert "Out of memory" in caplog.text
    del session
    gc.collect()
    assert machine.pools[0].limit == limit


def test_random_numbers_are_drawn_anew(graphs: Gpus) -> None:
    machine = graphs()
    numbers = tf.random_uniform([3], seed=1)
    with tf.Session() as session:
        found = {tuple(session.run(numbers)) for _ in range(captured_steps.RUNS + 3)}
    assert len(found) == captured_steps.RUNS + 3
    assert machine.counters.graphs == 0


def test_what_the_host_reads_of_the_feeds_is_part_of_the_key(graphs: Gpus) -> None:
    machine = graphs()
    rate = tf.placeholder(tf.float32, [])
    rows = tf.placeholder(tf.int32, [])
    w = tf.get_variable("w", initializer=np.zeros(2, np.float32))
    train = tf.train.GradientDescentOptimizer(rate).minimize(tf.reduce_sum(w))
    filled = tf.fill([rows, 2], 1.5) * w
    with tf.Session() as session:
        session.run(w.initializer)
        repeated(session, train, {rate: 0.5})
        assert machine.counters.graphs == 2
        session.run(train, {rate: 0.25})
        session.run(train, {rate: 0.5})
        assert machine.counters.graphs == 3
        expected = -0.5 * (captured_steps.RUNS + 3) - 0.25
        np.testing.assert_array_equal(session.run(w), [expected] * 2)
        for n in (1, 2, 3):
            assert repeated(session, filled, {rows: n}).shape == (n, 2)


def test_a_reader_keeps_the_value_that_it_holds(graphs: Gpus, variables: dict[str, Variable]) -> None:
    """An array that somebody else holds is not changed by a replay: that step makes another one."""
    machine = graphs()
    small = Small()
    with tf.Session() as session:
        session.run(small.w.initializer)
        repeated(session, small.update.op)
        ran = machine.counters.graphs
        held = variables["w"].read()
        before = held.get()
        session.run(small.update.op)
        np.testing.assert_array_equal(held.get(), before)
        np.testing.assert_array_equal(session.run(small.w), before + 0.5)
        assert machine.counters.graphs == ran
        del held
        repeated(session, small.update.op)
        assert machine.counters.graphs > ran, "captured anew, as the array is another one"


def test_steps_of_several_threads(graphs: Gpus) -> None:
    """Each update counts once, whether it is replayed or not."""
    machine = graphs()
    small = Small()
    count, threads = 40, 4
    with tf.Session() as session:
        session.run(small.w.initializer)
        repeated(session, small.update.op)
        errors: list[BaseException] = []

        def step() -> None:
            try:
                for _ in range(count):
                    session.run(small.update.op)
            except BaseException as e:
                errors.append(e)

        running = [threading.Thread(target=step) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(60)
        assert not errors
        expected = 1 + 0.5 * (captured_steps.RUNS + 2 + count * threads)
        np.testing.assert_array_equal(session.run(small.w), np.full((3, 2), expected))
    assert machine.counters.graphs > 2


def doubled(given: list[Any], copied: Callable[[Any], Any]) -> list[Any]:
    return [given[0] + given[0]]


def test_the_garbage_collector_may_drop_a_graph_while_another_is_counted(
    graphs: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs()
    scope = Scope(importlib.import_module("cupy"), 0)
    made: list[Any] = [cuda_graphs.capture(scope, [((3,), np.dtype(np.float32))], doubled)]
    before = cuda_graphs.held_bytes(0)
    made.append(made)  # so that only the collector drops it
    get_limit = strict_cuda.DefaultPool.get_limit
    calls = itertools.count(1)

    def collecting(pool: Any) -> int:
        if next(calls) == 2:  # the first one looks at what is left
            gc.collect()
        return get_limit(pool)

    def capture() -> None:
        found.append(cuda_graphs.capture(scope, [((3,), np.dtype(np.float32))], doubled))

    found: list[Any] = []
    monkeypatch.setattr(strict_cuda.DefaultPool, "get_limit", collecting)
    thread = threading.Thread(target=capture, daemon=True)
    gc.disable()
    try:
        del made
        thread.start()
        thread.join(30)
    finally:
        gc.enable()
    assert found, "it waits for itself"
    assert next(calls) == 4, "the dropped one was counted, too"
    assert cuda_graphs.held_bytes(0) == before


def test_a_graph_that_is_closed_while_it_runs_gives_its_outputs(graphs: Gpus) -> None:
    machine = graphs()
    scope = Scope(importlib.import_module("cupy"), 0)
    graph = cuda_graphs.capture(scope, [((3,), np.dtype(np.float32))], doubled)
    assert graph is not None

    def launch(launched: Callable[[], None]) -> bool:
        launched()
        graph.close()
        return True

    (found,) = graph.run([np.ones(3, np.float32)], launch)
    np.testing.assert_array_equal(found, np.full(3, 2))
    assert graph.run([np.ones(3, np.float32)], launch) is None
    assert machine.pools[0].outside == 0


def test_a_fetched_variable_is_that_of_its_step(graphs: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another step may change it in place before it is copied to the host."""
    machine = graphs()
    small = Small()
    meanwhile: list[Callable[[], None]] = []

    def late(xp: Any) -> Callable[[Any], Any]:
        def move(values: Any) -> Any:
            while meanwhile:
                meanwhile.pop()()
            return to_host(values)

        to_host = transfer.all_to_host(xp)
        return move

    monkeypatch.setattr(cuda_graphs, "all_to_host", late)
    fetches, feeds = [small.y, small.w], {small.x: np.ones((2, 3), np.float32)}
    with tf.Session() as session:
        session.run(small.w.initializer)
        repeated(session, fetches, feeds)
        ran = machine.counters.graphs
        meanwhile.append(lambda: session.run(small.update.op))
        w = session.run(fetches, feeds)[1]
        assert machine.counters.graphs == ran + 1
        np.testing.assert_array_equal(w, np.ones((3, 2)))
        np.testing.assert_array_equal(session.run(small.w), np.full((3, 2), 1.5))


def test_it_is_off_unless_it_is_asked_for(gpus: Gpus, is_stand_in: bool) -> None:
    machine = gpus()
    small = Small()
    with tf.Session() as session:
        session.run(small.w.initializer)
        repeated(session, small.y, {small.x: np.ones((2, 3))})
    if is_stand_in:
        assert machine.counters.graphs == 0
