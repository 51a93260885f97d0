"""Optimizers of tf.contrib.opt whose workers train variables of their own, on one ps and two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

import tensorfleet as tf
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

TIMEOUT = 60.0
opt = tf.contrib.opt


class Worker:
    """A worker's graph of one variable v, whose gradient is `slope`, and its session."""

    def __init__(self, cluster: Cluster, index: int, getter: Any, build: Callable[[Any], Any]) -> None:
        self.index, self.graph = index, tf.Graph()
        device = f"/job:worker/task:{index}"
        placed = tf.train.replica_device_setter(ps_tasks=1, worker_device=device)
        with self.graph.as_default(), tf.device(placed):
            getter = getter(device)
            with tf.variable_scope("", custom_getter=getter):
                self.v = tf.get_variable("v", initializer=10.0)
                self.bias = tf.get_variable("bias", initializer=1.0, trainable=False)
            self.global_step = tf.train.get_or_create_global_step()
            self.slope = tf.placeholder(tf.float32, [])
            optimizer = build(getter)
            self.step = optimizer.minimize(self.slope * self.v, global_step=self.global_step)
            is_model = isinstance(optimizer, opt.ModelAverageOptimizer)
            make_hook = optimizer.make_session_run_hook
            self.hook = make_hook() if is_model else make_hook(index == 0, index)
            self.hook.begin()
            [self.center] = [each for each in tf.global_variables() if "global_center" in each.name]
            self.own = tf.local_variables_initializer()
            self.whole = tf.global_variables_initializer()
        self.session = tf.Session(cluster.target("worker", index), graph=self.graph)

    def train(self, slope: float, steps: int = 1) -> None:
        for _ in range(steps):
            self.session.run(self.step, {self.slope: slope})

    def values(self) -> list[float]:
        """The variable, its global one and the global step."""
        return self.session.run([self.v, self.center, self.global_step])  # type: ignore[no-any-return]


@contextmanager
def workers(cluster: Cluster, getter: Any, build: Callable[[int, Any], Any]) -> Iterator[list[Worker]]:
    made = [Worker(cluster, i, getter, lambda made, i=i: build(i, made)) for i in range(2)]
    try:
        made[0].session.run(made[0].whole)
        for worker in made:
            worker.session.run(worker.own)
        # The hooks may wait for each other.
        together(lambda worker: worker.hook.after_create_session(worker.session, None), made)
        for worker in made:
            assert worker.v.device.startswith(f"/job:worker/task:{worker.index}")
            assert worker.v in worker.graph.get_collection(tf.GraphKeys.LOCAL_VARIABLES)
            for shared in (worker.center, worker.global_step, worker.bias):
                assert shared.device.startswith("/job:ps"), shared.name
        yield made
    finally:
        for worker in made:
            worker.session.close()


def together(function: Callable[[Worker], None], made: list[Worker]) -> None:
    with ThreadPoolExecutor(len(made)) as pool:
        for future in [pool.submit(function, worker) for worker in made]:
            future.result(TIMEOUT)


def descent() -> Any:
    return tf.train.GradientDescentOptimizer(0.1)


@pytest.mark.timeout(120)
def test_models_are_averaged_when_all_have_come(shared: Cluster) -> None:
    def build(index: int, getter: Any) -> Any:
        return opt.ModelAverageOptimizer(descent(), 2, index == 0, getter, interval_steps=2)

    with workers(shared, opt.ModelAverageCustomGetter, build) as made:
        for worker in made:
            worker.train(1.0 + worker.index)
        assert [worker.values() for worker in made] == [
            pytest.approx([9.9, 10.0, 0]),
            pytest.approx([9.8, 10.0, 0]),
        ]
        together(lambda worker: worker.train(1.0 + worker.index), made)
        assert [worker.values() for worker in made] == [pytest.approx([9.7, 9.7, 1])] * 2
        together(lambda worker: worker.train(1.0 + worker.index, steps=4), made)
        assert [worker.values() for worker in made] == [pytest.approx([9.1, 9.1, 3])] * 2


@pytest.mark.timeout(120)
def test_means_of_gradients_are_given_to_global_variables(shared: Cluster) -> None:
    def build(index: int, getter: Any) -> Any:
        return opt.AGNOptimizer(descent(), 2, getter, communication_period=2)

    with workers(shared, opt.AGNCustomGetter, build) as (first, second):
        first.train(1.0)
        assert first.values() == pytest.approx([9.9, 10.0, 0])
        first.train(2.0)
        assert first.values() == pytest.approx([9.85, 9.85, 1])
        second.train(3.0, steps=2)
        assert second.values() == pytest.approx([9.55, 9.55, 2])
        first.train(1.0)
        assert first.values() == pytest.approx([9.75, 9.55, 2])
        first.train(1.0)
        assert first.values() == pytest.approx([9.45, 9.45, 3])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("synchronous", [False, True])
def test_variables_and_their_center_move_towards_each_other(shared: Cluster, synchronous: bool) -> None:
    def build(index: int, getter: Any) -> Any:
        settings: dict[str, Any] = {"moving_rate": 0.25, "rho": 0.0, "synchronous": synchronous}
        return opt.ElasticAverageOptimizer(descent(), 2, getter, communication_period=2, **settings)

    with workers(shared, opt.ElasticAverageCustomGetter, build) as (first, second):
        first.train(1.0, steps=2)
        assert first.values() == pytest.approx([9.85, 9.95, 1])
        second.train(3.0)
        assert second.values() == pytest.approx([9.7, 9.95, 1])
        second.train(3.0)
        assert second.values() == pytest.approx([9.5375, 9.8125, 2])
