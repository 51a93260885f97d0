"""Bijectors beside numerical Jacobians, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

tfd = tf.contrib.distributions
tfb = tfd.bijectors
TRIL = np.array([[2.0, 0.0, 0.0], [0.3, -1.5, 0.0], [0.1, 0.2, 0.7]])
FACTOR = np.array([[0.5], [0.2], [-0.3]])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def run(*made: Any) -> Any:
    with tf.Session() as session:
        return session.run(list(made))


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


BIJECTORS: dict[str, Callable[[], Any]] = {
    "Identity": tfb.Identity,
    "Exp": tfb.Exp,
    "PowerTransform": lambda: tfb.PowerTransform(0.5),
    "Sigmoid": tfb.Sigmoid,
    "Softplus": tfb.Softplus,
    "a soft Softplus": lambda: tfb.Softplus(np.float64(2.5)),
    "Softsign": tfb.Softsign,
    "Square": tfb.Square,
    "AffineScalar": lambda: tfb.AffineScalar(np.float64(1), np.float64(-2)),
    "Affine, diagonal": lambda: tfb.Affine(f(1, 2, 3), scale_diag=f(2, 0.5, -1)),
    "Affine, triangular": lambda: tfb.Affine(scale_tril=TRIL, scale_identity_multiplier=np.float64(3)),
    "Affine, low rank": lambda: tfb.Affine(scale_diag=f(2, 1, 1), scale_perturb_factor=FACTOR),
    "Affine, a multiple": lambda: tfb.Affine(f(1, 2, 3), scale_identity_multiplier=np.float64(3)),
    "Permute": lambda: tfb.Permute([2, 0, 1]),
    "SoftmaxCentered": tfb.SoftmaxCentered,
    "Invert": lambda: tfb.Invert(tfb.Softplus()),
    "Chain": lambda: tfb.Chain([tfb.Exp(), tfb.Affine(scale_tril=TRIL), tfb.Sigmoid()]),
    "Inline": lambda: tfb.Inline(
        forward_fn=tf.sinh,
        inverse_fn=tf.asinh,
        forward_log_det_jacobian_fn=lambda x: tf.log(tf.cosh(x)),
    ),
}


@pytest.mark.parametrize("name", BIJECTORS)
def test_inverses_and_determinants(name: str) -> None:
    bijector = BIJECTORS[name]()
    x = f(0.4, 1.3, 0.7)
    at = tf.placeholder(tf.float64, [3])
    y = bijector.forward(at)
    assert y.shape == bijector.forward_event_shape([3])
    rest = tf.placeholder(tf.float64, y.shape)
    ahead, back = bijector.forward_log_det_jacobian(at, 1), bijector.inverse_log_det_jacobian(rest, 1)
    inverse = bijector.inverse(rest)
    assert inverse.shape.as_list() == [3]
    with tf.Session() as session:
        image = session.run(y, {at: x})
        steps = np.eye(3) * 1e-6
        columns = [(session.run(y, {at: x + s}) - session.run(y, {at: x - s})) / 2e-6 for s in steps]
        jacobian = np.array(columns).T[:3]
        expected = np.linalg.slogdet(jacobian)[1]
        found = session.run([ahead, back, inverse], {at: x, rest: image})
    np.testing.assert_allclose(found[0], expected, atol=1e-7)
    np.testing.assert_allclose(found[1], -expected, atol=1e-7)
    np.testing.assert_allclose(found[2], x, rtol=1e-10)


def test_reshaped_events() -> None:
    bijector = tfb.Reshape([2, -1], [6])
    x = np.arange(12.0).reshape(2, 6)
    y = bijector.forward(x)
    assert y.shape.as_list() == [2, 2, 3]
    assert bijector.inverse_event_shape([2, 3]).as_list() == [6]
    fed = tf.placeholder(tf.float64)
    found = run(y, bijector.inverse(tf.identity(y)), bijector.inverse_log_det_jacobian(y, 2))
    np.testing.assert_array_equal(found[0], x.reshape(2, 2, 3))
    np.testing.assert_array_equal(found[1], x)
    with tf.Session() as session:
        assert session.run(bijector.forward(fed), {fed: x}).shape == (2, 2, 3)
    with pytest.raises(ValueError, match="different sizes"):
        tfb.Reshape([2, 2], [6])
    with pytest.raises(ValueError, match="at least 1"):
        tfb.Affine(f(1)).forward_log_det_jacobian(f(1), 0)
    with pytest.raises(ValueError, match="each position once"):
        tfb.Permute([0, 0])


def test_a_value_that_is_remembered() -> None:
    # The sigmoid of 40 is 1 in float64: only its source tells how far away it is.
    d = tfd.TransformedDistribution(tfd.Normal(f(40), f(1)), tfb.Sigmoid())
    drawn = d.sample(5, seed=1)
    assert np.isfinite(run(d.log_prob(drawn))[0]).all()


def test_transformed_vectors() -> None:
    d = tfd.TransformedDistribution(
        tfd.Normal(np.float64(0), np.float64(1)),
        tfb.Affine(f(1, 2, 3), scale_tril=TRIL),
        event_shape=[3],
        batch_shape=[2],
    )
    same = tfd.MultivariateNormalTriL(np.array([f(1, 2, 3)] * 2), TRIL)
    assert d.batch_shape.as_list() == [2]
    assert d.event_shape.as_list() == [3]
    x = f(0.5, 1, 2)
    drawn = d.sample(5000, seed=3)
    found = run(d.log_prob(x), same.log_prob(x), d.entropy(), same.entropy(), d.mean(), drawn)
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[2], found[3])
    np.testing.assert_allclose(found[4], [[1, 2, 3]] * 2)
    assert found[5].shape == (5000, 2, 3)
    np.testing.assert_allclose(np.cov(found[5][:, 0].T), TRIL @ TRIL.T, atol=0.3)


NORMALS: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
    "FullCovariance": (lambda: tfd.MultivariateNormalFullCovariance(f(1, 2, 3), TRIL @ TRIL.T), TRIL),
    "DiagPlusLowRank": (
        lambda: tfd.MultivariateNormalDiagPlusLowRank(f(1, 2, 3), f(2, 1, 1), scale_perturb_factor=FACTOR),
        np.diag([2.0, 1, 1]) + FACTOR @ FACTOR.T,
    ),
    "LinearOperator": (
        lambda: tfd.MultivariateNormalLinearOperator(f(1, 2, 3), tf.linalg.LinearOperatorFullMatrix(TRIL.T)),
        TRIL.T,
    ),
}


@pytest.mark.parametrize("name", NORMALS)
def test_normal_vectors(name: str) -> None:
    make, scale = NORMALS[name]
    d, x, covariance = make(), f(0.5, 1, -2), scale @ scale.T
    other = tfd.MultivariateNormalDiag(f(0, 1, 0), f(1, 2, 0.5))
    found = run(
        d.log_prob(x), d.covariance(), d.entropy(), tfd.kl_divergence(d, other), d.sample(5000, seed=2)
    )
    difference = x - f(1, 2, 3)
    logs = np.linalg.slogdet(2 * np.pi * covariance)[1]
    distance = difference @ np.linalg.solve(covariance, difference)
    np.testing.assert_allclose(found[0], -0.5 * (distance + logs))
    np.testing.assert_allclose(found[1], covariance, atol=1e-12)
    np.testing.assert_allclose(found[2], 0.5 * (logs + 3))
    q = np.diag(f(1, 0.25, 4))
    apart = f(1, 1, 3)
    divergence = np.trace(q @ covariance) + apart @ q @ apart - 3
    divergence += -np.linalg.slogdet(q)[1] - np.linalg.slogdet(covariance)[1]
    np.testing.assert_allclose(found[3], 0.5 * divergence)
    np.testing.assert_allclose(np.cov(found[4].T), covariance, atol=0.4)


def test_independent_elements() -> None:
    loc, scale = np.arange(6.0).reshape(2, 3), f(1, 2, 0.5)
    d = tfd.Independent(tfd.Normal(loc, scale), 1)
    same = tfd.MultivariateNormalDiag(loc, scale)
    laplace = tfd.VectorLaplaceDiag(loc, scale)
    parts = tfd.Independent(tfd.Laplace(loc, scale))
    x = loc + 0.3
    assert d.event_shape.as_list() == laplace.event_shape.as_list() == [3]
    for a, b in ((d, same), (laplace, parts)):
        found = run(a.log_prob(x), b.log_prob(x), a.entropy(), b.entropy(), a.variance(), b.variance())
        for ours, theirs in zip(found[::2], found[1::2], strict=True):
            np.testing.assert_allclose(ours, theirs)
    shifted = tfd.Independent(tfd.Normal(loc + 1, scale), 1)
    other = tfd.MultivariateNormalDiag(loc + 1, scale)
    found = run(tfd.kl_divergence(d, shifted), tfd.kl_divergence(same, other))
    np.testing.assert_allclose(found[0], found[1])


def test_relaxed_classes() -> None:
    d = tfd.RelaxedBernoulli(np.float64(0.7), probs=f(0.2, 0.6))
    x = np.linspace(0, 1, 4001)[1:-1]
    density, drawn = run(d.prob(x[:, None]), d.sample(2000, seed=1))
    np.testing.assert_allclose(density.sum(0) / 4000, 1, rtol=0.05)
    np.testing.assert_allclose((drawn > 0.5).mean(0), [0.2, 0.6], atol=0.04)
    # With two classes the vector's first element is the relaxed number.
    pair = tfd.RelaxedOneHotCategorical(np.float64(0.7), probs=np.array([[0.2, 0.8], [0.6, 0.4]]))
    ends = run(pair.prob(np.array([0.3, 0.7])), d.prob(np.float64(0.3)))
    np.testing.assert_allclose(ends[0], ends[1])
    logits = tf.constant(f(0.1, 0.5, -1))
    drawn = tfd.RelaxedOneHotCategorical(np.float64(0.5), logits=logits).sample(4, seed=2)
    values, gradient = run(drawn, tf.gradients(drawn[:, 0], logits)[0])
    np.testing.assert_allclose(values.sum(-1), 1)
    assert np.abs(gradient).max() > 0
