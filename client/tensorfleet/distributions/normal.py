"""The normal distribution, and what is near to it: Student's t and Laplace's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.normal_cdf import log_ndtr, ndtr
from tensorfleet.distributions.parameters import (
    arguments,
    derived_seed,
    dynamic_batch,
    parameters_after,
    static_batch,
    where_defined,
)
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones, ones_like, zeros_like
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.debugging.checks import assert_positive
from tensorfleet.ops.debugging.type_checks import assert_same_float_dtype
from tensorfleet.ops.math.arithmetic import squared_difference
from tensorfleet.ops.math.bessel import betainc
from tensorfleet.ops.math.elementwise import abs, exp, log, log1p, rsqrt, sign, square
from tensorfleet.ops.math.special import digamma, lgamma, ndtri
from tensorfleet.ops.math.vectors import lbeta
from tensorfleet.ops.random.random_ops import random_gamma, random_normal, random_uniform


class _LocScale(Distribution):
    """Families of numbers with a location and a scale."""

    _loc: Tensor
    _scale: Tensor

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return dict.fromkeys(("loc", "scale"), sample_shape)

    @property
    def loc(self) -> Tensor:
        """The location."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._scale

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self._loc, self._scale

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(*self._batch_parameters())

    def _batch_shape(self) -> Any:
        return static_batch(*self._batch_parameters())

    def _event_shape(self) -> Any:
        return []

    def _mode(self) -> Tensor:
        return self._mean()

    def _mean(self) -> Tensor:
        return self._loc * ones_like(self._scale)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self._loc) / self._scale


