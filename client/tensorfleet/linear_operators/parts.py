"""What operators that are made of others share: their hints, and their batches."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
)


def first_known(own: bool | None, other: bool | None) -> bool | None:
    return other if own is None else own


def all_or_none(values: Sequence[bool | None]) -> bool | None:
    """True where all are; None where that is not known."""
    return True if all(values) else None


def checked(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    found = list(operators)
    if not found:
        raise ValueError("Expected a non-empty list of operators. Found: []")
    if any(each.dtype is not found[0].dtype for each in found):
        listed = " ".join(f"({each.name}, {each.dtype})" for each in found)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {listed}")
    return found


def batch_of(operators: Sequence[LinearOperator]) -> TensorShape:
    return functools.reduce(broadcast_static_shape, (each.batch_shape for each in operators))


def batch_tensor(operators: Sequence[LinearOperator]) -> Tensor:
    return functools.reduce(broadcast_dynamic_shape, (each._batch_vector() for each in operators))
