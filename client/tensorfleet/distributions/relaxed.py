"""Differentiable relatives of the distributions of classes, by a temperature."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.distributions.bijectors.numbers import Exp, Sigmoid
from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.parameters import arguments, checked, logits_and_probs
from tensorfleet.distributions.tails import Logistic
from tensorfleet.distributions.transformed import TransformedDistribution
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging.checks import assert_positive
from tensorfleet.ops.math.elementwise import log
from tensorfleet.ops.math.reduction import reduce_logsumexp, reduce_sum
from tensorfleet.ops.math.special import lgamma
from tensorfleet.ops.nn.activation import log_softmax
from tensorfleet.ops.random.random_ops import random_uniform


class RelaxedBernoulli(TransformedDistribution):
    """A number between 0 and 1, near to one of them (`tf.contrib.distributions.RelaxedBernoulli`).

    Args:
        temperature: greater than 0; the smaller, the nearer.
        logits: log-odds of 1; or
        probs: probability of 1.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            heat = convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
            self._temperature = checked(heat, validate_args, assert_positive)
            base = Logistic(
                self._logits / self._temperature, 1 / self._temperature, validate_args, allow_nan_stats
            )
            bijector = Sigmoid(validate_args=validate_args)
        super().__init__(base, bijector, validate_args=validate_args, name=scope)
        self._parameters = parameters

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self._temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self._probs


class ExpRelaxedOneHotCategorical(Distribution):
    """The logarithm of a relaxed one-hot vector (`tf.contrib.distributions.ExpRelaxedOneHotCategorical`).

    Args:
        temperature: greater than 0.
        logits: unnormalized log probabilities of the classes, [..., classes]; or
        probs: their probabilities.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, is_vector=True)
            heat = convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
            self._temperature = checked(heat, validate_args, assert_positive)
        super().__init__(
            *(self._logits.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._logits, self._probs, self._temperature], scope),
        )

    @property
    def temperature(self) -> Tensor:
        """The temperature, [...]."""
        return self._temperature

    @property
    def logits(self) -> Tensor:
        """Unnormalized log probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self._probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 of rank 0."""
        return shape(self._logits)[-1]

    def _heat(self) -> Tensor:
        return self._temperature[..., None] + zeros_like(self._logits)

    def _batch_shape(self) -> Any:
        known = self._heat().shape
        return known if known.ndims is None else known[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._heat())[:-1]

    def _event_shape(self) -> Any:
        known = self._logits.shape
        return known[-1:] if known.ndims is not None else [None]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._logits)[-1:]

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        heat = self._heat()
        # log(0) is infinite.
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = random_uniform(concat([[n], shape(heat)], 0), least, 1.0, self.dtype, seed=seed)
        return log_softmax((self._logits - log(-log(drawn))) / heat)

    def _log_prob(self, x: Tensor) -> Tensor:
        classes = cast(self.event_size, self.dtype)
        powers = log_softmax(self._logits) - self._temperature[..., None] * x
        normalization = lgamma(classes) + (classes - 1) * log(self._temperature)
        return reduce_sum(powers, -1) - classes * reduce_logsumexp(powers, -1) + normalization


class RelaxedOneHotCategorical(TransformedDistribution):
    """Positive numbers of the sum 1, near to a one-hot vector (`RelaxedOneHotCategorical`).

    Args:
        temperature: greater than 0; the smaller, the nearer.
        logits: unnormalized log probabilities of the classes, [..., classes]; or
        probs: their probabilities.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        base = ExpRelaxedOneHotCategorical(temperature, logits, probs, dtype, validate_args, allow_nan_stats)
        super().__init__(base, Exp(validate_args=validate_args), validate_args=validate_args, name=name)
        self._parameters = parameters
        self._logarithms = base

    @property
    def temperature(self) -> Tensor:
        """The temperature, [...]."""
        return self._logarithms.temperature

    @property
    def logits(self) -> Tensor:
        """Unnormalized log probabilities."""
        return self._logarithms.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self._logarithms.probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 of rank 0."""
        return self._logarithms.event_size
