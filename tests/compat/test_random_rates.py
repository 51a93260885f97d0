"""Gamma and Poisson numbers of a seed are TensorFlow's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorfleet as ours
from tests.compat.side_by_side import real

EXACT = """
tf.random_gamma([7], 1.0, seed=3)
tf.random_gamma([300], [0.5, 1.0, 2.0, 30.0, 0.01, 1e4], seed=3)
tf.random_gamma([5, 3], [[0.5, 2.0], [3.0, 1.0]], beta=2.0, seed=4)
tf.random_gamma([50], tf.constant([0.3, 4.0], tf.float16), dtype=tf.float16, seed=4)
tf.random_gamma([0], 2.0, seed=1)
tf.random_gamma([], 2.0, seed=1)
tf.random_poisson([0.1, 1.0, 5.0, 9.99], [200], seed=3)
tf.random_poisson([10.0, 11.0, 50.0, 1e3, 1e6], [500], seed=3)
tf.random_poisson(tf.constant([0.0, 3.0, 40.0], tf.float64), [200], dtype=tf.int64, seed=9)
tf.random_poisson(tf.constant([0.0, 3.0, 40.0], tf.float64), [20], dtype=tf.int32, seed=9)
tf.random_poisson([5.0, 100.0], [100], dtype=tf.float64, seed=5)
tf.random_poisson([np.inf, -1.0, 3.0], [5], seed=1)
tf.random_poisson(2.0, [3, 2], seed=1)
tf.random_poisson([], [3], seed=1)
"""


def _two_runs(tf: Any, expression: str) -> list[Any]:
    with tf.Graph().as_default():
        tf.set_random_seed(11)
        tensor = eval(expression, {"tf": tf, "np": np})
        with tf.Session() as session:
            return [session.run(tensor), session.run(tensor)]


@pytest.mark.parametrize("expression", EXACT.split("\n")[1:-1])
def test_same_bits(expression: str) -> None:
    for mine, theirs in zip(_two_runs(ours, expression), _two_runs(real, expression), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_float64_up_to_the_rounding_of_powers() -> None:
    expression = "tf.random_gamma([500], tf.constant([0.3, 4.0], tf.float64), dtype=tf.float64, seed=4)"
    for mine, theirs in zip(_two_runs(ours, expression), _two_runs(real, expression), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-15)


def test_rates_without_a_distribution_end() -> None:
    # TensorFlow looks for an accepted number for ever.
    for seed in (None, 3):
        with ours.Graph().as_default(), ours.Session() as session:
            made = ours.random_gamma([4], [-1.0, np.nan, 2.0], seed=seed)
            numbers = made.op.inputs[1].op.inputs[0]
            values, found = session.run([made, numbers])
            assert np.isnan(found[:, :2]).all()
            # Maximum of the smallest number and NaN is the first of them.
            assert (values[:, :2] == np.finfo(np.float32).tiny).all()
            assert (values[:, 2] > 0).all()
            values = session.run(ours.random_poisson([np.nan, 2.0, 1e30], [4], seed=seed))
            assert np.isnan(values[:, 0]).all()
            assert np.isfinite(values[:, 1:]).all()
