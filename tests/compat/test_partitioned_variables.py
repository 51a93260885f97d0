"""Partitioned variables beside TensorFlow's: names, values, gradients, slots, checkpoints, errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

import tensorfleet as ours

real.disable_v2_behavior()


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def use_resource(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def train(tf: Any, use_resource: bool, strategy: str, checkpoint: str) -> tuple[list[str], list[Any]]:
    """Names of all variables, and values before, between and after steps."""
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3), use_resource=use_resource):
            w = tf.get_variable("w", [7, 2], initializer=tf.random_uniform_initializer(seed=3))
            given = tf.get_variable("given", initializer=tf.constant(rows))
            scaled = tf.get_variable("scaled", [6, 2], initializer=tf.glorot_uniform_initializer(seed=1))
            scalar = tf.get_variable("scalar", [], initializer=tf.ones_initializer())
        product = tf.reduce_sum(tf.matmul(w, tf.ones([2, 1]))) + tf.reduce_sum(given) * scalar
        ids = tf.constant([[0, 6, 3], [3, 5, 1]])
        found = tf.nn.embedding_lookup(w, ids, partition_strategy=strategy)
        loss = product + tf.reduce_sum(tf.square(found))
        gradients = tf.gradients(product, [*w, *given, scalar])
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        doubled = given.assign(2 * rows)
        values = [tf.convert_to_tensor(v) for v in (w, given, scaled)]
        results = [values, found, [tf.convert_to_tensor(g) for g in gradients]]
        session.run(tf.global_variables_initializer())
        fetched = [session.run(results)]
        session.run(step)
        fetched += [session.run(results), session.run(doubled), session.run(values)]
        tf.train.Saver().save(session, checkpoint, write_meta_graph=False)
        return sorted(v.name for v in tf.global_variables()), fetched


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_training_is_tensorflows(use_resource: bool, strategy: str, tmp_path: Path) -> None:
    names, values = train(ours, use_resource, strategy, str(tmp_path / "ours"))
    expected_names, expected = train(real, use_resource, strategy, str(tmp_path / "theirs"))
    assert names == expected_names

    def compare(got: Any, wanted: Any) -> None:
        if isinstance(wanted, list):
            assert len(got) == len(wanted)
            for pair in zip(got, wanted, strict=True):
                compare(*pair)
        else:
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)

    compare(values, expected)


@pytest.mark.parametrize(("writer", "reader"), [(ours, real), (real, ours)], ids=["to_theirs", "to_ours"])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_checkpoints_are_of_the_whole(
    writer: Any, reader: Any, parts: int, use_resource: bool, tmp_path: Path
) -> None:
    """Written in three parts, read in another number of them, or as one variable."""
    path = str(tmp_path / "model")
    _, fetched = train(writer, use_resource, "mod", path)
    partitioner = reader.fixed_size_partitioner(parts) if parts > 1 else None
    with reader.Graph().as_default(), reader.Session() as session:
        with reader.variable_scope("s", partitioner=partitioner, use_resource=use_resource):
            restored = [reader.get_variable(name, [size, 2]) for name, size in (("w", 7), ("given", 5))]
        reader.train.Saver().restore(session, path)
        values = session.run([reader.convert_to_tensor(v) for v in restored])
    for value, wanted in zip(values, fetched[-1], strict=False):
        np.testing.assert_array_equal(value, wanted)


PARTITIONERS: list[Callable[[Any], Any]] = [
    lambda tf: tf.fixed_size_partitioner(4),
    lambda tf: tf.fixed_size_partitioner(3, axis=1),
    lambda tf: tf.variable_axis_size_partitioner(64),
    lambda tf: tf.variable_axis_size_partitioner(100, axis=1, max_shards=3),
    lambda tf: tf.min_max_variable_partitioner(5, min_slice_size=32),
    lambda tf: tf.min_max_variable_partitioner(9, axis=1, min_slice_size=16, bytes_per_string_element=3),
]


@pytest.mark.parametrize("index", range(len(PARTITIONERS)))
def test_partitioners_divide_alike(index: int) -> None:
    make = PARTITIONERS[index]
    for dims in ([1, 3], [2, 2], [10, 7], [33, 5, 4]):
        for dtype in ("float32", "int8", "string", "complex128"):
            wanted = make(real)(shape=real.TensorShape(dims), dtype=getattr(real, dtype))
            assert make(ours)(shape=ours.TensorShape(dims), dtype=getattr(ours, dtype)) == list(wanted)


def test_create_partitioned_variables() -> None:
    def names(tf: Any) -> list[tuple[str, list[int]]]:
        with tf.Graph().as_default():
            first = tf.create_partitioned_variables([5, 3], [1, 2], tf.zeros_initializer())
            second = tf.create_partitioned_variables([4], [3], tf.zeros_initializer(), name="named")
            return [(v.name, v.shape.as_list()) for v in (*first, *second)]

    assert names(ours) == names(real)


def _reuse(
    tf: Any, partitioner: Any = None, shape: Any = (6, 2), reuse: Any = True, dtype: Any = None
) -> None:
    tf.get_variable("v", [6, 2], partitioner=tf.fixed_size_partitioner(3))
    tf.get_variable("plain", [2])
    with tf.variable_scope("", reuse=reuse):
        tf.get_variable("v", shape, dtype=dtype, partitioner=partitioner)


def _other(tf: Any, name: str, shape: Any, partitioner: Any, reuse: Any = None) -> None:
    tf.get_variable("plain", [2])
    with tf.variable_scope("", reuse=reuse):
        tf.get_variable(name, shape, partitioner=partitioner)


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "without a partitioner": lambda tf: _reuse(tf, reuse=tf.AUTO_REUSE),
    "another partition": lambda tf: _reuse(tf, tf.fixed_size_partitioner(2)),
    "another shape": lambda tf: _reuse(tf, tf.fixed_size_partitioner(3), shape=[6, 3]),
    "another dtype": lambda tf: _reuse(tf, tf.fixed_size_partitioner(3), dtype=tf.int32),
    "not to be reused": lambda tf: _reuse(tf, tf.fixed_size_partitioner(3), reuse=None),
    "unpartitioned before": lambda tf: _other(tf, "plain", [2], tf.fixed_size_partitioner(2)),
    "not there": lambda tf: _other(tf, "none", [2], tf.fixed_size_partitioner(2), True),
    "not callable": lambda tf: _other(tf, "none", [2], 3),
    "no sequence": lambda tf: _other(tf, "none", [2], lambda shape, dtype: 3),
    "wrong rank": lambda tf: _other(tf, "none", [2], lambda shape, dtype: [1, 2]),
    "zero": lambda tf: _other(tf, "none", [2], lambda shape, dtype: [0]),
    "two dimensions": lambda tf: _other(tf, "none", [2, 2], lambda shape, dtype: [2, 2]),
    "unknown shape": lambda tf: _other(tf, "none", [None], tf.fixed_size_partitioner(2)),
    "slicing of another rank": lambda tf: tf.create_partitioned_variables(
        [4], [1, 2], tf.zeros_initializer()
    ),
    "a scalar": lambda tf: tf.create_partitioned_variables([], [], tf.zeros_initializer()),
    "no bytes": lambda tf: tf.variable_axis_size_partitioner(0),
}


def test_a_variable_is_found_again() -> None:
    def same(tf: Any) -> list[bool]:
        with tf.Graph().as_default():
            made = tf.get_variable("v", [6, 2], partitioner=tf.fixed_size_partitioner(3))
            with tf.variable_scope("", reuse=True):
                found = [
                    tf.get_variable("v", [6, 2], partitioner=p) for p in (None, tf.fixed_size_partitioner(3))
                ]
            return [v is made for v in found]

    assert same(ours) == same(real) == [True, True]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_alike(mistake: str) -> None:
    told = []
    for tf in (ours, real):
        with tf.Graph().as_default(), pytest.raises(ValueError) as caught:  # noqa: PT011
            MISTAKES[mistake](tf)
        told.append(str(caught.value))
    # What is told after the first sentence may differ.
    first, wanted = (text.split(".")[0].split(":")[0].split(",")[0] for text in told)
    assert first == wanted


def test_no_parameter_server_is_one_part() -> None:
    def run(tf: Any) -> Any:
        partitioner = tf.min_max_variable_partitioner(max_partitions=0)
        return list(partitioner(tf.TensorShape([1 << 20, 4]), tf.float32))

    assert run(real) == run(ours) == [1, 1]
