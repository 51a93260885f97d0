"""Ragged components of datasets and ragged features of Examples, beside TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")
import tensorflow.compat.v1 as real

import tensorfleet as fleet

Build = Callable[[Any], Any]


def _plain(value: Any) -> Any:
    """A fetched value as lists, with its dtypes."""
    if hasattr(value, "row_splits"):
        return [value.row_splits.tolist(), str(value.row_splits.dtype), _plain(value.values)]
    return np.asarray(value).tolist(), str(np.asarray(value).dtype)


def _elements(tf: Any, build: Build) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = build(tf)
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        found: list[Any] = []
        try:
            while len(found) < 20:
                found.append([_plain(part) for part in session.run(tf.nest.flatten(element))])
        except tf.errors.OutOfRangeError:
            found.append("end")
        except tf.errors.OpError as e:
            found.append(type(e).__name__)
        specs = [getattr(spec, "ragged_rank", None) for spec in tf.nest.flatten(dataset.element_spec)]
        return found, specs


def _filled(tf: Any) -> Any:
    return tf.data.Dataset.range(1, 6).map(lambda x: {"a": tf.fill([x], x), "b": x})


def _cubes(tf: Any) -> Any:
    return tf.data.Dataset.range(1, 5).map(lambda x: tf.fill([x, 6 - x, 2], x))


DATASETS: dict[str, Build] = {
    "vectors": lambda tf: _filled(tf).apply(tf.data.experimental.dense_to_ragged_batch(2)),
    "int32 splits": lambda tf: _filled(tf).apply(
        tf.data.experimental.dense_to_ragged_batch(2, row_splits_dtype=tf.int32)
    ),
    "cubes": lambda tf: _cubes(tf).apply(tf.data.experimental.dense_to_ragged_batch(3, True)),
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []])),
    "deep slices": lambda tf: tf.data.Dataset.from_tensor_slices(
        tf.ragged.constant([[[1], [2, 3]], [], [[4]]])
    ).map(lambda row: row * 2),
    "batches": lambda tf: (
        tf.data.Dataset.from_tensors(tf.ragged.constant([["a", "b"], ["c"]])).repeat(3).batch(2)
    ),
    "batches of slices": lambda tf: (
        tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1.0, 2.0], [3.0], []])).shuffle(3, 1).batch(2)
    ),
    "sparse rows": lambda tf: (
        tf.data.Dataset.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2]]))
        .apply(tf.data.experimental.unbatch())
        .map(lambda row: tf.sparse.to_dense(row))
    ),
    "taken apart": lambda tf: (
        tf.data.Dataset.from_tensors((tf.ragged.constant([[1, 2], [], [3]]), [1, 2, 3]))
        .apply(tf.data.experimental.unbatch())
        .filter(lambda row, number: tf.size(row) > 0)
    ),
}


@pytest.mark.parametrize("name", DATASETS)
def test_datasets(name: str) -> None:
    assert _elements(fleet, DATASETS[name]) == _elements(real, DATASETS[name])


def _example(**features: list[int]) -> bytes:
    lists = {
        key: fleet.train.Feature(int64_list=fleet.train.Int64List(value=value))
        for key, value in features.items()
    }
    return fleet.train.Example(features=fleet.train.Features(feature=lists)).SerializeToString()


EXAMPLES = [
    _example(
        v=[1, 2, 3, 4],
        splits=[0, 1, 4],
        lengths=[2, 2],
        starts=[0, 3],
        limits=[1, 1, 4],
        ids=[0, 0, 2, 2],
        outer=[0, 2],
    ),
    _example(v=[], splits=[0], lengths=[], starts=[], limits=[], ids=[], outer=[0]),
    _example(
        v=[5, 6], splits=[0, 0, 2], lengths=[0, 2], starts=[0, 0], limits=[2, 2], ids=[1, 1], outer=[1, 2]
    ),
]
PARTITIONS: dict[str, Build] = {
    "none": lambda kind: [],
    "splits": lambda kind: [kind.RowSplits("splits")],
    "lengths": lambda kind: [kind.RowLengths("lengths")],
    "starts": lambda kind: [kind.RowStarts("starts")],
    "limits": lambda kind: [kind.RowLimits("limits")],
    "ids": lambda kind: [kind.ValueRowIds("ids")],
    "uniform": lambda kind: [kind.UniformRowLength(2)],
    "two": lambda kind: [kind.RowLimits("outer"), kind.RowLengths("lengths")],
    "uniform inside": lambda kind: [kind.RowLengths("outer"), kind.UniformRowLength(2)],
}


@pytest.mark.parametrize("name", ["none", "splits", "lengths", "starts", "limits", "ids", "uniform", "two"])
@pytest.mark.parametrize("is_single", [False, True])
def test_features(name: str, is_single: bool) -> None:
    found = []
    for tf in (fleet, real):
        with tf.Graph().as_default(), tf.Session() as session:
            feature = tf.io.RaggedFeature(
                tf.int64, value_key="v", partitions=PARTITIONS[name](tf.io.RaggedFeature)
            )
            description = {"x": feature, "missing": tf.io.RaggedFeature(tf.float32)}
            if is_single:
                parsed = [tf.io.parse_single_example(one, description) for one in EXAMPLES]
            else:
                parsed = [tf.io.parse_example(EXAMPLES, description)]
            values = session.run(parsed)
            found.append([{key: _plain(one[key]) for key in sorted(one)} for one in values])
    assert found[0] == found[1]


def _crosses(tf: Any) -> list[Any]:
    first = tf.ragged.constant([["a", "b"], ["c"], []])
    second = tf.ragged.constant([["d"], ["e", "f"], ["g"]])
    numbers, texts = tf.constant([[1, 2], [3, 4], [5, 6]]), tf.constant([["x"], ["y"], ["z"]])
    sparse = tf.sparse.from_dense([["p", ""], ["q", "r"], ["", "s"]])
    return [
        tf.ragged.cross([first, second]),
        tf.ragged.cross([second, numbers, sparse, texts]),
        tf.ragged.cross_hashed([first, second], num_buckets=100),
        tf.ragged.cross_hashed([numbers, second, sparse], hash_key=7),
        tf.ragged.cross_hashed([tf.ragged.constant([[1], [2, -3], []]), numbers]),
    ]


def test_crosses() -> None:
    found = []
    for tf in (fleet, real):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append([_plain(value) for value in session.run(_crosses(tf))])
    assert found[0] == found[1]


def _static_shapes(library: Any) -> list[Any]:
    """The static shapes of ragged elements of datasets, and of their row splits."""
    found = []
    with library.Graph().as_default():
        ragged = library.ragged.constant([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9]], []], ragged_rank=1)
        whole = library.data.Dataset.from_tensors(ragged)
        rows = library.data.Dataset.from_tensor_slices(ragged)
        for dataset in (
            whole,
            whole.batch(2),
            whole.batch(2, True),
            whole.batch(2, True).batch(3),
            rows.batch(2),
        ):
            element = library.data.make_one_shot_iterator(dataset).get_next()
            splits = [part.shape.as_list() for part in element.nested_row_splits]
            found.append((element.shape.as_list(), element.flat_values.shape.as_list(), splits))
    return found


def test_static_shapes_of_ragged_elements() -> None:
    assert _static_shapes(fleet) == _static_shapes(real)
