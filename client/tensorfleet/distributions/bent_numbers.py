"""Distributions of numbers that a bijector makes of uniform or normal ones."""

from __future__ import annotations

from typing import Any

from tensorfleet.distributions.bijectors.composed import Chain
from tensorfleet.distributions.bijectors.cumulative import (
    Kumaraswamy as KumaraswamyBijector,
    SinhArcsinh as SinhArcsinhBijector,
)
from tensorfleet.distributions.bijectors.numbers import AffineScalar
from tensorfleet.distributions.distribution import Distribution
from tensorfleet.distributions.normal import Normal
from tensorfleet.distributions.parameters import arguments, where_defined
from tensorfleet.distributions.simplex import Uniform
from tensorfleet.distributions.transformed import TransformedDistribution
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.math.arithmetic import pow as power
from tensorfleet.ops.math.comparison import greater, logical_and
from tensorfleet.ops.math.elementwise import exp, log
from tensorfleet.ops.math.special import digamma, lgamma


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1, much like those of a beta distribution
    (`tf.contrib.distributions.Kumaraswamy`).

    Args:
        concentration1: a of the cumulative distribution 1 - (1 - x^a)^b, greater than 0.
        concentration0: b, greater than 0.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            a = convert_to_tensor(concentration1, name="concentration1")
            b = convert_to_tensor(concentration0, dtype=a.dtype, name="concentration0")
            wide = zeros_like(a + b)
            base = Uniform(wide, ones_like(wide), allow_nan_stats=allow_nan_stats)
            bijector = KumaraswamyBijector(a, b, validate_args)
        super().__init__(base, bijector, validate_args=validate_args, name=scope)
        self._a, self._b = bijector.concentration1, bijector.concentration0
        self._parameters = parameters

    @property
    def concentration1(self) -> Tensor:
        """a."""
        return self._a

    @property
    def concentration0(self) -> Tensor:
        """b."""
        return self._b

    def _moment(self, n: float) -> Tensor:
        """The mean of x^n."""
        a, b = self._a, self._b
        return exp(log(b) + lgamma(1 + n / a) + lgamma(b) - lgamma(1 + b + n / a))

    def _mean(self) -> Tensor:
        return self._moment(1.0)

    def _variance(self) -> Tensor:
        mean = self._moment(1.0)
        return self._moment(2.0) - mean * mean

    def _entropy(self) -> Tensor:
        a, b = self._a, self._b
        harmonic = digamma(b + 1) + 0.5772156649015329
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - log(a) - log(b)

    def _mode(self) -> Tensor:
        a, b = self._a, self._b
        defined = logical_and(greater(a, ones_like(a)), greater(b, ones_like(b)))
        mode = power((a - 1) / (a * b - 1), 1 / a)
        message = "Mode undefined for concentration1 <= 1 or concentration0 <= 1."
        return where_defined(defined, mode, self.allow_nan_stats, message)


class SinhArcsinh(TransformedDistribution):
    """loc + scale · c · sinh((asinh(z) + skewness) · tailweight), for a normal number z, and c so that
    without skewness 2 becomes loc + 2 · scale (`tf.contrib.distributions.SinhArcsinh`).

    Args:
        loc, scale: of the numbers, the scale greater than 0.
        skewness: 0 by default.
        tailweight: greater than 0; 1 by default.
        distribution: of z, standard normal by default.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            self._loc: Tensor = convert_to_tensor(loc, name="loc")
            dtype = self._loc.dtype
            self._scale: Tensor = convert_to_tensor(scale, dtype=dtype, name="scale")
            self._skewness: Tensor = convert_to_tensor(0.0 if skewness is None else skewness, dtype=dtype)
            self._tailweight: Tensor = convert_to_tensor(
                1.0 if tailweight is None else tailweight, dtype=dtype
            )
            wide = zeros_like(self._loc + self._scale + self._skewness + self._tailweight)
            base = distribution or Normal(wide, ones_like(wide), allow_nan_stats=allow_nan_stats)
            at_two = SinhArcsinhBijector(zeros_like(wide), self._tailweight).forward(2.0 * ones_like(wide))
            bend = SinhArcsinhBijector(self._skewness, self._tailweight, validate_args=validate_args)
            factor = self._scale * 2.0 / at_two
            whole = Chain([AffineScalar(self._loc, factor, validate_args=validate_args), bend])
        super().__init__(base, whole, validate_args=validate_args, name=scope)
        self._parameters = parameters

    @property
    def loc(self) -> Tensor:
        """The location."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._scale

    @property
    def skewness(self) -> Tensor:
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self) -> Tensor:
        """The weight of the tails."""
        return self._tailweight
