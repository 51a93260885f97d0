"""Functions of a graph's library, as ops whose type is the function's name, and as attributes of ops."""

from __future__ import annotations

from typing import Any, Protocol

from tensorfleet.core import attr_value, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import Arg, Attr, OpDef
from tensorfleet.graph.rules import RuleNode
from tensorfleet.proto import op_def_pb2
from tensorfleet.proto.attr_value_pb2 import NameAttrList
from tensorfleet.proto.function_pb2 import FunctionDef

GRADIENT_RULE = "FunctionCall"
"""The key of the rule that differentiates calls of functions in the table of gradients."""


class DefinedFunction(Protocol):
    """What a graph keeps of a function beside its definition."""

    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> FunctionDef: ...
    @property
    def python_grad_func(self) -> Any: ...
    def add_to_graph(self, g: Any) -> None: ...


def call_definition(signature: op_def_pb2.OpDef) -> OpDef:
    """The definition of the op type that calls a function with this signature."""
    attrs = {attr.name: _attr(attr) for attr in signature.attr}
    inputs, outputs = tuple(map(_arg, signature.input_arg)), tuple(map(_arg, signature.output_arg))
    return OpDef(
        name=signature.name,
        inputs=inputs,
        outputs=outputs,
        attrs=attrs,
        is_stateful=signature.is_stateful,
        is_commutative=signature.is_commutative,
        is_aggregate=signature.is_aggregate,
        allows_uninitialized_input=signature.allows_uninitialized_input,
        shape=_unknown,
        inferred=frozenset(a for i in inputs for a in (i.type_attr, i.number_attr, i.type_list_attr) if a),
        simple=not any(arg.is_list or arg.is_ref for arg in (*inputs, *outputs)),
    )


def _arg(arg: op_def_pb2.OpDef.ArgDef) -> Arg:
    known = not (arg.type_attr or arg.type_list_attr)
    dtype = dtypes.from_enum(arg.type) if known else None
    return Arg(
        name=arg.name,
        dtype=None if dtype is None else dtype.base,
        type_attr=arg.type_attr,
        number_attr=arg.number_attr,
        type_list_attr=arg.type_list_attr,
        is_ref=arg.is_ref or (dtype is not None and dtype.is_ref),
    )


def _attr(attr: op_def_pb2.OpDef.AttrDef) -> Attr:
    has_default = attr.HasField("default_value")
    allowed = attr_value.from_proto(attr.allowed_values) if attr.HasField("allowed_values") else None
    return Attr(
        name=attr.name,
        kind=attr.type,
        has_default=has_default,
        default=attr_value.from_proto(attr.default_value) if has_default else None,
        allowed=None if allowed is None else tuple(allowed),
        minimum=attr.minimum if attr.has_minimum else None,
    )


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def as_attribute(value: Any, name: str) -> NameAttrList:
    """A function as the value of an attribute: by its name, or a `NameAttrList` as it is.

    Args:
        name: that of the attribute.

    Raises:
        TypeError: the value names no function.
    """
    if isinstance(value, NameAttrList):
        return value
    found = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(found, str):
        raise TypeError(
            f"Attribute '{name}' expects a function: its name, a NameAttrList, or what Defun or tf.function "
            f"gives, not {value!r}."
        )
    return NameAttrList(name=found)
