"""Distributions of positive numbers that come from the gamma and the normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.gamma import ConcentrationAndRate, Gamma, gamma_divergence
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import (
    arguments,
    checked,
    dynamic_batch,
    parameters_after,
    where_defined,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.debugging.checks import assert_positive
from tensorfleet.ops.math.bessel import igammac
from tensorfleet.ops.math.elementwise import abs, floor, log, square
from tensorfleet.ops.math.special import digamma, erf, erfinv, lgamma
from tensorfleet.ops.nn.activation import softplus
from tensorfleet.ops.random.random_ops import random_normal


class Chi2(Gamma):
    """The sum of squares of standard normal numbers (`tf.contrib.distributions.Chi2`).

    Args:
        df: degrees of freedom, greater than 0.
    """

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            checks_of = convert_to_tensor(df, name="df")
            self._df = checked(checks_of, validate_args, assert_positive)
            rate = 0.5 * ones_like(self._df)
        super().__init__(0.5 * self._df, rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return {"df": sample_shape}

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df


class Chi2WithAbsDf(Chi2):
    """A chi-squared distribution with floor(abs(df)) degrees of freedom."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with name_scope(name, None, [df]):
            whole = floor(abs(convert_to_tensor(df, name="df")))
        super().__init__(whole, validate_args, allow_nan_stats, name)
        self._parameters = parameters


class InverseGamma(ConcentrationAndRate):
    """The inverse of a number of a gamma distribution (`tf.contrib.distributions.InverseGamma`).

    Args:
        concentration: shape, greater than 0.
        rate: scale of the inverse, greater than 0: the rate of the gamma distribution.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(concentration, rate, validate_args, allow_nan_stats, parameters, name)

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        return 1 / self._gamma_sample(n, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._positive(x)
        return -(1 + self._concentration) * log(x) - self._rate / x - self._log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._positive(x) + zeros_like(self._concentration * self._rate)
        return igammac(self._concentration + zeros_like(x), self._rate / x)

    def _entropy(self) -> Tensor:
        shape = self._concentration
        return shape + log(self._rate) + lgamma(shape) - (1 + shape) * digamma(shape)

    def _above(self, least: float) -> tuple[Tensor, Tensor]:
        """Where the shape is greater than a number, and by how much; 1 elsewhere."""
        shape = self._concentration + zeros_like(self._rate)
        return shape > least, where_v2(shape > least, shape - least, ones_like(shape))

    def _mean(self) -> Tensor:
        defined, above = self._above(1)
        message = "mean undefined when any `concentration <= 1`"
        return where_defined(defined, self._rate / above, self.allow_nan_stats, message)

    def _variance(self) -> Tensor:
        defined, above = self._above(2)
        variance = square(self._rate) / square(self._above(1)[1]) / above
        message = "variance undefined when any `concentration <= 2`"
        return where_defined(defined, variance, self.allow_nan_stats, message)

    def _mode(self) -> Tensor:
        return self._rate / (1 + self._concentration)


@RegisterKL(InverseGamma, InverseGamma)
def _inverse_gamma_from_inverse_gamma(a: InverseGamma, b: InverseGamma, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_inverse_gamma_inverse_gamma"):
        return gamma_divergence(a, b)


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """An inverse gamma distribution with softplus of concentration and rate."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with name_scope(name, None, [concentration, rate]):
            shape = softplus(concentration, name="softplus_concentration")
            positive = softplus(rate, name="softplus_rate")
        super().__init__(shape, positive, validate_args, allow_nan_stats, name)
        self._parameters = parameters


class HalfNormal(Distribution):
    """The magnitude of a normal number with the mean 0 (`tf.contrib.distributions.HalfNormal`).

    Args:
        scale: standard deviation of the normal number, greater than 0.
    """

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            scale = convert_to_tensor(scale, name="scale")
            (self._scale,) = parameters_after([assert_positive(scale)] if validate_args else [], scale=scale)
        super().__init__(
            *(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._scale], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return {"scale": sample_shape}

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal number."""
        return self._scale

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._scale)

    def _batch_shape(self) -> Any:
        return self._scale.shape

    def _event_shape(self) -> Any:
        return []

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        return abs(random_normal(dims, dtype=self.dtype, seed=seed) * self._scale)

    def _log_prob(self, x: Tensor) -> Tensor:
        density = 0.5 * math.log(2 / math.pi) - log(self._scale) - 0.5 * square(x / self._scale)
        return where_v2(x < 0, -np.inf * ones_like(density), density)

    def _cdf(self, x: Tensor) -> Tensor:
        at = where_v2(x < 0, zeros_like(x), x)
        return erf(at / self._scale / math.sqrt(2))

    def _quantile(self, p: Tensor) -> Tensor:
        return math.sqrt(2) * self._scale * erfinv(p)

    def _entropy(self) -> Tensor:
        return 0.5 * math.log(math.pi / 2) + 0.5 + log(self._scale)

    def _mean(self) -> Tensor:
        return self._scale * math.sqrt(2 / math.pi)

    def _mode(self) -> Tensor:
        return zeros_like(self._scale)

    def _variance(self) -> Tensor:
        return square(self._scale) * (1 - 2 / math.pi)


@RegisterKL(HalfNormal, HalfNormal)
def _half_normal_from_half_normal(a: HalfNormal, b: HalfNormal, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_half_normal_half_normal"):
        ratio = square(a.scale / b.scale)
        return 0.5 * (ratio - 1 - log(ratio))
