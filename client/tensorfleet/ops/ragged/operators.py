"""The operators of RaggedTensors; importing the module defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.ops.math import arithmetic, comparison, elementwise
from tensorfleet.ops.ragged.broadcasting import elementwise as broadcast
from tensorfleet.ops.ragged.functional import map_flat_values
from tensorfleet.ops.ragged.getitem import ragged_getitem
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor

Function = Callable[..., Any]


def _logic(logical: Function, bitwise: Function) -> Function:
    return lambda x, y: logical(x, y) if x.dtype.base is dtypes.bool else bitwise(x, y)


_BINARY: dict[str, Function] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.truediv,
    "div": arithmetic.div,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.floormod,
    "pow": arithmetic.pow,
    "and": _logic(comparison.logical_and, comparison.bitwise_and),
    "or": _logic(comparison.logical_or, comparison.bitwise_or),
    "xor": _logic(comparison.logical_xor, comparison.bitwise_xor),
}
_COMPARISONS: dict[str, Function] = {
    "lt": comparison.less,
    "le": comparison.less_equal,
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
}
_UNARY: dict[str, Function] = {
    "neg": elementwise.negative,
    "abs": elementwise.abs,
    "invert": comparison.logical_not,
}


def _pair(function: Function) -> tuple[Function, Function]:
    def forward(x: Any, y: Any) -> Any:
        return broadcast(function, x, y)

    def reflected(y: Any, x: Any) -> Any:
        return broadcast(function, x, y)

    return forward, reflected


def _single(function: Function) -> Function:
    return lambda x: map_flat_values(function, x)


for _name, _function in _BINARY.items():
    _forward, _reflected = _pair(_function)
    RaggedTensor._override_operator(f"__{_name}__", _forward)
    RaggedTensor._override_operator(f"__r{_name}__", _reflected)
for _name, _function in _COMPARISONS.items():
    RaggedTensor._override_operator(f"__{_name}__", _pair(_function)[0])
for _name, _function in _UNARY.items():
    RaggedTensor._override_operator(f"__{_name}__", _single(_function))
RaggedTensor._override_operator("__getitem__", ragged_getitem)
