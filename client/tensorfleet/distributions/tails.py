"""Distributions by a location and a scale that come from one uniform number: logistic and Gumbel's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import arguments, dynamic_batch, parameters_after, static_batch
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.debugging.checks import assert_positive
from tensorfleet.ops.debugging.type_checks import assert_same_float_dtype
from tensorfleet.ops.math.elementwise import exp, expm1, log, log1p, log_sigmoid, sigmoid
from tensorfleet.ops.math.special import lgamma
from tensorfleet.ops.nn.activation import softplus
from tensorfleet.ops.random.random_ops import random_uniform


class Scaled(Distribution):
    """Families of numbers with a location and a scale, as a function of uniform numbers."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str,
    ) -> None:
        with get_default_graph().name_scope(name) as scope:
            loc, scale = convert_to_tensor(loc, name="loc"), convert_to_tensor(scale, name="scale")
            checks = [assert_positive(scale)] if validate_args else []
            self._loc, self._scale = parameters_after(checks, loc=loc, scale=scale)
            assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            *(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc, self._scale], scope),
        )

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

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._loc, self._scale)

    def _batch_shape(self) -> Any:
        return static_batch(self._loc, self._scale)

    def _event_shape(self) -> Any:
        return []

    def _z(self, x: Tensor) -> Tensor:
        return (x - self._loc) / self._scale

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        # An open interval: at 0 the quantile is infinite.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        return self._quantile(random_uniform(dims, least, 1.0, self.dtype, seed=seed))

    def _quantile(self, p: Tensor) -> Tensor:
        raise NotImplementedError

    def _wide_loc(self) -> Tensor:
        return self._loc + zeros_like(self._scale)

    def _wide_scale(self) -> Tensor:
        return self._scale + zeros_like(self._loc)


class Logistic(Scaled):
    """The logistic distribution, whose cumulative one is sigmoid (`tf.contrib.distributions.Logistic`).

    Args:
        loc: means.
        scale: greater than 0; the standard deviation is pi / sqrt(3) times that.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc + self._scale * (log(p) - log1p(-p))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - 2 * softplus(-z) - log(self._scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_sigmoid(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return sigmoid(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_sigmoid(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return sigmoid(-self._z(x))

    def _entropy(self) -> Tensor:
        return 2 + log(self._wide_scale())

    def _mean(self) -> Tensor:
        return self._wide_loc()

    def _mode(self) -> Tensor:
        return self._wide_loc()

    def _stddev(self) -> Tensor:
        return self._wide_scale() * (math.pi / math.sqrt(3))


class Gumbel(Scaled):
    """Gumbel's distribution, of the greatest of many numbers (`tf.contrib.distributions.Gumbel`).

    Args:
        loc: modes.
        scale: greater than 0; the standard deviation is pi / sqrt(6) times that.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gumbel",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(loc, scale, validate_args, allow_nan_stats, parameters, name)

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc - self._scale * log(-log(p))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -(z + exp(-z)) - log(self._scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -exp(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return exp(-exp(-self._z(x)))

    def _survival_function(self, x: Tensor) -> Tensor:
        return -expm1(-exp(-self._z(x)))

    def _entropy(self) -> Tensor:
        return 1 + log(self._wide_scale()) + np.euler_gamma

    def _mean(self) -> Tensor:
        return self._loc + self._scale * np.euler_gamma

    def _mode(self) -> Tensor:
        return self._loc * ones_like(self._scale)

    def _stddev(self) -> Tensor:
        return self._wide_scale() * (math.pi / math.sqrt(6))


@RegisterKL(Gumbel, Gumbel)
def _gumbel_from_gumbel(a: Gumbel, b: Gumbel, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_gumbel_gumbel"):
        ratio = a.scale / b.scale
        distance = (a.loc - b.loc) / b.scale
        tail = exp(-distance + lgamma(1 + ratio))
        return log(b.scale) - log(a.scale) + np.euler_gamma * (ratio - 1) + distance + tail - 1
