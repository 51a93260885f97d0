"""Datasets give in TensorFleet what they give in TensorFlow: elements, order, types, shapes and errors."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import tensorfleet as fleet

real.disable_v2_behavior()

pytestmark = pytest.mark.slow

EXAMPLES = float(os.environ.get("TENSORFLEET_EXAMPLES", "1"))
MOST = 40
"""How many elements of a dataset are compared: some have no end."""

Make = Callable[[Any], Any]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, bytes):
        return value
    return str(value.dtype), value.tolist()


def described(tf: Any, dataset: Any) -> Any:
    """The types and shapes of a dataset, in a form that compares between the libraries."""
    return (
        str(tf.data.get_output_types(dataset)).replace("tf.", ""),
        str(tf.data.get_output_shapes(dataset)),
    )


def elements(tf: Any, make: Make, seed: int | None = None, times: int = 1) -> list[Any]:
    """Types and shapes, then the elements that an iterator gives and how it ends, each time it begins."""
    with tf.Graph().as_default() as graph:
        if seed is not None:
            tf.set_random_seed(seed)
        dataset = make(tf)
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        result = [described(tf, dataset)]
        with tf.Session(graph=graph) as session:
            for _ in range(times):
                try:
                    session.run(iterator.initializer)
                except tf.errors.OpError as e:
                    result.append(type(e).__name__)
                    break
                for _ in range(MOST):
                    try:
                        result.append(plain(session.run(following)))
                    except tf.errors.OutOfRangeError:
                        result.append("end")
                        break
                    except tf.errors.OpError as e:
                        result.append(type(e).__name__)
    return result


def same(make: Make, seed: int | None = None, times: int = 1) -> list[Any]:
    ours = elements(fleet, make, seed, times)
    assert ours == elements(real, make, seed, times)
    return ours


CASES: dict[str, Make] = {
    "tensors": lambda tf: tf.data.Dataset.from_tensors((np.arange(3), {"b": "x", "a": 1.5})),
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices(
        {"a": np.ones((3, 2), np.float32), "b": ["x", "y", "z"]}
    ),
    "a list is a tensor": lambda tf: tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]),
    "range": lambda tf: tf.data.Dataset.range(10, 0, -3),
    "zip": lambda tf: tf.data.Dataset.zip(
        (tf.data.Dataset.range(3), {"a": tf.data.Dataset.from_tensor_slices([1.0, 2.0])})
    ),
    "concatenate": lambda tf: tf.data.Dataset.from_tensors([1, 2]).concatenate(
        tf.data.Dataset.from_tensors([3])
    ),
    "repeat nothing": lambda tf: tf.data.Dataset.range(3).repeat(0),
    "repeat an empty one": lambda tf: tf.data.Dataset.range(0).repeat(),
    "for ever": lambda tf: tf.data.Dataset.range(3).repeat(),
    "take all": lambda tf: tf.data.Dataset.range(3).take(-1),
    "take more": lambda tf: tf.data.Dataset.range(3).take(5),
    "skip all": lambda tf: tf.data.Dataset.range(3).skip(-1),
    "skip": lambda tf: tf.data.Dataset.range(5).skip(2),
    "shard": lambda tf: tf.data.Dataset.range(10).shard(3, 1),
    "batch": lambda tf: tf.data.Dataset.from_tensor_slices((np.eye(5), list("abcde"))).batch(2),
    "batch of what is left": lambda tf: tf.data.Dataset.range(5).batch(2, drop_remainder=True),
    "batch of batches": lambda tf: tf.data.Dataset.range(10).batch(2).batch(3, True),
    "padded": lambda tf: tf.data.Dataset.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]),
    "padded with": lambda tf: (
        tf.data.Dataset.range(1, 6)
        .map(lambda x: (tf.fill([x, 2], 1.5), x))
        .padded_batch(2, ([6, None], []), (-1.0, tf.constant(0, tf.int64)))
    ),
    "padded strings": lambda tf: (
        tf.data.Dataset.from_tensor_slices(["a b", "c", ""])
        .map(lambda s: tf.expand_dims(s, 0))
        .padded_batch(2, [2], "-", drop_remainder=True)
    ),
    "padded to a smaller size": lambda tf: (
        tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x)).padded_batch(2, [2])
    ),
    "map": lambda tf: tf.data.Dataset.range(4).map(lambda x: (x, {"y": tf.cast(x, tf.float32) / 2})),
    "map of parts": lambda tf: tf.data.Dataset.from_tensor_slices(([1, 2], [3.0, 4.0])).map(
        lambda x, y: [y, x]
    ),
    "map of a dict": lambda tf: tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]}).map(
        lambda e: e["a"] * e["b"]
    ),
    "map in parallel": lambda tf: tf.data.Dataset.range(20).map(lambda x: x * x, num_parallel_calls=4),
    "map with a captured tensor": lambda tf: (
        lambda y: tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32) * y)
    )(tf.constant(3.0)),
    "map with a condition": lambda tf: tf.data.Dataset.range(5).map(
        lambda x: tf.cond(x > 2, lambda: x * 10, lambda: x - 1)
    ),
    "map with a loop": lambda tf: tf.data.Dataset.range(5).map(
        lambda x: tf.while_loop(lambda i: i < 10, lambda i: i + x + 1, [x])
    ),
    "map with random numbers": lambda tf: (
        tf.data.Dataset.range(3).map(lambda x: tf.random_uniform([2], seed=5)).repeat(2)
    ),
    "filter": lambda tf: tf.data.Dataset.range(10).filter(lambda x: tf.equal(x % 3, 1)),
    "flat_map": lambda tf: tf.data.Dataset.range(4).flat_map(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x)
    ),
    "flat_map of captured": lambda tf: (
        lambda y: tf.data.Dataset.range(3).flat_map(
            lambda x: tf.data.Dataset.range(2).map(lambda z: x * 10 + z + y)
        )
    )(tf.constant(100, tf.int64)),
    "interleave": lambda tf: tf.data.Dataset.range(6).interleave(
        lambda x: tf.data.Dataset.from_tensors(x * 10).repeat(x % 4), cycle_length=3, block_length=2
    ),
    "interleave as many as there are cores": lambda tf: tf.data.Dataset.range(6).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=tf.data.experimental.AUTOTUNE
    ),
    "values of SparseTensors": lambda tf: tf.data.Dataset.range(3).map(
        lambda x: (x, {"a": tf.SparseTensorValue([[0]], x * [1], [2])})
    ),
    "slices of the value of a SparseTensor": lambda tf: tf.data.Dataset.from_tensor_slices(
        (tf.SparseTensorValue([[0, 1], [2, 0]], [1, 2], [3, 2]), [5, 6, 7])
    ),
    "unbatch SparseTensors": lambda tf: tf.data.Dataset.from_tensors(
        (tf.SparseTensor([[0, 1], [2, 0]], [1, 2], [3, 2]), [5, 6, 7])
    ).unbatch(),
    "the last groups": lambda tf: tf.data.Dataset.from_tensor_slices([4, 7, 3, 8, 5]).apply(
        tf.data.experimental.group_by_window(lambda x: tf.cast(9 - x, tf.int64), lambda _, w: w.batch(3), 3)
    ),
    "weights of 0": lambda tf: tf.data.experimental.sample_from_datasets(
        [tf.data.Dataset.range(3), tf.data.Dataset.range(5, 7)], [0.0, 1.0]
    ),
    "no such shard": lambda tf: tf.data.Dataset.range(10).shard(3, 7),
    "take several numbers": lambda tf: tf.data.Dataset.range(10).take(
        tf.placeholder_with_default(np.array([1, 2]), None)
    ),
    "interleave in parallel": lambda tf: tf.data.Dataset.range(6).interleave(
        lambda x: tf.data.Dataset.range(x), cycle_length=2, block_length=1, num_parallel_calls=2
    ),
    "cache": lambda tf: (
        tf.data.Dataset.range(3).map(lambda x: tf.random_uniform([], seed=3)).cache().repeat(2)
    ),
    "prefetch": lambda tf: tf.data.Dataset.range(30).prefetch(3),
    "an error in a map": lambda tf: tf.data.Dataset.range(5).map(
        lambda x: tf.check_numerics(1 / tf.cast(x - 2, tf.float32), "infinite")
    ),
    "an error in a parallel map": lambda tf: tf.data.Dataset.range(5).map(
        lambda x: tf.check_numerics(1 / tf.cast(x - 2, tf.float32), "infinite"), num_parallel_calls=2
    ),
    "an error in a filter": lambda tf: tf.data.Dataset.range(5).filter(lambda x: tf.equal(x // (x - 2), 3)),
    "shapes that cannot be a batch": lambda tf: (
        tf.data.Dataset.range(4).map(lambda x: tf.fill([x], x)).batch(2)
    ),
    "from_generator": lambda tf: tf.data.Dataset.from_generator(
        lambda: (([i] * i, str(i)) for i in range(4)), (tf.int32, tf.string), ([None], [])
    ).repeat(2),
    "from_generator with arguments": lambda tf: tf.data.Dataset.from_generator(
        lambda n: iter(range(n)), tf.int64, [], args=(4,)
    ),
    "apply": lambda tf: tf.data.Dataset.range(5).apply(lambda d: d.map(lambda x: x + 1)),
    "map_and_batch": lambda tf: tf.data.Dataset.range(7).apply(
        tf.data.experimental.map_and_batch(lambda x: x * 2, 3, drop_remainder=True)
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_dataset(case: str) -> None:
    same(CASES[case], times=2)


SHUFFLES: dict[str, Make] = {
    "in part": lambda tf: tf.data.Dataset.range(20).shuffle(5, seed=3),
    "all": lambda tf: tf.data.Dataset.range(20).shuffle(50, seed=3).repeat(2),
    "always the same": lambda tf: (
        tf.data.Dataset.range(9).shuffle(4, 8, reshuffle_each_iteration=False).repeat(3)
    ),
    "the graph's seed": lambda tf: tf.data.Dataset.range(9).shuffle(4).repeat(2),
    "twice": lambda tf: tf.data.Dataset.range(9).shuffle(4).shuffle(3),
    "rows in batches": lambda tf: (
        tf.data.Dataset.from_tensor_slices((np.arange(9), np.eye(9))).shuffle(4).repeat(3).batch(4)
    ),
    "after a repeat": lambda tf: (
        tf.data.Dataset.from_tensor_slices(np.arange(9)).repeat(3).shuffle(7).batch(4)
    ),
    "shuffle_and_repeat": lambda tf: tf.data.Dataset.range(9).apply(
        tf.data.experimental.shuffle_and_repeat(5, 3, seed=2)
    ),
    "seed 0": lambda tf: tf.data.Dataset.range(9).shuffle(4, seed=0),
}


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("case", SHUFFLES)
def test_a_shuffle_is_in_the_same_order(case: str, seed: int) -> None:
    same(SHUFFLES[case], seed, times=2)


Step = tuple[str, tuple[int, ...]]

STEPS: dict[str, Callable[..., Any]] = {
    "repeat": lambda tf, d, n, _: d.repeat(n),
    "take": lambda tf, d, n, _: d.take(n * 4),
    "skip": lambda tf, d, n, _: d.skip(n),
    "shard": lambda tf, d, n, m: d.shard(n + 1, min(m, n)),
    "shuffle": lambda tf, d, n, m: d.shuffle(n + 1, seed=m),
    "prefetch": lambda tf, d, n, _: d.prefetch(n),
    "cache": lambda tf, d, n, _: d.cache(),
    "map": lambda tf, d, n, m: d.map(lambda x: x * n + m),
    "parallel map": lambda tf, d, n, m: d.map(lambda x: x - n, num_parallel_calls=m + 1),
    "filter": lambda tf, d, n, m: d.filter(lambda x: tf.not_equal(x % (n + 2), m)),
    "flat_map": lambda tf, d, n, m: d.flat_map(lambda x: tf.data.Dataset.from_tensors(x + m).repeat(n)),
    "interleave": lambda tf, d, n, m: d.interleave(
        lambda x: tf.data.Dataset.range(x % 4).map(lambda y: x + y), n + 1, m + 1
    ),
    "zip": lambda tf, d, n, _: tf.data.Dataset.zip((d, d.skip(n))).map(lambda a, b: a - b),
    "concatenate": lambda tf, d, n, _: d.concatenate(tf.data.Dataset.range(n)),
    "batches": lambda tf, d, n, m: d.batch(n + 1, drop_remainder=bool(m % 2)).map(tf.reduce_sum),
    "windows": lambda tf, d, n, m: d.window(n + 1, m + 1, m % 2 + 1, n % 2 == 0).flat_map(
        lambda w: w.batch(n + 1).map(tf.reduce_sum)
    ),
    "sums of windows": lambda tf, d, n, m: d.window(n + 1, m + 1).map(
        lambda w: w.reduce(tf.constant(n, tf.int64), lambda total, x: total + x)
    ),
    "other batches": lambda tf, d, n, m: d.batch(n + 1).rebatch(m + 1, bool(n % 2)).map(tf.reduce_sum),
    "padded batches": lambda tf, d, n, m: (
        d.map(lambda x: tf.fill([x % 3], x))
        .padded_batch(n + 1, [None], tf.constant(m, tf.int64))
        .map(tf.reduce_sum)
    ),
}


@settings(
    max_examples=int(40 * EXAMPLES),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)
@given(
    st.integers(0, 12),
    st.lists(
        st.tuples(st.sampled_from(sorted(STEPS)), st.tuples(st.integers(0, 3), st.integers(0, 3))),
        min_size=1,
        max_size=5,
    ),
)
@pytest.mark.timeout(int(300 * max(1, EXAMPLES)))
def test_random_pipelines(size: int, steps: list[Step]) -> None:
    def make(tf: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(tf.constant(np.arange(size)))
        for name, arguments in steps:
            dataset = STEPS[name](tf, dataset, *arguments)
        return dataset

    same(make)


def test_static_shapes_of_numbers() -> None:
    def run(tf: Any) -> list[str]:
        found = []
        with tf.Graph().as_default():
            dataset, numbers = tf.data.Dataset.range(3), tf.constant([1, 2], tf.int64)
            for transformation in (dataset.take, dataset.skip, dataset.shuffle, dataset.prefetch):
                with pytest.raises(ValueError, match="rank 0") as raised:
                    transformation(numbers)
                found.append(str(raised.value).partition(" for ")[0])
        return found

    assert run(fleet) == run(real)


def test_cardinalities_of_experimental_datasets() -> None:
    def run(tf: Any) -> list[int]:
        with tf.Graph().as_default(), tf.Session() as session:
            apply = tf.data.Dataset.range(5).apply
            datasets = [
                apply(tf.data.experimental.scan(0, lambda state, x: (state, x))),
                apply(tf.data.experimental.map_and_batch(lambda x: x, 2)),
                apply(tf.data.experimental.dense_to_sparse_batch(2, [])),
            ]
            return [int(session.run(tf.data.experimental.cardinality(each))) for each in datasets]

    assert run(fleet) == run(real)


# Iterators


def outcome(tf: Any, function: Callable[[], Any]) -> Any:
    """The result of a call, or the kind of its error and the beginning of the message's last lines."""
    try:
        return plain(function())
    except tf.errors.OpError as e:
        lines = [line for line in e.message.splitlines() if line.strip()]
        return type(e).__name__, lines[-2], e.op and e.op.name


