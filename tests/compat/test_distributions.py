"""tf.distributions: values, shapes, draws and gradients beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

tensorflow.disable_v2_behavior()

STATISTICS = ("mean", "mode", "variance", "stddev", "entropy", "covariance")
DENSITIES = (
    *("log_prob", "prob", "log_cdf", "cdf", "log_survival_function", "survival_function", "quantile"),
)
# For each family: how it is made, and values at which its densities are asked for.
CASES: dict[str, tuple[Any, Any]] = {
    "normal": (lambda d: d.Normal(1.0, [0.5, 2.0]), [[-30.0, -6.0], [1.0, 0.3], [7.0, 40.0]]),
    "normal, double": (lambda d: d.Normal(np.float64(1), np.array([0.5, 2.0])), [[-30.0, 1.0], [7.0, 50.0]]),
    "laplace": (lambda d: d.Laplace([0.0, 1.0], 2.0), [[-3.0, 1.5], [4.0, -60.0]]),
    "student": (lambda d: d.StudentT([0.5, 1.5, 3.0], 1.0, -2.0), [-1.0, 1.0, 2.5]),
    "uniform": (lambda d: d.Uniform([0.0, -1.0], 2.0), [[-1.0, 1.0], [0.5, 2.0], [np.nan, 3.0]]),
    "beta": (lambda d: d.Beta([0.5, 2.0], [3.0, 3.0]), [0.2, 0.9]),
    "dirichlet": (lambda d: d.Dirichlet([[2.0, 3.0, 1.5], [0.5, 1.0, 4.0]]), [[0.2, 0.3, 0.5]]),
    "gamma": (lambda d: d.Gamma([0.5, 3.0], [[2.0], [0.1]]), [0.3, 4.0]),
    "exponential": (lambda d: d.Exponential([0.5, 3.0]), [[0.3, 1.5], [0.0, 1.0]]),
    "bernoulli": (lambda d: d.Bernoulli(logits=[-2.0, 0.0, 3.0]), [[0], [1]]),
    "bernoulli of probabilities": (lambda d: d.Bernoulli(probs=[0.2, 0.7]), [1, 0]),
    "categorical": (lambda d: d.Categorical(logits=[[0.1, 2.0, -1.0], [0.0, 0.0, 5.0]]), [2, 0]),
    "categorical of probabilities": (lambda d: d.Categorical(probs=[0.1, 0.5, 0.4]), [[2], [0]]),
    "multinomial": (lambda d: d.Multinomial([4.0, 3.0], probs=[0.2, 0.3, 0.5]), [[1.0, 1, 2], [0, 3, 0]]),
    "multinomial of logits": (lambda d: d.Multinomial(2.0, logits=[[0.0, 1.0], [3, 1]]), [1.0, 1.0]),
    "counts with unknown probabilities": (
        lambda d: d.DirichletMultinomial(4.0, [[0.5, 1.0, 2.0], [1.0, 1.0, 1.0]]),
        [[1.0, 1, 2], [0, 4, 0]],
    ),
}
# TensorFlow has no way from values of different ranks, or none at all.
OURS_ALONE = {("dirichlet", "mode"), ("uniform", "quantile")}
# In TensorFlow, one loop draws for several sets of parameters, in no certain order.
UNORDERED = {"multinomial", "multinomial of logits", "counts with unknown probabilities"}
DIVERGENCES: dict[str, Any] = {
    "normal": lambda d: (d.Normal([0.0, 1.0], 2.0), d.Normal(1.0, [0.5, 3.0])),
    "bernoulli": lambda d: (d.Bernoulli(logits=[0.5, -3.0]), d.Bernoulli(probs=[0.2, 0.9])),
    "categorical": lambda d: (
        d.Categorical(probs=[0.2, 0.8]),
        d.Categorical(logits=[[0.0, 1.0], [2.0, 2.0]]),
    ),
    "beta": lambda d: (d.Beta(2.0, [3.0, 0.5]), d.Beta(0.7, 1.2)),
    "dirichlet": lambda d: (d.Dirichlet([2.0, 3.0, 1.0]), d.Dirichlet([[0.5, 1.0, 1.0]])),
    "gamma": lambda d: (d.Gamma(2.0, [3.0, 0.5]), d.Gamma(0.7, 1.2)),
    "derived families": lambda d: (d.Exponential(2.0), d.Gamma(0.7, 1.2)),
}


def outcome(make: Any, library: Any) -> Any:
    """The values of what is made in a graph of its own, or the name of the exception's class."""
    with library.Graph().as_default(), library.Session() as session:
        try:
            made = make(library)
            return session.run(made) if not isinstance(made, tuple) else tuple(session.run(list(made)))
        except Exception as e:
            return type(e).__name__


def agree(make: Any, tolerance: float = 2e-6) -> None:
    wanted, ours = outcome(make, tensorflow), outcome(make, tf)
    if isinstance(wanted, str) or isinstance(ours, str):
        assert str(wanted) == str(ours)
        return
    pairs = zip(wanted, ours, strict=True) if isinstance(wanted, tuple) else [(wanted, ours)]
    for a, b in pairs:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("method", STATISTICS)
@pytest.mark.parametrize("family", CASES)
def test_statistics(family: str, method: str) -> None:
    if (family, method) in OURS_ALONE:
        ours = outcome(lambda t: CASES[family][0](t.distributions).mode(), tf)
        np.testing.assert_allclose(ours, [[2 / 7, 4 / 7, 1 / 7], [np.nan] * 3], 1e-5)
        return
    agree(lambda t: getattr(CASES[family][0](t.distributions), method)())


