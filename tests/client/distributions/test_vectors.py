"""Distributions of vectors, beside the formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

tfd = tf.contrib.distributions
LOC = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 2.0]])
TRIL = np.array([[2.0, 0.0, 0.0], [0.3, -1.5, 0.0], [0.1, 0.2, 0.7]])


def run(*made: Any) -> Any:
    with tf.Session() as session:
        return session.run(list(made))


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def log_density(x: np.ndarray, loc: np.ndarray, covariance: np.ndarray) -> Any:
    difference = x - loc
    distance = np.einsum("...i,ij,...j", difference, np.linalg.inv(covariance), difference)
    return -0.5 * (distance + np.linalg.slogdet(2 * np.pi * covariance)[1])


def test_a_normal_vector() -> None:
    d = tfd.MultivariateNormalTriL(LOC, TRIL)
    x = np.array([[0.3, -1.0, 1.0], [2.0, 2.0, 2.0]])
    covariance = TRIL @ TRIL.T
    assert d.batch_shape.as_list() == [2]
    assert d.event_shape.as_list() == [3]
    found = run(d.log_prob(x), d.covariance(), d.stddev(), d.entropy(), d.mean(), d.prob(x[0]))
    np.testing.assert_allclose(found[0], log_density(x, LOC, covariance))
    np.testing.assert_allclose(found[1], [covariance] * 2)
    np.testing.assert_allclose(found[2], [np.sqrt(np.diag(covariance))] * 2)
    np.testing.assert_allclose(found[3], [0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariance)[1]] * 2)
    np.testing.assert_allclose(found[4], LOC)
    np.testing.assert_allclose(found[5], np.exp(log_density(x[0], LOC, covariance)))


def test_its_draws() -> None:
    d = tfd.MultivariateNormalTriL(LOC, TRIL)
    drawn = d.sample(20000, seed=3)
    assert drawn.shape.as_list() == [20000, 2, 3]
    (values,) = run(drawn)
    for i in range(2):
        np.testing.assert_allclose(values[:, i].mean(0), LOC[i], atol=0.1)
        np.testing.assert_allclose(np.cov(values[:, i].T), TRIL @ TRIL.T, atol=0.15)


@pytest.mark.parametrize(
    ("arguments", "diagonal"),
    [
        ({"loc": LOC, "scale_diag": [1.0, 2.0, 3.0]}, [1, 2, 3]),
        ({"loc": LOC, "scale_identity_multiplier": 2.0}, [2, 2, 2]),
        ({"loc": LOC, "scale_diag": [1.0, 2.0, 3.0], "scale_identity_multiplier": 0.5}, [1.5, 2.5, 3.5]),
        ({"loc": LOC}, [1, 1, 1]),
    ],
)
def test_independent_elements(arguments: dict[str, Any], diagonal: list[float]) -> None:
    d = tfd.MultivariateNormalDiag(**arguments)
    x = LOC + np.array([0.3, -1.0, 1.0])
    covariance = np.diag(np.square(diagonal)).astype(float)
    found = run(d.log_prob(x), d.covariance(), d.entropy(), d.mode(), d.stddev())
    np.testing.assert_allclose(found[0], log_density(x, LOC, covariance))
    np.testing.assert_allclose(found[1], [covariance] * 2)
    np.testing.assert_allclose(found[2], [0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariance)[1]] * 2)
    np.testing.assert_allclose(found[3], LOC)
    np.testing.assert_allclose(found[4], [diagonal] * 2)


def test_divergence_of_independent_elements() -> None:
    a = tfd.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0])
    b = tfd.MultivariateNormalDiag([1.0, 1.0], [3.0, 0.5])
    of_numbers = tf.distributions.kl_divergence(
        tf.distributions.Normal([0.0, 1.0], [1.0, 2.0]), tf.distributions.Normal([1.0, 1.0], [3.0, 0.5])
    )
    found, wanted = run(a.kl_divergence(b), tf.reduce_sum(of_numbers))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_gradients_reach_the_parameters() -> None:
    loc, scale = tf.constant([1.0, 2.0]), tf.constant([0.5, 3.0])
    d = tfd.MultivariateNormalDiag(loc, scale)
    found = run(*tf.gradients(d.log_prob([1.5, 2.0]), [loc, scale]))
    np.testing.assert_allclose(found[0], [2.0, 0.0])
    np.testing.assert_allclose(found[1], [0.0, -1 / 3], atol=1e-6)


def test_classes_as_vectors() -> None:
    d = tfd.OneHotCategorical(probs=[0.2, 0.5, 0.3], dtype=tf.float32)
    drawn = d.sample(5000, seed=1)
    found = run(drawn, d.log_prob([0.0, 0.0, 1.0]), d.mode(), d.entropy(), d.kl_divergence(d))
    assert found[0].shape == (5000, 3)
    assert (found[0].sum(1) == 1).all()
    np.testing.assert_allclose(found[0].mean(0), [0.2, 0.5, 0.3], atol=0.03)
    np.testing.assert_allclose(found[1], np.log(0.3), rtol=1e-6)
    np.testing.assert_array_equal(found[2], [0, 1, 0])
    p = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(found[3:], [-p @ np.log(p), 0], atol=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing tells the size"):
        tfd.MultivariateNormalDiag(scale_identity_multiplier=2.0)
    with pytest.raises(ValueError, match="scale_tril"):
        tfd.MultivariateNormalTriL([0.0])
    zero = tf.placeholder_with_default([1.0, 0.0], [2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tfd.MultivariateNormalDiag(scale_diag=zero, validate_args=True).stddev())
