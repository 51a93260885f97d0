"""`tf.contrib.seq2seq`'s monotonic attention; the values are those of TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

MEMORY = (np.arange(24).reshape(2, 4, 3) / 20 - 0.5).astype(np.float32)
QUERY = np.array([[0.5, -0.2, 0.3], [0.1, 0.4, -0.6]], np.float32)
CHOSEN = np.array([[0.1, 0.5, 0.9, 0.3], [0.4, 0.2, 0.7, 1.0]], np.float32)
PREVIOUS = np.array([[1, 0, 0, 0], [0.2, 0.3, 0.4, 0.1]], np.float32)
seq2seq: Any = tf.contrib.seq2seq


@pytest.mark.parametrize("mode", ["recursive", "parallel"])
def test_alignments(mode: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(seq2seq.monotonic_attention(CHOSEN, PREVIOUS, mode))
    np.testing.assert_allclose(found, [[0.1, 0.45, 0.405, 0.0135], [0.08, 0.084, 0.5152, 0.3208]], rtol=1e-5)


def test_hard_alignments_take_the_first_from_the_last_place_on() -> None:
    chosen, previous = np.round(CHOSEN), np.array([[1, 0, 0, 0], [0, 1, 0, 0]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(seq2seq.monotonic_attention(chosen, previous, "hard"))
        with pytest.raises(ValueError, match="mode must be 'recursive', 'parallel', or 'hard'"):
            seq2seq.monotonic_attention(chosen, previous, "soft")
    assert found.tolist() == [[0, 0, 1, 0], [0, 0, 1, 0]]


def test_running_products_keep_their_gradients() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[0.5, 0.0, 0.2]])
        products = seq2seq.safe_cumprod(x, axis=1)
        values, [gradient] = session.run([products, tf.gradients(products, x)])
        exclusive = session.run(seq2seq.safe_cumprod(np.array([[0.5, 0.1, 0.2]]), axis=1, exclusive=True))
    np.testing.assert_allclose(values, [[0.5, 0, 0]], atol=1e-30)
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(exclusive, [[1, 0.5, 0.05]])


def set_variables(session: tf.Session) -> None:
    """Gives matrices and vectors fixed values; scalars keep their initial ones."""
    session.run(tf.global_variables_initializer())
    for number, variable in enumerate(sorted(tf.global_variables(), key=lambda v: str(v.name))):
        sizes = variable.shape.as_list()
        if sizes:
            value = np.cos(np.arange(np.prod(sizes)) * 0.7 + number) * 0.5
            session.run(variable.assign(value.reshape(sizes).astype(np.float32)))


def alignments(kind: str, **arguments: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        mechanism = getattr(seq2seq, kind)(3, tf.constant(MEMORY), **arguments)
        found, state = mechanism(tf.constant(QUERY), mechanism.initial_state(2, tf.float32))
        assert found is state
        set_variables(session)
        return session.run(found)


@pytest.mark.parametrize(
    ("kind", "arguments", "expected"),
    [
        (
            "BahdanauMonotonicAttention",
            {"normalize": True, "score_bias_init": -0.5, "memory_sequence_length": [3, 4]},
            [[0.35125583, 0.22789934, 0.14785554, 0], [0.25741148, 0.1911636, 0.14196208, 0.10542159]],
        ),
        (
            "LuongMonotonicAttention",
            {"scale": True, "score_bias_init": -0.5, "memory_sequence_length": [3, 4]},
            [[0.3817785, 0.23603347, 0.14592329, 0], [0.37819523, 0.23521118, 0.14626703, 0.09094554]],
        ),
        (
            "BahdanauMonotonicAttention",
            {"normalize": True, "mode": "recursive"},
            [
                [0.47164953, 0.24921776, 0.13167556, 0.06956612],
                [0.363671, 0.23142768, 0.14726774, 0.09370998],
            ],
        ),
        (
            "LuongMonotonicAttention",
            {"scale": True, "mode": "hard"},
            [[1, 0, 0, 0], [1, 0, 0, 0]],
        ),
    ],
)
def test_mechanisms(kind: str, arguments: dict[str, Any], expected: Any) -> None:
    np.testing.assert_allclose(alignments(kind, **arguments), expected, rtol=1e-4, atol=1e-6)


def test_the_names_of_variables() -> None:
    with tf.Graph().as_default():
        mechanism = seq2seq.BahdanauMonotonicAttention(3, tf.constant(MEMORY))
        mechanism(tf.constant(QUERY), mechanism.initial_state(2, tf.float32))
        assert sorted(v.op.name for v in tf.global_variables()) == [
            "bahdanau_monotonic_attention/attention_score_bias",
            "bahdanau_monotonic_attention/attention_v",
            "bahdanau_monotonic_attention/query_layer/kernel",
            "memory_layer/kernel",
        ]


def test_a_wrapped_cell_trains_with_noise() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        mechanism = seq2seq.LuongMonotonicAttention(
            3,
            tf.constant(MEMORY),
            memory_sequence_length=[4, 2],
            sigmoid_noise=1.0,
            sigmoid_noise_seed=3,
        )
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), mechanism, 2)
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(MEMORY), dtype=tf.float32)
        set_variables(session)
        gradients = session.run(tf.gradients(outputs, tf.trainable_variables()))
    assert all(np.isfinite(gradient).all() for gradient in gradients)
