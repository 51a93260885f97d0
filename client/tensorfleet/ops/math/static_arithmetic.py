"""Arithmetic on values that are known while the graph is built, for shapes that depend on them.

TensorFlow's shape inference computes such parts of a graph; `tf.get_static_value` does not look at them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import evaluation

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "AddV2": np.add,
    "Ceil": np.ceil,
    "Div": lambda x, y: np.trunc(x / y) if x.dtype.kind in "iu" else x / y,
    "Equal": np.equal,
    "Floor": np.floor,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "LogicalAnd": np.logical_and,
    "LogicalNot": np.logical_not,
    "LogicalOr": np.logical_or,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "NotEqual": np.not_equal,
    "Pow": np.power,
    "RealDiv": np.true_divide,
    "Round": np.rint,
    "SelectV2": np.where,
    "Sqrt": np.sqrt,
    "Square": np.square,
    "Sub": np.subtract,
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "All": np.all,
    "Any": np.any,
    "Max": np.max,
    "Mean": np.mean,
    "Min": np.min,
    "Prod": np.prod,
    "Sum": np.sum,
}


@evaluation(*_ELEMENTWISE)
def _elementwise(op: Operation, *inputs: Any) -> Any:
    return _ELEMENTWISE[op.type](*inputs)


@evaluation("Select")
def _select(op: Operation, condition: Any, then: Any, other: Any) -> Any:
    if 0 < condition.ndim < then.ndim:
        condition = condition.reshape(condition.shape + (1,) * (then.ndim - condition.ndim))
    return np.where(condition, then, other)


@evaluation(*_REDUCTIONS)
def _reduction(op: Operation, x: Any, axes: Any) -> Any:
    over = tuple(np.ravel(axes).tolist())
    return _REDUCTIONS[op.type](x, axis=over, keepdims=op.attrs["keep_dims"])


@evaluation("AddN")
def _add_n(op: Operation, *inputs: Any) -> Any:
    return sum(inputs[1:], inputs[0])


@evaluation("ReverseV2")
def _reverse(op: Operation, x: Any, axes: Any) -> Any:
    return np.flip(x, tuple(np.ravel(axes).tolist()))


@evaluation("Pad", "PadV2")
def _pad(op: Operation, x: Any, paddings: Any, value: Any = 0) -> Any:
    return np.pad(x, paddings.tolist(), constant_values=value)


@evaluation("Unpack")
def _unpack(op: Operation, x: Any) -> Any:
    return tuple(np.moveaxis(x, op.attrs["axis"], 0))


@evaluation("Split")
def _split(op: Operation, axis: Any, x: Any) -> Any:
    return tuple(np.split(x, op.attrs["num_split"], int(axis)))


@evaluation("SplitV")
def _split_v(op: Operation, x: Any, sizes: Any, axis: Any) -> Any:
    listed = sizes.tolist()
    if -1 in listed:
        listed[listed.index(-1)] = x.shape[int(axis)] - sum(listed) - 1
    return tuple(np.split(x, np.cumsum(listed)[:-1], int(axis)))
