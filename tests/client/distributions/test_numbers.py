"""Distributions of numbers: formulas beside sums and integrals of their own densities, and draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

tfd = tf.contrib.distributions


def run(*made: Any) -> Any:
    with tf.Session() as session:
        return session.run(list(made))


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


WHOLE: dict[str, Callable[[], Any]] = {
    "Binomial": lambda: tfd.Binomial(f(7, 12), probs=f(0.3, 0.8)),
    "Binomial by logits": lambda: tfd.Binomial(f(5), logits=f(-1, 0.5)),
    "NegativeBinomial": lambda: tfd.NegativeBinomial(f(2.5, 4), probs=f(0.3, 0.6)),
    "Geometric": lambda: tfd.Geometric(probs=f(0.3, 0.7)),
    "Poisson": lambda: tfd.Poisson(rate=f(0.7, 5.5)),
    "Poisson by its logarithm": lambda: tfd.Poisson(log_rate=f(0.3, 1)),
}
CONTINUOUS: dict[str, tuple[Callable[[], Any], float, float]] = {
    "Chi2": (lambda: tfd.Chi2(f(6, 9)), 0, 80),
    "InverseGamma": (lambda: tfd.InverseGamma(f(12, 15), f(3, 4)), 1e-3, 8),
    "HalfNormal": (lambda: tfd.HalfNormal(f(0.7, 2)), 0, 16),
    "Logistic": (lambda: tfd.Logistic(f(1, -2), f(0.5, 1.5)), -50, 50),
    "Gumbel": (lambda: tfd.Gumbel(f(1, -2), f(0.5, 1.5)), -30, 90),
    "Mixture": (
        lambda: tfd.Mixture(
            tfd.Categorical(probs=np.array([[0.3, 0.7], [0.6, 0.4]])),
            [tfd.Normal(f(0, 1), f(1, 2)), tfd.Logistic(f(3, -3), f(1, 0.5))],
        ),
        *(-60, 60),
    ),
    "MixtureSameFamily": (
        lambda: tfd.MixtureSameFamily(
            tfd.Categorical(probs=f(0.3, 0.7)), tfd.Normal(np.array([[0.0, 3], [1, -3]]), f(1, 0.5))
        ),
        *(-30, 30),
    ),
}
STATISTICS = ("mean", "variance", "entropy")


def with_statistics(d: Any) -> list[str]:
    found = []
    for name in STATISTICS:
        try:
            getattr(d, name)()
        except NotImplementedError:
            continue
        found.append(name)
    return found


def check(d: Any, x: np.ndarray, weight: np.ndarray, atol: float) -> None:
    """Statistics of a batch of two, beside sums over x of the probability with a weight."""
    assert d.batch_shape.as_list() == [2]
    assert d.event_shape.as_list() == []
    names = with_statistics(d)
    assert names[:2] == ["mean", "variance"]
    density, logs, *found = run(d.prob(x[:, None]), d.log_prob(x[:, None]), *(getattr(d, n)() for n in names))
    p = density * weight
    np.testing.assert_allclose(np.log(density[density > 1e-200]), logs[density > 1e-200], rtol=1e-9)
    np.testing.assert_allclose(p.sum(0), 1, atol=atol)
    mean = (p * x[:, None]).sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, -p * np.where(p > 0, logs, 0), 0)
    expected = {
        "mean": mean,
        "variance": (p * (x[:, None] - mean) ** 2).sum(0),
        "entropy": terms.sum(0),
    }
    for name, value in zip(names, found, strict=True):
        np.testing.assert_allclose(value, expected[name], rtol=20 * atol, atol=20 * atol, err_msg=name)


def check_draws(d: Any) -> None:
    n = 4000
    drawn = d.sample(n, seed=5)
    assert drawn.shape.as_list() == [n, 2]
    values, again, mean, stddev = run(drawn, d.sample([2, 3], seed=5), d.mean(), d.stddev())
    assert again.shape == (2, 3, 2)
    np.testing.assert_allclose(values.mean(0), mean, atol=5 * stddev.max() / np.sqrt(n))
    np.testing.assert_allclose(values.std(0), stddev, rtol=0.1)


@pytest.mark.parametrize("name", WHOLE)
def test_natural_numbers(name: str) -> None:
    d = WHOLE[name]()
    x = np.arange(13.0 if name == "Binomial" else 6.0 if name.startswith("Bin") else 120.0)
    if name == "Binomial":
        # Above the number of trials nothing is probable, which is no value of the formula.
        d = tfd.Binomial(f(12, 12), probs=f(0.3, 0.8))
    check(d, x, np.ones([1, 1]), 1e-9)
    cumulated, probability = run(d.cdf(x[:30, None]), d.prob(x[:, None]))
    np.testing.assert_allclose(cumulated, probability.cumsum(0)[:30], atol=1e-9)
    mode = run(d.mode())[0]
    np.testing.assert_allclose(run(d.prob(mode))[0], probability.max(0), rtol=1e-12)
    check_draws(d)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers(name: str) -> None:
    make, low, high = CONTINUOUS[name]
    d = make()
    x = np.linspace(low, high, 2001)
    step = x[1] - x[0]
    weight = np.full([x.size, 1], step)
    weight[[0, -1]] /= 2
    check(d, x, weight, 1e-5)
    at = x[::200][1:-1]
    cumulated, density = run(d.cdf(x[:, None]), d.prob(x[:, None]))
    trapezoids = np.concatenate([[[0, 0]], ((density[1:] + density[:-1]) / 2 * step).cumsum(0)])
    np.testing.assert_allclose(cumulated, trapezoids, atol=1e-3)
    survival = run(d.survival_function(at[:, None]), d.cdf(at[:, None]))
    np.testing.assert_allclose(sum(survival), 1, atol=1e-12)
    check_draws(d)


@pytest.mark.parametrize("name", ["HalfNormal", "Logistic", "Gumbel"])
def test_quantiles(name: str) -> None:
    d = CONTINUOUS[name][0]()
    p = np.array([[0.01], [0.5], [0.93]])
    np.testing.assert_allclose(run(d.cdf(d.quantile(p)))[0], np.broadcast_to(p, [3, 2]), rtol=1e-9)
    assert d.reparameterization_type is tfd.FULLY_REPARAMETERIZED


PAIRS: dict[str, tuple[Callable[[], tuple[Any, Any]], np.ndarray, float]] = {
    "Poisson": (lambda: (tfd.Poisson(f(2, 3)), tfd.Poisson(f(4, 1))), np.arange(100.0), 1),
    "Geometric": (
        lambda: (tfd.Geometric(probs=f(0.4, 0.5)), tfd.Geometric(probs=f(0.2, 0.7))),
        np.arange(200.0),
        1,
    ),
    "Binomial": (
        lambda: (tfd.Binomial(f(9, 9), probs=f(0.4, 0.5)), tfd.Binomial(f(9, 9), probs=f(0.2, 0.7))),
        *(np.arange(10.0), 1),
    ),
    "Gumbel": (
        lambda: (tfd.Gumbel(f(1, 0), f(0.5, 1)), tfd.Gumbel(f(0, 1), f(1, 1.2))),
        *(np.linspace(-6, 40, 4001), 46 / 4000),
    ),
    "HalfNormal": (
        lambda: (tfd.HalfNormal(f(1, 2)), tfd.HalfNormal(f(3, 1))),
        *(np.linspace(0, 20, 4001) + 1 / 400, 20 / 4000),
    ),
    "InverseGamma": (
        lambda: (tfd.InverseGamma(f(6, 7), f(3, 2)), tfd.InverseGamma(f(5, 4), f(2, 3))),
        *(np.linspace(1e-3, 60, 8001), 60 / 8000),
    ),
    "Chi2": (
        lambda: (tfd.Chi2(f(4, 5)), tfd.Chi2(f(6, 4))),
        *(np.linspace(1e-6, 100, 4001), 100 / 4000),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences(name: str) -> None:
    make, x, step = PAIRS[name]
    a, b = make()
    found, p, log_p, log_q = run(
        tfd.kl_divergence(a, b), a.prob(x[:, None]), a.log_prob(x[:, None]), b.log_prob(x[:, None])
    )
    taken = np.where(p > 0, p, 1)
    expected = np.where(p > 0, taken * (log_p - log_q), 0).sum(0) * step
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tfd.Poisson(f(-1), validate_args=True).mean(), "x > 0 did not hold"),
        (lambda: tfd.Chi2(f(-1), validate_args=True).mean(), "x > 0 did not hold"),
        (lambda: tfd.Binomial(f(3.5), probs=f(0.5), validate_args=True).mean(), "fractional"),
        (lambda: tfd.Binomial(f(3), probs=f(0.5), validate_args=True).log_prob(f(4)), "x <= y did not hold"),
        (lambda: tfd.Geometric(probs=f(0.5), validate_args=True).log_prob(f(-1)), "x >= 0 did not hold"),
        (lambda: tfd.Gumbel(f(0), f(-1), validate_args=True).mean(), "x > 0 did not hold"),
        (lambda: tfd.InverseGamma(f(0.5), f(1), allow_nan_stats=False).mean(), "undefined"),
    ],
)
def test_values_that_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(make())


def test_what_is_refused_when_the_graph_is_built() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        tfd.Poisson()
    with pytest.raises(TypeError, match="Categorical"):
        tfd.Mixture(tfd.Normal(0.0, 1.0), [tfd.Normal(0.0, 1.0)])
    with pytest.raises(ValueError, match="number of components"):
        tfd.Mixture(tfd.Categorical([0.0, 0.0]), [tfd.Normal(0.0, 1.0)])
    with pytest.raises(ValueError, match="components"):
        tfd.MixtureSameFamily(tfd.Categorical([0.0, 0.0]), tfd.Normal([0.0, 1.0, 2.0], 1.0))
    with pytest.raises(ValueError, match="cannot exceed"):
        tfd.Independent(tfd.Normal(0.0, 1.0), 1)


def test_certain_numbers() -> None:
    d = tfd.Deterministic(f(1, 2), atol=0.1)
    found = run(d.prob(f(1.05, 2.2)), d.cdf(f(0.5, 2.5)), d.sample(3), d.mean(), d.entropy())
    assert [part.tolist() for part in found[:2]] == [[1, 0], [0, 1]]
    assert found[2].tolist() == [[1, 2]] * 3
    assert found[3].tolist() == [1, 2]
    assert found[4].tolist() == [0, 0]
    vector = tfd.VectorDeterministic(f(1, 2))
    assert vector.event_shape.as_list() == [2]
    assert run(vector.prob(np.array([[1.0, 2], [1, 3]])))[0].tolist() == [1, 0]
