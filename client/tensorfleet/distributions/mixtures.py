"""Mixtures: draws from one of several distributions, each with its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.distributions.classes import Categorical
from tensorfleet.distributions.distribution import (
    NOT_REPARAMETERIZED,
    Distribution,
)
from tensorfleet.distributions.parameters import (
    arguments,
    derived_seed,
)
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import expand_dims, shape
from tensorfleet.ops.math.elementwise import square
from tensorfleet.ops.math.reduction import reduce_logsumexp, reduce_sum
from tensorfleet.ops.nn.activation import log_softmax


class Mixture(Distribution):
    """One of several distributions, by a class that is drawn (`tf.contrib.distributions.Mixture`).

    Args:
        cat: of the number of the component.
        components: with equal dtypes and shapes.
        use_static_graph: has no effect: each component is drawn, and one is taken.

    Raises:
        TypeError: not a Categorical, or not Distributions.
        ValueError: their numbers, dtypes or shapes do not match.
    """

    def __init__(
        self,
        cat: Categorical,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not all(isinstance(component, Distribution) for component in components):
            raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
        dtypes = {component.dtype for component in components}
        if len(dtypes) > 1:
            names = ", ".join(f"{component.name}: {component.dtype.name}" for component in components)
            raise TypeError(f"All components must have the same dtype, but saw: {names}")
        classes = cat.logits.shape[-1:].as_list()[0] if cat.logits.shape.ndims else None
        if classes is not None and classes != len(components):
            raise ValueError(
                f"cat.num_classes ({classes}) must be the number of components ({len(components)})."
            )
        for component in components:
            for ours, theirs in (
                (cat.batch_shape, component.batch_shape),
                (components[0].event_shape, component.event_shape),
            ):
                if not ours.is_compatible_with(theirs):
                    raise ValueError(f"Shapes of the components do not match: {ours} and {theirs}.")
        self._cat = cat
        self._components = list(components)
        super().__init__(
            *(components[0].dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([], name),
        )

    @property
    def cat(self) -> Categorical:
        """The distribution of the component's number."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The components."""
        return self._components

    @property
    def num_components(self) -> int:
        """The number of components."""
        return len(self._components)

    def _batch_shape(self) -> Any:
        return self._cat.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        return self._cat.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self._components[0].event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self._components[0].event_shape_tensor()

    def _events(self, x: Tensor) -> Tensor:
        """Numbers for each component, [..., components], with dimensions for the event before the last."""
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError("The rank of the events must be known for a mixture.")
        for _ in range(ndims):
            x = expand_dims(x, -2)
        return x

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        chosen = self._cat.sample(n[None], seed)
        mask = self._events(one_hot(chosen, self.num_components, on_value=True, off_value=False))
        drawn = [
            component.sample(n[None], derived_seed(seed, f"mixture{i}"))
            for i, component in enumerate(self._components)
        ]
        every = stack(drawn, -1)
        return reduce_sum(where_v2(mask, every, zeros_like(every)), -1)

    def _log_prob(self, x: Tensor) -> Tensor:
        found = stack([component.log_prob(x) for component in self._components], -1)
        return reduce_logsumexp(found + log_softmax(self._cat.logits), -1)

    def _cdf(self, x: Tensor) -> Tensor:
        found = stack([component.cdf(x) for component in self._components], -1)
        return reduce_sum(found * self._cat.probs, -1)

    def _mean(self) -> Tensor:
        means = stack([component.mean() for component in self._components], -1)
        return reduce_sum(means * self._events(self._cat.probs), -1)

    def _variance(self) -> Tensor:
        means = stack([component.mean() for component in self._components], -1)
        variances = stack([component.variance() for component in self._components], -1)
        weights = self._events(self._cat.probs)
        distance = square(means - reduce_sum(means * weights, -1)[..., None])
        return reduce_sum((variances + distance) * weights, -1)

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """The mean of the components' entropies: that of the mixture is at least as great."""
        with self._name_scope(name):
            entropies = stack([component.entropy() for component in self._components], -1)
            return reduce_sum(entropies * self._cat.probs, -1)


