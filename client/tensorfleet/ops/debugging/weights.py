"""Weights that broadcast to values: of rank 0, or of the values' rank with each size 1 or theirs.

The nodes are those of TensorFlow's graphs.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.array.shaping import rank as rank_of, shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.reduction import reduce_all


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """Checks that weights can be broadcast to values without new dimensions.

    Returns:
        An operation: a no-op if static shapes were enough for the check, else the check in the run, which
            fails with InvalidArgumentError.

    Raises:
        ValueError: the static shapes are incompatible.
    """
    with framework.name_scope(None, "assert_broadcastable", [weights, values]):
        with framework.name_scope(None, "weights", [weights]) as scope:
            weights = convert_to_tensor(weights, name=scope)
            weights_shape, weights_rank = _shape_and_rank(weights)
        with framework.name_scope(None, "values", [values]) as scope:
            values = convert_to_tensor(values, name=scope)
            values_shape, values_rank = _shape_and_rank(values)
        if weights.dims is not None:
            if not weights.dims:
                return no_op("static_scalar_check_success")
            if values.dims is not None:
                _check_sizes(weights, values)
                if None not in weights.dims and None not in values.dims:
                    return no_op("static_dims_check_success")
        # If the ranks differ, the sizes count as different.
        fits = apply_one(
            "Equal",
            apply_one("BroadcastArgs", values_shape, weights_shape),
            values_shape,
            incompatible_shape_error=False,
        )
        same_rank = apply_one("Equal", weights_rank, values_rank)
        valid = apply_one("LogicalAnd", same_rank, reduce_all(fits))
        if weights.dims is None:
            valid = apply_one("LogicalOr", apply_one("Equal", weights_rank, 0), valid)
        return Assert(
            valid,
            [
                *("weights can not be broadcast to values.", "weights.shape=", weights.name, weights_shape),
                *("values.shape=", values.name, values_shape),
            ],
        )


def _shape_and_rank(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Shape and rank as nodes, even if they are static, as programs find these in TensorFlow's graphs."""
    return shape_of(tensor, name="shape"), rank_of(tensor, name="rank")


def _check_sizes(weights: Tensor, values: Tensor) -> None:
    prefix = "weights can not be broadcast to values."
    rest = f"Received weights={weights}, values={values}"
    assert weights.dims is not None
    assert values.dims is not None
    if len(values.dims) != len(weights.dims):
        raise ValueError(
            f"{prefix} values.rank={len(values.dims)}. weights.rank={len(weights.dims)}. "
            f"values.shape={values.shape}. weights.shape={weights.shape}. {rest}"
        )
    for axis, (size, weight) in enumerate(zip(values.dims, weights.dims, strict=True)):
        if weight not in (1, None) and size not in (weight, None):
            shapes = (f"[{' '.join(map(str, dims))}]" for dims in (values.dims, weights.dims))
            raise ValueError(
                f"{prefix} Mismatch at dim {axis}. values.shape={next(shapes)}, "
                f"weights.shape={next(shapes)}. {rest}"
            )


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """The weights broadcast to the values' shape, in their dtype."""
    with framework.name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        factors = convert_to_tensor(weights, values.dtype.base, name="weights")
        if factors.dims == values.dims and factors.dims is not None and None not in factors.dims:
            return factors
        with after(assert_broadcastable(factors, values)):
            return apply_one("Mul", factors, ones_like(values), name=scope)


def after(check: Operation) -> Any:
    """A scope of operations that run after a check."""
    return framework.control_dependencies([check])
