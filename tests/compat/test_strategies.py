"""Strategies of one replica: the same programs with TensorFlow and with TensorFleet."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet


def places(tf: Any) -> list[Any]:
    """What is said of the place where code is built."""
    d = tf.distribute
    replica = d.get_replica_context()
    return [
        d.has_strategy(),
        d.in_cross_replica_context(),
        replica is None or replica.num_replicas_in_sync,
        d.get_strategy().num_replicas_in_sync,
        d.get_loss_reduction().name,
    ]


def program(tf: Any) -> list[Any]:
    d = tf.distribute
    seen: list[Any] = [places(tf)]
    with tf.Graph().as_default(), tf.Session() as session:
        strategy = d.OneDeviceStrategy("/cpu:0")
        with strategy.scope():
            seen += [places(tf), d.get_strategy() is strategy]
            v = tf.get_variable("v", initializer=2.0)

        def replica(x: Any) -> Any:
            context = d.get_replica_context()
            seen.extend([places(tf), len(context.devices), context.strategy is strategy])
            total = context.all_reduce(d.ReduceOp.SUM, x * v)

            def merged(strategy: Any, value: Any) -> Any:
                seen.append(places(tf))
                return value + 1.0

            return {
                "result": context.merge_call(merged, args=(total,)),
                "id": context.replica_id_in_sync_group,
            }

        iterator = strategy.make_input_fn_iterator(
            lambda context: tf.data.Dataset.range(context.num_replicas_in_sync * 3)
        )
        result = strategy.run(replica, args=(3.0,))
        added = strategy.extended.update(v, lambda var, x: var.assign_add(x), args=(1.0,))
        fetches = [
            result,
            strategy.reduce(d.ReduceOp.MEAN, result["result"]),
            strategy.reduce("sum", tf.constant([1.0, 2.0]), axis=0),
            strategy.reduce(d.ReduceOp.MEAN, tf.constant([1.0, 2.0]), axis=0),
            strategy.unwrap(result["result"]),
            strategy.experimental_local_results(result["id"]),
            strategy.experimental_run(lambda x: x + 1, iterator),
        ]
        session.run([v.initializer, iterator.initialize()])
        seen += [session.run(fetches), session.run(added), session.run(strategy.extended.read_var(v))]
        seen += [session.run(strategy.experimental_run(lambda x: x * 10, iterator)) for _ in range(2)]
        for call in (lambda: strategy.run(1), lambda: strategy.reduce("median", 1.0, axis=None)):
            try:
                call()
            except (TypeError, ValueError) as error:
                seen.append(type(error).__name__)
        context = d.InputContext(2, 1, 4)
        seen += [str(context), context.get_per_replica_batch_size(8)]
        with pytest.raises(ValueError, match="not divisible"):
            context.get_per_replica_batch_size(7)
        with pytest.raises(RuntimeError, match="Must not be called inside"), strategy.scope():
            d.experimental_set_strategy(strategy)
        default = d.get_strategy()
        seen += [default.run(lambda x: x, args=(1,)), default.reduce("SUM", 1.0, axis=None)]
    return [*seen, places(tf)]


def test_one_device() -> None:
    assert program(fleet) == program(real)


def test_a_strategy_for_the_rest_of_the_program() -> None:
    d = fleet.distribute
    strategy = d.OneDeviceStrategy("/cpu:0")
    try:
        d.experimental_set_strategy(strategy)
        assert d.get_strategy() is strategy
        d.experimental_set_strategy(strategy)
    finally:
        d.experimental_set_strategy(None)
    assert not d.has_strategy()