class Normal(_LocScale):
    """The normal distribution (`tf.distributions.Normal`).

    Args:
        loc: means. float16, float32, float64.
        scale: standard deviations, greater than 0; they broadcast against the means.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            loc, scale = convert_to_tensor(loc, name="loc"), convert_to_tensor(scale, name="scale")
            checks = [assert_positive(scale)] if validate_args else []
            self._loc, self._scale = parameters_after(checks, loc=loc, scale=scale)
            assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            *(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc, self._scale], scope),
        )

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        drawn = random_normal(
            concat([[n], self.batch_shape_tensor()], 0), 0.0, 1.0, self._loc.dtype, seed=seed
        )
        return drawn * self._scale + self._loc

    def _log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * square(self._z(x)) - (0.5 * math.log(2 * math.pi) + log(self._scale))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_ndtr(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_ndtr(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return ndtr(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return ndtri(p) * self._scale + self._loc

    def _entropy(self) -> Tensor:
        scale = self._scale * ones_like(self._loc)
        return 0.5 * math.log(2 * math.pi * math.e) + log(scale)

    def _stddev(self) -> Tensor:
        return self._scale * ones_like(self._loc)


@RegisterKL(Normal, Normal)
def _normal_from_normal(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_normal_normal"):
        ratio = square(a.scale / b.scale)
        return squared_difference(a.loc, b.loc) / (2 * square(b.scale)) + 0.5 * (ratio - 1 - log(ratio))


class Laplace(_LocScale):
    """Laplace's distribution, two exponential ones back to back (`tf.distributions.Laplace`).

    Args:
        loc: means. float16, float32, float64.
        scale: mean distances from them, greater than 0.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            loc, scale = convert_to_tensor(loc, name="loc"), convert_to_tensor(scale, name="scale")
            checks = [assert_positive(scale)] if validate_args else []
            self._loc, self._scale = parameters_after(checks, loc=loc, scale=scale)
            assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            *(self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc, self._scale], scope),
        )

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dtype = self.dtype.as_numpy_dtype
        # An open interval: -1 would be infinitely far away.
        least = np.nextafter(dtype(-1), dtype(0))
        dims = concat([[n], self.batch_shape_tensor()], 0)
        drawn = random_uniform(dims, least, 1.0, self.dtype, seed=seed)
        return self._loc - self._scale * sign(drawn) * log1p(-abs(drawn))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -abs(self._z(x)) - (math.log(2) + log(self._scale))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _log_laplace_cdf(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return _log_laplace_cdf(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * sign(z) * (1 - exp(-abs(z)))

    def _entropy(self) -> Tensor:
        scale = self._scale + zeros_like(self._loc)
        return math.log(2) + 1 + log(scale)

    def _stddev(self) -> Tensor:
        return math.sqrt(2) * self._scale + zeros_like(self._loc)


def _log_laplace_cdf(z: Tensor) -> Tensor:
    below = -math.log(2) + z
    # Where z is not taken, exp must not overflow: a gradient of 0 times infinity is NaN.
    above = log1p(-0.5 * exp(-abs(z)))
    return where_v2(z < 0, below, above)


class StudentT(_LocScale):
    """Student's t distribution (`tf.distributions.StudentT`).

    Args:
        df: degrees of freedom, greater than 0. float16, float32, float64.
        loc: location; the mean, where there is one.
        scale: scale, not the standard deviation. Of a negative one the magnitude counts.
    """

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            df, loc = convert_to_tensor(df, name="df"), convert_to_tensor(loc, name="loc")
            scale = convert_to_tensor(scale, name="scale")
            checks = [assert_positive(df)] if validate_args else []
            self._df, self._loc, self._scale = parameters_after(checks, df=df, loc=loc, scale=scale)
            assert_same_float_dtype([self._df, self._loc, self._scale])
        super().__init__(
            *(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._df, self._loc, self._scale], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return dict.fromkeys(("df", "loc", "scale"), sample_shape)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self._df, self._loc, self._scale

    def _in_batch(self, x: Tensor) -> Tensor:
        return x * ones(self.batch_shape_tensor(), self.dtype)

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        normal = random_normal(dims, dtype=self.dtype, seed=seed)
        df = self._in_batch(self._df)
        chi2 = random_gamma(
            [n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=derived_seed(seed, salt="student_t")
        )
        return normal * rsqrt(chi2 / df) * self._scale + self._loc

    def _log_prob(self, x: Tensor) -> Tensor:
        y = self._z(x)
        normalization = log(abs(self._scale)) + 0.5 * (log(self._df) + math.log(math.pi))
        normalization += lgamma(0.5 * self._df) - lgamma(0.5 * (self._df + 1))
        return -0.5 * (self._df + 1) * log1p(y**2 / self._df) - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self._loc) / abs(self._scale)
        df, y = self._df + zeros_like(y), y + zeros_like(self._df)
        half_tail = 0.5 * betainc(0.5 * df, ones_like(df) / 2, df / (y**2 + df))
        return where_v2(y < 0, half_tail, 1 - half_tail)

    def _entropy(self) -> Tensor:
        df, half = self._in_batch(self._df), 0.5 * self._df
        of_beta = lbeta(stack([0.5 * df, 0.5 * ones_like(df)], -1))
        growth = digamma(half + 0.5) - digamma(half)
        return log(abs(self._scale)) + 0.5 * log(df) + of_beta + (half + 0.5) * growth

    def _mean(self) -> Tensor:
        mean = self._loc * ones(self.batch_shape_tensor(), self.dtype)
        message = "mean not defined for components of df <= 1"
        return where_defined(self._in_batch(self._df) > 1, mean, self.allow_nan_stats, message)

    def _variance(self) -> Tensor:
        df = self._in_batch(self._df)
        above_two = where_v2(df > 2, df - 2, ones_like(df))
        finite = square(self._in_batch(self._scale)) * df / above_two
        variance = where_v2(df > 2, finite, constant(np.inf, self.dtype))
        message = "variance not defined for components of df <= 1"
        return where_defined(df > 1, variance, self.allow_nan_stats, message)

    def _mode(self) -> Tensor:
        return self._in_batch(self._loc)
