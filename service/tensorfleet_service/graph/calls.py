"""Calls of functions by name: a node whose op type is a function of the library becomes a PartitionedCall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.graph import op_def
from tensorfleet.proto import attr_value_pb2, function_pb2, node_def_pb2, op_def_pb2
from tensorfleet_service.graph.attributes import MAX_ARGUMENTS, at

Functions = Mapping[str, function_pb2.FunctionDef]


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
        made.attr[key].list.type.extend(_types(args, node_def))
    return made


def types_of(
    args: Sequence[op_def_pb2.OpDef.ArgDef],
    given: Callable[[str], attr_value_pb2.AttrValue],
    what: str,
) -> list[Any]:
    """The numbers of the types of the tensors that arguments, or results, stand for.

    Args:
        given: gives the attributes that say types and counts.
        what: the call or the function, for errors.

    Raises:
        InvalidArgumentError: an attribute says a count that no function has.
    """
    types: list[Any] = []
    for arg in args:
        if arg.type_list_attr:
            types += given(arg.type_list_attr).list.type
            count = 0
        else:
            dtype = given(arg.type_attr).type if arg.type_attr else arg.type
            count = given(arg.number_attr).i if arg.number_attr else 1
        if count < 0 or len(types) + count > MAX_ARGUMENTS:
            text = f"{arg.name} in {what} stands for {count} tensors: a function has {MAX_ARGUMENTS} at most"
            raise InvalidArgumentError(None, None, text)
        if count:
            types += [dtype] * count
    return types


def _types(args: Sequence[op_def_pb2.OpDef.ArgDef], node_def: node_def_pb2.NodeDef) -> list[Any]:
    what = f"the call of {node_def.op}"

    def given(name: str) -> attr_value_pb2.AttrValue:
        if name not in node_def.attr:
            text = f"No attr named '{name}' in {what}{at(node_def.name)}"
            raise InvalidArgumentError(None, None, text)
        return node_def.attr[name]

    return types_of(args, given, f"{what}{at(node_def.name)}")


def output_number(text: str) -> int | None:
    """The number at the end of an input's text; None if it is not one that an output can have."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


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
            start += len(_types([arg], node_def))
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
    number = output_number(parts[2]) if len(parts) == 3 else 0
    return text if number is None else f"{parts[0]}:output:{starts[parts[0], parts[1]] + number}"
