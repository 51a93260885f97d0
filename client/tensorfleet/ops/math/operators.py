"""The operators of tensors; importing the module defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math import arithmetic, comparison, elementwise
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.sparse_arithmetic import times_dense

_PLAIN = (bool, int, float, complex, str, bytes, list, tuple, np.ndarray, np.generic, Tensor)

Function = Callable[..., Any]


def _binary(function: Function, name: str) -> tuple[Function, Function]:
    """The operator and its reflection, which name their nodes after `name`."""
    reflected_name = f"__r{name}__"

    def forward(x: Any, y: Any) -> Any:
        with get_default_graph().name_scope(name) as scope:
            try:
                return function(x, y, name=scope)
            except (TypeError, ValueError):
                if hasattr(type(y), reflected_name) and not isinstance(y, _PLAIN):
                    return NotImplemented  # the other operand may know better
                raise

    def reflected(y: Any, x: Any) -> Any:
        with get_default_graph().name_scope(name) as scope:
            x = convert_to_tensor(x, dtype=y.dtype.base, name="x")
            return function(x, y, name=scope)

    return forward, reflected


def _add(x: Any, y: Any, name: str) -> Tensor:
    return apply_one("Add" if x.dtype.base is dtypes.string else "AddV2", x, y, name=name)


def _mul(x: Any, y: Any, name: str) -> Any:
    if isinstance(y, SparseTensor):
        return times_dense(y, x, name)
    return arithmetic.multiply(x, y, name=name)


def _logic(logical: Function, bitwise: Function) -> Function:
    def either(x: Any, y: Any, name: str) -> Any:
        # A scope, unlike a name, is reopened by its trailing "/".
        return logical(x, y, name) if x.dtype.base is dtypes.bool else bitwise(x, y)

    return either


def _invert(x: Tensor) -> Tensor:
    return comparison.logical_not(x) if x.dtype.base is dtypes.bool else comparison.invert(x)


def _getitem(x: Tensor, item: Any) -> Tensor:
    from tensorfleet.ops.array.slicing import _slice_helper

    return _slice_helper(x, item)


def operators() -> dict[str, Function]:
    """The operator methods of tensors and Variables, by their Python names."""
    result: dict[str, Function] = {}
    for name, function in (
        ("add", _add),
        ("sub", arithmetic.subtract),
        ("mul", _mul),
        ("truediv", arithmetic.truediv),
        ("div", arithmetic.div),
        ("floordiv", arithmetic.floordiv),
        ("mod", arithmetic.floormod),
        ("pow", arithmetic.pow),
        ("matmul", matmul),
        ("and", _logic(comparison.logical_and, comparison.bitwise_and)),
        ("or", _logic(comparison.logical_or, comparison.bitwise_or)),
        ("xor", _logic(comparison.logical_xor, comparison.bitwise_xor)),
    ):
        result[f"__{name}__"], result[f"__r{name}__"] = _binary(function, name)
    result["__lt__"] = comparison.less
    result["__le__"] = comparison.less_equal
    result["__gt__"] = comparison.greater
    result["__ge__"] = comparison.greater_equal
    result["__neg__"] = elementwise.negative
    result["__abs__"] = elementwise.abs
    result["__invert__"] = _invert
    result["__getitem__"] = _getitem
    return result


for _name, _function in operators().items():
    Tensor._override_operator(_name, _function)
Tensor.OVERLOADABLE_OPERATORS = {*operators(), "__eq__", "__ne__"}
