"""Tensors on their way between client, master and tasks arrive as they were."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tensorfleet as tf
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

NUMERIC = [
    np.float16, ml_dtypes.bfloat16, np.float32, np.float64,
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.bool_, np.complex64, np.complex128,
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(), (0,), (3,), (2, 0, 3), (2, 3, 4), (5000,), (1, 1, 1, 1, 1, 1, 1)]


def through_all_tasks(x: Any) -> Any:
    """A tensor that goes from worker 0 to the ps, to worker 1, and back."""
    for task in ("/job:worker/task:0", "/job:ps/task:0", "/job:worker/task:1", "/job:worker/task:0"):
        with tf.device(task):
            x = tf.identity(x)
    return x


def sample(dtype: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    numbers = np.random.default_rng(1).integers(0, 120, shape)
    if np.dtype(dtype).kind == "c":
        return np.asarray(numbers - 1j * numbers).astype(dtype)
    if np.dtype(dtype) == bool:
        return np.asarray(numbers % 2).astype(dtype)
    return np.asarray(numbers).astype(dtype)


def test_every_dtype_and_shape_arrives_unchanged(shared: Cluster) -> None:
    values = [sample(dtype, shape) for dtype in NUMERIC for shape in SHAPES]
    with tf.Graph().as_default():
        fed = [tf.placeholder(value.dtype, value.shape) for value in values]
        results = [through_all_tasks(x) for x in fed]
        with tf.Session(shared.target()) as session:
            got = session.run(results, dict(zip(fed, values, strict=True)))
    for value, result in zip(values, got, strict=True):
        assert result.dtype == value.dtype
        assert result.shape == value.shape
        assert result.tobytes() == value.tobytes()


def test_special_numbers_keep_their_bits(shared: Cluster) -> None:
    value = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324], np.float64)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [None])
        y = through_all_tasks(x)
        with tf.Session(shared.target()) as session:
            assert session.run(y, {x: value}).tobytes() == value.tobytes()


@pytest.mark.parametrize(
    "value",
    [
        np.array(b"one", object),
        np.array([], object),
        np.array([[b"", b"\x00\xff", b"a" * 300], ["ä".encode(), b"x", b"\n"]], object),
        np.array([b"k" * 1000] * 1000, object),
    ],
    ids=["scalar", "empty", "matrix", "large"],
)
def test_strings_arrive_unchanged(shared: Cluster, value: Any) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.string, value.shape)
        y = through_all_tasks(x)
        with tf.Session(shared.target()) as session:
            got = session.run(y, {x: value})
    assert np.asarray(got, object).tolist() == value.tolist()
    assert np.shape(got) == value.shape


def test_large_tensors_arrive_unchanged_and_side_by_side(shared: Cluster) -> None:
    values = [np.random.default_rng(i).random(5 << 20, np.float32) for i in range(2)]
    with tf.Graph().as_default():
        fed = [tf.placeholder(tf.float32, [None]) for _ in values]
        results = [through_all_tasks(x) for x in fed]
        with tf.Session(shared.target()) as session:
            got = session.run(results, dict(zip(fed, values, strict=True)))
    for value, result in zip(values, got, strict=True):
        np.testing.assert_array_equal(result, value)


def test_views_arrive_as_what_they_show(shared: Cluster) -> None:
    whole = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for value in (whole.T, whole[:, ::2], whole[..., 1], np.broadcast_to(np.float32(3), (4, 5))):
        with tf.Graph().as_default():
            x = tf.placeholder(value.dtype, value.shape)
            y = through_all_tasks(x)
            with tf.Session(shared.target()) as session:
                np.testing.assert_array_equal(session.run(y, {x: value}), value)


def test_one_tensor_goes_to_many_users(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [None])
        with tf.device("/job:ps/task:0"):
            root = x * 2
        sums = []
        for i in range(20):
            with tf.device(f"/job:worker/task:{i % 2}"):
                sums.append(root + i)
        with tf.Session(shared.target()) as session:
            got = session.run([root, *sums], {x: [1, 2]})
    np.testing.assert_array_equal(got[0], [2, 4])
    for i, value in enumerate(got[1:]):
        np.testing.assert_array_equal(value, np.array([2, 4]) + i)


def test_a_long_chain_back_and_forth(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = y = tf.placeholder(tf.int64, [])
        for i in range(100):
            with tf.device(f"/job:worker/task:{i % 2}"):
                y = y + 1
        with tf.Session(shared.target()) as session:
            for start in range(5):
                assert session.run(y, {x: start}) == start + 100


def test_control_edges_order_tasks(shared: Cluster) -> None:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(0, name="control_order", dtype=tf.int32)
        with tf.device("/job:worker/task:1"):
            x = tf.placeholder(tf.int32, [])
            first = tf.identity(x)
        with tf.control_dependencies([first]), tf.device("/job:ps/task:0"):
            add = tf.assign_add(v, 5)
        with tf.control_dependencies([add]), tf.device("/job:worker/task:0"):
            between = tf.no_op()
        with tf.control_dependencies([between]), tf.device("/job:ps/task:0"):
            read = v.read_value()
        with tf.control_dependencies([read]), tf.device("/job:worker/task:1"):
            done = tf.no_op()
        with tf.Session(shared.target()) as session:
            session.run(v.initializer)
            for i in range(1, 20):
                assert session.run([read, done], {x: i})[0] == 5 * i


def test_feeding_and_fetching_on_every_task_keeps_the_order(shared: Cluster) -> None:
    with tf.Graph().as_default():
        fed, results = [], []
        for i in range(9):
            with tf.device(("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1")[i * 2 % 3]):
                fed.append(tf.placeholder(tf.int32, []))
                results.append(fed[-1] * 10)
        with tf.Session(shared.target()) as session:
            feeds = {fed[i]: i for i in (4, 2, 8, 0, 6, 1, 3, 5, 7)}
            order = [3, 1, 8, 0, 7, 2, 6, 5, 4, 3]
            assert session.run([results[i] for i in order], feeds) == [10 * i for i in order]


def test_a_handle_is_refused_as_often_as_it_is_asked_for(shared: Cluster) -> None:
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            w = tf.get_variable("w", initializer=tf.ones([3]), use_resource=True)
        with tf.Session(shared.target()) as session:
            session.run(w.initializer)
            for _ in range(3):
                with pytest.raises(tf.errors.InvalidArgumentError, match="w:0 is a resource, which stays"):
                    session.run("w:0")
            assert session.run(w).tolist() == [1, 1, 1]


def test_tensors_of_rank_40_arrive(shared: Cluster) -> None:
    value = np.arange(4, dtype=np.float32).reshape([2] + [1] * 38 + [2])
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, value.shape)
        y = through_all_tasks(x)
        with tf.Session(shared.target()) as session:
            got = session.run(y, {x: value})
    assert got.shape == value.shape
    assert got.tolist() == value.tolist()
