"""Candidate samplers and sampled losses: for a seed, TensorFlow's own classes, counts and losses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

TRUE = np.array([[1, 2], [3, 1], [7, 0]], np.int64)
UNIGRAMS = [0.1, 5, 3, 0.2, 1, 1, 7, 2, 1, 1]
RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.randn(20, 4).astype(np.float32)
BIASES = RANDOM.randn(20).astype(np.float32)
INPUTS = RANDOM.randn(3, 4).astype(np.float32)
STEPS = 3

Build = Callable[[Any], Any]
SAMPLERS: dict[str, Build] = {
    f"{kind} of {size}, {'' if unique else 'not '}unique": (
        lambda t, kind=kind, unique=unique, size=size: getattr(t.nn, f"{kind}_candidate_sampler")(
            TRUE, 2, 7, unique, size, seed=5
        )
    )
    for kind in ("uniform", "log_uniform", "learned_unigram")
    for unique in (True, False)
    for size in (10, 16, 1000)
} | {
    "fixed": lambda t: t.nn.fixed_unigram_candidate_sampler(
        TRUE, 2, 4, True, 10, unigrams=UNIGRAMS, distortion=0.75, seed=5
    ),
    "fixed, reserved": lambda t: t.nn.fixed_unigram_candidate_sampler(
        TRUE, 2, 4, False, 12, unigrams=UNIGRAMS, num_reserved_ids=2, seed=9
    ),
    "fixed, a shard": lambda t: t.nn.fixed_unigram_candidate_sampler(
        TRUE // 2, 2, 4, True, 5, unigrams=UNIGRAMS, num_shards=2, shard=1, seed=9
    ),
    "all": lambda t: t.nn.all_candidate_sampler(TRUE, 2, 9, True),
    "hits": lambda t: t.nn.compute_accidental_hits(TRUE, np.array([1, 9, 7, 3, 1], np.int64), 2),
}


def _loss(function: str, **options: Any) -> Build:
    def build(t: Any) -> Any:
        t.set_random_seed(3)
        weights, biases, inputs = (t.constant(value) for value in (WEIGHTS, BIASES, INPUTS))
        loss = getattr(t.nn, function)(weights, biases, TRUE, inputs, 5, 20, 2, **options)
        grads = t.gradients(loss, [weights, biases, inputs])
        return [loss, *(t.convert_to_tensor(grad) for grad in grads)]

    return build


LOSSES: dict[str, Build] = {
    "nce": _loss("nce_loss"),
    "nce, hits removed": _loss("nce_loss", remove_accidental_hits=True),
    "softmax": _loss("sampled_softmax_loss"),
    "softmax, hits and seed": _loss("sampled_softmax_loss", remove_accidental_hits=False, seed=4),
}
REFUSED: dict[str, Build] = {
    "range": lambda t: t.nn.log_uniform_candidate_sampler(TRUE, 2, 40, True, 10, seed=1),
    "true class": lambda t: t.nn.uniform_candidate_sampler(TRUE, 2, 3, True, 5, seed=1),
    "sizes": lambda t: t.nn.fixed_unigram_candidate_sampler(TRUE, 2, 4, True, 12, unigrams=UNIGRAMS),
    "no weights": lambda t: t.nn.fixed_unigram_candidate_sampler(TRUE, 2, 4, True, 10),
    "both": lambda t: t.nn.fixed_unigram_candidate_sampler(
        TRUE, 2, 4, True, 10, vocab_file="there", unigrams=UNIGRAMS
    ),
}


def _run(t: Any, build: Build) -> list[Any]:
    graph = t.Graph()
    with graph.as_default(), t.Session(graph=graph) as session:
        made = list(build(t))
        return [session.run(made) for _ in range(STEPS)]


@pytest.mark.parametrize("case", [*SAMPLERS, *LOSSES])
def test_the_same_as_tensorflow(case: str) -> None:
    build = {**SAMPLERS, **LOSSES}[case]
    with tf.Graph().as_default(), tensorflow.Graph().as_default():
        assert getattr(build(tf), "_fields", None) == getattr(build(tensorflow), "_fields", None)
    for ours, theirs in zip(_run(tf, build), _run(tensorflow, build), strict=True):
        for own, other in zip(ours, theirs, strict=True):
            assert own.dtype == other.dtype
            np.testing.assert_allclose(own, other, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    with pytest.raises(tensorflow.errors.InvalidArgumentError) as theirs:
        _run(tensorflow, REFUSED[case])
    with pytest.raises(tf.errors.InvalidArgumentError) as ours:
        _run(tf, REFUSED[case])
    text = ours.value.message.splitlines()[0]
    assert text.split("\n")[0] in theirs.value.message


def test_a_vocabulary_file(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary"
    path.write_text("".join(f"word {i},{weight}\n" for i, weight in enumerate(UNIGRAMS)))

    def build(t: Any) -> Any:
        return t.nn.fixed_unigram_candidate_sampler(TRUE, 2, 4, True, 10, vocab_file=str(path), seed=2)

    for ours, theirs in zip(_run(tf, build), _run(tensorflow, build), strict=True):
        for own, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-6)


def test_weights_in_parts_and_from_several_steps() -> None:
    """word2vec on a partitioned table: the loss falls."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        weights = tf.get_variable(
            "weights",
            [20, 4],
            partitioner=tf.fixed_size_partitioner(2),
            initializer=tf.random_normal_initializer(),
        )
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights, tf.Variable(tf.zeros([20])), TRUE, INPUTS, 5, 20, 2, partition_strategy="div"
            )
        )
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train])[0] for _ in range(40)]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
