"""Op definitions as TensorFlow's OpDef messages, and as its error messages write them."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import attr_value, shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.op_def import Arg, Attr, OpDef
from tensorfleet.proto import op_def_pb2


def to_proto(definition: OpDef) -> op_def_pb2.OpDef:
    """The signature of an op type as a message; it has no descriptions."""
    proto = op_def_pb2.OpDef(
        name=definition.name,
        is_stateful=definition.is_stateful,
        is_commutative=definition.is_commutative,
        is_aggregate=definition.is_aggregate,
        allows_uninitialized_input=definition.allows_uninitialized_input,
    )
    for arg in definition.inputs:
        _fill_arg(arg, proto.input_arg.add())
    for arg in definition.outputs:
        _fill_arg(arg, proto.output_arg.add())
    for attr in definition.attrs.values():
        _fill_attr(attr, proto.attr.add())
    return proto


def _fill_arg(arg: Arg, proto: op_def_pb2.OpDef.ArgDef) -> None:
    proto.name = arg.name
    proto.is_ref = arg.is_ref
    proto.type_attr = arg.type_attr
    proto.number_attr = arg.number_attr
    proto.type_list_attr = arg.type_list_attr
    if arg.dtype is not None:
        proto.type = arg.dtype.enum  # type: ignore[assignment]  # an int is the enum's number


def _fill_attr(attr: Attr, proto: op_def_pb2.OpDef.AttrDef) -> None:
    proto.name = attr.name
    proto.type = attr.kind
    if attr.has_default:
        attr_value.to_proto(attr.default, proto.default_value)
    if attr.allowed is not None:
        attr_value.to_proto(list(attr.allowed), proto.allowed_values)
    if attr.minimum is not None:
        proto.has_minimum = True
        proto.minimum = attr.minimum


_TYPE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def type_name(dtype: DType) -> str:
    """A type as error messages of TensorFlow's runtime write it: "float", "int32_ref"."""
    return _TYPE_NAMES.get(dtype.base.name, dtype.base.name) + ("_ref" if dtype.is_ref else "")


def summary(definition: OpDef) -> str:
    """The signature as error messages write it: `Op<name=Neg; signature=x:T -> y:T; attr=T:type,…>`."""
    inputs = ", ".join(map(_arg_text, definition.inputs))
    outputs = ", ".join(map(_arg_text, definition.outputs))
    attrs = "".join(f"; attr={_attr_text(attr)}" for attr in definition.attrs.values())
    stateful = "; is_stateful=true" if definition.is_stateful else ""
    return f"Op<name={definition.name}; signature={inputs} -> {outputs}{attrs}{stateful}>"


def _arg_text(arg: Arg) -> str:
    kind = arg.type_list_attr or arg.type_attr or (type_name(arg.dtype) if arg.dtype is not None else "")
    if arg.number_attr:
        kind = f"{arg.number_attr}*{kind}"
    return f"{arg.name}:Ref({kind})" if arg.is_ref else f"{arg.name}:{kind}"


def _attr_text(attr: Attr) -> str:
    text = f"{attr.name}:{attr.kind}"
    if attr.has_default:
        text += f",default={_value_text(attr.default)}"
    if attr.minimum is not None:
        text += f",min={attr.minimum}"
    if attr.allowed is not None:
        text += f",allowed={_value_text(list(attr.allowed))}"
    return text


def _value_text(value: Any) -> str:
    if isinstance(value, DType):
        return "DT_" + type_name(value).upper()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f'"{value.decode()}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_value_text, value)) + "]"
    if value is None:
        return "<unknown>"
    return shapes.format_dims(value) if isinstance(value, tuple) else f"{value:g}"
