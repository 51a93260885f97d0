"""Distributions of natural numbers: binomial, negative binomial, geometric and Poisson's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import (
    arguments,
    checked,
    derived_seed,
    dynamic_batch,
    logits_and_probs,
    parameters_after,
    static_batch,
    whole,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.debugging.checks import (
    assert_equal,
    assert_less_equal,
    assert_non_negative,
    assert_positive,
)
from tensorfleet.ops.math.arithmetic import maximum, minimum, multiply_no_nan, xlog1py, xlogy
from tensorfleet.ops.math.bessel import betainc, igammac
from tensorfleet.ops.math.elementwise import exp, floor, log, log1p, log_sigmoid, sigmoid
from tensorfleet.ops.math.special import lgamma
from tensorfleet.ops.nn.activation import softplus
from tensorfleet.ops.random.bounded import stateless_binomial
from tensorfleet.ops.random.random_ops import random_gamma, random_poisson, random_uniform


class _Numbers(Distribution):
    """Families of natural numbers, in a floating dtype, by parameters that broadcast."""

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(*self._batch_parameters())

    def _batch_shape(self) -> Any:
        return static_batch(*self._batch_parameters())

    def _event_shape(self) -> Any:
        return []

    def _natural(self, x: Tensor) -> Tensor:
        return checked(x, self.validate_args, assert_non_negative, whole)


class _Trials(_Numbers):
    """Families of counts in trials that succeed with a probability."""

    _logits: Tensor
    _probs: Tensor

    @property
    def logits(self) -> Tensor:
        """The log-odds of success."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of success."""
        return self._probs


class Binomial(_Trials):
    """The number of successes in several trials (`tf.contrib.distributions.Binomial`).

    Args:
        total_count: number of trials, in the floating dtype of the probabilities, as samples are.
        logits: log-odds of success; or
        probs: probability of success.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            total = convert_to_tensor(total_count, preferred_dtype=self._probs.dtype, name="total_count")
            self._total_count = checked(total, validate_args, assert_non_negative, whole)
        super().__init__(
            *(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._total_count, self._logits, self._probs], scope),
        )

    @property
    def total_count(self) -> Tensor:
        """The number of trials."""
        return self._total_count

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self._total_count, self._probs

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        key = random_uniform([2], 0, np.iinfo(np.int32).max, dtypes.int32, seed)
        return stateless_binomial(dims, key, self._total_count, self._probs, self.dtype)

    def _counted(self, found: Tensor) -> Tensor:
        found = self._natural(found)
        return checked(found, self.validate_args, lambda x: assert_less_equal(x, self._total_count))

    def _log_prob(self, found: Tensor) -> Tensor:
        found = self._counted(found)
        rest = self._total_count - found
        orders = lgamma(self._total_count + 1) - lgamma(found + 1) - lgamma(rest + 1)
        # The probability itself, where it was given: its logarithm is exact at 0 and 1.
        if self._parameters.get("probs") is None:
            return orders - found * softplus(-self._logits) - rest * softplus(self._logits)
        return orders + xlogy(found, self._probs) + xlog1py(rest, -self._probs)

    def _cdf(self, x: Tensor) -> Tensor:
        k = floor(x) + zeros_like(self._total_count * self._probs)
        total = self._total_count + zeros_like(k)
        inside = minimum(maximum(k, zeros_like(k)), maximum(total - 1, zeros_like(k)))
        at_most = betainc(maximum(total - inside, ones_like(k)), inside + 1, 1 - self._probs + zeros_like(k))
        return where_v2(k < 0, zeros_like(k), where_v2(k >= total, ones_like(k), at_most))

    def _mean(self) -> Tensor:
        return self._total_count * self._probs

    def _variance(self) -> Tensor:
        return self._mean() * (1 - self._probs)

    def _mode(self) -> Tensor:
        # With the probability 1 the formula gives one more trial than there are.
        return minimum(floor((1 + self._total_count) * self._probs), self._total_count + 0 * self._probs)


class NegativeBinomial(_Trials):
    """The number of successes before so many failures (`tf.contrib.distributions.NegativeBinomial`).

    Args:
        total_count: number of failures, greater than 0, of a floating dtype; it may be a fraction.
        logits: log-odds of success; or
        probs: probability of success.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            total = convert_to_tensor(total_count, preferred_dtype=self._probs.dtype, name="total_count")
            self._total_count = checked(total, validate_args, assert_positive)
        super().__init__(
            *(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._total_count, self._logits, self._probs], scope),
        )

    @property
    def total_count(self) -> Tensor:
        """The number of failures."""
        return self._total_count

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self._total_count, self._probs

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        alpha = self._total_count + zeros_like(self._logits)
        rate = random_gamma([n], alpha, beta=exp(-self._logits), dtype=self.dtype, seed=seed)
        return random_poisson(rate, [], self.dtype, derived_seed(seed, "NegativeBinom"))

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._natural(x)
        orders = lgamma(self._total_count + x) - lgamma(1 + x) - lgamma(self._total_count)
        return orders + self._total_count * log_sigmoid(-self._logits) + x * log_sigmoid(self._logits)

    def _cdf(self, x: Tensor) -> Tensor:
        k = floor(self._natural(x)) + zeros_like(self._total_count * self._probs)
        total, failure = self._total_count + zeros_like(k), sigmoid(-self._logits) + zeros_like(k)
        at_most = betainc(total, 1 + maximum(k, zeros_like(k)), failure)
        return where_v2(k < 0, zeros_like(k), at_most)

    def _mean(self) -> Tensor:
        return self._total_count * exp(self._logits)

    def _variance(self) -> Tensor:
        return self._mean() / sigmoid(-self._logits)

    def _mode(self) -> Tensor:
        above = maximum(self._total_count - 1, zeros_like(self._total_count))
        return floor(above * exp(self._logits))


