"""Nodes as TensorFlow's error messages name them."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import shapes
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value


def shape_error(op: RuleNode, error: ValueError) -> str:
    """The error of a shape rule, with the node and what is known of its inputs."""
    return f"{error} for '{describe_node(op)}'{_describe_inputs(op)}."


def describe_node(op: RuleNode) -> str:
    """The node as TensorFlow's error messages name it: `{{node n}} = Op[attributes](inputs)`."""
    attrs = ", ".join(
        f"{k}={_describe_attr(v)}" for k, v in sorted(op.attrs.items()) if not k.startswith("_")
    )
    inputs = [t.name if t.value_index else t.op.name for t in op.inputs]
    return f"{{{{node {op.name}}}}} = {op.type}[{attrs}]({', '.join(inputs)})"


def _describe_attr(value: Any) -> str:
    enum_name = getattr(value, "enum", None)
    if enum_name is not None:
        return "DT_" + str(value.name).upper().replace("FLOAT32", "FLOAT").replace(
            "FLOAT64", "DOUBLE"
        ).replace("FLOAT16", "HALF")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return '"' + value.decode("utf-8", "backslashreplace") + '"'
    if isinstance(value, tuple) or value is None:
        return shapes.format_dims(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_describe_attr, value)) + "]"
    return str(value)


def _describe_inputs(op: RuleNode) -> str:
    if not op.inputs:
        return ""
    text = f" with input shapes: {', '.join(shapes.format_dims(t.dims) for t in op.inputs)}"
    computed = {i: static_value(t) for i, t in enumerate(op.inputs)}
    known = [
        f"input[{i}] = <{' '.join(str(v.tolist()).split())}>"
        for i, v in computed.items()
        if v is not None and v.size < 16
    ]
    return text + (f" and with computed input tensors: {', '.join(known)}" if known else "")
