"""The nodes by which functions are called: traced ones, and those of `Defun`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core.dtypes import DType
from tensorfleet.graph.function_calls import call_definition
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.op_def_proto import summary, type_name
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import op_def_pb2
from tensorfleet.proto.attr_value_pb2 import NameAttrList


def add_call(
    graph: Graph, op_type: str, name: str, inputs: Sequence[Tensor], types: Sequence[DType]
) -> Operation:
    """The operation that calls a function of the graph's library."""
    opdef = graph._op_definition(op_type)
    attrs = {
        "Tin": [tensor.dtype.base for tensor in inputs],
        "Tout": list(types),
        "f": NameAttrList(name=name),
        **dict.fromkeys(("config", "config_proto", "executor_type"), b""),
    }
    return graph.add_operation(
        opdef, graph.op_name(None, op_type), tuple(inputs), attrs, opdef.output_types(attrs)
    )


def call_function(
    signature: op_def_pb2.OpDef,
    graph: Graph,
    tensors: Sequence[Tensor],
    name: str | None,
    options: dict[str, Any],
) -> Operation:
    """Adds the operation that calls a function of the graph's library."""
    if len(tensors) != len(signature.input_arg):
        raise ValueError(
            f"Expected number of arguments: {len(signature.input_arg)}, received: {len(tensors)}"
        )
    attrs = call_attributes(signature.name, options)
    opdef = call_definition(signature)
    for arg, tensor in zip(opdef.inputs, tensors, strict=True):
        if arg.dtype is not None and arg.dtype is not tensor.dtype.base:
            raise ValueError(
                f"Input '{arg.name}' passed {type_name(tensor.dtype.base)} expected {type_name(arg.dtype)} "
                f"while building NodeDef '{name or signature.name}' using {summary(opdef)}"
            )
    return graph.add_operation(
        graph._op_definition(signature.name),
        graph.op_name(name or signature.name, signature.name),
        tuple(tensors),
        attrs,
        opdef.output_types(attrs),
        2,
    )


def call_attributes(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a function, or of a call, that options ask for.

    Raises:
        ValueError: an unknown option, or one whose value is no number, text or truth.
    """
    options = dict(options)
    attrs: dict[str, Any] = {}
    noinline = options.pop("noinline", None)
    if noinline is not None:
        attrs["_noinline"] = bool(noinline)
    attrs["_disable_call_shape_inference"] = True
    compiled, separate = options.pop("compiled", None), options.pop("separate_compiled_gradients", None)
    if compiled is not None:
        attrs["_XlaCompile"] = bool(compiled)
        attrs["_XlaSeparateCompiledGradients"] = bool(separate)
        attrs["_XlaScope"] = get_default_graph()._scopes.attrs.get("_XlaScope", f"function_{name}".encode())
    for key, value in options.items():
        if not key.startswith("experimental_") and key not in ("_implements", "_reference"):
            raise ValueError(f"Unknown keyword arguments: {options.keys()}")
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError(f"Unsupported attribute type {type(value)} of {key}")
        attrs[key] = value.encode() if isinstance(value, str) else value
    return attrs
