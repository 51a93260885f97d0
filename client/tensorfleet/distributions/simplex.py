"""Distributions of numbers between 0 and 1: uniform, beta and Dirichlet's."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import (
    arguments,
    checked,
    derived_seed,
    dynamic_batch,
    parameters_after,
    static_batch,
    where_defined,
)
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import expand_dims, shape
from tensorfleet.ops.debugging.checks import assert_less, assert_near, assert_positive
from tensorfleet.ops.debugging.type_checks import assert_same_float_dtype
from tensorfleet.ops.linalg.matrix_parts import matrix_set_diag
from tensorfleet.ops.math.arithmetic import xlog1py, xlogy
from tensorfleet.ops.math.bessel import betainc
from tensorfleet.ops.math.comparison import greater_equal, less, logical_and, logical_or
from tensorfleet.ops.math.elementwise import is_nan, log, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_all, reduce_sum
from tensorfleet.ops.math.special import digamma, lgamma
from tensorfleet.ops.math.vectors import lbeta
from tensorfleet.ops.random.random_ops import random_gamma, random_uniform


class Uniform(Distribution):
    """The uniform distribution on [low, high) (`tf.distributions.Uniform`).

    Args:
        low: least value. float16, float32, float64.
        high: bound of the values, which is none of them.
    """

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            low, high = convert_to_tensor(low, name="low"), convert_to_tensor(high, name="high")
            checks = (
                [assert_less(low, high, message="uniform not defined when low >= high.")]
                if validate_args
                else []
            )
            self._low, self._high = parameters_after(checks, low=low, high=high)
            assert_same_float_dtype([self._low, self._high])
        super().__init__(
            *(self._low.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._low, self._high], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return dict.fromkeys(("low", "high"), sample_shape)

    @property
    def low(self) -> Tensor:
        """The least value."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The bound of the values."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """high - low."""
        with self._name_scope(name):
            return self._high - self._low

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._low, self._high)

    def _batch_shape(self) -> Any:
        return static_batch(self._low, self._high)

    def _event_shape(self) -> Any:
        return []

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        return self._low + self.range() * random_uniform(dims, dtype=self.dtype, seed=seed)

    def _prob(self, x: Tensor) -> Tensor:
        x = x * ones_like(self._low + self._high)
        outside = logical_or(x < self._low, greater_equal(x, self._high))
        density = ones_like(x) / self.range()
        return where_v2(is_nan(x), x, where_v2(outside, zeros_like(x), density))

    def _cdf(self, x: Tensor) -> Tensor:
        x = x * ones_like(self._low + self._high)
        inside = (x - self._low) / self.range()
        return where_v2(
            x < self._low, zeros_like(x), where_v2(greater_equal(x, self._high), ones_like(x), inside)
        )

    def _quantile(self, p: Tensor) -> Tensor:
        return self._low + self.range() * p

    def _entropy(self) -> Tensor:
        return log(self.range())

    def _mean(self) -> Tensor:
        return (self._low + self._high) / 2.0

    def _variance(self) -> Tensor:
        return square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12)


def concentrations(given: Any, validate_args: bool) -> Tensor:
    """The concentrations of Dirichlet's distribution: [..., classes], two classes or more."""
    value: Tensor = convert_to_tensor(given, name="concentration")
    if not validate_args:
        return value
    if value.shape.ndims == 0 or (value.shape.ndims and value.shape.as_list()[-1] == 1):
        raise ValueError("`concentration` must have a last dimension of two or more")
    checks = [
        assert_positive(value, message="Concentration parameter must be positive."),
        assert_less(1, shape(value)[-1], message="Concentration parameter must have event_size >= 2."),
    ]
    with control_dependencies(checks):
        return identity(value)


