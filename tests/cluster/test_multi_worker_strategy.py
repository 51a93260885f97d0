"""MultiWorkerMirroredStrategy: workers with a graph each train as one would with the batches of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.distribute.multi_worker import WorkersExtended
from tests.cluster.together import Servers, on_each, soon

pytestmark = pytest.mark.cluster

WORKERS = 2
STEPS = 4
ROWS = 6  # of all workers' batch


@pytest.fixture(scope="module")
def cluster() -> Iterator[Servers]:
    made = Servers(WORKERS, cpus=2)
    yield made
    soon(lambda: not made.remembered(), "all collectives forgotten", 10.0)
    made.stop()


def strategy(worker: int, replicas: int = 1) -> Any:
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["unused:1"] * WORKERS}), task_type="worker", task_id=worker
    )

    class OnProcessors(tf.distribute.experimental.MultiWorkerMirroredStrategy):
        def _own_devices(self) -> list[str]:
            return [f"/cpu:{n}" for n in range(replicas)]

    return OnProcessors(cluster_resolver=resolver)


def rows(seed: int = 0) -> tuple[Any, Any]:
    source = np.random.default_rng(seed)
    x = source.standard_normal((STEPS, ROWS, 5)).astype(np.float32)
    return x.reshape(-1, 5), source.integers(0, 7, STEPS * ROWS)


def loss_of(x: Any, ids: Any, seed: int) -> Any:
    """The mean over rows of a model with dense and sparse gradients."""
    source = np.random.default_rng(seed)
    table = tf.get_variable("table", initializer=source.standard_normal((7, 5)).astype(np.float32))
    w = tf.get_variable("w", initializer=source.standard_normal((5, 2)).astype(np.float32))
    return tf.reduce_mean(tf.square(tf.matmul(x + tf.gather(table, ids), w)))


def alone(optimizer: Any) -> tuple[list[float], list[Any]]:
    with tf.Graph().as_default():
        x, ids = tf.data.Dataset.from_tensor_slices(rows()).batch(ROWS).make_one_shot_iterator().get_next()
        loss = loss_of(x, ids, 0)
        train = optimizer().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train])[0] for _ in range(STEPS)]
            return losses, session.run(tf.trainable_variables())


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("name", ["GradientDescentOptimizer", "AdamOptimizer"])
def test_workers_train_as_one_with_the_whole_batch(cluster: Servers, name: str, replicas: int) -> None:
    def optimizer() -> Any:
        return getattr(tf.train, name)(0.05)

    def worker(number: int) -> Any:
        with tf.Graph().as_default():
            spread = strategy(number, replicas)
            assert spread.num_replicas_in_sync == WORKERS * replicas
            with spread.scope():
                tf.train.get_or_create_global_step()
                if replicas == 1:
                    dataset = tf.data.Dataset.from_tensor_slices(rows()).batch(ROWS)
                    iterator = spread.make_dataset_iterator(dataset)
                else:  # the whole batch goes to each replica once
                    dataset = tf.data.Dataset.from_tensor_slices(rows()).batch(ROWS)
                    dataset = dataset.flat_map(lambda *e: tf.data.Dataset.from_tensors(e).repeat(replicas))
                    iterator = spread.make_input_fn_iterator(lambda context: dataset)

                def step(element: Any) -> Any:
                    # Only the chief's initial values count.
                    loss = loss_of(*element, seed=number)
                    part = loss / spread.num_replicas_in_sync
                    train = optimizer().minimize(part, tf.train.get_global_step())
                    with tf.control_dependencies([train]):
                        return tf.identity(loss)

                loss = spread.reduce("MEAN", spread.experimental_run_v2(step, (iterator.get_next(),)))
                hook = spread.make_session_run_hook()
                with tf.train.MonitoredSession(
                    tf.train.ChiefSessionCreator(master=cluster.target(number)), [hook]
                ) as session:
                    session.run_step_fn(lambda step_context: step_context.session.run(iterator.initialize()))
                    losses = [session.run(loss) for _ in range(STEPS)]
                    held = session.run_step_fn(
                        lambda step_context: step_context.session.run(tf.trainable_variables())
                    )
                    counted = session.run_step_fn(
                        lambda step_context: step_context.session.run(tf.train.get_global_step())
                    )
                return losses, held, counted

    expected_losses, expected = alone(optimizer)
    results = on_each(WORKERS, worker)
    assert not [result for result in results if isinstance(result, Exception)]
    for losses, held, counted in results:
        assert counted == STEPS
        np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
        for value, wanted in zip(held, expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6)
    for first, second in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_array_equal(first, second)


def test_values_are_reduced_over_all_replicas(cluster: Servers) -> None:
    def worker(number: int) -> Any:
        with tf.Graph().as_default():
            spread = strategy(number, 2)
            sync, mean = tf.VariableSynchronization.AUTO, tf.VariableAggregation.MEAN
            with spread.scope():
                v = tf.get_variable("v", initializer=0.0, synchronization=sync, aggregation=mean)

            def replica() -> Any:
                context = tf.distribute.get_replica_context()
                me = tf.cast(context.replica_id_in_sync_group, tf.float32)
                return (
                    context.all_reduce("SUM", me),
                    context.num_replicas_in_sync,
                    v.assign(me),
                    tf.stack([me, 1.0]),
                )

            total, replicas, assigned, pairs = spread.experimental_run_v2(replica)
            fetches = [
                spread.reduce("SUM", total),
                spread.reduce("MEAN", total),
                spread.reduce("SUM", pairs, axis=0),
                spread.reduce("MEAN", pairs, axis=0),
            ]
            assert replicas == 4
            with tf.Session(cluster.target(number)) as session:
                session.run(tf.global_variables_initializer())
                session.run(spread.group(assigned))
                return [*session.run(fetches), session.run(v)]

    for result in on_each(WORKERS, worker):
        np.testing.assert_allclose(result, [24, 6, 10, 1.25, 1.5])


def test_an_input_function_knows_its_worker() -> None:
    seen: list[Any] = []
    for worker in range(WORKERS):
        with tf.Graph().as_default():
            strategy(worker, 2).make_input_fn_iterator(
                lambda context: seen.append(context) or tf.data.Dataset.range(3)
            )
    told = [(c.num_input_pipelines, c.input_pipeline_id, c.num_replicas_in_sync) for c in seen]
    assert told == [(2, 0, 4), (2, 1, 4)]


def test_who_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(job: str, index: int) -> Any:
        tasks = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
        config = {"cluster": tasks, "task": {"type": job, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        return tf.distribute.experimental.MultiWorkerMirroredStrategy()

    chief, worker = made("chief", 0).extended, made("worker", 1).extended
    assert isinstance(chief, WorkersExtended)
    assert isinstance(worker, WorkersExtended)
    assert (chief.worker, worker.worker, worker.worker_count) == (0, 2, 3)
    assert (chief.should_checkpoint, worker.should_checkpoint) == (True, False)
    assert worker.worker_devices == ("/job:worker/task:1/device:CPU:0",)
    assert made("evaluator", 0).num_replicas_in_sync == 1
    with pytest.raises(ValueError, match="this process is 'ps' 0"):
        made("ps", 0)


def test_estimators_keep_in_step(cluster: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each worker's estimator begins with the chief's values, and the chief alone writes."""

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        loss = loss_of(features, labels, config.task_id)
        train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def batches(input_context: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(rows()).batch(ROWS // WORKERS)
        return dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)

    addresses = [cluster.target(number).removeprefix("grpc://") for number in range(WORKERS)]
    configs = []
    for number in range(WORKERS):
        task = {"type": "worker", "index": number}
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": addresses}, "task": task}))
        spread = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        configs.append(tf.estimator.RunConfig(str(tmp_path / str(number)), train_distribute=spread))
    assert [config.is_chief for config in configs] == [True, False]
    assert [config.num_worker_replicas for config in configs] == [2, 2]
    assert [config.global_id_in_cluster for config in configs] == [0, 1]

    def worker(number: int) -> Any:
        kept: list[Any] = []

        class Keep(tf.train.SessionRunHook):
            def begin(self) -> None:
                self.variables = tf.trainable_variables()

            def end(self, session: Any) -> None:
                kept.extend(session.run(self.variables))

        tf.estimator.Estimator(model_fn, config=configs[number]).train(batches, hooks=[Keep()], steps=STEPS)
        return kept

    for kept in on_each(WORKERS, worker):
        _, expected = alone(lambda: tf.train.GradientDescentOptimizer(0.05))
        for value, wanted in zip(kept, expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6)
    assert tf.train.latest_checkpoint(str(tmp_path / "0")) == str(tmp_path / "0" / f"model.ckpt-{STEPS}")
    assert tf.train.latest_checkpoint(str(tmp_path / "1")) is None
