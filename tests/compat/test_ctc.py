"""ctc_loss, its gradient and the decoders: beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

RANDOM = np.random.RandomState(0)
SMALL = RANDOM.randn(5, 3, 4).astype(np.float32)
LARGE = 2 * RANDOM.randn(30, 8, 12)
LENGTHS = np.array([30, 29, 12, 7, 30, 20, 5, 3], np.int32)
Labels = list[list[int]]
USUAL: Labels = [[0, 1], [2], [1, 1]]
OF_LARGE: Labels = [RANDOM.randint(0, 11, max(1, n // 3)).tolist() for n in LENGTHS]

LOSSES: dict[str, tuple[Any, Labels, Any, dict[str, Any]]] = {
    "small": (SMALL, USUAL, [5, 4, 3], {}),
    "no path": (SMALL, USUAL, [5, 4, 2], {}),
    "too long": (SMALL, USUAL, [5, 4, 1], {}),
    "too long, ignored": (SMALL, USUAL, [5, 4, 1], {"ignore_longer_outputs_than_inputs": True}),
    "no time": (SMALL, USUAL, [5, 4, 0], {"ignore_longer_outputs_than_inputs": True}),
    "beyond the inputs": (SMALL, USUAL, [5, 4, 6], {}),
    "repeats stay": (SMALL, USUAL, [5, 4, 2], {"ctc_merge_repeated": False}),
    "repeats collapse": (SMALL, USUAL, [5, 4, 2], {"preprocess_collapse_repeated": True}),
    "no labels": (SMALL, [[0], [], [1]], [5, 4, 3], {}),
    "an end": (SMALL, [[0, 3], [1], [1, 1]], [5, 4, 3], {}),
    "labels after an end": (SMALL, [[0], [1], [3, 1]], [5, 4, 3], {}),
    "a negative label": (SMALL, [[0], [1], [-1]], [5, 4, 3], {}),
    "large, float64": (LARGE, OF_LARGE, LENGTHS, {}),
    "large, float32": (LARGE.astype(np.float32), OF_LARGE, LENGTHS, {}),
    "large, repeats stay": (LARGE, OF_LARGE, LENGTHS, {"ctc_merge_repeated": False}),
}
DECODERS: dict[str, Any] = {
    "greedy": lambda t: t.nn.ctc_greedy_decoder(t.constant(LARGE), LENGTHS),
    "greedy, repeats stay": lambda t: t.nn.ctc_greedy_decoder(SMALL, [5, 4, 0], merge_repeated=False),
    "greedy, another blank": lambda t: t.nn.ctc_greedy_decoder(SMALL, [5, 4, 3], blank_index=0),
    "greedy, no such blank": lambda t: t.nn.ctc_greedy_decoder(SMALL, [5, 4, 3], blank_index=7),
    "greedy, too long": lambda t: t.nn.ctc_greedy_decoder(SMALL, [5, 4, 7]),
    "beams": lambda t: t.nn.ctc_beam_search_decoder(SMALL, [5, 4, 3], top_paths=2),
    "few beams": lambda t: t.nn.ctc_beam_search_decoder_v2(t.constant(LARGE), LENGTHS, 3, 3),
    "merged beams": lambda t: t.nn.ctc_beam_search_decoder(t.constant(2 * SMALL), [5, 4, 3], 50, 3),
    "more paths than beams": lambda t: t.nn.ctc_beam_search_decoder(SMALL, [5, 4, 3], 2, 3),
    "more paths than there are": lambda t: t.nn.ctc_beam_search_decoder(SMALL, [5, 4, 0], 4, 3),
}


def _sparse(t: Any, rows: Labels) -> Any:
    places = [[b, i] for b, row in enumerate(rows) for i in range(len(row))]
    values = [label for row in rows for label in row]
    return t.SparseTensor(
        np.array(places, np.int64), t.constant(values, t.int32), [len(rows), max(map(len, rows))]
    )


def _run(t: Any, build: Any) -> Any:
    with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
        try:
            return session.run(build(t))
        except t.errors.OpError as error:
            return type(error).__name__


@pytest.mark.parametrize("case", LOSSES)
def test_the_same_loss_and_gradient(case: str) -> None:
    inputs, rows, lengths, options = LOSSES[case]

    def build(t: Any) -> Any:
        x = t.constant(inputs)
        loss = t.nn.ctc_loss(_sparse(t, rows), x, lengths, **options)
        weights = t.cast(t.range(1, len(rows) + 1), x.dtype)
        return [loss, t.gradients(loss * weights, x)[0]]

    ours, theirs = _run(tf, build), _run(tensorflow, build)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    for own, other in zip(ours, theirs, strict=True):
        assert own.dtype == other.dtype
        np.testing.assert_allclose(own, other, rtol=2e-4, atol=2e-5)


def test_batch_major() -> None:
    def build(t: Any) -> Any:
        return t.nn.ctc_loss(_sparse(t, USUAL), SMALL.transpose(1, 0, 2), [5, 4, 3], time_major=False)

    np.testing.assert_allclose(_run(tf, build), _run(tensorflow, build), rtol=1e-5)


@pytest.mark.parametrize("case", DECODERS)
def test_the_same_decoding(case: str) -> None:
    ours, theirs = _run(tf, DECODERS[case]), _run(tensorflow, DECODERS[case])
    if isinstance(theirs, str):
        assert ours == theirs
        return
    for own, other in zip(ours[0], theirs[0], strict=True):
        for a, b in zip(own, other, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
    assert ours[1].dtype == theirs[1].dtype
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-5)


def test_many_beams() -> None:
    """The same best paths. Which of those at the end of a long beam are dropped, differs; the score of a path
    is the probability of what is left, and never more than what all its alignments have."""
    rows = []
    for t in (tf, tensorflow):
        with t.Graph().as_default() as graph, t.Session(graph=graph) as session:
            decoded, score = t.nn.ctc_beam_search_decoder_v2(t.constant(LARGE), LENGTHS, 100)
            labels = t.cast(decoded[0], t.int32)
            loss = t.nn.ctc_loss(labels, t.constant(LARGE), LENGTHS)
            found, scores, losses = session.run([decoded[0], score[:, 0], loss])
            assert (scores <= -losses + 1e-6).all()
            np.testing.assert_allclose(scores, -losses, atol=1.0)
            rows.append(found)
    for a, b in zip(*rows, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_loss_falls() -> None:
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        logits = tf.Variable(SMALL)
        loss = tf.reduce_sum(tf.nn.ctc_loss(_sparse(tf, USUAL), logits, [5, 4, 3]))
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train])[0] for _ in range(50)]
        decoded = session.run(tf.nn.ctc_greedy_decoder(logits, [5, 4, 3])[0][0])
    assert losses[-1] < 0.1 * losses[0]
    assert decoded.values.tolist() == [0, 1, 2, 1, 1]
