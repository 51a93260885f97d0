"""MirroredStrategy: several replicas in one graph train as one does with the whole batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

CONFIG = tf.ConfigProto(device_count={"CPU": 3})
RNG = np.random.default_rng(0)
X = RNG.normal(size=(36, 3)).astype("f")
Y = X.sum(1, keepdims=True)
DEVICES = ["/cpu:0", "/cpu:1", "/cpu:2"]
Optimizers = Callable[[], tf.train.Optimizer]


def loss_of(x: Any, y: Any) -> Any:
    with tf.variable_scope("model"):
        hidden = tf.layers.dense(x, 4, activation=tf.nn.tanh)
        output = tf.layers.dense(hidden, 1)
    return tf.reduce_sum((output - y) ** 2) / 6.0


def train(strategy: Any, optimizer: Optimizers, steps: int = 5) -> tuple[list[float], dict[str, Any]]:
    """The losses, and the variables at the end; all copies of a variable must be equal."""
    with tf.Graph().as_default(), strategy.scope():
        tf.set_random_seed(1)
        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(6).repeat()
        iterator = strategy.make_dataset_iterator(dataset)
        step = tf.train.get_or_create_global_step()

        def replica(batch: Any) -> Any:
            loss = loss_of(*batch)
            with tf.control_dependencies([optimizer().minimize(loss, global_step=step)]):
                return tf.identity(loss)

        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.experimental_run(replica, iterator))
        with tf.Session(config=CONFIG) as session:
            session.run([iterator.initialize(), tf.global_variables_initializer()])
            losses = [session.run(loss) for _ in range(steps)]
            found = {v.op.name: session.run(v) for v in tf.global_variables()}
            for variable in tf.global_variables():
                copies = session.run([copy.value() for copy in getattr(variable, "values", [])])
                for copy in copies:
                    np.testing.assert_array_equal(copy, copies[0])
    return losses, found


@pytest.mark.parametrize(
    ("optimizer", "across"),
    [
        (lambda: tf.train.AdamOptimizer(0.05), None),
        (lambda: tf.train.MomentumOptimizer(0.05, 0.9), tf.distribute.HierarchicalCopyAllReduce(2)),
        (lambda: tf.train.GradientDescentOptimizer(0.1), tf.distribute.ReductionToOneDevice("/cpu:2")),
    ],
)
def test_replicas_train_as_one_with_the_whole_batch(optimizer: Optimizers, across: Any) -> None:
    losses, expected = train(tf.distribute.OneDeviceStrategy("/cpu:0"), optimizer)
    found, values = train(tf.distribute.MirroredStrategy(DEVICES, across), optimizer)
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    assert values.keys() == expected.keys()  # as names in checkpoints
    for name, value in expected.items():
        np.testing.assert_allclose(values[name], value, rtol=1e-3, atol=1e-5)


def test_variables_and_values_of_replicas() -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        total = tf.get_variable("total", initializer=0.0, aggregation=tf.VariableAggregation.SUM)
        mean = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
        first = tf.Variable(5.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        seen = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        plain = tf.Variable(0.0)
        assert strategy.num_replicas_in_sync == 2
        assert [copy.device for copy in total.values] == ["/device:CPU:0", "/device:CPU:1"]
        assert tf.trainable_variables() == [total, mean, first, plain]
        assert [v.op.name for v in total.values] == ["total", "total/replica_1"]

    def replica(factor: float) -> Any:
        context = tf.distribute.get_replica_context()
        number = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1
        changed = [v.assign_add(number * factor) for v in (total, mean, first, seen)]
        with pytest.raises(ValueError, match="must specify an aggregation method"):
            plain.assign(1.0)
        assert context.num_replicas_in_sync == 2
        with tf.control_dependencies(changed):
            return {"number": number, "all": context.all_reduce("sum", number), "changed": changed}

    result = strategy.experimental_run_v2(replica, args=(10.0,))
    with strategy.scope():
        values = [total.read_value(), mean.read_value(), first.read_value(), seen.read_value()]
        across = strategy.extended.update(plain, lambda v, x: v.assign(x), args=(7.0,))
    with tf.Session(config=CONFIG) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(list(strategy.unwrap(result["number"]))) == [1.0, 2.0]
        assert session.run(list(strategy.unwrap(result["all"]))) == [3.0, 3.0]
        assert session.run([strategy.reduce(op, result["number"]) for op in ("sum", "MEAN")]) == [3.0, 1.5]
        session.run(tf.global_variables_initializer())
        session.run(strategy.group(result))
        assert session.run(values) == [30.0, 15.0, 15.0, 30.0]
        assert session.run(list(total.values)) == [30.0, 30.0]
        assert session.run(list(seen.values)) == [10.0, 20.0]
        session.run(across)
        assert session.run(list(plain.values)) == [7.0, 7.0]
    with pytest.raises(ValueError, match="cannot be reduced"):
        strategy.reduce("sum", 1.0)


def test_names_of_variables_and_layers_are_those_of_one_replica() -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])

    def replica() -> Any:
        with tf.name_scope("here"):
            x = tf.layers.dense(tf.layers.dense(tf.ones([2, 2]), 3), 1)
            return x * tf.Variable(2.0, name="v")

    result = strategy.experimental_run_v2(replica)
    assert [v.op.name for v in tf.global_variables()] == [
        *("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias", "here/v"),
    ]
    first, second = (value.op.name for value in strategy.unwrap(result))
    assert second.startswith("replica_1/here/")
    assert first.startswith("here/")


def test_a_replica_that_fails_ends_the_others() -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])

    def replica() -> Any:
        context = tf.distribute.get_replica_context()
        context.merge_call(lambda strategy: None)
        if context.devices[0].endswith("1"):
            raise KeyError("in a replica")
        context.merge_call(lambda strategy: None)

    with pytest.raises(KeyError, match="in a replica"):
        strategy.experimental_run_v2(replica)
    assert tf.distribute.in_cross_replica_context() is False  # the default strategy's replica again
    assert tf.get_default_graph().get_name_scope() == ""

    def uneven() -> Any:
        context = tf.distribute.get_replica_context()
        if context.devices[0].endswith("0"):
            context.merge_call(lambda strategy: None)

    with pytest.raises(RuntimeError, match="Some replicas ended"):
        strategy.experimental_run_v2(uneven)
    with pytest.raises(ValueError, match="must differ"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:0"])


def test_a_batch_is_divided_and_an_input_function_is_not() -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])
    divided = strategy.make_dataset_iterator(tf.data.Dataset.range(7).batch(5))
    parts = divided.get_next()
    assert parts.values[0].shape.as_list() == [None]
    iterator = strategy.make_input_fn_iterator(lambda context: tf.data.Dataset.range(4).batch(2))
    elements = iterator.get_next()
    with tf.Session(config=CONFIG) as session:
        session.run([divided.initialize(), iterator.initialize()])
        assert [part.tolist() for part in session.run(list(parts.values))] == [[0, 1, 2], [3, 4]]
        assert [part.tolist() for part in session.run(list(parts.values))] == [[5], [6]]
        assert [part.tolist() for part in session.run(list(elements.values))] == [[0, 1], [2, 3]]


def test_checkpoints_are_those_of_one_replica(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session(config=CONFIG) as session:
        v = tf.get_variable("v", initializer=3.0)
        seen = tf.get_variable("seen", initializer=8.0)
        session.run([v.initializer, seen.initializer])
        tf.train.Saver().save(session, path)
    strategy = tf.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        v = tf.get_variable("v", initializer=0.0)
        seen = tf.get_variable(
            "seen",
            initializer=0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
    saver = tf.train.Saver()
    with tf.Session(config=CONFIG) as session:
        saver.restore(session, path)
        assert session.run([*v.values, *seen.values]) == [3.0, 3.0, 4.0, 4.0]
        assert session.run(seen) == 8.0
        again = saver.save(session, path, global_step=1)
    assert sorted(tf.train.list_variables(again)) == [("seen", []), ("v", [])]
    assert tf.train.load_variable(again, "seen") == 8.0


def test_an_estimator_trains_by_a_strategy(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: Any) -> Any:
        hidden = tf.layers.batch_normalization(
            tf.layers.dense(features, 3, kernel_initializer=tf.ones_initializer()),
            training=mode == tf.estimator.ModeKeys.TRAIN,
        )
        output = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
        loss = tf.losses.mean_squared_error(labels, output)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        tf.summary.scalar("seen", loss)
        metrics = {"error": tf.metrics.mean_squared_error(labels, output)}
        return tf.estimator.EstimatorSpec(mode, output, loss, train_op, metrics)

    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(6)

    found = []
    for name, strategy in (
        ("one", tf.distribute.OneDeviceStrategy("/cpu:0")),
        ("two", tf.distribute.MirroredStrategy(DEVICES[:2])),
    ):
        config = tf.estimator.RunConfig(
            str(tmp_path / name), tf_random_seed=1, train_distribute=strategy, session_config=CONFIG
        )
        estimator = tf.estimator.Estimator(model_fn, config=config)
        estimator.train(input_fn, steps=60)
        found.append(estimator.evaluate(input_fn, steps=6))
        assert found[-1]["global_step"] == 60
    names = set(estimator.get_variable_names())
    assert "batch_normalization/moving_mean" in names
    assert not [name for name in names if "replica" in name]
    assert found[0]["error"] < 1
    assert found[1]["error"] < 1


def test_a_replica_whose_cleanup_calls_merge_call_ends_with_the_others() -> None:
    strategy = tf.distribute.MirroredStrategy(DEVICES)

    def replica() -> None:
        context = tf.distribute.get_replica_context()
        if context._id == 1:
            raise ValueError("of the second replica")
        try:
            context.merge_call(lambda _: None)
        finally:
            context.merge_call(lambda _: None)

    errors: list[BaseException] = []

    def build() -> None:
        with tf.Graph().as_default():
            try:
                strategy.experimental_run_v2(replica)
            except ValueError as e:
                errors.append(e)

    thread = threading.Thread(target=build, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert [str(e) for e in errors] == ["of the second replica"]


def test_replicas_end_where_a_thread_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if not thread.name.startswith("replica"):
            start(thread)
            return
        if started:
            raise RuntimeError("can't start new thread")
        start(thread)
        started.append(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="can't start"):
        tf.distribute.MirroredStrategy(DEVICES).experimental_run_v2(lambda: None)
    started[0].join(30)
    assert not started[0].is_alive()


def test_central_storage_trains_as_one_with_the_whole_batch() -> None:
    for optimizer in (lambda: tf.train.AdamOptimizer(0.05), lambda: tf.train.GradientDescentOptimizer(0.1)):
        losses, expected = train(tf.distribute.OneDeviceStrategy("/cpu:0"), optimizer)
        strategy = tf.distribute.experimental.CentralStorageStrategy(DEVICES, "/cpu:1")
        found, values = train(strategy, optimizer)
        np.testing.assert_allclose(found, losses, rtol=1e-4)
        assert values.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(values[name], value, rtol=1e-3, atol=1e-5)


def test_central_storage_has_one_copy_of_each_variable() -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(DEVICES[:2], "/cpu:2")
    assert strategy.num_replicas_in_sync == 2
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)

        def replica() -> Any:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return tf.get_variable("w", initializer=2.0) * v + tf.to_float(number)

        results = strategy.experimental_local_results(strategy.run(replica))
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(lambda: v * 3.0))
        update = strategy.extended.update(v, lambda var, x: var.assign_add(x), args=(total,))
    assert {variable.device for variable in tf.global_variables()} == {"/device:CPU:2"}
    assert [result.device for result in results] == ["/device:CPU:0", "/device:CPU:1"]
    assert [variable.op.name for variable in tf.global_variables()] == ["v", "w"]
    with tf.Session(config=CONFIG) as session:
        session.run(tf.global_variables_initializer())
        assert session.run([*results, total]) == [2.0, 3.0, 6.0]
        session.run(update)
        assert session.run(v) == 7.0


def test_replicas_on_the_workers_of_a_cluster(fleet: Any) -> None:
    devices = ["/job:worker/task:0", "/job:worker/task:1"]
    strategies = {
        "mirrored": tf.distribute.MirroredStrategy(devices),
        "central": tf.distribute.experimental.CentralStorageStrategy(devices, "/job:ps/task:0"),
    }
    expected: list[float] = []
    for name, strategy in {
        "one": tf.distribute.OneDeviceStrategy("/job:worker/task:0"),
        **strategies,
    }.items():
        with tf.Graph().as_default(), strategy.scope():
            tf.set_random_seed(1)
            iterator = strategy.make_dataset_iterator(
                tf.data.Dataset.from_tensor_slices((X, Y)).batch(6).repeat()
            )

            def replica(batch: Any) -> Any:
                loss = loss_of(*batch)
                with tf.control_dependencies([tf.train.AdamOptimizer(0.05).minimize(loss)]):
                    return tf.identity(loss)

            each = strategy.experimental_run(replica, iterator)
            loss = strategy.reduce(tf.distribute.ReduceOp.SUM, each)
            with tf.Session(fleet.target("worker", 0)) as session:
                session.run([iterator.initialize(), tf.global_variables_initializer()])
                losses = [session.run(loss) for _ in range(4)]
                traced = tf.RunMetadata()
                options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
                session.run(loss, options=options, run_metadata=traced)
            places = {variable.device for variable in tf.trainable_variables()}
        expected = expected or losses
        np.testing.assert_allclose(losses, expected, rtol=1e-4)
        if name != "one":
            computed = {part.device.split("/device")[0] for part in traced.step_stats.dev_stats}
            assert {"/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"} <= computed
        if name == "central":
            assert places == {"/job:ps/task:0"}
