"""The node by which a traced function is called."""

from __future__ import annotations

from collections.abc import Sequence

from tensorfleet.core.dtypes import DType
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
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
