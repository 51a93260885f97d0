"""Distributions of a bijector's values (`tf.contrib.distributions.TransformedDistribution`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.bijectors.base import Bijector
from tensorfleet.distributions.distribution import Distribution
from tensorfleet.distributions.parameters import arguments
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones, zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.elementwise import exp
from tensorfleet.ops.math.reduction import reduce_prod, reduce_sum


class TransformedDistribution(Distribution):
    """The distribution of bijector(x), for x of a distribution.

    Args:
        distribution: of x.
        bijector: increasing, where `cdf` and `quantile` are asked for.
        batch_shape: shape of the batch, for a distribution whose own batch is a scalar.
        event_shape: shape of the draws of x, for a distribution whose own draws are numbers.

    Raises:
        ValueError: a shape is given for a distribution that has one, or is not known.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        name = name or f"{bijector.name}{distribution.name.rstrip('/').rsplit('/', 1)[-1]}"
        self._distribution = distribution
        self._bijector = bijector
        self._batch_override = _static("batch_shape", batch_shape)
        self._event_override = _static("event_shape", event_shape)
        if self._batch_override.ndims and distribution.batch_shape.ndims != 0:
            raise ValueError("batch_shape is for a base distribution with a scalar batch only.")
        if self._event_override.ndims and distribution.event_shape.ndims != 0:
            raise ValueError("event_shape is for a base distribution of scalar events only.")
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            [parent for parent in bijector.graph_parents if isinstance(parent, Tensor)],
            name,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of what is transformed."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """The function of it."""
        return self._bijector

    def _base_event_shape(self) -> TensorShape:
        return self._event_override if self._event_override.ndims else self._distribution.event_shape

    def _event_shape(self) -> Any:
        return self._bijector.forward_event_shape(self._base_event_shape())

    def _event_shape_tensor(self) -> Tensor:
        base = self._distribution.event_shape_tensor()
        if self._event_override.ndims:
            base = constant(self._event_override.as_list(), dtypes.int32)
        return self._bijector.forward_event_shape_tensor(base)

    def _batch_shape(self) -> Any:
        return self._batch_override if self._batch_override.ndims else self._distribution.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        if self._batch_override.ndims:
            return constant(self._batch_override.as_list(), dtypes.int32)
        return self._distribution.batch_shape_tensor()

    def _extra(self) -> int:
        """The number of dimensions of draws that the distribution itself takes for those of a sample."""
        return self._event_override.ndims or 0

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        return self._base_sample(n, seed)

    def _of_draws(self, samples: Tensor) -> Tensor:
        # The bijector remembers where its values came from: log_prob of samples needs no inverse.
        return self._bijector.forward(samples)

    def _base_sample(self, n: Tensor, seed: int | None, **condition_kwargs: Any) -> Tensor:
        if not self._extra() and not self._batch_override.ndims:
            return self._distribution.sample(n[None], seed, **condition_kwargs)
        batch, event = self._batch_override.as_list(), self._event_override.as_list()
        if self._distribution.batch_shape.ndims == 0:
            dims = concat([n[None], constant([*batch, *event], dtypes.int32)], 0)
            return self._distribution.sample(dims, seed, **condition_kwargs)
        dims = concat([constant(event, dtypes.int32), n[None]], 0)
        return self._rotated(self._distribution.sample(dims, seed, **condition_kwargs), self._extra())

    def _rotated(self, x: Tensor, by: int) -> Tensor:
        """With the first dimensions moved to the end, or with a negative number the last to the start."""
        ndims = x.shape.ndims
        if ndims is None:
            raise ValueError("The rank of values must be known for a distribution with `event_shape`.")
        return transpose(x, [(i + by) % ndims for i in range(ndims)])

    def _base_log_prob(self, x: Tensor, **condition_kwargs: Any) -> Tensor:
        extra = self._extra()
        if not extra:
            return self._distribution.log_prob(x, **condition_kwargs)
        if self._distribution.batch_shape.ndims == 0:
            return reduce_sum(self._distribution.log_prob(x, **condition_kwargs), list(range(-extra, 0)))
        found = self._distribution.log_prob(self._rotated(x, -extra), **condition_kwargs)
        return reduce_sum(found, list(range(extra)))

    def _event_ndims(self) -> int:
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError(f"The rank of the events of {self.name} is not known.")
        return ndims

    def _log_prob(self, y: Tensor) -> Tensor:
        x = self._bijector.inverse(y)
        change = self._bijector.inverse_log_det_jacobian(y, self._event_ndims())
        return self._base_log_prob(x) + change

    def _cdf(self, y: Tensor) -> Tensor:
        self._only_numbers("cdf")
        return self._distribution.cdf(self._bijector.inverse(y))

    def _log_cdf(self, y: Tensor) -> Tensor:
        self._only_numbers("log_cdf")
        return self._distribution.log_cdf(self._bijector.inverse(y))

    def _survival_function(self, y: Tensor) -> Tensor:
        self._only_numbers("survival_function")
        return self._distribution.survival_function(self._bijector.inverse(y))

    def _log_survival_function(self, y: Tensor) -> Tensor:
        self._only_numbers("log_survival_function")
        return self._distribution.log_survival_function(self._bijector.inverse(y))

    def _quantile(self, p: Tensor) -> Tensor:
        self._only_numbers("quantile")
        return self._bijector.forward(self._distribution.quantile(p))

    def _only_numbers(self, method: str) -> None:
        if self._extra():
            raise NotImplementedError(f"{method} is not implemented when overriding event_shape.")

    def _in_override(self, x: Tensor, with_event: bool) -> Tensor:
        """A statistic of the distribution, for each element of the shapes that were given."""
        if self._batch_override.ndims:
            x = x * ones(self._batch_override.as_list(), x.dtype)
        if with_event and self._extra():
            dims = [*self.batch_shape.as_list(), *[1] * self._extra()]
            x = reshape(x, dims) * ones(self._event_override.as_list(), x.dtype)
        return x

    def _mean(self) -> Tensor:
        if not self._bijector.is_constant_jacobian:
            raise self._lacks("mean")
        return self._bijector.forward(self._in_override(self._distribution.mean(), True))

    def _entropy(self) -> Tensor:
        if not self._bijector.is_constant_jacobian:
            raise self._lacks("entropy")
        entropy = self._distribution.entropy()
        if self._extra():
            entropy = entropy * constant(self._event_override.num_elements(), self.dtype)
        entropy = self._in_override(entropy, False)
        ndims = self._base_event_shape().ndims or 0
        if self._base_event_shape().is_fully_defined():
            at = zeros(self._base_event_shape().as_list(), self.dtype)
        else:
            at = zeros(self._distribution.event_shape_tensor(), self.dtype)
        return entropy + self._bijector.forward_log_det_jacobian(at, ndims)


def _static(name: str, value: Any) -> TensorShape:
    if value is None:
        return TensorShape([])
    if isinstance(value, Tensor):
        value = static_value(value)
        if value is None:
            raise ValueError(f"{name} must be known when the graph is built.")
    found = value if isinstance(value, TensorShape) else TensorShape(value)
    if not found.is_fully_defined():
        raise ValueError(f"{name} must be fully known, not {found}.")
    return found


class ConditionalDistribution(Distribution):
    """A distribution whose methods take further arguments, by name."""

    # The names of those that `_of_draws` takes.
    _draws_take: tuple[str, ...] = ()

    def sample(
        self, sample_shape: Any = (), seed: int | None = None, name: str = "sample", **condition_kwargs: Any
    ) -> Tensor:
        """Draws samples, as `Distribution.sample`.

        Args:
            condition_kwargs: further arguments of the family's `_sample_n`.
        """
        with self._name_scope(name):
            wanted = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            wanted = reshape(wanted, [-1]) if wanted.shape.ndims == 0 else wanted
            of_draws = {key: condition_kwargs.pop(key) for key in self._draws_take if key in condition_kwargs}
            drawn: Tensor = self._sample_n(reduce_prod(wanted), seed, **condition_kwargs)
            samples = self._of_draws(reshape(drawn, concat([wanted, shape(drawn)[1:]], 0)), **of_draws)
            static = static_value(wanted)
            if static is not None:
                dims = TensorShape(static.tolist())
                samples.set_shape(dims.concatenate(self.batch_shape).concatenate(self.event_shape))
            return samples

    def log_prob(self, value: Any, name: str = "log_prob", **condition_kwargs: Any) -> Tensor:
        """The logarithm of the density at a value; further arguments go to the family's `_log_prob`."""
        with self._name_scope(name):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            found: Tensor = self._log_prob(value, **condition_kwargs)  # type: ignore[attr-defined]
            return found

    def prob(self, value: Any, name: str = "prob", **condition_kwargs: Any) -> Tensor:
        """The density at a value; further arguments go to the family's `_log_prob`."""
        with self._name_scope(name):
            return exp(self.log_prob(value, **condition_kwargs))


class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """A transformed distribution whose parts take further arguments.

    `sample`, `log_prob` and `prob` take them as the dicts `bijector_kwargs` and `distribution_kwargs`.
    """

    _draws_take = ("bijector_kwargs",)

    def _sample_n(
        self,
        n: Tensor,
        seed: int | None = None,
        distribution_kwargs: dict[str, Any] | None = None,
    ) -> Tensor:
        return self._base_sample(n, seed, **(distribution_kwargs or {}))

    def _of_draws(self, samples: Tensor, bijector_kwargs: dict[str, Any] | None = None) -> Tensor:
        return self._bijector.forward(samples, **(bijector_kwargs or {}))

    def _log_prob(
        self,
        y: Tensor,
        bijector_kwargs: dict[str, Any] | None = None,
        distribution_kwargs: dict[str, Any] | None = None,
    ) -> Tensor:
        further = bijector_kwargs or {}
        x = self._bijector.inverse(y, **further)
        change = self._bijector.inverse_log_det_jacobian(y, self._event_ndims(), **further)
        return self._base_log_prob(x, **(distribution_kwargs or {})) + change
