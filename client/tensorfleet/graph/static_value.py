"""Static values: what is known of tensors before any run, such as the shape arguments that shape rules read.

Rules are registered by op type, beside the op, by `@static_rule`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core.dims import Dims, num_elements
from tensorfleet.graph.rules import RuleNode, RuleTensor

Array = np.ndarray[Any, Any]
StaticRule = Callable[[RuleNode], "Array | np.generic | None"]
PartialRule = Callable[[RuleNode], Dims]
Evaluation = Callable[..., Any]

MAX_ELEMENTS = 1000
"""Larger values are not computed: no shape has so many dimensions."""
MAX_DEPTH = 100
"""The number of ops back to which values are computed."""

_rules: dict[str, StaticRule] = {}
_partial_rules: dict[str, PartialRule] = {}
_evaluations: dict[str, Evaluation] = {}


class _Inference(threading.local):
    """The values that this thread's shape rule has found already; `values` is None outside of rules."""

    values: dict[RuleTensor, Array | None] | None = None
    depth: int = 0


_inference = _Inference()


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


def evaluation(*op_types: str) -> Callable[[Evaluation], Evaluation]:
    """Registers a function from an operation and its inputs' values to its outputs, for shape rules only."""

    def register(function: Evaluation) -> Evaluation:
        for op_type in op_types:
            _evaluations[op_type] = function
        return function

    return register


def infer_dims(rule: Callable[[RuleNode], list[Dims]], op: RuleNode) -> list[Dims]:
    """The output shapes by a rule, which sees values that have to be computed as well.

    Raises:
        ValueError: the inputs cannot work.
    """
    outer, _inference.values = _inference.values, {}
    try:
        return rule(op)
    finally:
        _inference.values = outer


def static_value(tensor: RuleTensor) -> Array | None:
    """The tensor's value as an array that the caller must not change, or None (`tf.get_static_value`)."""
    op = tensor.op
    if op.type == "Const":
        return np.asarray(op.attrs["value"])
    values = _inference.values
    if values is None:
        return _by_rule(op)
    if tensor not in values:
        if _inference.depth >= MAX_DEPTH:
            return None
        _inference.depth += 1
        try:
            value = _by_rule(op)
            values[tensor] = _evaluated(tensor) if value is None else value
        finally:
            _inference.depth -= 1
    return values[tensor]


def _by_rule(op: RuleNode) -> Array | None:
    rule = _rules.get(op.type)
    value = rule(op) if rule is not None else None
    return None if value is None else np.asarray(value)


def _evaluated(tensor: RuleTensor) -> Array | None:
    """The value computed from the inputs', where it and all of these are known and small."""
    op = tensor.op
    function = _evaluations.get(op.type)
    if function is None or tensor.dtype.np is None or tensor.dtype.np.hasobject:
        return None
    if op.type == "Unpack" and op.attrs["axis"] == 0:
        dims = static_dims(op.inputs[0])  # of a shape that is known in parts
        if dims is not None and (size := dims[tensor.value_index]) is not None:
            return np.array(size, tensor.dtype.np)
    size = num_elements(tensor.dims)
    if size is None or size > MAX_ELEMENTS:
        return None  # a few numbers may spell a value of any size
    inputs = []
    for source in op.inputs:
        if source.dims is None or None in source.dims:
            return None
        value = static_value(source)
        if value is None or value.size > MAX_ELEMENTS:
            return None
        inputs.append(value)
    try:
        with np.errstate(all="ignore"):
            result = function(op, *inputs)
            if isinstance(result, tuple):
                result = result[tensor.value_index]
            return np.asarray(result).astype(tensor.dtype.np)
    except (ValueError, TypeError, IndexError):
        return None  # the kernel tells what is wrong


def static_dims(tensor: RuleTensor) -> Dims:
    """The shape that the integer vector `tensor` spells, as far as it is known; -1 is an unknown size."""
    value = static_value(tensor)
    if value is not None:
        if value.ndim != 1:
            return None  # a scalar -1 is a shape of unknown rank, and a matrix none
        return tuple(int(d) if d >= 0 else None for d in value)
    rule = _partial_rules.get(tensor.op.type)
    if rule is not None:
        dims = rule(tensor.op)
        if dims is not None:
            return dims
    if tensor.dims is not None and len(tensor.dims) == 1 and tensor.dims[0] is not None:
        return (None,) * tensor.dims[0] if tensor.dims[0] <= MAX_ELEMENTS else None
    return None
