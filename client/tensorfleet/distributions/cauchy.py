"""Cauchy's distribution, and that of magnitudes of its numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.distributions.parameters import arguments
from tensorfleet.distributions.tails import Scaled
from tensorfleet.graph.convert import constant
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import fill, ones_like, zeros_like
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.math.elementwise import atan, log, log1p, square, tan


class _Undefined(Scaled):
    """Families by a location and a scale that have neither a mean nor a variance."""

    def _nothing(self, method: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{method}` is undefined for {type(self).__name__} distribution.")
        return fill(self.batch_shape_tensor(), constant(np.nan, self.dtype))

    def _mean(self) -> Tensor:
        return self._nothing("mean")

    def _variance(self) -> Tensor:
        return self._nothing("variance")

    def _stddev(self) -> Tensor:
        return self._nothing("stddev")


class Cauchy(_Undefined):
    """Cauchy's distribution, the ratio of two standard normal numbers (`tf.contrib.distributions.Cauchy`).

    Args:
        loc: medians.
        scale: half of the distance of the quartiles, greater than 0.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc + self._scale * tan(math.pi * (p - 0.5))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -math.log(math.pi) - log(self._scale) - log1p(square(self._z(x)))

    def _cdf(self, x: Tensor) -> Tensor:
        return atan(self._z(x)) / math.pi + 0.5

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log1p(2 / math.pi * atan(self._z(x))) - math.log(2)

    def _entropy(self) -> Tensor:
        return math.log(4 * math.pi) + log(self._wide_scale())

    def _mode(self) -> Tensor:
        return self._wide_loc()


class HalfCauchy(_Undefined):
    """Numbers of Cauchy's distribution that are greater than its median
    (`tf.contrib.distributions.HalfCauchy`).

    Args:
        loc: the least number.
        scale: the distance of the median from it, greater than 0.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfCauchy",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc + self._scale * tan(math.pi / 2 * p)

    def _within(self, x: Tensor, value: Any, outside: float) -> Tensor:
        """A function of z where x is not below the least number; z is 0 there, so that it has gradients."""
        z = self._z(x)
        found: Tensor = value(where_v2(z < 0, zeros_like(z), z))
        return where_v2(z < 0, outside * ones_like(found), found)

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._within(x, lambda z: math.log(2 / math.pi) - log(self._scale) - log1p(square(z)), -np.inf)

    def _cdf(self, x: Tensor) -> Tensor:
        return self._within(x, lambda z: 2 / math.pi * atan(z), 0.0)

    def _entropy(self) -> Tensor:
        return math.log(2 * math.pi) + log(self._wide_scale())

    def _mode(self) -> Tensor:
        return self._wide_loc()
