"""Products of vectors, polynomials, and the logarithm of the beta function."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims, merge
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.special import lgamma
from tensorfleet.ops.shape_rules import with_rank_at_least


def _cross_shape(node: RuleNode) -> list[Dims]:
    a, b = (with_rank_at_least(tensor.dims, 1) for tensor in node.inputs)
    for dims in (a, b):
        if dims is not None and dims[-1] not in (None, 3):
            raise ValueError(f"Dimension must be 3 but is {dims[-1]}")
    return [merge(a, b)]


op("Cross(a: T, b: T) -> (product: T)", f"T: {{{ORDERED}}}", shape=_cross_shape)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The vector product of vectors of three elements, the last dimension (`tf.cross`).

    Example:
        >>> tf.Session().run(tf.cross([1, 0, 0], [0, 1, 0]))
        array([0, 0, 1], dtype=int32)
    """
    return apply_one("Cross", a, b, name=name)


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The value at x of the polynomial with these coefficients, highest power first (`tf.math.polyval`).

    Args:
        coeffs: a list of tensors; an empty one is zero.

    Raises:
        ValueError: `coeffs` is no list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with framework.name_scope(name, "polyval", [*coeffs, x]) as scope:
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return zeros_like(x, name=scope)
        parts = [convert_to_tensor(part, name=f"coeff_{i}") for i, part in enumerate(coeffs)]
        result = parts[0]
        for part in parts[1:]:
            result = part + result * x
        return result


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log(|Β(x)|) over the last dimension: Σ log Γ(xᵢ) - log Γ(Σ xᵢ) (`tf.lbeta`)."""
    with framework.name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        numerator = reduce_sum(lgamma(x), [-1])
        return numerator - lgamma(reduce_sum(x, [-1]))