class MixtureSameFamily(Distribution):
    """One of the distributions of a batch, by a class (`tf.contrib.distributions.MixtureSameFamily`).

    Args:
        mixture_distribution: Categorical, of the number of the component; its batch is the mixture's, or
            a scalar.
        components_distribution: the last dimension of its batch is the component.

    Raises:
        ValueError: the numbers of components or the batches do not match.
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        batch = components_distribution.batch_shape
        if batch.ndims is None or batch.ndims < 1:
            raise ValueError("`components_distribution` must have a batch of components, of known rank.")
        if not mixture_distribution.dtype.is_integer:
            raise ValueError("`mixture_distribution.dtype` is not over integers.")
        if mixture_distribution.batch_shape.ndims and not mixture_distribution.batch_shape.is_compatible_with(
            batch[:-1]
        ):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) does not match "
                f"`components_distribution.batch_shape` ({batch})"
            )
        classes = mixture_distribution.logits.shape[-1:]
        if not classes.is_compatible_with(batch[-1:]):
            raise ValueError(
                f"`mixture_distribution components` ({classes}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({batch[-1:]})"
            )
        self._mixture_distribution = mixture_distribution
        self._components_distribution = components_distribution
        super().__init__(
            *(components_distribution.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([], name),
        )

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component's number."""
        return self._mixture_distribution

    @property
    def components_distribution(self) -> Distribution:
        """The components."""
        return self._components_distribution

    def _batch_shape(self) -> Any:
        return self._components_distribution.batch_shape[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return self._components_distribution.batch_shape_tensor()[:-1]

    def _event_shape(self) -> Any:
        return self._components_distribution.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self._components_distribution.event_shape_tensor()

    def _event_ndims(self) -> int:
        ndims = self.event_shape.ndims
        if ndims is None:
            raise ValueError("The rank of the events must be known for a mixture.")
        return ndims

    def _weights(self, x: Tensor) -> Tensor:
        """With dimensions for the event."""
        for _ in range(self._event_ndims()):
            x = x[..., None]
        return x

    def _over_components(self, x: Tensor) -> Tensor:
        return reduce_sum(x, -1 - self._event_ndims())

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        drawn = self._components_distribution.sample(n[None], derived_seed(seed, "mixture_components"))
        # A scalar batch of the mixture means a class for each element of the batch.
        logits = self._mixture_distribution.logits + zeros(
            self._components_distribution.batch_shape_tensor(), self._mixture_distribution.logits.dtype
        )
        chosen = Categorical(logits).sample(n[None], seed)
        classes = shape(logits)[-1]
        mask = self._weights(one_hot(chosen, classes, on_value=True, off_value=False))
        return self._over_components(where_v2(mask, drawn, zeros_like(drawn)))

    def _padded(self, x: Tensor) -> Tensor:
        return expand_dims(x, -1 - self._event_ndims())

    def _log_prob(self, x: Tensor) -> Tensor:
        found = self._components_distribution.log_prob(self._padded(x))
        return reduce_logsumexp(found + log_softmax(self._mixture_distribution.logits), -1)

    def _cdf(self, x: Tensor) -> Tensor:
        found = self._components_distribution.cdf(self._padded(x))
        return reduce_sum(found * self._mixture_distribution.probs, -1)

    def _mean(self) -> Tensor:
        weights = self._weights(self._mixture_distribution.probs)
        return self._over_components(weights * self._components_distribution.mean())

    def _variance(self) -> Tensor:
        weights = self._weights(self._mixture_distribution.probs)
        means = self._components_distribution.mean()
        distance = square(means - self._padded(self._mean()))
        return self._over_components(weights * (self._components_distribution.variance() + distance))
