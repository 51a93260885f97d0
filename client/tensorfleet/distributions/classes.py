"""Distributions of one of several classes: Bernoulli's, the categorical one, and that of one-hot vectors."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import (
    arguments,
    checked,
    dynamic_batch,
    logits_and_probs,
    static_batch,
    whole,
)
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import sequence_mask
from tensorfleet.ops.array.shaping import broadcast_to, reshape, shape
from tensorfleet.ops.debugging.checks import assert_less_equal, assert_non_negative
from tensorfleet.ops.math.comparison import less
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import log_softmax, softmax, softplus
from tensorfleet.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from tensorfleet.ops.random.random_ops import multinomial, random_uniform


class Bernoulli(Distribution):
    """0 or 1 (`tf.distributions.Bernoulli`).

    Args:
        logits: log-odds of 1; or
        probs: probability of 1.
        dtype: of samples.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
        super().__init__(
            *(dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._logits, self._probs], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return {"logits": sample_shape}

    @property
    def logits(self) -> Tensor:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self._probs

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._logits)

    def _batch_shape(self) -> Any:
        return self._logits.shape

    def _event_shape(self) -> Any:
        return []

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor()], 0)
        return cast(less(random_uniform(dims, seed=seed, dtype=self.probs.dtype), self.probs), self.dtype)

    def _log_prob(self, event: Tensor) -> Tensor:
        event = checked(event, self.validate_args, assert_non_negative, whole)
        event = checked(event, self.validate_args, lambda x: assert_less_equal(x, 1))
        event = cast(event, self.logits.dtype)
        logits, event = self.logits + zeros_like(event), event + zeros_like(self.logits)
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (self.probs - 1) + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return self.probs + 0

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli_from_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_bernoulli_bernoulli"):
        no = softplus(b.logits) - softplus(a.logits)
        yes = softplus(-b.logits) - softplus(-a.logits)
        return a.probs * yes + (1 - a.probs) * no


class Categorical(Distribution):
    """The number of a class (`tf.distributions.Categorical`).

    Args:
        logits: unnormalized log probabilities of the classes, [..., classes]; or
        probs: their probabilities.
        dtype: of samples.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, is_vector=True)
            if self._logits.shape.ndims == 0:
                raise ValueError("Argument `logits` must have rank at least 1.")
            size = self._logits.shape.as_list()[-1] if self._logits.shape.ndims else None
            self._event_size = (
                shape(self._logits)[-1] if size is None else constant(size, dtypes.int32, name="event_size")
            )
        super().__init__(
            *(dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._logits, self._probs], scope),
        )

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        return {"logits": sample_shape}

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 of rank 0."""
        return self._event_size

    @property
    def logits(self) -> Tensor:
        """Unnormalized log probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self._probs

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._logits)[:-1]

    def _batch_shape(self) -> Any:
        return self._logits.shape[:-1] if self._logits.shape.ndims is not None else None

    def _event_shape(self) -> Any:
        return []

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        rows = self.logits
        if rows.shape.ndims != 2:
            rows = reshape(rows, [-1, self.event_size])
        # TensorFlow draws int64 where the dtype has more than 32 bits, which gives the same numbers.
        drawn = multinomial(
            rows, n, seed=seed, output_dtype=dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        )
        drawn = reshape(transpose(drawn), concat([[n], self.batch_shape_tensor()], 0))
        return cast(drawn, self.dtype)

    def _for(self, k: Tensor) -> tuple[Tensor, Tensor]:
        """Classes and logits, broadcast against each other but for the last dimension of the logits."""
        dims = dynamic_batch(k, self.logits[..., 0])
        known = static_batch(k, self.logits[..., 0])
        logits = broadcast_to(self.logits, concat([dims, [self.event_size]], 0))
        k = broadcast_to(k, dims)
        logits.set_shape(known.concatenate(self.logits.shape[-1:]))
        k.set_shape(known)
        return k, logits

    def _classes(self, k: Any) -> Tensor:
        k = convert_to_tensor(k, name="k")
        k = checked(k, self.validate_args, assert_non_negative)
        return k if k.dtype.is_integer else cast(checked(k, self.validate_args, whole), dtypes.int32)

    def _log_prob(self, k: Tensor) -> Tensor:
        k = self._classes(k)
        logits = self.logits
        if k.shape.ndims is None or k.shape != logits.shape[:-1] or not k.shape.is_fully_defined():
            k, logits = self._for(k)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k: Tensor) -> Tensor:
        k, logits = self._for(self._classes(k))
        below = cast(sequence_mask(k, self.event_size), logits.dtype)
        return reduce_sum(softmax(logits) * below, -1)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Tensor:
        return cast(argmax(self.logits, axis=-1), self.dtype)


@RegisterKL(Categorical, Categorical)
def _categorical_from_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_categorical_categorical"):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * difference, -1)


class OneHotCategorical(Distribution):
    """A class as a vector with one 1 (`tf.contrib.distributions.OneHotCategorical`).

    Args:
        logits: unnormalized log probabilities of the classes, [..., classes]; or
        probs: their probabilities.
        dtype: of samples.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        parameters = arguments(locals())
        with get_default_graph().name_scope(name) as scope:
            self._classes = Categorical(logits, probs, validate_args=validate_args)
        super().__init__(
            *(dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._classes.logits, self._classes.probs], scope),
        )

    @property
    def logits(self) -> Tensor:
        """Unnormalized log probabilities."""
        return self._classes.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self._classes.probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 of rank 0."""
        return self._classes.event_size

    def _batch_shape_tensor(self) -> Tensor:
        return self._classes.batch_shape_tensor()

    def _batch_shape(self) -> Any:
        return self._classes.batch_shape

    def _event_shape_tensor(self) -> Tensor:
        return shape(self.logits)[-1:]

    def _event_shape(self) -> Any:
        known = self.logits.shape
        return known[-1:] if known.ndims is not None else [None]

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        return one_hot(self._classes._sample_n(n, seed), self.event_size, dtype=self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_sum(cast(x, self.logits.dtype) * log_softmax(self.logits), -1)

    def _entropy(self) -> Tensor:
        return self._classes.entropy()

    def _mean(self) -> Tensor:
        return self.probs * 1.0

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return one_hot(argmax(self.logits, axis=-1), self.event_size, dtype=self.dtype)


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _from_one_hot(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Tensor:
    return a._classes.kl_divergence(b._classes, name=name or "kl_one_hot_categorical")
