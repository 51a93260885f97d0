"""Graphs for tests, written as text: one node a line.

    x = Placeholder() dtype=int32 @ /job:ps
    y = AddV2(x, x:0; ^init)

Attributes that have no default and are not given are float32, or an unknown shape.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

import tensorfleet  # noqa: F401 - registers the ops
from tensorfleet.core import attr_value, dtypes
from tensorfleet.graph.op_def import Attr, OpDef, lookup
from tensorfleet.proto import graph_pb2
from tensorfleet_service.graph.session_graph import SessionGraph

_LINE = re.compile(r"(\S+) = (\w+)\(([^;)]*)(?:; )?([^)]*)\)\s*(.*?)(?: ?@ (\S+))?")


def graph_def(text: str) -> graph_pb2.GraphDef:
    """The message for a graph in the notation above."""
    result = graph_pb2.GraphDef()
    for line in filter(None, map(str.strip, text.splitlines())):
        match = _LINE.fullmatch(line)
        assert match is not None, line
        name, op, inputs, controls, attrs, device = match.groups()
        if inputs.startswith("^"):
            inputs, controls = "", inputs
        node = result.node.add(name=name, op=op, device=device or "")
        node.input.extend(filter(None, map(str.strip, f"{inputs},{controls}".split(","))))
        opdef = lookup(op)
        assert opdef is not None, f"{op} is not registered"
        for key, value in _attrs(opdef, attrs).items():
            attr_value.to_proto(value, node.attr[key])
    return result


def graph(text: str) -> SessionGraph:
    """The service's graph for a graph in the notation above."""
    result = SessionGraph()
    result.extend(graph_def(text))
    return result


def chain(count: int, tasks: int = 0) -> SessionGraph:
    """s0 = Neg(x), s1 = AddV2(s0, x), …, s{count - 1}; by turns on `tasks` tasks of the job "worker"."""
    definition = graph_def("x = Placeholder()")
    for i in range(count):
        node = definition.node.add(name=f"s{i}", op="AddV2" if i else "Neg")
        node.input.extend([f"s{i - 1}", "x"] if i else ["x"])
        node.attr["T"].type = dtypes.float32.enum  # type: ignore[assignment]
        if tasks:
            node.device = f"/job:worker/task:{i % tasks}"
    made = SessionGraph()
    made.extend(definition)
    return made


def _attrs(opdef: OpDef, text: str) -> dict[str, Any]:
    given = dict(item.split("=", 1) for item in text.split())
    values: dict[str, Any] = {}
    # Types first: the value of a Const is read by its dtype.
    for attr in sorted(opdef.attrs.values(), key=lambda attr: attr.kind != "type"):
        if attr.name in given:
            values[attr.name] = _value(attr, given.pop(attr.name), values)
        elif not attr.has_default and attr.kind in ("type", "shape"):
            values[attr.name] = dtypes.float32 if attr.kind == "type" else None
    for name, value in given.items():
        values[name] = [item.encode() for item in value.split(",")]
    return values


def _value(attr: Attr, text: str, values: dict[str, Any]) -> Any:
    if attr.kind == "type":
        return dtypes.as_dtype(text)
    if attr.kind == "list(type)":
        return [dtypes.as_dtype(item) for item in text.split(",")]
    if attr.kind == "string":
        return text.encode()
    value = ast.literal_eval(text)
    if attr.kind == "tensor":
        return np.array(value, values["dtype"].np)
    return value


def const(value: Any, dtype: str = "int64") -> str:
    """The end of a line that makes a Const."""
    return f"Const() dtype={dtype} value={str(value).replace(' ', '')}"
