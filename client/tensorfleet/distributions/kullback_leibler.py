"""Divergences between distributions, by a registry of pairs of families (`tf.distributions.RegisterKL`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.arithmetic import add
from tensorfleet.ops.math.comparison import logical_not
from tensorfleet.ops.math.elementwise import is_nan
from tensorfleet.ops.math.reduction import reduce_any

if TYPE_CHECKING:
    from tensorfleet.distributions.distribution import Distribution

_divergences: dict[tuple[type, type], Callable[..., Tensor]] = {}


class RegisterKL:
    """Decorator of a function that computes the divergence of two families.

    The function takes both distributions and `name`. It also serves the families derived from these, unless
    those have their own.

    Args:
        dist_cls_a: family of the first distribution.
        dist_cls_b: family of the second distribution.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Registers the function.

        Raises:
            TypeError: it cannot be called.
            ValueError: there is one for these families.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            first, second = (family.__name__ for family in self._key)
            raise ValueError(
                f"KL({first} || {second}) has already been registered to: {_divergences[self._key]}"
            )
        _divergences[self._key] = kl_fn
        return kl_fn


def _registered(first: type, second: type) -> Callable[..., Tensor] | None:
    """The function of the nearest pair of families that these derive from."""
    pairs = [
        (i + j, _divergences[a, b])
        for i, a in enumerate(inspect.getmro(first))
        for j, b in enumerate(inspect.getmro(second))
        if (a, b) in _divergences
    ]
    return min(pairs, key=lambda pair: pair[0])[1] if pairs else None


def kl_divergence(
    distribution_a: Distribution,
    distribution_b: Distribution,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Tensor:
    """The Kullback-Leibler divergence of two distributions, in nats (`tf.distributions.kl_divergence`).

    Args:
        allow_nan_stats: give NaN where it is not defined, rather than an error in the run.

    Returns:
        One number for each element of the batch.

    Raises:
        NotImplementedError: nothing is registered for these families.
    """
    first, second = type(distribution_a), type(distribution_b)
    function = _registered(first, second)
    if function is None:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type {first.__name__} "
            f"and distribution_b type {second.__name__}"
        )
    with get_default_graph().name_scope("KullbackLeibler"):
        divergence = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        divergence = identity(divergence, name="kl")
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
            "(and was called with allow_nan_stats=False). Values:"
        )
        defined = Assert(logical_not(reduce_any(is_nan(divergence))), [message, divergence])
        with control_dependencies([defined]):
            return identity(divergence, name="checked_kl")


def cross_entropy(
    ref: Distribution, other: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """The cross entropy of two distributions, in nats: entropy of the first, plus its divergence."""
    with get_default_graph().name_scope(name or "cross_entropy"):
        return add(ref.entropy(), kl_divergence(ref, other, allow_nan_stats))
