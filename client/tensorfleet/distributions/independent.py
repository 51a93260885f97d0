"""Elements of a batch as parts of one event."""

from __future__ import annotations

from typing import Any

from tensorfleet.distributions.distribution import (
    Distribution,
)
from tensorfleet.distributions.kullback_leibler import RegisterKL, kl_divergence
from tensorfleet.distributions.parameters import (
    arguments,
)
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.math.reduction import reduce_sum


class Independent(Distribution):
    """Dimensions of a batch as dimensions of the event (`tf.contrib.distributions.Independent`).

    Args:
        distribution: of the elements.
        reinterpreted_batch_ndims: how many of the last dimensions of its batch; all but the first by default.

    Raises:
        ValueError: the batch has not as many dimensions, or its rank is not known.
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        ndims = distribution.batch_shape.ndims
        if ndims is None:
            raise ValueError("The rank of the batch must be known for Independent.")
        taken = max(0, ndims - 1) if reinterpreted_batch_ndims is None else int(reinterpreted_batch_ndims)
        if not 0 <= taken <= ndims:
            raise ValueError(
                f"reinterpreted_batch_ndims({taken}) cannot exceed distribution.batch_ndims({ndims})."
            )
        self._distribution = distribution
        self._reinterpreted_batch_ndims = taken
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            [],
            name or f"Independent{distribution.name.rstrip('/').rsplit('/', 1)[-1]}",
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of the elements."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many dimensions of the batch are the event's."""
        return self._reinterpreted_batch_ndims

    def _split(self) -> int:
        return (self._distribution.batch_shape.ndims or 0) - self._reinterpreted_batch_ndims

    def _batch_shape(self) -> Any:
        return self._distribution.batch_shape[: self._split()]

    def _batch_shape_tensor(self) -> Tensor:
        return self._distribution.batch_shape_tensor()[: self._split()]

    def _event_shape(self) -> Any:
        own = self._distribution.batch_shape[self._split() :]
        return own.concatenate(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Tensor:
        own = self._distribution.batch_shape_tensor()[self._split() :]
        return concat([own, self._distribution.event_shape_tensor()], 0)

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        return self._distribution.sample(n[None], seed)

    def _summed(self, x: Tensor) -> Tensor:
        return reduce_sum(x, list(range(-self._reinterpreted_batch_ndims, 0)))

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._summed(self._distribution.log_prob(x))

    def _entropy(self) -> Tensor:
        entropy = self._distribution.entropy()
        # Of parameters that broadcast, a family may give an entropy without all dimensions.
        return self._summed(entropy + zeros(self._distribution.batch_shape_tensor(), entropy.dtype))

    def _mean(self) -> Tensor:
        return self._distribution.mean()

    def _variance(self) -> Tensor:
        return self._distribution.variance()

    def _stddev(self) -> Tensor:
        return self._distribution.stddev()

    def _mode(self) -> Tensor:
        return self._distribution.mode()


@RegisterKL(Independent, Independent)
def _from_independent(a: Independent, b: Independent, name: str | None = None) -> Tensor:
    if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
        raise NotImplementedError("KL needs as many independent dimensions of both distributions.")
    with get_default_graph().name_scope(name or "kl_independent"):
        return a._summed(kl_divergence(a.distribution, b.distribution))
