"""Names of tf.contrib that are elsewhere now, or became arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import tensorfleet as tf


def elements(dataset: Any) -> list[Any]:
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_batches_without_a_remainder() -> None:
    data = tf.data.Dataset.range(7)
    batches = elements(data.apply(tf.contrib.data.batch_and_drop_remainder(3)))
    assert [b.tolist() for b in batches] == [[0, 1, 2], [3, 4, 5]]
    rows = data.map(lambda n: tf.fill([n], n))
    padded = elements(rows.apply(tf.contrib.data.padded_batch_and_drop_remainder(3, [None])))
    assert [b.shape for b in padded] == [(3, 2), (3, 5)]


def test_batches_that_overlap() -> None:
    data = tf.data.Dataset.range(7)

    def batches(dataset: Any, *args: Any, **kwargs: Any) -> list[Any]:
        found = elements(dataset.apply(tf.contrib.data.sliding_window_batch(*args, **kwargs)))
        return [np.asarray(batch).tolist() for batch in found]

    assert batches(data, 5) == [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
    assert batches(data, 3, 2) == batches(data, 3, window_shift=2) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert batches(data, 3, window_shift=2, window_stride=2) == [[0, 2, 4], [2, 4, 6]]
    with pytest.raises(ValueError, match="both `stride` and `window_shift`"):
        tf.contrib.data.sliding_window_batch(3, 1, 1)
    nested = tf.data.Dataset.zip((data, data.map(lambda x: {"tenth": x * 10})))
    first, *_ = elements(nested.apply(tf.contrib.data.sliding_window_batch(2)))
    assert (first[0].tolist(), first[1]["tenth"].tolist()) == ([0, 1], [0, 10])
    assert nested.apply(tf.contrib.data.sliding_window_batch(2)).output_shapes[0].as_list() == [2]


def test_interleaving() -> None:
    data = tf.data.Dataset.range(3).apply(
        tf.contrib.data.sloppy_interleave(lambda n: tf.data.Dataset.from_tensors(n).repeat(2), 2)
    )
    assert sorted(elements(data)) == [0, 0, 1, 1, 2, 2]


def test_the_projectors_configuration(tmp_path: Path) -> None:
    from tensorfleet.contrib.tensorboard.plugins import projector

    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "embeddings"
    embedding.metadata_path = "labels.tsv"
    embedding.sprite.single_image_dim.extend([28, 28])
    writer = tf.summary.FileWriter(str(tmp_path))
    projector.visualize_embeddings(writer, config)
    writer.close()
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(text, projector.ProjectorConfig()) == config


def test_constants() -> None:
    np.testing.assert_array_equal(tf.contrib.util.constant_value(tf.constant([1, 2])), [1, 2])
    assert tf.contrib.util.make_ndarray(tf.contrib.util.make_tensor_proto([3.0])).tolist() == [3.0]


def test_modes() -> None:
    """Programs compare what an estimator passes them with either class."""
    old, new = tf.contrib.learn.ModeKeys, tf.estimator.ModeKeys
    assert (old.TRAIN, old.EVAL, old.INFER) == (new.TRAIN, new.EVAL, new.PREDICT)