@pytest.mark.parametrize("method", DENSITIES)
@pytest.mark.parametrize("family", CASES)
def test_densities(family: str, method: str) -> None:
    make, at = CASES[family]
    if method == "quantile":
        at = np.clip(np.abs(at), 0.1, 0.8)
    if (family, method) in OURS_ALONE:
        both = outcome(lambda t: (d := make(t.distributions)).cdf(d.quantile([0.2, 0.7])), tf)
        np.testing.assert_allclose(both, [0.2, 0.7], 1e-5)
        return
    agree(lambda t: getattr(make(t.distributions), method)(at), 1e-5)


@pytest.mark.parametrize("family", CASES)
def test_shapes_and_names(family: str) -> None:
    def of(t: Any) -> Any:
        with t.Graph().as_default():
            d = CASES[family][0](t.distributions)
            sample = d.sample([2, 3])
            described = [
                d.name,
                d.dtype.name,
                d.batch_shape.as_list(),
                d.event_shape.as_list(),
                str(d),
                repr(d),
            ]
            return described, sample.shape.as_list(), sample.dtype.name, sorted(d.parameters)

    assert of(tf) == of(tensorflow)
    agree(
        lambda t: (
            (d := CASES[family][0](t.distributions)).batch_shape_tensor(),
            d.event_shape_tensor(),
            d.is_scalar_batch(),
            d.is_scalar_event(),
        )
    )


@pytest.mark.parametrize("shape", [(), 4, [2, 3]], ids=str)
@pytest.mark.parametrize("family", CASES)
def test_draws(family: str, shape: Any) -> None:
    """With a seed they are TensorFlow's numbers."""

    def draw(t: Any) -> Any:
        t.set_random_seed(7)
        drawn = CASES[family][0](t.distributions).sample(shape, seed=3)
        return t.reduce_sum(drawn, -1) if family in UNORDERED else drawn

    agree(draw, 1e-5)


@pytest.mark.parametrize("pair", DIVERGENCES)
def test_divergences(pair: str) -> None:
    agree(lambda t: t.distributions.kl_divergence(*DIVERGENCES[pair](t.distributions)), 1e-5)
    agree(lambda t: (p := DIVERGENCES[pair](t.distributions))[0].cross_entropy(p[1]), 1e-5)


@pytest.mark.parametrize("family", ["normal", "laplace", "student", "gamma", "beta", "dirichlet", "uniform"])
def test_gradients_of_draws(family: str) -> None:
    def gradients(t: Any) -> Any:
        t.set_random_seed(7)
        d = CASES[family][0](t.distributions)
        known = [p for p in d._graph_parents if p.dtype.is_floating]
        found = t.gradients(d.sample(5, seed=3), known)
        return tuple(t.reduce_sum(g) for g in found if g is not None)

    agree(gradients, 1e-4)


@pytest.mark.parametrize("at", [-40.0, -9.0, -1.0, 0.0, 3.0, 9.0])
def test_gradients_of_the_tails(at: float) -> None:
    def gradients(t: Any) -> Any:
        x = t.constant(at)
        d = t.distributions
        return (
            t.gradients(d.Normal(0.0, 1.0).log_cdf(x), x)[0],
            t.gradients(d.Laplace(0.0, 1.0).log_cdf(x), x)[0],
        )

    agree(gradients, 1e-5)


REFUSED: dict[str, Any] = {
    "both parameters": lambda t: t.distributions.Bernoulli(logits=0.0, probs=0.5).mean(),
    "no parameter": lambda t: t.distributions.Categorical().mean(),
    "mixed dtypes": lambda t: t.distributions.Normal(np.float64(0), t.constant(1.0)).mean(),
    "integer probabilities": lambda t: t.distributions.Bernoulli(probs=[1, 0]).mean(),
    "a negative scale": lambda t: t.distributions.Normal(
        0.0, t.placeholder_with_default(-1.0, []), True
    ).mean(),
    "probabilities over 1": lambda t: t.distributions.Bernoulli(
        probs=t.placeholder_with_default(1.5, []), validate_args=True
    ).mean(),
    "no mode": lambda t: t.distributions.Beta(
        t.placeholder_with_default(0.5, []), 2.0, allow_nan_stats=False
    ).mode(),
    "no divergence": lambda t: t.distributions.kl_divergence(
        t.distributions.Normal(0.0, 1.0), t.distributions.Uniform()
    ),
    "no mean": lambda t: t.distributions.Categorical(probs=[0.5, 0.5]).mean(),
    "fractional counts": lambda t: t.distributions.Multinomial(
        3.0, probs=[0.5, 0.5], validate_args=True
    ).log_prob(t.placeholder_with_default([1.5, 1.5], [2])),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    wanted, ours = outcome(REFUSED[case], tensorflow), outcome(REFUSED[case], tf)
    assert isinstance(wanted, str), wanted
    assert ours == wanted


def test_copies_and_registered_divergences() -> None:
    def of(t: Any) -> Any:
        d = t.distributions

        class Mine(d.Normal):  # type: ignore[misc, name-defined]
            pass

        @d.RegisterKL(Mine, d.Uniform)
        def _(a: Any, b: Any, name: Any = None) -> Any:
            return a.loc + b.low

        with pytest.raises(ValueError, match="already been registered"):
            d.RegisterKL(Mine, d.Uniform)(lambda *_: None)
        with pytest.raises(TypeError, match="callable"):
            d.RegisterKL(Mine, d.Beta)(3)
        moved = d.Normal(0.0, 1.0).copy(loc=3.0)
        return moved.mean(), moved.stddev(), d.kl_divergence(Mine(2.0, 1.0), d.Uniform(1.0, 2.0))

    agree(of)
