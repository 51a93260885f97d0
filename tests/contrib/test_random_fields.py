"""tf.contrib.crf beside sums and maxima over all sequences of tags."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

crf = tf.contrib.crf
RANDOM = np.random.RandomState(3)
SCORES = RANDOM.randn(4, 5, 3).astype(np.float32)
TRANSITIONS = RANDOM.randn(3, 3).astype(np.float32)
TAGS = RANDOM.randint(0, 3, (4, 5))
LENGTHS = np.array([5, 3, 1, 0])


def score_of(index: int, tags: Any) -> float:
    single = sum(SCORES[index, place, tag] for place, tag in enumerate(tags))
    return float(single + sum(TRANSITIONS[a, b] for a, b in pairwise(tags)))


def all_scores(index: int) -> dict[tuple[int, ...], float]:
    return {tags: score_of(index, tags) for tags in product(range(3), repeat=LENGTHS[index])}


def log_sum(values: Any) -> Any:
    return np.log(np.sum(np.exp(list(values))))


def run(*made: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(made))


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("known", [True, False])
def test_scores_and_norms(known: bool) -> None:
    scores = tf.placeholder_with_default(SCORES, [None, 5 if known else None, 3])
    score, norm = run(
        crf.crf_sequence_score(scores, TAGS, LENGTHS, TRANSITIONS),
        crf.crf_log_norm(scores, LENGTHS, TRANSITIONS),
    )
    wanted = [score_of(i, TAGS[i, : LENGTHS[i]]) for i in range(4)]
    np.testing.assert_allclose(score, wanted, rtol=1e-5)
    norms = [log_sum(all_scores(i).values()) if LENGTHS[i] else 0.0 for i in range(4)]
    np.testing.assert_allclose(norm, norms, rtol=1e-5)


def test_allowed_tags() -> None:
    allowed = RANDOM.rand(4, 5, 3) > 0.3
    allowed[..., 0] = True
    (found,) = run(crf.crf_multitag_sequence_score(SCORES, allowed, LENGTHS, TRANSITIONS))
    for i in range(3):
        fits = [s for t, s in all_scores(i).items() if all(allowed[i, p, tag] for p, tag in enumerate(t))]
        np.testing.assert_allclose(found[i], log_sum(fits), rtol=1e-5)


def test_the_best_tags() -> None:
    tags, best = run(*crf.crf_decode(SCORES, TRANSITIONS, LENGTHS))
    assert tags.dtype == np.int32
    for i in range(3):
        wanted = max(all_scores(i), key=all_scores(i).__getitem__)
        assert tuple(tags[i, : LENGTHS[i]]) == wanted
        np.testing.assert_allclose(best[i], all_scores(i)[wanted], rtol=1e-5)
        path, value = crf.viterbi_decode(SCORES[i, : LENGTHS[i]], TRANSITIONS)
        assert tuple(path) == wanted
        np.testing.assert_allclose(value, best[i], rtol=1e-6)


def test_sequences_of_one_place() -> None:
    one = SCORES[:, :1]
    lengths = [1, 1, 1, 0]
    tags, best, norm = run(
        *crf.crf_decode(one, TRANSITIONS, lengths), crf.crf_log_norm(one, lengths, TRANSITIONS)
    )
    np.testing.assert_array_equal(tags[:, 0], one[:, 0].argmax(1))
    np.testing.assert_allclose(best, one[:, 0].max(1))
    np.testing.assert_allclose(norm[:3], np.log(np.exp(one[:3, 0]).sum(1)), rtol=1e-5)
    assert norm[3] == 0


def test_training_finds_the_tags() -> None:
    scores = tf.get_variable("scores", initializer=np.zeros_like(SCORES))
    likelihood, transitions = crf.crf_log_likelihood(scores, TAGS, [5, 5, 5, 5])
    assert transitions.name == "transitions:0"
    assert transitions.shape.as_list() == [3, 3]
    loss = -tf.reduce_mean(likelihood)
    train = tf.train.AdamOptimizer(0.3).minimize(loss)
    tags, _ = crf.crf_decode(scores, transitions, [5, 5, 5, 5])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(60):
            session.run(train)
        assert session.run(loss) < first / 10
        np.testing.assert_array_equal(session.run(tags), TAGS)
