"""Data sets of slim: Examples from TFRecord files, by queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

slim = tf.contrib.slim
IMAGE = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)


def feature(value: Any) -> tf.train.Feature:
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    if isinstance(value, float):
        value = [value]
    if isinstance(value, list):
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def example(label: int) -> bytes:
    features = {
        "image/encoded": (IMAGE + label).tobytes(),
        "image/format": b"raw",
        "label": label,
        **{
            f"box/{side}": [0.1 * label, float(number)]
            for number, side in enumerate(("y0", "x0", "y1", "x1"))
        },
    }
    made = {key: feature(value) for key, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


@pytest.fixture
def dataset(tmp_path: Path) -> Any:
    for part in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"part-{part}")) as writer:
            for label in range(3):
                writer.write(example(3 * part + label))
    decoder = slim.tfexample_decoder
    keys = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, "png"),
        "label": tf.FixedLenFeature([], tf.int64),
        **{f"box/{side}": tf.VarLenFeature(tf.float32) for side in ("y0", "x0", "y1", "x1")},
    }
    items = {
        "image": decoder.Image(shape=[2, 2, 3], channels=3),
        "label": decoder.Tensor("label"),
        "boxes": decoder.BoundingBox(["y0", "x0", "y1", "x1"], "box/"),
        "twice": decoder.ItemHandlerCallback("label", lambda tensors: 2 * tensors["label"]),
    }
    return slim.dataset.Dataset(
        data_sources=str(tmp_path / "part-*"),
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(keys, items),
        num_samples=6,
        items_to_descriptions={"label": "a number"},
        num_classes=6,
    )


def test_a_provider_reads_decodes_and_shuffles(dataset: Any) -> None:
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset, num_readers=2, common_queue_capacity=10, common_queue_min=1, num_epochs=1, seed=1
    )
    assert provider.list_items() == ["image", "label", "boxes", "twice", "record_key"]
    assert (provider.num_samples(), dataset.num_classes) == (6, 6)
    image, label, boxes, twice = provider.get(["image", "label", "boxes", "twice"])
    assert image.shape.as_list() == [2, 2, 3]
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            for _ in range(6):
                pixels, number, box, double = session.run([image, label, boxes, twice])
                np.testing.assert_array_equal(pixels, IMAGE + number)
                np.testing.assert_allclose(box, [[0.1 * number] * 4, [0.0, 1.0, 2.0, 3.0]], rtol=1e-6)
                assert double == 2 * number
                found.append(int(number))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(label)
    assert sorted(found) == list(range(6))
    with pytest.raises(ValueError, match="subset"):
        provider.get(["nothing"])


def test_batches_that_are_prefetched(dataset: Any) -> None:
    key, data = slim.parallel_reader.single_pass_read(dataset.data_sources, tf.TFRecordReader)
    [label] = dataset.decoder.decode(data, ["label"])
    queue = slim.prefetch_queue.prefetch_queue({"label": label, "key": key}, capacity=2)
    taken = queue.dequeue()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            assert [int(session.run(taken["label"])) for _ in range(6)] == list(range(6))
    with pytest.raises(ValueError, match="No data files"):
        slim.parallel_reader.get_data_files("/nowhere/part-*")


def test_handlers_of_sparse_features_and_of_nothing() -> None:
    decoder = slim.tfexample_decoder
    keys = {
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        "height": tf.FixedLenFeature([], tf.int64),
        "nothing": tf.VarLenFeature(tf.float32),
    }
    items = {
        "sparse": decoder.SparseTensor(shape=[5], densify=True),
        "shaped": decoder.Tensor("values", shape_keys="height"),
        "backed": decoder.BackupHandler(decoder.Tensor("nothing"), decoder.Tensor("values")),
    }
    ints = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 3]))
    made = {"indices": ints, "values": feature([5.0, 7.0]), "height": feature(2)}
    serialized = tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()
    tensors = decoder.TFExampleDecoder(keys, items).decode(tf.constant(serialized))
    with tf.Session() as session:
        sparse, shaped, backed = session.run(tensors)
    assert (sparse.tolist(), shaped.tolist(), backed.tolist()) == ([0, 5, 0, 7, 0], [5, 7], [5, 7])
