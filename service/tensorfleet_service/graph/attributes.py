"""Attributes of nodes as they come in messages: read, completed and checked against the op definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from platform import node as host_name
from typing import Any

from tensorfleet.core import attr_value, dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.errors import InvalidArgumentError, NotFoundError
from tensorfleet.graph import op_def
from tensorfleet.graph.op_def import Attr, OpDef
from tensorfleet.proto import node_def_pb2

_UNDECLARED_ATTRS = {"_class": "list(string)"}
MAX_TENSORS = 1 << 20
"""Limit on the tensors of one input or output that is a list."""
MAX_TEXT = 1 << 16
"""Limit on the characters of a node's name, op type and device together."""
MAX_ARGUMENTS = 1 << 16
"""Limit on the arguments, and on the results, of a function."""
_TYPE_NAMES = {dtypes.float32: "float", dtypes.float64: "double", dtypes.float16: "half"}


def definition(node_def: node_def_pb2.NodeDef) -> OpDef:
    """The definition of a node's op type.

    Raises:
        NotFoundError: it is not registered.
    """
    opdef = op_def.lookup(node_def.op)
    if opdef is None:
        message = (
            f"Op type not registered '{node_def.op}' in binary running on {host_name()}. "
            f"docs/ops.md lists the ops that TensorFleet has.{at(node_def.name)}"
        )
        raise NotFoundError(None, None, message)
    return opdef


Known = dict[tuple[str, bytes], Any]
"""Values that have been read and checked, by encoded attribute and the op type, "" where none declares it."""


def checked_attrs(
    node_def: node_def_pb2.NodeDef, opdef: OpDef, encoded: Mapping[str, bytes], known: Known
) -> dict[str, Any]:
    """The attributes of a node, with defaults for those that are not given, and those that no op declares.

    Args:
        encoded: attributes that other nodes may have, too, by name: these are taken from `known`, or added.

    Raises:
        NotFoundError: an attribute is missing.
        InvalidArgumentError: one has a value of another kind, or one that the definition does not allow.
    """
    name = node_def.name
    given: dict[str, Any] = {}
    unchecked: set[str] = set()
    places = {key: (opdef.name if key in opdef.attrs else "", data) for key, data in encoded.items()}
    for key in encoded or node_def.attr:
        if key in places and places[key] in known:
            given[key] = known[places[key]]
            continue
        unchecked.add(key)
        try:
            given[key] = attr_value.from_proto(node_def.attr[key])
        except (TypeError, ValueError, MemoryError) as error:
            text = f"Attribute '{key}' cannot be read: {error}{at(name)}"
            raise InvalidArgumentError(None, None, text) from None
    attrs: dict[str, Any] = {}
    for key, attr in opdef.attrs.items():
        if key in given:
            value = attrs[key] = given.pop(key)
            problem = _attr_problem(attr, value) if key in unchecked else None
            if problem:
                text = f"{problem}\n\t; NodeDef: {{{{node {name}}}}}; {signature(opdef)}{at(name)}"
                raise InvalidArgumentError(None, None, text)
        elif attr.has_default:
            attrs[key] = attr.default
        else:
            raise NotFoundError(None, None, f"No attr named '{key}' in NodeDef:{at(name)}")
    for arg in () if opdef.simple else (*opdef.inputs, *opdef.outputs):
        if arg.number_attr and attrs[arg.number_attr] > MAX_TENSORS:
            text = f"Attribute '{arg.number_attr}' is {attrs[arg.number_attr]}: at most {MAX_TENSORS} tensors"
            raise InvalidArgumentError(None, None, text + at(name))
    for key, kind in _UNDECLARED_ATTRS.items():
        if key in given and not _is_of(given[key], kind):
            text = f"Attribute '{key}' must be of kind {kind}, got {_value_text(given[key])}{at(name)}"
            raise InvalidArgumentError(None, None, text)
    attrs.update(given)
    for key in unchecked.intersection(encoded):
        known[places[key]] = attrs[key]
    return attrs


def _attr_problem(attr: Attr, value: Any) -> str | None:
    kind = _kind(value)
    if kind != attr.kind:
        if kind != "list" or not attr.kind.startswith("list("):
            return _kind_problem(attr, kind)
        for item in value:
            if _kind(item) != attr.kind[5:-1]:
                return _kind_problem(attr, f"list({_kind(item)})")
    if attr.allowed is not None:
        for item in value if type(value) is list else (value,):
            if item not in attr.allowed:
                return (
                    f"Value for attr '{attr.name}' of {_value_text(item)} is not in the list of "
                    f"allowed values: {', '.join(map(_value_text, attr.allowed))}"
                )
    if attr.minimum is not None:
        if type(value) is list:
            if len(value) < attr.minimum:
                return (
                    f"Length for attr '{attr.name}' of {len(value)} must be at least minimum {attr.minimum}"
                )
        elif value < attr.minimum:
            return f"Value for attr '{attr.name}' of {value} must be at least minimum {attr.minimum}"
    return None


def _is_of(value: Any, kind: str) -> bool:
    """Whether an attribute that no op declares is of a kind, which may be a list."""
    if type(value) is list:
        return all(f"list({_kind(item)})" == kind for item in value)
    return _kind(value) == kind


def _kind_problem(attr: Attr, kind: str) -> str:
    return f"AttrValue had value with type '{kind}' when '{attr.kind}' expected\n\t for attr '{attr.name}'"


_KINDS: dict[type, str] = {
    DType: "type",
    bool: "bool",
    int: "int",
    float: "float",
    bytes: "string",
    tuple: "shape",
    type(None): "shape",
    list: "list",
    attr_value.NameAttrList: "func",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "tensor")


def _value_text(value: Any) -> str:
    if type(value) is DType:
        return type_name(value)
    return f'"{value.decode(errors="replace")}"' if type(value) is bytes else str(value)


def signature(opdef: OpDef) -> str:
    """An op's signature as TensorFlow's messages write it."""

    def args(args: Sequence[op_def.Arg]) -> str:
        return ", ".join(
            f"{arg.name}:" + (arg.type_attr or arg.type_list_attr or type_name(arg.dtype or dtypes.variant))
            for arg in args
        )

    return f"Op<name={opdef.name}; signature={args(opdef.inputs)} -> {args(opdef.outputs)}>"


def type_name(dtype: DType) -> str:
    """The name of a dtype in TensorFlow's messages: "float", "int32_ref"."""
    name = _TYPE_NAMES.get(dtype.base, dtype.base.name)
    return name + "_ref" if dtype.is_ref else name


def cut(text: str) -> str:
    """A text from outside as a message quotes it, without the most of one that is very long."""
    return text if len(text) <= MAX_TEXT else f"{text[:100]}… ({len(text)} characters)"


def at(name: str) -> str:
    """The end of a message by which the client finds the operation."""
    return f"\n\t [[{{{{node {name}}}}}]]"
