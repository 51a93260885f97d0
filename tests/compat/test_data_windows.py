"""Windows, and other datasets in datasets, give in TensorFleet what they give in TensorFlow."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet
from tests.compat.test_data import Make, plain, same

real.disable_v2_behavior()

pytestmark = pytest.mark.slow

Pair = namedtuple("Pair", ["first", "second"])


def flat(windows: Any) -> Any:
    return windows.flat_map(lambda window: window.batch(10))


def nested(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(
        {"a": np.arange(7), "b": (np.eye(7, 2), tf.constant([c * 2 for c in "abcdefg"]))}
    )


CASES: dict[str, Make] = {
    "in batches": lambda tf: tf.data.Dataset.range(7).window(3).flat_map(lambda w: w.batch(3)),
    "shifted": lambda tf: flat(tf.data.Dataset.range(7).window(3, shift=1)),
    "shifted far": lambda tf: flat(tf.data.Dataset.range(17).window(3, shift=5)),
    "shifted behind the end": lambda tf: flat(tf.data.Dataset.range(4).window(3, shift=5)),
    "with strides": lambda tf: flat(tf.data.Dataset.range(9).window(3, 1, 2)),
    "with strides, far": lambda tf: flat(tf.data.Dataset.range(19).window(3, 7, 2)),
    "without what is left": lambda tf: flat(tf.data.Dataset.range(9).window(3, 2, 2, drop_remainder=True)),
    "longer than the input": lambda tf: flat(tf.data.Dataset.range(3).window(5)),
    "longer than the input, dropped": lambda tf: flat(
        tf.data.Dataset.range(3).window(5, drop_remainder=True)
    ),
    "of nothing": lambda tf: flat(tf.data.Dataset.range(0).window(3)),
    "without end": lambda tf: flat(tf.data.Dataset.range(3).repeat().window(4, 2)),
    "of rows": lambda tf: flat(tf.data.Dataset.from_tensor_slices(np.eye(5)).window(2, 1)),
    "of strings": lambda tf: flat(tf.data.Dataset.from_tensor_slices(list("abcde")).window(2, 1)),
    "of different shapes": lambda tf: (
        tf.data.Dataset.range(5)
        .map(lambda x: tf.fill([x], x))
        .window(2, 1)
        .flat_map(lambda w: w.padded_batch(2, [None]))
    ),
    "nested": lambda tf: (
        nested(tf)
        .window(3, 2)
        .flat_map(
            lambda w: tf.data.Dataset.zip(
                {"x": w["a"].batch(3), "y": (w["b"][0].batch(3), w["b"][1].batch(3))}
            )
        )
    ),
    "nested and zipped as they are": lambda tf: nested(tf).window(3).flat_map(tf.data.Dataset.zip),
    "of pairs": lambda tf: (
        tf.data.Dataset.zip((tf.data.Dataset.range(6), tf.data.Dataset.range(10, 16)))
        .window(2)
        .flat_map(lambda a, b: tf.data.Dataset.zip((a, b.skip(1))))
    ),
    "of named tuples": lambda tf: (
        tf.data.Dataset.from_tensor_slices(Pair(np.arange(6), np.arange(6) * 0.5))
        .window(2)
        .flat_map(lambda *w: tf.data.Dataset.zip(Pair(w[0].first, w[0].second) if len(w) == 1 else w))
    ),
    "reduced in a map": lambda tf: (
        tf.data.Dataset.range(10)
        .window(4, 3)
        .map(lambda w: w.reduce(tf.constant(0, tf.int64), lambda total, x: total + x))
    ),
    "reduced in parallel": lambda tf: (
        tf.data.Dataset.range(10)
        .window(4, 3)
        .map(lambda w: w.reduce(tf.constant(0, tf.int64), lambda total, x: total + x), 2)
    ),
    "in a filter": lambda tf: flat(
        tf.data.Dataset.range(10)
        .window(4, 3)
        .filter(lambda w: tf.equal(w.reduce(0, lambda count, x: count + 1), 4))
    ),
    "the only batch": lambda tf: (
        tf.data.Dataset.range(10).window(4).map(lambda w: tf.data.experimental.get_single_element(w.batch(9)))
    ),
    "mapped in a map": lambda tf: flat(
        tf.data.Dataset.range(7).window(3).map(lambda w: w.map(lambda x: x * 10).filter(lambda x: x > 10))
    ),
    "of windows": lambda tf: (
        tf.data.Dataset.range(12)
        .window(6)
        .map(lambda w: w.window(2))
        .flat_map(lambda ws: ws.flat_map(lambda w: w.batch(2)))
    ),
    "of windows of windows": lambda tf: (
        tf.data.Dataset.range(12)
        .window(2)
        .window(3)
        .flat_map(lambda ws: ws.flat_map(lambda w: w.batch(2)).batch(3))
    ),
    "beside a tensor": lambda tf: (
        tf.data.Dataset.range(6)
        .window(3)
        .map(lambda w: {"window": w, "size": w.reduce(0, lambda n, _: n + 1)})
        .flat_map(lambda e: tf.data.Dataset.zip((e["window"], tf.data.Dataset.from_tensors(e["size"]))))
    ),
    "interleaved": lambda tf: tf.data.Dataset.range(9).window(3).interleave(lambda w: w, 3),
    "interleaved in parallel": lambda tf: (
        tf.data.Dataset.range(9).window(3).interleave(lambda w: w, 3, num_parallel_calls=2)
    ),
    "shuffled": lambda tf: flat(tf.data.Dataset.range(9).window(2).shuffle(3, seed=1)),
    "cached and repeated": lambda tf: flat(tf.data.Dataset.range(5).window(2).cache().repeat(2)),
    "prefetched": lambda tf: flat(tf.data.Dataset.range(5).window(2).prefetch(2)),
    "taken": lambda tf: flat(tf.data.Dataset.range(9).window(2).skip(1).take(2)),
    "enumerated": lambda tf: (
        tf.data.Dataset.range(5).window(2).enumerate().flat_map(lambda i, w: w.map(lambda x: (i, x)))
    ),
    "zipped with numbers": lambda tf: tf.data.Dataset.zip(
        (tf.data.Dataset.range(5).window(2), tf.data.Dataset.range(10))
    ).flat_map(lambda w, i: w.map(lambda x: x * i)),
    "concatenated": lambda tf: flat(
        tf.data.Dataset.range(3).window(2).concatenate(tf.data.Dataset.range(5).window(3))
    ),
    "batches of windows": lambda tf: flat(tf.data.Dataset.range(7).window(3).batch(2).unbatch()),
    "an error in a window": lambda tf: flat(
        tf.data.Dataset.range(9)
        .map(lambda x: tf.check_numerics(1 / tf.cast(x - 4, tf.float32), "infinite"))
        .window(2)
    ),
    "an error in windows that overlap": lambda tf: flat(
        tf.data.Dataset.range(9)
        .map(lambda x: tf.check_numerics(1 / tf.cast(x - 4, tf.float32), "infinite"))
        .window(3, 1)
    ),
    "an error between windows": lambda tf: flat(
        tf.data.Dataset.range(9)
        .map(lambda x: tf.check_numerics(1 / tf.cast(x - 4, tf.float32), "infinite"))
        .window(2, 3, 1)
    ),
    "sparse": lambda tf: (
        tf.data.Dataset.from_tensor_slices(tf.SparseTensor([[0, 1], [2, 0], [3, 2]], [1, 2, 3], [4, 3]))
        .window(2)
        .flat_map(lambda w: w.batch(2))
        .map(lambda rows: (rows.indices, rows.values, rows.dense_shape))
    ),
    "a dataset in a tensor's place": lambda tf: tf.data.Dataset.from_tensors(
        (tf.data.Dataset.range(4), 3)
    ).flat_map(lambda d, n: d.map(lambda x: x + tf.cast(n, tf.int64))),
    "a scan over windows": lambda tf: (
        tf.data.Dataset.range(6)
        .window(2)
        .apply(
            tf.data.experimental.scan(
                tf.constant(0, tf.int64), lambda total, w: (w.reduce(total, lambda s, x: s + x), total)
            )
        )
    ),
    "grouped": lambda tf: tf.data.Dataset.range(9).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 2,
            lambda key, w: w.window(2).flat_map(lambda v: v.batch(2)).map(lambda x: (key, x)),
            4,
        )
    ),
    "rebatch": lambda tf: tf.data.Dataset.range(10).batch(4).rebatch(3),
    "rebatch to parts": lambda tf: tf.data.Dataset.range(12).batch(4, True).rebatch(2),
    "rebatch to more": lambda tf: tf.data.Dataset.range(10).batch(2, True).rebatch(3),
    "rebatch and drop": lambda tf: tf.data.Dataset.range(10).batch(4).rebatch(3, drop_remainder=True),
    "rebatch in turns": lambda tf: tf.data.Dataset.range(10).batch(4).rebatch([3, 2]),
    "rebatch in equal turns": lambda tf: tf.data.Dataset.range(10).batch(4).rebatch([3, 3], True),
    "rebatch with nothing between": lambda tf: tf.data.Dataset.range(10).batch(4).rebatch([3, 0, 2]),
    "rebatch to nothing": lambda tf: tf.data.Dataset.range(10).batch(4).rebatch(0),
    "rebatch an empty one": lambda tf: tf.data.Dataset.range(0).batch(4).rebatch(2),
    "rebatch structures": lambda tf: nested(tf).batch(3).rebatch(2),
    "rows of a SparseTensor": lambda tf: tf.data.Dataset.from_sparse_tensor_slices(
        tf.SparseTensor([[0, 0], [0, 1], [2, 1]], ["a", "b", "c"], [4, 2])
    ),
    "rows of a SparseTensor of rank 3": lambda tf: tf.data.Dataset.from_sparse_tensor_slices(
        tf.SparseTensor([[0, 1, 1], [1, 0, 1], [2, 1, 0]], [1, 2, 3], [4, 2, 2])
    ),
    "rows of an empty SparseTensor": lambda tf: tf.data.Dataset.from_sparse_tensor_slices(
        tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [2, 2])
    ),
    "map, as it was": lambda tf: tf.data.Dataset.range(5).map_with_legacy_function(lambda x: x + 1),
    "filter, as it was": lambda tf: tf.data.Dataset.range(5).filter_with_legacy_function(lambda x: x > 1),
    "choose": lambda tf: tf.data.Dataset.choose_from_datasets(
        [tf.data.Dataset.range(2), tf.data.Dataset.range(10, 20)],
        tf.data.Dataset.from_tensor_slices(np.array([1, 0, 1, 0, 0, 1])),
    ),
    "sample one": lambda tf: tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(2)]),
    "group_by_reducer": lambda tf: tf.data.Dataset.range(10).apply(
        tf.data.experimental.group_by_reducer(
            lambda x: x % 3,
            tf.data.experimental.Reducer(
                lambda key: (0.0, key),
                lambda state, x: (state[0] + tf.cast(x, tf.float32), state[1]),
                lambda total, key: {"total": total, "key": key},
            ),
        )
    ),
    "group_by_reducer to vectors": lambda tf: tf.data.Dataset.range(10).apply(
        tf.data.experimental.group_by_reducer(
            lambda x: x % 3,
            tf.data.experimental.Reducer(
                lambda key: np.zeros([0], np.int64),
                lambda state, x: tf.concat([state, [x]], 0),
                lambda state: state,
            ),
        )
    ),
    "optional values": lambda tf: (
        tf.data.Dataset.range(3)
        .map(lambda x: tf.data.experimental.Optional.from_value((x, {"a": x * 2})))
        .map(lambda value: (value.has_value(), value.get_value()))
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_dataset(case: str) -> None:
    same(CASES[case], times=2)


@pytest.mark.parametrize("arguments", [(0,), (2, 0), (2, 1, -1)])
def test_sizes_of_windows_that_are_not_positive(arguments: tuple[int, ...]) -> None:
    def run(tf: Any) -> str:
        with tf.Graph().as_default(), tf.Session() as session:
            iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(4).window(*arguments))
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(iterator.initializer)
        return next(line for line in raised.value.message.splitlines() if "must be" in line)

    assert run(fleet) in run(real)


SPECS: dict[str, Make] = {
    "tensors": nested,
    "sparse": lambda tf: tf.data.Dataset.from_tensors(tf.SparseTensor([[0, 1]], [1], [4, 3])),
    "windows": lambda tf: tf.data.Dataset.range(5).window(2),
    "windows of structures": lambda tf: nested(tf).window(2),
    "windows of windows": lambda tf: tf.data.Dataset.range(5).window(2).window(2),
    "batches of windows": lambda tf: tf.data.Dataset.range(5).window(2).batch(2, True),
    "unbatched": lambda tf: tf.data.Dataset.range(5).window(2).batch(2, True).unbatch(),
    "windows from a map": lambda tf: tf.data.Dataset.range(5).map(lambda x: (x, tf.data.Dataset.range(x))),
}


@pytest.mark.parametrize("case", SPECS)
def test_specs(case: str) -> None:
    def described(tf: Any) -> list[str]:
        with tf.Graph().as_default():
            dataset = SPECS[case](tf)
            iterator = tf.data.make_one_shot_iterator(dataset)
            found = [
                dataset.element_spec,
                iterator.element_spec,
                *(function(dataset) for function in (tf.data.get_output_types, tf.data.get_output_shapes)),
            ]
            # Not of tensors: each library has classes of its own.
            found += [
                part for part in tf.nest.flatten(tf.data.get_output_classes(dataset)) if "Spec" in str(part)
            ]
            return [str(item).replace("tf.", "") for item in found]

    assert described(fleet) == described(real)


def test_what_datasets_of_datasets_refuse() -> None:
    def run(tf: Any) -> list[str]:
        found = []
        dataset = tf.data.Dataset
        with tf.Graph().as_default():
            for call in (
                lambda: dataset.range(4).concatenate(dataset.range(4).window(2)),
                lambda: dataset.range(4).window(2).padded_batch(2),
                lambda: dataset.range(4).rebatch(2),
                lambda: dataset.range(4).window(2).filter(lambda w: w),
                lambda: dataset.from_sparse_tensor_slices([1]),
            ):
                with pytest.raises((TypeError, ValueError)) as raised:
                    call()
                found.append(raised.type.__name__)
        return found

    assert run(fleet) == run(real)


def test_a_window_from_an_iterator_is_a_dataset() -> None:
    def run(tf: Any) -> list[Any]:
        found = []
        with tf.Graph().as_default(), tf.Session() as session:
            window = tf.data.make_one_shot_iterator(tf.data.Dataset.range(5).window(2)).get_next()
            batch = tf.data.experimental.get_single_element(window.batch(3))
            for _ in range(3):
                found.append(plain(session.run(batch)))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(batch)
        return found

    assert run(fleet) == run(real)


def test_the_end_as_an_optional_value() -> None:
    def run(tf: Any) -> list[Any]:
        found: list[Any] = []
        optional = tf.data.experimental.Optional
        with tf.Graph().as_default(), tf.Session() as session:
            iterator = tf.data.make_initializable_iterator(nested(tf).take(2))
            following = tf.data.experimental.get_next_as_optional(iterator)
            present, value = following.has_value(), following.get_value()
            found.append(str(following.element_spec))
            session.run(iterator.initializer)
            found += [plain(session.run((present, value))) for _ in range(2)]
            found.append(plain(session.run(present)))
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(value)
            nothing = optional.empty(tf.TensorSpec([2], tf.int32))
            found.append(str(nothing.element_spec))
            found.append(plain(session.run(nothing.has_value())))
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(nothing.get_value())
        return found

    ours, theirs = run(fleet), run(real)
    assert [str(item).replace("tf.", "") for item in ours] == [
        str(item).replace("tf.", "") for item in theirs
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda tf: tf.data.Dataset.range(10).window(3, 2),
        lambda tf: tf.data.Dataset.range(10).window(3, 2, 2, True),
        lambda tf: tf.data.Dataset.range(2).window(3, 2, 2, True),
        lambda tf: tf.data.Dataset.range(10).repeat().window(3),
        lambda tf: tf.data.Dataset.range(10).filter(lambda x: x > 3).window(3),
        lambda tf: tf.data.Dataset.from_sparse_tensor_slices(tf.SparseTensor([[0, 1]], [1], [4, 3])),
        lambda tf: tf.data.Dataset.range(10).batch(3).rebatch(2),
    ],
)
def test_cardinality(make: Make) -> None:
    def run(tf: Any) -> int:
        with tf.Graph().as_default(), tf.Session() as session:
            return int(session.run(tf.data.experimental.cardinality(make(tf))))

    assert run(fleet) == run(real)
