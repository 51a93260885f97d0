"""Calls of functions by name: a node whose op type is a function of the library becomes a PartitionedCall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.graph import op_def
from tensorfleet.proto import attr_value_pb2, function_pb2, node_def_pb2, op_def_pb2
from tensorfleet_service.graph.attributes import at

Functions = Mapping[str, function_pb2.FunctionDef]
_Attrs = Mapping[str, attr_value_pb2.AttrValue]


def is_call(node_def: node_def_pb2.NodeDef, functions: Functions) -> bool:
    """Whether a node calls a function by the function's name."""
    return node_def.op in functions and op_def.lookup(node_def.op) is None


def as_call(node_def: node_def_pb2.NodeDef, functions: Functions) -> node_def_pb2.NodeDef:
    """The node as one that has the function as an attribute, with the same inputs and outputs.

    Raises:
        InvalidArgumentError: an attribute with a type or a number is missing.
    """
    signature = functions[node_def.op].signature
    made = node_def_pb2.NodeDef(name=node_def.name, device=node_def.device, input=node_def.input)
    made.op = "StatefulPartitionedCall" if signature.is_stateful else "PartitionedCall"
    function = made.attr["f"].func
    function.name = node_def.op
    for key, value in node_def.attr.items():
        if key.startswith("_"):
            made.attr[key].CopyFrom(value)
        else:
            function.attr[key].CopyFrom(value)
    for key, args in (("Tin", signature.input_arg), ("Tout", signature.output_arg)):
        types = [dtype for arg in args for dtype in _types(arg, node_def)]
        made.attr[key].list.type.extend(types)
    return made


def _types(arg: op_def_pb2.OpDef.ArgDef, node_def: node_def_pb2.NodeDef) -> list[Any]:
    if arg.type_list_attr:
        return list(_given(node_def, arg.type_list_attr).list.type)
    dtype = _given(node_def, arg.type_attr).type if arg.type_attr else arg.type
    count = _given(node_def, arg.number_attr).i if arg.number_attr else 1
    return [dtype] * count


def _given(node_def: node_def_pb2.NodeDef, name: str) -> attr_value_pb2.AttrValue:
    if name not in node_def.attr:
        message = f"No attr named '{name}' in the call of {node_def.op}{at(node_def.name)}"
        raise InvalidArgumentError(None, None, message)
    return node_def.attr[name]


def rewrite_calls(function: function_pb2.FunctionDef, functions: Functions) -> None:
    """Rewrites the calls in a function's body, and the inputs that take their outputs.

    There, an output is named by its argument and a number; a PartitionedCall has one argument for all.
    """
    starts: dict[tuple[str, str], int] = {}
    for node_def in function.node_def:
        if not is_call(node_def, functions):
            continue
        start = 0
        for arg in functions[node_def.op].signature.output_arg:
            starts[node_def.name, arg.name] = start
            start += len(_types(arg, node_def))
        node_def.CopyFrom(as_call(node_def, functions))
    if not starts:
        return
    for node_def in function.node_def:
        inputs = [_renamed(text, starts) for text in node_def.input]
        del node_def.input[:]
        node_def.input.extend(inputs)
    # A copy, since an assignment moves entries of the map, which an iteration over it then misses.
    for name, text in dict(function.ret).items():
        function.ret[name] = _renamed(text, starts)


def _renamed(text: str, starts: Mapping[tuple[str, str], int]) -> str:
    parts = text.split(":")
    if len(parts) not in (2, 3) or (parts[0], parts[1]) not in starts:
        return text
    index = starts[parts[0], parts[1]] + (int(parts[2]) if len(parts) == 3 else 0)
    return f"{parts[0]}:output:{index}"