def test_iterators_of_all_kinds() -> None:
    def run(tf: Any) -> list[Any]:
        found = []
        with tf.Graph().as_default(), tf.Session() as session:
            own = tf.data.make_initializable_iterator(tf.data.Dataset.range(3), shared_name="counter")
            same_name = tf.data.Iterator.from_structure(tf.int64, [], shared_name="counter")
            open_one = tf.data.Iterator.from_structure((tf.int64, tf.float32), ([], [None]))
            begin = [
                open_one.make_initializer(tf.data.Dataset.range(n).map(lambda x: (x, tf.fill([x], 0.5))))
                for n in (2, 3)
            ]
            once = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2).map(lambda x: x + 5))
            handle = tf.placeholder(tf.string, [])
            fed = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
            wrong = tf.data.Iterator.from_string_handle(handle, tf.float32, [])
            nexts = [i.get_next() for i in (own, same_name, open_one, once)]
            next_fed, next_wrong = fed.get_next(), wrong.get_next()
            for tensors in nexts:
                found.append(outcome(tf, partial(session.run, tensors)))
            session.run([own.initializer, begin[0]])
            for _ in range(3):
                for tensors in nexts:
                    found.append(outcome(tf, partial(session.run, tensors)))
            session.run([own.initializer, begin[1]])
            handles = session.run([own.string_handle(), once.string_handle()])
            for text in (*handles, handles[0]):
                found.append(outcome(tf, partial(session.run, next_fed, {handle: text})))
            found.append(outcome(tf, lambda: session.run(next_wrong, {handle: handles[0]}))[0])
            found.append(outcome(tf, lambda: session.run(next_fed, {handle: "nonsense"}))[0])
            found.append(outcome(tf, lambda: session.run(nexts[2])))
        return found

    assert run(fleet) == run(real)


