"""Flows and bijectors of matrices beside numerical Jacobians; Wishart's, Cauchy's, Kumaraswamy's families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

tfd = tf.contrib.distributions
tfb = tfd.bijectors
RNG = np.random.default_rng(8)
TRIL = np.array([[2.0, 0.0, 0.0], [0.3, 1.5, 0.0], [0.1, 0.2, 0.7]])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def started() -> tf.Session:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def autoregressive(**options: Any) -> Any:
    return tfb.masked_autoregressive_default_template([8, 8], activation=tf.tanh, name="made", **options)


def halved(x: Any, size: int) -> Any:
    return tfb.real_nvp_default_template([6], activation=tf.tanh, name="net")(x, size)


# By the bijector: where it is looked at, and the triangle of elements of x and of y that are free.
VECTOR = f(0.4, 0.9, 0.7)
LOWER = np.tril_indices(3)
CASES: dict[str, tuple[Callable[[], Any], np.ndarray, Any, Any]] = {
    "Gumbel": (lambda: tfb.Gumbel(np.float64(0.3), np.float64(2.0)), VECTOR, None, None),
    "Kumaraswamy": (lambda: tfb.Kumaraswamy(np.float64(2.0), np.float64(1.5)), VECTOR, None, None),
    "Weibull": (lambda: tfb.Weibull(np.float64(2.0), np.float64(1.5)), VECTOR, None, None),
    "SinhArcsinh": (lambda: tfb.SinhArcsinh(np.float64(0.3), np.float64(1.4)), VECTOR, None, None),
    "Ordered": (tfb.Ordered, VECTOR.cumsum(), None, None),
    "CholeskyOuterProduct": (tfb.CholeskyOuterProduct, TRIL, LOWER, LOWER),
    "MatrixInverseTriL": (tfb.MatrixInverseTriL, TRIL, LOWER, LOWER),
    "TransformDiagonal": (lambda: tfb.TransformDiagonal(tfb.Exp()), TRIL, LOWER, LOWER),
    "FillTriangular": (tfb.FillTriangular, np.arange(6.0), None, LOWER),
    "ScaleTriL": (lambda: tfb.ScaleTriL(diag_shift=np.float64(0.1)), np.arange(6.0), None, LOWER),
    "MaskedAutoregressiveFlow": (
        lambda: tfb.MaskedAutoregressiveFlow(autoregressive()),
        VECTOR,
        None,
        None,
    ),
    "MaskedAutoregressiveFlow, unrolled": (
        lambda: tfb.MaskedAutoregressiveFlow(autoregressive(), unroll_loop=True),
        VECTOR,
        None,
        None,
    ),
    "RealNVP": (
        lambda: tfb.RealNVP(1, tfb.real_nvp_default_template([6], activation=tf.tanh)),
        VECTOR,
        None,
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_inverses_and_determinants(name: str) -> None:
    make, x, free, seen = CASES[name]
    bijector = make()
    # Vectors come in a batch of one: networks take no other.
    is_vector = x.ndim == 1
    at = tf.placeholder(tf.float64, [1, *x.shape])
    rank = x.ndim
    y = bijector.forward(at)
    image_rank = y.shape.ndims - 1
    rest = tf.placeholder(tf.float64, y.shape)
    inverse = bijector.inverse(rest)
    back = bijector.inverse_log_det_jacobian(rest, image_rank)
    ahead = bijector.forward_log_det_jacobian(at, rank)
    assert bijector.forward_event_shape(x.shape).as_list() == y.shape.as_list()[1:]
    places = [np.array(p) for p in (free or np.unravel_index(np.arange(x.size), x.shape))]
    with started() as session:
        image = session.run(y, {at: x[None]})
        columns = []
        for place in zip(*places, strict=True):
            moved = []
            for sign in (1, -1):
                changed = x.copy()
                changed[place] += sign * 1e-6
                value = session.run(y, {at: changed[None]})[0]
                moved.append(value[seen] if seen is not None else value.reshape(-1))
            columns.append((moved[0] - moved[1]) / 2e-6)
        expected = np.linalg.slogdet(np.array(columns).T)[1]
        found = session.run([ahead, back, inverse], {at: x[None], rest: image})
    assert is_vector or free is not None
    np.testing.assert_allclose(found[0], [expected], atol=1e-6)
    np.testing.assert_allclose(found[1], [-expected], atol=1e-6)
    np.testing.assert_allclose(found[2], x[None], rtol=1e-7, atol=1e-9)


def test_each_output_of_a_masked_network_sees_what_is_before_it() -> None:
    x = tf.constant(RNG.normal(size=(2, 4)))
    shift, log_scale = autoregressive()(x)
    slopes = [tf.gradients(out[:, i], x)[0] for out in (shift, log_scale) for i in range(4)]
    with started() as session:
        found = np.abs(session.run(slopes)).max(1).reshape(2, 4, 4)
    assert (np.triu(found) == 0).all()
    assert (found[:, 3, :3] > 0).all()
    with pytest.raises(NotImplementedError, match="Rightmost"):
        tfb.masked_dense(tf.placeholder(tf.float32, [None, None]), 3)


def test_a_flow_learns_a_density() -> None:
    first = RNG.normal(size=(256, 1))
    data = np.concatenate([first, 0.5 * first**2 + 0.3 * RNG.normal(size=(256, 1))], 1).astype("f")
    flow = tfd.TransformedDistribution(
        tfd.Normal(0.0, 1.0),
        tfb.MaskedAutoregressiveFlow(tfb.masked_autoregressive_default_template([32, 32])),
        event_shape=[2],
    )
    loss = -tf.reduce_mean(flow.log_prob(tf.constant(data)))
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    drawn = flow.sample(5, seed=1)
    with started() as session:
        before = session.run(loss)
        for _ in range(150):
            session.run(step)
        after = session.run(loss)
        assert session.run(drawn).shape == (5, 2)
    # The entropy of what was drawn is that of two normal numbers.
    best = 2 * 0.5 * np.log(2 * np.pi * np.e) + np.log(0.3)
    assert after < before - 0.5
    assert abs(after - best) < 0.25


def test_batch_normalization_as_a_bijector() -> None:
    data = RNG.normal(2.0, 3.0, size=(64, 2)).astype("f")
    bijector = tfb.BatchNormalization()
    normal = bijector.inverse(tf.constant(data))
    determinant = bijector.inverse_log_det_jacobian(tf.constant(data), 1)
    back = bijector.forward(tf.constant(data))
    with started() as session:
        found, change, raised = session.run([normal, determinant, back])
        moving = session.run([bijector.batchnorm.moving_mean, bijector.batchnorm.moving_variance])
    np.testing.assert_allclose(
        found, (data - data.mean(0)) / np.sqrt(data.var(0) + 1e-3), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(change, np.full(64, -0.5 * np.log(data.var(0) + 1e-3).sum()), rtol=1e-3)
    np.testing.assert_allclose(raised, data * np.sqrt(moving[1] + 1e-3) + moving[0], rtol=1e-4)


def test_arguments_of_the_masked_layers() -> None:
    constant = tf.constant_initializer(0.5)
    network = tfb.masked_autoregressive_default_template([8], kernel_initializer=constant, use_bias=False)
    shift, log_scale = network(tf.constant([[1.0, 2.0, 3.0]]))
    with started() as session:
        assert [v.shape.as_list() for v in tf.trainable_variables()] == [[3, 8], [8, 6]]
        kernels = session.run(tf.trainable_variables())
        assert np.isfinite(session.run([shift, log_scale])).all()
    for kernel in kernels:
        assert set(kernel.ravel()) == {0.0, 0.5}
    by_position = tfb.masked_autoregressive_default_template([8], False, tf.tanh, -5.0, 3.0, False, "n", 1)
    with pytest.raises(TypeError, match="multiple values"):
        by_position(tf.zeros([1, 3]))


def test_real_nvp_says_what_it_needs() -> None:
    for number, text in ((0, "positive"), (3, "smaller than the event size")):
        with pytest.raises(ValueError, match=text):
            tfb.RealNVP(number, halved).forward(tf.zeros([1, 3]))


def test_triangles() -> None:
    matrix = tfd.fill_triangular(tf.constant([[1, 2, 3, 4, 5, 6]]))
    upper = tfd.fill_triangular([1.0, 2, 3, 4, 5, 6], upper=True)
    fed = tf.placeholder(tf.float64, [None, 6])
    with started() as session:
        found = session.run([matrix, upper, tfd.fill_triangular_inverse(upper, upper=True)])
        np.testing.assert_array_equal(found[0], [[[4, 0, 0], [6, 5, 0], [3, 2, 1]]])
        np.testing.assert_array_equal(found[1], [[1, 2, 3], [0, 5, 6], [0, 0, 4]])
        np.testing.assert_array_equal(found[2], [1, 2, 3, 4, 5, 6])
        x = np.arange(12.0).reshape(2, 6)
        again = tfd.fill_triangular_inverse(tfd.fill_triangular(fed))
        np.testing.assert_array_equal(session.run(again, {fed: x}), x)
    with pytest.raises(ValueError, match="cannot be mapped"):
        tfd.fill_triangular([1.0, 2.0])


@pytest.mark.parametrize("factors", [False, True])
def test_wishart(factors: bool) -> None:
    scale = TRIL @ TRIL.T
    wishart = tfd.WishartFull(f(5.0, 8.0), scale, factors)
    same = tfd.WishartCholesky(f(5.0, 8.0), TRIL, factors)
    assert wishart.batch_shape.as_list() == [2]
    assert wishart.event_shape.as_list() == [3, 3]
    at = 3 * scale + np.eye(3)
    x = np.linalg.cholesky(at) if factors else at
    drawn = wishart.sample(4000, seed=2)
    with started() as session:
        found = session.run(
            [wishart.log_prob(x), same.log_prob(x), wishart.mean_log_det(), wishart.entropy(), drawn]
        )
        logs = session.run(wishart.log_prob(tf.constant(found[4])))
        mean, variance, mode = session.run([wishart.mean(), wishart.variance(), wishart.mode()])
    from math import lgamma, log, pi

    for i, df in enumerate((5.0, 8.0)):
        gamma = 3 * 2 / 4 * log(pi) + sum(lgamma((df - j) / 2) for j in range(3))
        density = (df - 4) / 2 * np.linalg.slogdet(at)[1] - np.trace(np.linalg.solve(scale, at)) / 2
        density -= df * 3 / 2 * log(2) + df / 2 * np.linalg.slogdet(scale)[1] + gamma
        np.testing.assert_allclose(found[0][i], density)
    np.testing.assert_allclose(found[1], found[0])
    matrices = found[4] @ found[4].swapaxes(-1, -2) if factors else found[4]
    np.testing.assert_allclose(np.linalg.slogdet(matrices)[1].mean(0), found[2], atol=0.1)
    np.testing.assert_allclose(matrices.mean(0)[0], 5 * scale, rtol=0.15, atol=0.3)
    # The entropy is that of the matrices, whose density is asked for.
    np.testing.assert_allclose(-logs.mean(0), found[3], atol=0.3)
    whole = [m @ m.swapaxes(-1, -2) for m in (mean, mode)] if factors else [mean, mode]
    np.testing.assert_allclose(whole[0], f(5, 8)[:, None, None] * scale)
    np.testing.assert_allclose(whole[1], f(1, 4)[:, None, None] * scale)
    if not factors:
        np.testing.assert_allclose(matrices.var(0), variance, rtol=0.25, atol=0.3)


def test_wishart_checks_its_parameters() -> None:
    df = tf.placeholder(tf.float64, [])
    wishart = tfd.WishartCholesky(df, TRIL, validate_args=True)
    mean = wishart.mean()
    with started() as session, pytest.raises(tf.errors.InvalidArgumentError, match="df must be"):
        session.run(mean, {df: 2.0})


def test_cauchy_and_its_magnitudes() -> None:
    cauchy, half = tfd.Cauchy(f(1.0), f(2.0)), tfd.HalfCauchy(f(1.0), f(2.0))
    p = f(0.1, 0.5, 0.9)
    x = np.linspace(-400, 400, 400001)
    made = [d.quantile(p) for d in (cauchy, half)]
    with started() as session:
        found = session.run([*made, cauchy.cdf(made[0]), half.cdf(made[1]), cauchy.log_cdf(made[0])])
        density, of_half, stats = session.run(
            [cauchy.prob(x), half.prob(x), [cauchy.entropy(), half.entropy(), cauchy.mean(), half.mode()]]
        )
        drawn = session.run([cauchy.sample(4001, seed=1), half.sample(4001, seed=1)])
    np.testing.assert_allclose(found[0], 1 + 2 * np.tan(np.pi * (p - 0.5)))
    np.testing.assert_allclose(found[2:4], [p, p])
    np.testing.assert_allclose(found[4], np.log(p))
    np.testing.assert_allclose(density, 1 / (np.pi * 2 * (1 + ((x - 1) / 2) ** 2)))
    np.testing.assert_allclose(of_half[x >= 1.001], 2 * density[x >= 1.001])
    assert (of_half[x < 0.999] == 0).all()
    np.testing.assert_allclose(stats[0], np.log(8 * np.pi))
    np.testing.assert_allclose(stats[1], np.log(4 * np.pi))
    assert np.isnan(stats[2]).all()
    np.testing.assert_allclose(stats[3], [1.0])
    np.testing.assert_allclose([np.median(drawn[0]), np.median(drawn[1])], [1.0, 3.0], atol=0.3)
    with pytest.raises(ValueError, match="undefined"):
        tfd.Cauchy(0.0, 1.0, allow_nan_stats=False).variance()


def test_numbers_bent_by_a_function() -> None:
    a, b = f(2.0, 3.0), f(1.5, 4.0)
    bent = tfd.Kumaraswamy(a, b)
    x = np.linspace(1e-6, 1 - 1e-4, 200001)[:, None]
    wide = tfd.SinhArcsinh(f(1.0), f(2.0), f(0.3), f(1.2))
    plain = tfd.SinhArcsinh(f(1.0), f(2.0))
    points = np.linspace(-120, 200, 320001)
    with started() as session:
        density, mean, variance, entropy, mode = session.run(
            [bent.prob(x), bent.mean(), bent.variance(), bent.entropy(), bent.mode()]
        )
        skewed, normal, drawn = session.run([wide.prob(points), plain.prob(points), wide.sample(5, seed=1)])
    np.testing.assert_allclose(density, a * b * x ** (a - 1) * (1 - x**a) ** (b - 1), rtol=1e-5)
    dx = x[1] - x[0]
    np.testing.assert_allclose(mean, (density * x).sum(0) * dx, rtol=1e-3)
    np.testing.assert_allclose(variance, (density * (x - mean) ** 2).sum(0) * dx, rtol=1e-3)
    np.testing.assert_allclose(entropy, -(density * np.log(density)).sum(0) * dx, atol=2e-3)
    np.testing.assert_allclose(mode, x[density.argmax(0), 0], atol=1e-4)
    expected = np.exp(-(((points - 1) / 2) ** 2) / 2) / (2 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(normal, expected, rtol=1e-6, atol=1e-300)
    np.testing.assert_allclose(skewed.sum() * 1e-3, 1.0, rtol=1e-3)
    assert (points * skewed).sum() * 1e-3 > 1.5
    assert drawn.shape == (5, 1)
