"""Distributions of how often each class is drawn: multinomial, and Dirichlet-multinomial."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from tensorfleet.distributions.parameters import (
    arguments,
    checked,
    counts,
    derived_seed,
    logits_and_probs,
    whole,
)
from tensorfleet.distributions.simplex import concentrations
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, ones_like
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.debugging.checks import assert_non_negative
from tensorfleet.ops.functional.map_fn import map_fn
from tensorfleet.ops.linalg.matrix_parts import matrix_set_diag
from tensorfleet.ops.math.elementwise import log, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.special import lgamma
from tensorfleet.ops.math.vectors import lbeta
from tensorfleet.ops.nn.activation import log_softmax
from tensorfleet.ops.random.random_ops import multinomial, random_gamma


class _Counts(Distribution):
    """Families of the numbers of draws of each class, in a given number of draws."""

    _total_count: Tensor

    @property
    def total_count(self) -> Tensor:
        """The number of draws, in the dtype of samples."""
        return self._total_count

    def _weights(self) -> Tensor:
        """The mean but for the number of draws: [batch, classes]."""
        raise NotImplementedError

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._weights())[:-1]

    def _batch_shape(self) -> Any:
        known = self._weights().shape
        return known[:-1] if known.ndims is not None else None

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._weights())[-1:]

    def _event_shape(self) -> Any:
        known = self._weights().shape
        return known[-1:] if known.ndims is not None else [None]

    def _mean(self) -> Tensor:
        return self._weights() * 1.0

    def _log_combinations(self, found: Tensor) -> Tensor:
        """The logarithm of the number of orders in which the classes can be drawn as often as found."""
        return lgamma(self._total_count + 1.0) - reduce_sum(lgamma(found + 1.0), -1)


class Multinomial(_Counts):
    """The numbers of draws of each class in several independent draws (`tf.distributions.Multinomial`).

    Args:
        total_count: number of draws, of a floating dtype, as samples are.
        logits: unnormalized log probabilities of the classes, [..., classes]; or
        probs: their probabilities.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = checked(total, validate_args, assert_non_negative, whole)
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, is_vector=True)
        super().__init__(
            *(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._total_count, self._logits, self._probs], scope),
        )

    @property
    def logits(self) -> Tensor:
        """Unnormalized log probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self._probs

    def _weights(self) -> Tensor:
        return self._total_count[..., None] * self._probs

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        draws = cast(self._total_count, dtypes.int32)
        classes = self.event_shape_tensor()[0]
        draws = ones_like(self.logits[..., 0], dtype=draws.dtype) * draws
        logits = ones_like(draws[..., None], dtype=self.logits.dtype) * self.logits

        def of_one(arguments: tuple[Tensor, Tensor]) -> Tensor:
            row, count = arguments
            drawn = reshape(multinomial(row[None], n * count, seed=seed), [n, -1])
            return reduce_sum(one_hot(drawn, depth=classes), axis=-2)

        sets = (reshape(logits, [-1, classes]), reshape(draws, [-1]))
        drawn = transpose(map_fn(of_one, sets, dtype=self.dtype), [1, 0, 2])
        return reshape(drawn, concat([[n], self.batch_shape_tensor(), [classes]], 0))

    def _log_prob(self, found: Tensor) -> Tensor:
        found = counts(found, self._total_count, self.validate_args)
        return reduce_sum(found * log_softmax(self.logits), -1) + self._log_combinations(found)

    def _covariance(self) -> Tensor:
        p = self._probs * ones_like(self._total_count)[..., None]
        return matrix_set_diag(
            -matmul(self._total_count[..., None, None] * p[..., None], p[..., None, :]), self._variance()
        )

    def _variance(self) -> Tensor:
        p = self._probs * ones_like(self._total_count)[..., None]
        return self._total_count[..., None] * (p - square(p))


class DirichletMultinomial(_Counts):
    """A multinomial distribution whose probabilities are drawn (`tf.distributions.DirichletMultinomial`).

    Args:
        total_count: number of draws, of a floating dtype, as samples are.
        concentration: of Dirichlet's distribution that they are drawn from, greater than 0, [..., classes].
    """

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = checked(total, validate_args, assert_non_negative, whole)
            self._concentration = concentrations(concentration, validate_args)
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(
            *(self._concentration.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._total_count, self._concentration], scope),
        )

    @property
    def concentration(self) -> Tensor:
        """The concentration of each class."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations."""
        return self._total_concentration

    def _weights(self) -> Tensor:
        return self._total_count[..., None] * (self._concentration / self._total_concentration[..., None])

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        draws = cast(self._total_count, dtypes.int32)
        classes = self.event_shape_tensor()[0]
        concentration = self._concentration * ones(shape(self._weights()), self.dtype)
        logits = log(random_gamma([n], concentration, dtype=self.dtype, seed=seed))
        drawn = multinomial(
            reshape(logits, [-1, classes]), draws, seed=derived_seed(seed, salt="dirichlet_multinomial")
        )
        found = reduce_sum(one_hot(drawn, depth=classes), -2)
        dims = concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return cast(reshape(found, dims), self.dtype)

    def _log_prob(self, found: Tensor) -> Tensor:
        found = counts(found, self._total_count, self.validate_args)
        ordered = lbeta(self._concentration + found) - lbeta(self._concentration)
        return ordered + self._log_combinations(found)

    def _spread(self) -> Tensor:
        """By how much the variance is greater than that of a multinomial distribution, [batch, 1]."""
        total = self._total_concentration[..., None]
        return (self._total_count[..., None] + total) / (1.0 + total)

    def _covariance(self) -> Tensor:
        share = self._concentration / self._total_concentration[..., None]
        row = self._spread() * self._mean()
        return matrix_set_diag(-matmul(row[..., None], share[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        share = self._concentration / self._total_concentration[..., None]
        return self._spread() * self._mean() * (1 - share)
