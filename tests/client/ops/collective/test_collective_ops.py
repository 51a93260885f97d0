"""Collectives as nodes: arguments, shapes, keys, and how gradients are packed."""

from __future__ import annotations

from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet import distribute
from tensorfleet.ops.collective import collective_ops


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_nodes_and_shapes() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    some = tf.placeholder(tf.float32, [None, 3])
    size = tf.placeholder(tf.int32, [])
    assert collective_ops.all_reduce(x, 2, 1, 1).shape == [2, 3]
    gathered = collective_ops.all_gather(x, 3, 1, 2, communication_hint="RING", timeout=2.5)
    assert gathered.shape == [6, 3]
    assert gathered.op.get_attr("communication_hint") == b"ring"
    assert gathered.op.get_attr("timeout_seconds") == 2.5
    assert collective_ops.all_gather(some, 3, 1, 3).shape.as_list() == [None, 3]
    assert collective_ops.all_gather_v2(x, size, 1, 4, name="all").shape.as_list() == [None, 3]
    assert collective_ops.all_reduce_v2(x, size, 1, 5).shape == [2, 3]
    assert collective_ops.broadcast_send(x, [2, 3], tf.float32, 2, 1, 6).shape == [2, 3]
    assert collective_ops.broadcast_recv([4], tf.int32, 2, 1, 6).shape == [4]
    assert collective_ops.broadcast_send_v2(x, size, 1, 7).shape == [2, 3]
    received = collective_ops.broadcast_recv_v2([2, 3], tf.bool, size, 1, 7)
    assert received.shape == [2, 3]
    assert received.dtype == tf.bool


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: collective_ops.all_reduce(x, 0, 1, 1), "`group_size` to all_reduce must be at least 1"),
        (lambda x: collective_ops.all_gather(x, -1, 1, 1), "all_gather must be at least 1. Received: -1."),
        (
            lambda x: collective_ops.broadcast_send(x, [2, 3], tf.float32, 1, 1, 1),
            "broadcast_send must be at least 2",
        ),
        (
            lambda x: collective_ops.broadcast_recv([2], tf.float32, 1, 1, 1),
            "broadcast_send must be at least 2",
        ),
        (
            lambda x: collective_ops.broadcast_send(x, [2, 4], tf.float32, 2, 1, 1),
            "not equal to declared shape",
        ),
        (lambda x: collective_ops.broadcast_send(x, [2, 3], tf.int32, 2, 1, 1), "not equal to declared type"),
        (lambda x: collective_ops.all_reduce(x, 2, 1, 1, merge_op="add"), "merge_op"),
        (lambda x: collective_ops.all_gather(x[0, 0], 2, 1, 1), "at least rank 1 but is rank 0"),
    ],
)
def test_wrong_arguments(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(tf.placeholder(tf.float32, [2, 3]))


def test_no_gradients_through_collectives() -> None:
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(LookupError):
        tf.gradients(collective_ops.all_reduce(x, 2, 1, 1), x)


def variables(*specs: tuple[list[int], Any]) -> list[Any]:
    made = [tf.Variable(tf.zeros(dims, dtype)) for dims, dtype in specs]
    return [(tf.ones(v.shape, v.dtype.base_dtype), v) for v in made]


def reductions(graph: tf.Graph) -> list[Any]:
    return [op for op in graph.get_operations() if op.type == "CollectiveReduce"]


def test_gradients_are_packed_by_dtype_and_size(graph: tf.Graph) -> None:
    pairs = variables(
        ([10], tf.float32), ([4, 5], tf.float32), ([3], tf.float64), ([], tf.float32), ([100], tf.float32)
    )
    pairs.insert(2, (None, pairs[0][1]))
    means = distribute.all_reduce_gradients(pairs, 2, bucket_bytes=100)
    assert means[2][0] is None
    assert [var for _, var in means] == [var for _, var in pairs]
    for (mean, _), (grad, _) in zip(means, pairs, strict=True):
        if grad is not None:
            assert mean.shape == grad.shape
            assert mean.dtype == grad.dtype
    # From the last: the large one alone, the small ones together, the first does not fit any more.
    sizes = [op.outputs[0].shape.as_list() for op in reductions(graph)]
    assert sizes == [[100], [21], [3], [10]]
    keys = [op.get_attr("instance_key") for op in reductions(graph)]
    assert len(set(keys)) == len(keys)
    assert {op.get_attr("final_op") for op in reductions(graph)} == {b"Div"}


def test_graphs_of_different_workers_have_the_same_keys() -> None:
    def keys() -> list[int]:
        with tf.Graph().as_default() as graph:
            distribute.all_reduce_gradients(variables(([3], tf.float32)), 2)
            distribute.barrier(2)
            return [op.get_attr("instance_key") for op in reductions(graph)]

    assert keys() == keys()


@pytest.mark.parametrize("is_source", [False, True])
def test_variables_that_are_broadcast(graph: tf.Graph, is_source: bool) -> None:
    variables(([3], tf.float32), ([2], tf.int64))
    distribute.broadcast_variables(None, is_source, 2)
    kind = "CollectiveBcastSend" if is_source else "CollectiveBcastRecv"
    assert [op.type for op in graph.get_operations() if op.type.startswith("Collective")] == [kind] * 2


def test_what_collectives_do_not_take_is_named() -> None:
    (pair,) = variables(([3], tf.int8))
    with pytest.raises(ValueError, match="Variable:0: collectives do not support int8"):
        distribute.all_reduce_gradients([pair], 2)
    with pytest.raises(ValueError, match="Variable:0: collectives do not support int8"):
        distribute.broadcast_variables([pair[1]], True, 2)
    unknown = tf.Variable(tf.placeholder(tf.float32), validate_shape=False)
    with pytest.raises(ValueError, match="Variable_1:0 cannot be broadcast: its shape"):
        distribute.broadcast_variables([unknown], True, 2)
    with pytest.raises(ValueError, match="the variable's shape is unknown"):
        distribute.all_reduce_gradients([(tf.ones([2]), unknown)], 2)
    with pytest.raises(ValueError, match="num_workers must be at least 1"):
        distribute.CollectiveOptimizer(tf.train.GradientDescentOptimizer(0.1), 0, True)