class Geometric(_Trials):
    """The number of failures before the first success (`tf.contrib.distributions.Geometric`).

    Args:
        logits: log-odds of success; or
        probs: probability of success, greater than 0.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            self._probs = checked(self._probs, validate_args, assert_positive)
        super().__init__(
            *(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._logits, self._probs], scope),
        )

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return (self._probs,)

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        # log(0) is infinite.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        return floor(log(random_uniform(dims, least, 1.0, self.dtype, seed=seed)) / log1p(-self._probs))

    def _log_prob(self, x: Tensor) -> Tensor:
        return xlog1py(self._natural(x), -self._probs) + log(self._probs)

    def _cdf(self, x: Tensor) -> Tensor:
        k = floor(self._natural(x)) + zeros_like(self._probs)
        tail = exp(xlog1py(maximum(k, zeros_like(k)) + 1, -self._probs))
        return where_v2(k < 0, zeros_like(k), 1 - tail)

    def _entropy(self) -> Tensor:
        # That of one trial, as often as there are trials in the mean.
        return (softplus(self._logits) - self._probs * self._logits) / self._probs

    def _mean(self) -> Tensor:
        return exp(-self._logits)

    def _variance(self) -> Tensor:
        return self._mean() / self._probs

    def _mode(self) -> Tensor:
        return zeros_like(self._probs)


class Poisson(_Numbers):
    """The number of events in a time (`tf.contrib.distributions.Poisson`).

    Args:
        rate: mean number, greater than 0; or
        log_rate: its logarithm.
        interpolate_nondiscrete: between natural numbers, give the formulas' values rather than a probability
            of 0 and the cumulative one of the number below.
    """

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            if log_rate is None:
                rate = convert_to_tensor(rate, name="rate")
                if not rate.dtype.is_floating:
                    raise TypeError(f"rate.dtype ({rate.dtype.name}) is not a float-type.")
                checks = [assert_positive(rate)] if validate_args else []
                (self._rate,) = parameters_after(checks, rate=rate)
                self._log_rate = log(self._rate)
            else:
                self._log_rate = convert_to_tensor(log_rate, name="log_rate")
                if not self._log_rate.dtype.is_floating:
                    raise TypeError(f"log_rate.dtype ({self._log_rate.dtype.name}) is not a float-type.")
                self._rate = exp(self._log_rate)
            self._interpolate_nondiscrete = interpolate_nondiscrete
        super().__init__(
            *(self._rate.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._rate, self._log_rate], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return {"rate": sample_shape}

    @property
    def rate(self) -> Tensor:
        """The mean number."""
        return self._rate

    @property
    def log_rate(self) -> Tensor:
        """The logarithm of the mean number."""
        return self._log_rate

    @property
    def interpolate_nondiscrete(self) -> bool:
        """Whether there are values between natural numbers."""
        return self._interpolate_nondiscrete

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return (self._rate,)

    def _natural(self, x: Tensor) -> Tensor:
        if self._interpolate_nondiscrete:
            return checked(x, self.validate_args, assert_non_negative)
        return super()._natural(x)

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        return random_poisson(self._rate, [n], self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._natural(x)
        at = maximum(x, zeros_like(x))
        # With the rate 0, of which the logarithm is infinite, 0 is certain.
        probability = multiply_no_nan(self._log_rate, at) - lgamma(1 + at) - self._rate
        possible = x >= 0
        if not self._interpolate_nondiscrete:
            possible = (x >= 0) & (floor(x) <= x) & (floor(x) >= x)
        return where_v2(possible, probability, -np.inf * ones_like(probability))

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._natural(x)
        k = (x if self._interpolate_nondiscrete else floor(x)) + zeros_like(self._rate)
        rate = self._rate + zeros_like(k)
        return where_v2(k < 0, zeros_like(k), igammac(1 + maximum(k, zeros_like(k)), rate))

    def _mean(self) -> Tensor:
        return identity(self._rate)

    def _variance(self) -> Tensor:
        return identity(self._rate)

    def _mode(self) -> Tensor:
        return floor(self._rate)


@RegisterKL(Poisson, Poisson)
def _poisson_from_poisson(a: Poisson, b: Poisson, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_poisson_poisson"):
        return a.rate * (a.log_rate - b.log_rate) - a.rate + b.rate


@RegisterKL(Geometric, Geometric)
def _geometric_from_geometric(a: Geometric, b: Geometric, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_geometric_geometric"):
        successes = log(a.probs) - log(b.probs)
        return successes + a.mean() * (log1p(-a.probs) - log1p(-b.probs))


@RegisterKL(Binomial, Binomial)
def _binomial_from_binomial(a: Binomial, b: Binomial, name: str | None = None) -> Tensor:
    """That of one trial, for equal numbers of trials."""
    with get_default_graph().name_scope(name or "kl_binomial_binomial"):
        no = softplus(b.logits) - softplus(a.logits)
        yes = softplus(-b.logits) - softplus(-a.logits)
        checks = [_same_trials(a, b)] if a.validate_args or b.validate_args else []
        with control_dependencies(checks):
            return a.total_count * (a.probs * yes + (1 - a.probs) * no)


def _same_trials(a: Binomial, b: Binomial) -> Any:
    return assert_equal(a.total_count, b.total_count, message="KL needs equal numbers of trials.")
