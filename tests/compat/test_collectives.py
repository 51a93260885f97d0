"""Collectives beside TensorFlow's: signatures, refused arguments, and what the devices of one process get."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow.python.ops import collective_ops as real_ops

import tensorfleet as fleet
from tensorfleet.ops.collective import collective_ops as fleet_ops

real.disable_v2_behavior()

pytestmark = pytest.mark.slow

FUNCTIONS = [
    *("all_reduce", "all_reduce_v2", "all_gather", "all_gather_v2", "broadcast_send", "broadcast_send_v2"),
    *("broadcast_recv", "broadcast_recv_v2"),
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in (fleet_ops, real_ops))
    assert [(p.name, p.default, p.kind) for p in ours.values()] == [
        (p.name, p.default, p.kind) for p in theirs.values()
    ]


def nodes(tf: Any, ops: Any, make: Callable[..., Any]) -> Any:
    """The node that a call makes, with its shape, or how it is refused."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        size = tf.placeholder(tf.int32, [], name="size")
        try:
            made = make(tf, ops, x, size)
        except (TypeError, ValueError) as e:
            text = str(e).partition(" for '{{node")[0]
            # How an attribute's value is refused is the same for all ops, and not compared here.
            return type(e).__name__, "attr" if "ttr '" in text else text
        node = made.op.node_def
        attrs = {key: attr.SerializeToString() for key, attr in node.attr.items() if key != "T"}
        return node.name, node.op, list(node.input), attrs, str(made.shape), made.dtype.name


CALLS: dict[str, Callable[..., Any]] = {
    "reduce": lambda tf, ops, x, size: ops.all_reduce(x, 2, 3, 4),
    "reduce, all arguments": lambda tf, ops, x, size: ops.all_reduce(
        x, 2, 3, 4, "Min", "Div", [0, 2], "RING", 1.5
    ),
    "reduce, size": lambda tf, ops, x, size: ops.all_reduce(x, 0, 3, 4),
    "reduce, op": lambda tf, ops, x, size: ops.all_reduce(x, 2, 3, 4, "Sub"),
    "reduce, final op": lambda tf, ops, x, size: ops.all_reduce(x, 2, 3, 4, final_op="Mean"),
    "reduce v2": lambda tf, ops, x, size: ops.all_reduce_v2(x, size, 3, 4, max_subdivs_per_device=0),
    "gather": lambda tf, ops, x, size: ops.all_gather(x, 2, 3, 4),
    "gather, size": lambda tf, ops, x, size: ops.all_gather(x, -2, 3, 4),
    "gather, rank": lambda tf, ops, x, size: ops.all_gather(size, 2, 3, 4),
    "gather v2": lambda tf, ops, x, size: ops.all_gather_v2(x, size, 3, 4, name="all"),
    "send": lambda tf, ops, x, size: ops.broadcast_send(x, [2, 3], tf.float32, 2, 3, 4),
    "send, size": lambda tf, ops, x, size: ops.broadcast_send(x, [2, 3], tf.float32, 1, 3, 4),
    "send, shape": lambda tf, ops, x, size: ops.broadcast_send(x, [2, 4], tf.float32, 2, 3, 4),
    "send, dtype": lambda tf, ops, x, size: ops.broadcast_send(x, [2, 3], tf.int32, 2, 3, 4),
    "send v2": lambda tf, ops, x, size: ops.broadcast_send_v2(x, size, 3, 4),
    "receive": lambda tf, ops, x, size: ops.broadcast_recv([2], tf.bool, 2, 3, 4),
    "receive, size": lambda tf, ops, x, size: ops.broadcast_recv([2], tf.bool, 0, 3, 4),
    "receive v2": lambda tf, ops, x, size: ops.broadcast_recv_v2([2, 5], tf.bool, 2, 3, 4),
    "receive v2, rank": lambda tf, ops, x, size: ops.broadcast_recv_v2(size, tf.bool, 2, 3, 4),
}


@pytest.mark.parametrize("call", CALLS)
def test_nodes(call: str) -> None:
    assert nodes(fleet, fleet_ops, CALLS[call]) == nodes(real, real_ops, CALLS[call])


def run(tf: Any, ops: Any, count: int, build: Callable[..., Any]) -> list[Any]:
    """The values that `build` makes on each of so many devices of one process."""
    with tf.Graph().as_default():
        fetches = []
        for rank in range(count):
            with tf.device(f"/cpu:{rank}"):
                fetches.append(build(tf, ops, rank))
        options = tf.RunOptions()
        options.experimental.collective_graph_key = 1  # without it TensorFlow's steps do not find each other
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": count})) as session:
            return session.run(fetches, options=options)  # type: ignore[no-any-return]


def values(rank: int, size: int, dtype: str) -> Any:
    source = np.random.default_rng([rank, size])
    return (source.standard_normal(size) * 10).astype(dtype)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("merge_op", ["Add", "Mul", "Min", "Max"])
@pytest.mark.parametrize("final_op", ["Id", "Div"])
def test_reductions(count: int, dtype: str, merge_op: str, final_op: str) -> None:
    def build(tf: Any, ops: Any, rank: int) -> Any:
        return ops.all_reduce(tf.constant(values(rank, 11, dtype)), count, 1, 1, merge_op, final_op)

    ours, theirs = run(fleet, fleet_ops, count, build), run(real, real_ops, count, build)
    for result, expected in zip(ours, theirs, strict=True):
        assert result.dtype == expected.dtype
        # TensorFlow adds in an order of its own.
        tolerance = 0 if np.dtype(dtype).kind == "i" else 4 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * 20)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_gathering_and_broadcast(count: int, dtype: str) -> None:
    def build(tf: Any, ops: Any, rank: int) -> Any:
        x = tf.reshape(tf.constant(values(rank, 6, dtype)), [2, 3])
        given = (
            ops.broadcast_send(x, [2, 3], x.dtype, count, 1, 2)
            if rank == 1
            else ops.broadcast_recv([2, 3], x.dtype, count, 1, 2)
        )
        return ops.all_gather(x, count, 1, 1), given

    ours, theirs = run(fleet, fleet_ops, count, build), run(real, real_ops, count, build)
    for (gathered, given), (gathered_there, given_there) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(gathered, gathered_there)
        np.testing.assert_array_equal(given, given_there)