def test_what_a_one_shot_iterator_cannot_have() -> None:
    def run(tf: Any) -> list[str]:
        found = []
        with tf.Graph().as_default():
            fed = tf.placeholder(tf.int64, [], name="fed")
            drawn = tf.random_uniform([3], name="drawn")
            for dataset in (tf.data.Dataset.range(fed), tf.data.Dataset.from_tensors(drawn)):
                with pytest.raises(ValueError, match="by value") as raised:
                    tf.data.make_one_shot_iterator(dataset)
                found.append(str(raised.value).rpartition("Cannot capture")[2])
        return found

    assert run(fleet) == run(real)


def test_a_graph_with_functions_goes_through_a_graph_def() -> None:
    with fleet.Graph().as_default() as graph:
        dataset = fleet.data.Dataset.range(4).map(lambda x: x + 1).filter(lambda x: fleet.not_equal(x, 2))
        fleet.data.make_one_shot_iterator(dataset).get_next("following")
    for tf in (fleet, real):
        definition = tf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
        with tf.Graph().as_default() as imported:
            (following,) = tf.import_graph_def(definition, return_elements=["following:0"], name="")
            assert len(imported.as_graph_def().library.function) == 3
            with tf.Session() as session:
                assert [int(session.run(following)) for _ in range(3)] == [1, 3, 4]
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(following)
