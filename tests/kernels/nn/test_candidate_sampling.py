"""Candidate samplers that are asked for more classes than they can give, or for very many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet_service.kernels.nn import candidate_sampling
from tensorfleet_service.state import philox
from tensorfleet_service.threads.running import RUNNING


def _fixed(weights: list[float], count: int, unique: bool = True) -> Any:
    """Classes of these weights, drawn."""
    with tf.Graph().as_default(), tf.Session() as session:
        sampled, _, _ = tf.nn.fixed_unigram_candidate_sampler(
            tf.constant([[0]], tf.int64), 1, count, unique, len(weights), unigrams=weights, seed=1
        )
        return session.run(sampled).tolist()


def test_classes_without_a_probability() -> None:
    weights = [0.0, 1, 0, 2, 0]
    assert sorted(_fixed(weights, 2)) == [1, 3]
    assert set(_fixed(weights, 40, unique=False)) == {1, 3}
    with pytest.raises(tf.errors.InvalidArgumentError, match="only 2 of the 5 have a probability"):
        _fixed(weights, 3)


def test_reserved_ids_have_no_probability() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sampled, _, _ = tf.nn.fixed_unigram_candidate_sampler(
            tf.constant([[0]], tf.int64), 1, 4, True, 5, unigrams=[1.0, 1, 1], num_reserved_ids=2, seed=1
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="only 3 of the 5"):
            session.run(sampled)


class _Ended:
    error = errors.CancelledError(None, None, "The step was cancelled.")


@pytest.mark.parametrize("unique", [True, False])
def test_drawing_ends_with_its_step(monkeypatch: pytest.MonkeyPatch, unique: bool) -> None:
    """The second class is as good as never drawn, or very many are."""
    sampler = candidate_sampling._Fixed(np.array([1, 1e-9], np.float32))
    words = candidate_sampling._Words(philox.seeded_stream(1, 2))
    monkeypatch.setattr(RUNNING, "step", _Ended())
    with pytest.raises(tf.errors.CancelledError):
        candidate_sampling._draw(sampler, words, 2 if unique else 1 << 40, unique)
