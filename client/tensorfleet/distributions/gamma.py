"""The gamma distribution, and the exponential one, which is a case of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import (
    arguments,
    checked,
    dynamic_batch,
    parameters_after,
    static_batch,
    where_defined,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.debugging.checks import assert_positive
from tensorfleet.ops.debugging.type_checks import assert_same_float_dtype
from tensorfleet.ops.math.arithmetic import xlogy
from tensorfleet.ops.math.bessel import igamma
from tensorfleet.ops.math.elementwise import log, sqrt, square
from tensorfleet.ops.math.special import digamma, lgamma
from tensorfleet.ops.random.random_ops import random_gamma, random_uniform


class ConcentrationAndRate(Distribution):
    """Families of positive numbers with a concentration and a rate, both greater than 0."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str,
    ) -> None:
        with get_default_graph().name_scope(name) as scope:
            concentration = convert_to_tensor(concentration, name="concentration")
            rate = convert_to_tensor(rate, name="rate")
            checks = [assert_positive(concentration), assert_positive(rate)] if validate_args else []
            both = {"concentration": concentration, "rate": rate}
            self._concentration, self._rate = parameters_after(checks, **both)
            assert_same_float_dtype([self._concentration, self._rate])
        super().__init__(
            *(self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._concentration, self._rate], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return dict.fromkeys(("concentration", "rate"), sample_shape)

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """The inverse scale of the gamma distribution."""
        return self._rate

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._concentration, self._rate)

    def _batch_shape(self) -> Any:
        return static_batch(self._concentration, self._rate)

    def _event_shape(self) -> Any:
        return []

    def _gamma_sample(self, n: Tensor, seed: int | None) -> Tensor:
        return random_gamma([n], self._concentration, beta=self._rate, dtype=self.dtype, seed=seed)

    def _positive(self, x: Tensor) -> Tensor:
        return checked(x, self.validate_args, assert_positive)

    def _log_normalization(self) -> Tensor:
        return lgamma(self._concentration) - self._concentration * log(self._rate)


def gamma_divergence(a: ConcentrationAndRate, b: ConcentrationAndRate) -> Tensor:
    """The divergence of gamma distributions, or of one function of their numbers that can be inverted."""
    of_shapes = (a.concentration - b.concentration) * digamma(a.concentration)
    of_shapes += lgamma(b.concentration) - lgamma(a.concentration)
    of_rates = b.concentration * (log(a.rate) - log(b.rate)) + a.concentration * (b.rate / a.rate - 1.0)
    return of_shapes + of_rates


class Gamma(ConcentrationAndRate):
    """The gamma distribution (`tf.distributions.Gamma`).

    Args:
        concentration: shape, greater than 0.
        rate: inverse scale, greater than 0.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(concentration, rate, validate_args, allow_nan_stats, parameters, name)

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        return self._gamma_sample(n, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._positive(x)
        return xlogy(self._concentration - 1.0, x) - self._rate * x - self._log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        return igamma(self._concentration, self._rate * self._positive(x))

    def _entropy(self) -> Tensor:
        shape = self._concentration
        return shape - log(self._rate) + lgamma(shape) + (1.0 - shape) * digamma(shape)

    def _mean(self) -> Tensor:
        return self._concentration / self._rate

    def _variance(self) -> Tensor:
        return self._concentration / square(self._rate)

    def _stddev(self) -> Tensor:
        return sqrt(self._concentration) / self._rate

    def _mode(self) -> Tensor:
        mode = (self._concentration - 1.0) / self._rate
        defined = self._concentration * ones_like(mode) > 1.0
        message = "mode not defined when any concentration <= 1"
        return where_defined(defined, mode, self.allow_nan_stats, message)


@RegisterKL(Gamma, Gamma)
def _gamma_from_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_gamma_gamma"):
        return gamma_divergence(a, b)


class Exponential(Gamma):
    """The exponential distribution (`tf.distributions.Exponential`).

    Args:
        rate: inverse of the mean, greater than 0.
    """

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            self._rate = convert_to_tensor(rate, name="rate")
        super().__init__(
            *(ones_like(self._rate), self._rate, validate_args, allow_nan_stats, scope),
        )
        self._parameters = parameters

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return {"rate": sample_shape}

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        # log(0) is infinite.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        return -log(random_uniform(dims, least, 1.0, self.dtype, seed=seed)) / self._rate
