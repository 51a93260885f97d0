"""Steps that are captured as CUDA graphs and replayed: values, and what keeps a step from it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.devices import cublas
from tensorfleet_service.executor import captured_steps
from tests.gpu.strict_array import Machine
from tests.gpu.test_training import Model, cnn, lstm, mlp

Gpus = Callable[..., Machine]


@pytest.fixture
def graphs(gpus: Gpus, monkeypatch: pytest.MonkeyPatch, is_stand_in: bool) -> Gpus:
    if not is_stand_in:
        pytest.skip("only the stand-in counts graphs")
    monkeypatch.setenv("TENSORFLEET_GPU_GRAPHS", "auto")
    return gpus


def plain_mlp() -> tuple[tf.Tensor, dict[tf.Tensor, Any]]:
    """Without dropout, whose counters are the host's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.nn, "dropout", lambda x, *_, **__: x)
        return mlp()


def optimizer() -> tf.train.Optimizer:
    return tf.train.MomentumOptimizer(0.05, 0.9)


def trained(
    model: Model, machine: Machine | None, steps: int = 12, gpus: int = 1
) -> tuple[list[Any], list[Any], list[int]]:
    """The losses, the variables, and how many graphs each step ran."""
    with tf.Graph().as_default():
        loss, feeds = model()
        train = optimizer().minimize(loss, tf.train.get_or_create_global_step())
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": gpus})) as session:
            session.run(tf.global_variables_initializer())
            losses, ran = [], []
            for i in range(steps):
                if machine is not None:
                    machine.counters.graphs = 0
                shifted = {
                    t: v + np.float32(0.1 * i)
                    if np.asarray(v).dtype == np.float32 and t.shape.ndims == 4
                    else v
                    for t, v in feeds.items()
                }
                losses.append(session.run([loss, train], shifted)[0])
                ran.append(0 if machine is None else machine.counters.graphs)
            return losses, session.run(tf.global_variables()), ran


@pytest.mark.parametrize("model", [plain_mlp, cnn, lstm])
def test_a_training_is_replayed_with_the_same_values(graphs: Gpus, model: Model) -> None:
    machine = graphs()
    losses, variables, ran = trained(model, machine)
    assert ran == [0] * captured_steps.RUNS + [1] * (12 - captured_steps.RUNS)
    expected, expected_variables, _ = trained(model, None, gpus=0)
    np.testing.assert_allclose(losses, expected, 1e-4)
    for found, wanted in zip(variables, expected_variables, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-3, 1e-5)


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


def test_a_replaced_variable_is_noticed(graphs: Gpus) -> None:
    machine = graphs()
    small = Small()
    x = np.ones((2, 3), np.float32)
    with tf.Session() as session:
        session.run(small.w.initializer)
        for _ in range(captured_steps.RUNS + 2):
            session.run(small.y, {small.x: x})
        assert machine.counters.graphs == 2
        # The reader holds the array, so the update makes another one.
        with tf.control_dependencies([tf.identity(small.w) + 0.0]):
            held = tf.identity(small.w)
        with tf.control_dependencies([small.update]):
            later = held * 1.0
        session.run([later, small.update])
        for _ in range(captured_steps.RUNS + 2):
            value = session.run(small.w)
            np.testing.assert_array_equal(session.run(small.y, {small.x: x}), x @ value)
    assert machine.counters.graphs > 2, "it is captured anew"


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
