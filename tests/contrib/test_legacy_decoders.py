"""`tf.contrib.legacy_seq2seq`: decoders whose inputs are chosen in each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

BATCH, LENGTH, SYMBOLS, SIZE = 2, 3, 7, 4


def model(attends: bool, feed_previous: Any) -> tuple[list[Any], Any]:
    tf.set_random_seed(3)
    symbols = [tf.constant([i, i + 2]) for i in range(LENGTH)]
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(SIZE) for _ in range(2)])
    legacy: Any = tf.contrib.legacy_seq2seq
    build = legacy.embedding_attention_seq2seq if attends else legacy.embedding_rnn_seq2seq
    with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-1.0, 1.0, seed=5)):
        return build(symbols, symbols, cell, SYMBOLS, SYMBOLS, SIZE, feed_previous=feed_previous)


def values(attends: bool, feed_previous: Any, fed: bool | None = None) -> dict[str, Any]:
    """The outputs, the last state, a gradient's norm, and the names of the variables."""
    with tf.Graph().as_default(), tf.Session() as session:
        chosen = tf.placeholder(tf.bool, []) if fed is not None else feed_previous
        outputs, state = model(attends, chosen)
        loss = tf.add_n([tf.reduce_sum(tf.square(output)) for output in outputs])
        norm = tf.global_norm(tf.gradients(loss, tf.trainable_variables()))
        session.run(tf.global_variables_initializer())
        feeds = {chosen: fed} if fed is not None else {}
        outputs, state, norm = session.run([outputs, state, norm], feeds)
        return {
            "outputs": np.array(outputs),
            "state": np.array(state),
            "norm": norm,
            "names": sorted(v.op.name for v in tf.global_variables()),
        }


@pytest.mark.parametrize("attends", [False, True], ids=["plain", "attention"])
def test_a_tensor_decides_what_is_fed(attends: bool) -> None:
    expected = {feeds: values(attends, feeds) for feeds in (False, True)}
    assert not np.allclose(expected[False]["outputs"], expected[True]["outputs"])
    for feeds in (False, True):
        found = values(attends, None, feeds)
        assert found["names"] == expected[feeds]["names"]
        np.testing.assert_allclose(found["outputs"], expected[feeds]["outputs"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["state"], expected[feeds]["state"], rtol=1e-5, atol=1e-6)
        if not feeds:  # what is fed back teaches the embedding nothing, if a tensor decides
            np.testing.assert_allclose(found["norm"], expected[feeds]["norm"], rtol=1e-4)


def set_by_name(session: tf.Session) -> None:
    session.run(tf.global_variables_initializer())
    for number, variable in enumerate(sorted(tf.global_variables(), key=lambda v: str(v.name))):
        sizes = variable.shape.as_list()
        value = np.cos(np.arange(np.prod(sizes)) * 0.7 + number) * 0.5
        session.run(variable.assign(value.reshape(sizes).astype(np.float32)))


def symbols_of(rows: list[list[int]]) -> list[Any]:
    return [tf.constant(row) for row in rows]


@pytest.mark.parametrize(
    ("feeds", "last"),
    [
        (False, [[-0.25349650, -0.55211532, -0.59106565], [-0.2464938, -0.57601559, -0.63462824]]),
        (True, [[-0.2752623, -0.57101458, -0.59820978], [-0.28586411, -0.56414235, -0.57709563]]),
        (None, [[-0.2752623, -0.57101458, -0.59820978], [-0.28586411, -0.56414235, -0.57709563]]),
    ],
)
def test_one_embedding_for_both_sides(feeds: bool | None, last: Any) -> None:
    """The values are those of TensorFlow 1.15; None stands for a tensor that is True."""
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, state = tf.contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq(
            symbols_of([[1, 2], [0, 3]]),
            symbols_of([[4, 1], [2, 2], [0, 1]]),
            tf.nn.rnn_cell.BasicLSTMCell(2),
            num_symbols=5,
            embedding_size=3,
            num_decoder_symbols=3,
            feed_previous=tf.constant(True) if feeds is None else feeds,
        )
        assert len(tf.global_variables()) == 5
        assert isinstance(state, tf.nn.rnn_cell.LSTMStateTuple)
        set_by_name(session)
        np.testing.assert_allclose(session.run(outputs[2]), last, rtol=1e-4)


@pytest.mark.parametrize(
    ("feeds", "state_of_a", "state_of_b"),
    [
        (False, [[-0.11503328, -0.28670931], [-0.04158829, -0.32935902]], [0.12547311, 0.00491234]),
        (True, [[-0.23934679, -0.36060306], [-0.2491359, -0.35479218]], [-0.17987083, -0.48099443]),
        (None, [[-0.11503328, -0.28670931], [-0.04158829, -0.32935902]], [0.12547311, 0.00491234]),
    ],
)
def test_several_decoders(feeds: bool | None, state_of_a: Any, state_of_b: Any) -> None:
    """The values are those of TensorFlow 1.15; None stands for a tensor that is False."""
    inputs = [[4, 1], [2, 2], [0, 1]]
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, states = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq(
            symbols_of([[1, 2], [0, 3]]),
            {"a": symbols_of(inputs), "b": symbols_of(inputs[:2])},
            tf.nn.rnn_cell.GRUCell(2),
            {"a": tf.nn.rnn_cell.GRUCell(2), "b": tf.nn.rnn_cell.BasicRNNCell(2)},
            5,
            {"a": 5, "b": 6},
            3,
            feed_previous=tf.constant(False) if feeds is None else feeds,
        )
        assert {name: len(found) for name, found in outputs.items()} == {"a": 3, "b": 2}
        set_by_name(session)
        np.testing.assert_allclose(session.run(states["a"]), state_of_a, rtol=1e-4)
        np.testing.assert_allclose(session.run(states["b"])[0], state_of_b, rtol=1e-3)


def test_decoders_and_cells_have_the_same_names() -> None:
    build = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq
    cell = tf.nn.rnn_cell.GRUCell(2)
    with pytest.raises(TypeError, match="enc_cell is not an RNNCell"):
        build([], {}, None, {}, 1, {}, 1)
    with pytest.raises(ValueError, match="keys of dec_cells_dict"):
        build([], {"a": []}, cell, {}, 1, {}, 1)
    with pytest.raises(TypeError, match="dec_cell is not an RNNCell"):
        build([], {"a": []}, cell, {"a": None}, 1, {"a": 1}, 1)
