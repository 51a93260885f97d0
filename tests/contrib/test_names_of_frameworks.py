"""Helpers of tf.contrib.framework, data, training and distribute that older programs take from there.

The values are those that TensorFlow 1.15.5 gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_of_elsewhere() -> None:
    framework, data, distribute = tf.contrib.framework, tf.contrib.data, tf.contrib.distribute
    for name in ("TensorSpec", "argsort", "sort", "assert_same_float_dtype"):
        assert getattr(framework, name) is getattr(tf, name)
    assert framework.convert_to_tensor_or_sparse_tensor is tf.convert_to_tensor_or_sparse_tensor
    for name in ("SqlDataset", "TFRecordWriter", "make_saveable_from_iterator"):
        assert getattr(data, name) is getattr(tf.data.experimental, name)
    assert distribute.ReplicaContext is tf.distribute.ReplicaContext
    assert tf.contrib.nn.conv1d_transpose is tf.nn.conv1d_transpose
    assert issubclass(tf.contrib.rnn.BasicLSTMCell, tf.contrib.rnn.LayerRNNCell)
    assert issubclass(tf.contrib.lookup.KeyValueTensorInitializer, tf.contrib.lookup.TableInitializerBase)


def test_a_case_that_is_known() -> None:
    pairs = [(tf.constant(False), lambda: 1), (tf.constant(True), lambda: 2)]
    assert tf.contrib.framework.smart_case(pairs, default=lambda: 3) == 2


def test_a_last_dimension_too_many() -> None:
    """The predictions come first, unlike in tf.confusion_matrix."""
    predictions, labels = tf.contrib.framework.remove_squeezable_dimensions([[1.0], [2.0]], [1, 2])
    assert (predictions.dtype, labels.dtype) == (tf.float32, tf.int32)
    assert (predictions.shape.as_list(), labels.shape.as_list()) == ([2], [2])


def test_placeholders_of_a_graph(graph: tf.Graph) -> None:
    first = tf.placeholder(tf.float32, [2], name="a")
    tf.placeholder_with_default(1.0, [], name="c")
    second = tf.placeholder(tf.int32, name="b")
    found = tf.contrib.framework.get_placeholders(graph)
    assert [tensor.name for tensor in found] == ["a:0", "b:0"]
    assert found[0] is first
    assert found[1] is second
    with pytest.raises(TypeError, match="Input graph needs to be a Graph: "):
        tf.contrib.framework.get_placeholders(graph.as_graph_def())


def test_reducing_a_dataset() -> None:
    """The last step of the reducer is left out."""
    reducer = tf.contrib.data.Reducer(
        lambda key: key + 5, lambda state, x: state + x, lambda state: state * 100
    )
    total = tf.contrib.data.reduce_dataset(tf.data.Dataset.range(5), reducer)
    with tf.Session() as session:
        assert session.run(total) == 15
    with pytest.raises(TypeError, match=r"`dataset` must be a `tf\.data\.Dataset` object"):
        tf.contrib.data.reduce_dataset([1], reducer)


def test_batches_of_examples(tmp_path: Path) -> None:
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for age in range(3):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[age]))
            example = tf.train.Example(features=tf.train.Features(feature={"age": value}))
            writer.write(example.SerializeToString())
    batch = tf.contrib.data.read_batch_features(
        path, 2, {"age": tf.FixedLenFeature([], tf.int64)}, randomize_input=False, num_epochs=2
    )
    with tf.Session() as session:
        found = [session.run(batch)["age"].tolist() for _ in range(3)]
        assert found == [[0, 1], [2, 0], [1, 2]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch)


def test_servers_by_hashes_of_names() -> None:
    strategy, other = tf.contrib.training.RandomStrategy(3), tf.contrib.training.RandomStrategy(3, seed=7)
    ops = [tf.no_op(name=f"op{i}") for i in range(8)]
    assert [strategy(op) for op in ops] == [0, 1, 0, 2, 1, 2, 0, 1]
    assert [other(op) for op in ops] == [2, 1, 2, 2, 1, 1, 0, 1]


def test_where_replicas_are_built_for() -> None:
    distribute = tf.contrib.distribute
    strategy = distribute.OneDeviceStrategy("/cpu:0")
    replica = distribute.get_replica_context()
    assert distribute.get_cross_replica_context() is None
    distribute.require_replica_context(replica)
    with strategy.scope():
        assert distribute.get_cross_replica_context() is strategy
        with pytest.raises(RuntimeError, match="Need to be inside"):
            distribute.require_replica_context(replica)
        with (
            distribute.ReplicaContext(strategy, 0),
            pytest.raises(RuntimeError, match=r"Mismatching tf\.distribute\.Strategy objects"),
        ):
            distribute.require_replica_context(replica)
