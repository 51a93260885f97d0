"""What is known of a tensor's value before any run: shape rules read the values of shape arguments.

Rules are registered by op type, beside the op, by `@static_rule`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.operation import Operation
from tensorfleet.shapes import Dims
from tensorfleet.tensor import Tensor

Array = np.ndarray[Any, Any]
StaticRule = Callable[[Operation], "Array | np.generic | None"]
PartialRule = Callable[[Operation], Dims]

_rules: dict[str, StaticRule] = {}
_partial_rules: dict[str, PartialRule] = {}


def static_rule(*op_types: str) -> Callable[[StaticRule], StaticRule]:
    """Registers a function from an operation to the value of its only output, or None if it is unknown."""

    def register(rule: StaticRule) -> StaticRule:
        for op_type in op_types:
            _rules[op_type] = rule
        return rule

    return register


def static_dims_rule(*op_types: str) -> Callable[[PartialRule], PartialRule]:
    """Registers a function from an operation to its output read as a shape that may be known in parts."""

    def register(rule: PartialRule) -> PartialRule:
        for op_type in op_types:
            _partial_rules[op_type] = rule
        return rule

    return register


def static_value(tensor: Tensor) -> Array | None:
    """The tensor's value as an array that the caller must not change, or None (`tf.get_static_value`)."""
    op = tensor.op
    if op.type == "Const":
        return np.asarray(op.attrs["value"])
    rule = _rules.get(op.type)
    value = rule(op) if rule is not None else None
    return None if value is None else np.asarray(value)


def static_dims(tensor: Tensor) -> Dims:
    """The shape that the integer vector `tensor` spells, as far as it is known; -1 is an unknown size."""
    value = static_value(tensor)
    if value is not None:
        if value.ndim == 0:
            return None  # a scalar -1: a shape of unknown rank
        return tuple(int(d) if d >= 0 else None for d in value)
    rule = _partial_rules.get(tensor.op.type)
    if rule is not None:
        dims = rule(tensor.op)
        if dims is not None:
            return dims
    if tensor.dims is not None and len(tensor.dims) == 1 and tensor.dims[0] is not None:
        return (None,) * tensor.dims[0]
    return None
