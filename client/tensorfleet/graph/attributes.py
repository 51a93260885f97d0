"""Attributes of new nodes, completed and checked by the definition of the op."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes, shapes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import function_calls
from tensorfleet.graph.op_def import Attr, OpDef


def complete(opdef: OpDef, node_name: str, values: dict[str, Any]) -> dict[str, Any]:
    """All attributes in the order of the definition: given, inferred or default; checked."""
    final = {}
    for key, attr in opdef.attrs.items():
        if key in values:
            value = values[key]
        elif attr.has_default:
            value = attr.default
        elif attr.kind == "type" or attr.kind.startswith("list(type"):
            raise TypeError(f"Could not infer attribute '{key}' of '{opdef.name}' Op '{node_name}'.")
        else:
            raise TypeError(f"'{opdef.name}' Op '{node_name}' needs attribute '{key}'.")
        if attr.allowed is not None:
            _check_allowed(opdef, attr, value)
        if attr.minimum is not None:
            _check_minimum(opdef, attr, value)
        final[key] = value
    return final


def _check_allowed(opdef: OpDef, attr: Attr, value: Any) -> None:
    assert attr.allowed is not None
    for item in value if isinstance(value, list) else (value,):
        if item in attr.allowed:
            continue
        if isinstance(item, DType):
            allowed = ", ".join(t.name for t in attr.allowed)
            arg = next((a.name for a in opdef.inputs if attr.name in (a.type_attr, a.type_list_attr)), None)
            if arg is None:
                raise TypeError(
                    f"Value passed to attribute '{attr.name}' of '{opdef.name}' Op has DataType {item.name} "
                    f"not in list of allowed values: {allowed}"
                )
            raise TypeError(
                f"Value passed to parameter '{arg}' has DataType {item.name} not in list of allowed values: "
                f"{allowed}"
            )
        allowed = '", "'.join(v.decode() for v in attr.allowed)
        shown = item.decode() if isinstance(item, bytes) else item
        raise ValueError(
            f'Value for attr \'{attr.name}\' of "{shown}" is not in the list of allowed values: "{allowed}" '
            f"of '{opdef.name}' Op"
        )


def _check_minimum(opdef: OpDef, attr: Attr, value: Any) -> None:
    size = len(value) if isinstance(value, list) else value
    if attr.minimum is None or size >= attr.minimum:
        return
    arg = next((a.name for a in opdef.inputs if attr.name in (a.number_attr, a.type_list_attr)), None)
    if arg is not None:
        raise ValueError(
            f"List argument '{arg}' to '{opdef.name}' Op with length {size} shorter than "
            f"minimum length {attr.minimum}."
        )
    raise ValueError(
        f"Attr '{attr.name}' of '{opdef.name}' Op passed {size} less than minimum {attr.minimum}."
    )


def from_argument(value: Any, attr: Attr) -> Any:
    """An attribute's value in the form of `tensorfleet.core.attr_value`, from what a caller may pass."""
    kind = attr.kind
    if kind.startswith("list("):
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"Expected list for attr {attr.name}, obtained {type(value).__name__} instead.")
        return [_scalar_attr(item, kind[5:-1], attr.name) for item in value]
    return _scalar_attr(value, kind, attr.name)


def _scalar_attr(value: Any, kind: str, name: str) -> Any:
    match kind:
        case "type":
            return value.base if type(value) is DType else dtypes.as_dtype(value).base
        case "int":
            if isinstance(value, (float, str, bytes)):
                raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
            return int(value)
        case "bool":
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
            return bool(value)
        case "float":
            return float(value)
        case "string":
            return value.encode() if isinstance(value, str) else bytes(value)
        case "shape":
            return shapes.as_dims(value)
        case "tensor":
            return value if isinstance(value, (np.ndarray, np.generic)) else tensor_util.convert_value(value)
        case "func":
            return function_calls.as_attribute(value, name)
    return value
