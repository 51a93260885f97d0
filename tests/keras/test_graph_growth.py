"""What Keras adds to a graph once, however many sessions and checkpoints use it; and names of weights."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import tensorfleet as tf


def _types(graph: tf.Graph) -> list[str]:
    return sorted(op.type for op in graph.get_operations())


def test_another_session_asks_the_same_nodes_what_is_initialized() -> None:
    with tf.Graph().as_default() as graph:
        tf.keras.layers.Dense(2)(tf.keras.layers.Input((3,)))
        for number in range(3):
            with tf.Session():
                tf.keras.backend.get_session()
            if not number:
                before = _types(graph)
        assert _types(graph) == before


def test_stacked_cells_name_their_weights_as_in_tensorflow_1() -> None:
    with tf.Graph().as_default():
        layer = tf.keras.layers.RNN([tf.keras.layers.SimpleRNNCell(3), tf.keras.layers.SimpleRNNCell(2)])
        layer(tf.keras.layers.Input((4, 5)))
        names = ("kernel", "recurrent_kernel", "bias", "kernel_1", "recurrent_kernel_1", "bias_1")
        assert [weight.name for weight in layer.weights] == [f"rnn/{name}:0" for name in names]


def _write(checkpoint: tf.train.Checkpoint, prefix: str) -> weakref.ref[tf.Graph]:
    """Gives the checkpoint a variable of a new graph, and writes it."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        checkpoint.weights = tf.Variable([1.0])
        session.run(checkpoint.weights.initializer)
        for _ in range(2):
            checkpoint.write(prefix)
        assert _types(graph).count("SaveV2") == 1
    return weakref.ref(graph)


def test_a_checkpoint_keeps_no_graph_that_its_objects_have_left(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint()
    first = _write(checkpoint, str(tmp_path / "model"))
    _write(checkpoint, str(tmp_path / "model"))
    gc.collect()
    assert first() is None