class Beta(Distribution):
    """The beta distribution on (0, 1) (`tf.distributions.Beta`).

    Args:
        concentration1: how much speaks for 1, greater than 0.
        concentration0: how much speaks for 0, greater than 0.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            one = convert_to_tensor(concentration1, name="concentration1")
            zero = convert_to_tensor(concentration0, name="concentration0")
            message = {"message": "Concentration parameter must be positive."}
            self._concentration1 = checked(one, validate_args, assert_positive, **message)
            self._concentration0 = checked(zero, validate_args, assert_positive, **message)
            assert_same_float_dtype([self._concentration1, self._concentration0])
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            *(self._total_concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats),
            *(parameters, [self._concentration1, self._concentration0], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return dict.fromkeys(("concentration1", "concentration0"), sample_shape)

    @property
    def concentration1(self) -> Tensor:
        """How much speaks for 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        """How much speaks for 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._total_concentration)

    def _batch_shape(self) -> Any:
        return self._total_concentration.shape

    def _event_shape(self) -> Any:
        return []

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        ones = ones_like(self._total_concentration)
        first = random_gamma([n], self._concentration1 * ones, dtype=self.dtype, seed=seed)
        second = random_gamma(
            [n], self._concentration0 * ones, dtype=self.dtype, seed=derived_seed(seed, "beta")
        )
        return first / (first + second)

    def _inside(self, x: Tensor) -> Tensor:
        x = checked(x, self.validate_args, assert_positive, message="sample must be positive")
        message = "sample must be less than `1`."
        return checked(
            x, self.validate_args, lambda value: assert_less(value, ones_like(value), message=message)
        )

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._inside(x)
        density = xlogy(self._concentration1 - 1.0, x) + xlog1py(self._concentration0 - 1.0, -x)
        return density - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        return lgamma(self._concentration1) + lgamma(self._concentration0) - lgamma(self._total_concentration)

    def _cdf(self, x: Tensor) -> Tensor:
        ones = ones_like(self._total_concentration)
        x = self._inside(x)
        a, b = self._concentration1 * ones + zeros_like(x), self._concentration0 * ones + zeros_like(x)
        return betainc(a, b, x + zeros_like(a))

    def _entropy(self) -> Tensor:
        return (
            self._log_normalization()
            - (self._concentration1 - 1.0) * digamma(self._concentration1)
            - (self._concentration0 - 1.0) * digamma(self._concentration0)
            + (self._total_concentration - 2.0) * digamma(self._total_concentration)
        )

    def _mean(self) -> Tensor:
        return self._concentration1 / self._total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self._total_concentration)

    def _mode(self) -> Tensor:
        one = ones_like(self._total_concentration)
        mode = (self._concentration1 - 1.0) / (self._total_concentration - 2.0)
        defined = logical_and(self._concentration1 * one > 1.0, self._concentration0 * one > 1.0)
        message = "Mode undefined for concentration1 <= 1 or concentration0 <= 1."
        return where_defined(defined, mode, self.allow_nan_stats, message)


@RegisterKL(Beta, Beta)
def _beta_from_beta(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    def term(first: Tensor, second: Tensor) -> Tensor:
        return (first - second) * digamma(first)

    with get_default_graph().name_scope(name or "kl_beta_beta"):
        normalization = b._log_normalization() - a._log_normalization()
        parts = term(a.concentration1, b.concentration1) + term(a.concentration0, b.concentration0)
        return normalization + parts - term(a.total_concentration, b.total_concentration)


class Dirichlet(Distribution):
    """Probabilities of classes, which sum to 1 (`tf.distributions.Dirichlet`).

    Args:
        concentration: how much speaks for each class, greater than 0, [..., classes].
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._concentration = concentrations(concentration, validate_args)
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(
            *(self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._concentration, self._total_concentration], scope),
        )

    @property
    def concentration(self) -> Tensor:
        """How much speaks for each class."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._total_concentration)

    def _batch_shape(self) -> Any:
        return self._total_concentration.shape

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._concentration)[-1:]

    def _event_shape(self) -> Any:
        known = self._concentration.shape
        return known[-1:] if known.ndims is not None else [None]

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        drawn = random_gamma([n], self._concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = checked(x, self.validate_args, assert_positive, message="samples must be positive")
        x = checked(x, self.validate_args, self._sums_to_one)
        return reduce_sum(xlogy(self._concentration - 1.0, x), -1) - lbeta(self._concentration)

    def _sums_to_one(self, x: Tensor) -> Any:
        one = constant(1.0, self.dtype)
        return assert_near(one, reduce_sum(x, -1), message="sample last-dimension must sum to `1`")

    def _entropy(self) -> Tensor:
        classes = cast(self.event_shape_tensor()[0], self.dtype)
        total = self._total_concentration
        parts = reduce_sum((self._concentration - 1.0) * digamma(self._concentration), -1)
        return lbeta(self._concentration) + (total - classes) * digamma(total) - parts

    def _mean(self) -> Tensor:
        return self._concentration / self._total_concentration[..., None]

    def _scale(self) -> Tensor:
        """The square root of what the products of means are greater by than the covariances, negated."""
        return (1.0 + self._total_concentration[..., None]) ** -0.5

    def _covariance(self) -> Tensor:
        x = self._scale() * self._mean()
        return matrix_set_diag(-matmul(x[..., None], x[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        scale = self._scale()
        x = scale * self._mean()
        return x * (scale - x)

    def _mode(self) -> Tensor:
        classes = cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self._concentration - 1.0) / (self._total_concentration[..., None] - classes)
        if self.allow_nan_stats:
            defined = expand_dims(
                reduce_all(less(ones_like(self._concentration), self._concentration), -1), -1
            )
            return where_v2(defined, mode, constant(float("nan"), self.dtype))
        message = "Mode undefined when any concentration <= 1"
        with control_dependencies(
            [assert_less(constant(1.0, self.dtype), self._concentration, message=message)]
        ):
            return identity(mode)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_from_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_dirichlet_dirichlet"):
        growth = digamma(a.concentration) - digamma(a.total_concentration)[..., None]
        difference = a.concentration - b.concentration
        return reduce_sum(difference * growth, -1) - lbeta(a.concentration) + lbeta(b.concentration)
