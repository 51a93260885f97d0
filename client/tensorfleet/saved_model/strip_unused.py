"""What a graph needs from given inputs to given outputs (`tensorflow.python.tools.strip_unused_lib`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.graph.graph_util import extract_sub_graph
from tensorfleet.proto.graph_pb2 import GraphDef


def strip_unused(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
) -> GraphDef:
    """The graph whose inputs are placeholders, without what its outputs do not need.

    Args:
        input_graph_def: the graph.
        input_node_names: the nodes that become placeholders; they keep their names.
        output_node_names: the nodes that stay, with all that they depend on.
        placeholder_type_enum: the number of the placeholders' dtype, or one for each.

    Raises:
        ValueError: an input is a tensor, such as "x:0".
        KeyError: an input is not in the graph.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not an Operation.")
    graph = GraphDef(versions=input_graph_def.versions, library=input_graph_def.library)
    missing = set(input_node_names)
    for node in input_graph_def.node:
        if node.name not in input_node_names:
            graph.node.add().CopyFrom(node)
            continue
        missing.discard(node.name)
        made = graph.node.add(name=node.name, op="Placeholder")
        for key in ("_output_shapes", "shape"):
            if key in node.attr:
                made.attr[key].CopyFrom(node.attr[key])
        if isinstance(placeholder_type_enum, list):
            made.attr["dtype"].type = placeholder_type_enum[input_node_names.index(node.name)]
        else:
            made.attr["dtype"].type = placeholder_type_enum
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}.")
    return extract_sub_graph(graph, output_node_names)
