"""A frozen graph made smaller for prediction (`tensorflow.python.tools.optimize_for_inference_lib`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core.tensor_util import make_ndarray, make_tensor_proto
from tensorfleet.graph.graph_util import remove_training_nodes
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef
from tensorfleet.saved_model.strip_unused import strip_unused

Array = np.ndarray[Any, Any]

# In which order the ops take gamma, beta, mean and variance, behind what they normalize; and their epsilon.
_GLOBAL = "BatchNormWithGlobalNormalization"
_NORMS = {
    _GLOBAL: (("mean", "variance", "beta", "gamma"), "variance_epsilon"),
    **{
        name: (("gamma", "beta", "mean", "variance"), "epsilon")
        for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
    },
}
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def optimize_for_inference(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: int | list[int],
    toco_compatible: bool = False,
) -> GraphDef:
    """The graph for prediction alone: what outputs need, without training's nodes and batch normalization.

    Args:
        input_graph_def: a frozen graph (`freeze_graph`).
        input_node_names, output_node_names, placeholder_type_enum: as for `strip_unused`.
        toco_compatible: no difference here: resizes and convolutions stay ops of their own in any case.

    Raises:
        ValueError: two nodes have one name, or a node's input is not in the graph.
    """
    ensure_graph_is_valid(input_graph_def)
    graph = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    graph = fold_batch_norms(remove_training_nodes(graph, output_node_names))
    ensure_graph_is_valid(graph)
    return graph


def ensure_graph_is_valid(graph_def: GraphDef) -> None:
    """Raises ValueError where two nodes have one name, or a node's input is not in the graph."""
    nodes = _by_name(graph_def)
    for node in graph_def.node:
        for text in node.input:
            if node_name_from_input(text) not in nodes:
                raise ValueError(f"Input for {node.name} not found: {text}")


def node_name_from_input(node_name: str) -> str:
    """The name of the node of an input such as "x:1" or "^x"."""
    name, _, index = node_name.removeprefix("^").rpartition(":")
    return name if name and index.isdigit() else node_name.removeprefix("^")


def fold_batch_norms(input_graph_def: GraphDef) -> GraphDef:
    """The graph with convolutions that scale by themselves in place of batch normalization behind them.

    The convolution's filters are multiplied by gamma / sqrt(variance + epsilon), and a BiasAdd with the name
    of the normalization adds the rest. A normalization stays where one of its parameters is no constant,
    where there is no convolution before it, or where others use its statistics or the convolution's output.

    Raises:
        ValueError: two nodes have one name.
    """
    nodes = _by_name(input_graph_def)
    uses = Counter(text.removeprefix("^") for node in input_graph_def.node for text in node.input)
    replaced: dict[str, list[NodeDef]] = {}
    for node in input_graph_def.node:
        if node.op in _NORMS and not any(uses[f"{node.name}:{index}"] for index in range(1, 6)):
            replaced.update(_folded(node, nodes, uses))
    graph = GraphDef(versions=input_graph_def.versions, library=input_graph_def.library)
    for node in input_graph_def.node:
        graph.node.extend(replaced.get(node.name, [node]))
    return graph


def _folded(norm: NodeDef, nodes: dict[str, NodeDef], uses: dict[str, int]) -> dict[str, list[NodeDef]]:
    """The nodes that stand in the place of others; none if the normalization has to stay."""
    order, epsilon = _NORMS[norm.op]
    found = {
        part: _constant(nodes.get(node_name_from_input(text)))
        for part, text in zip(order, norm.input[1:], strict=False)
    }
    before = nodes[node_name_from_input(norm.input[0])]
    bias: Array | None = np.zeros((), np.float32)
    added = None
    if before.op in ("BiasAdd", "Add", "AddV2"):
        added, sides = before, [nodes[node_name_from_input(text)] for text in before.input[:2]]
        if sides[0].op not in _CONVOLUTIONS:
            sides.reverse()
        before, bias = sides[0], _constant(sides[1])
    inner = [before, *([added] if added is not None else [])]
    if before.op not in _CONVOLUTIONS or any(uses[each.name] != 1 for each in inner):
        return {}
    filters_node = nodes[node_name_from_input(before.input[1])]
    filters = _constant(filters_node)
    values = {part: value for part, value in found.items() if value is not None}
    if filters is None or bias is None or len(values) < len(order):
        return {}
    channels = filters.shape[3] if before.op == "Conv2D" else filters.shape[2] * filters.shape[3]
    if any(value.shape != (channels,) for value in values.values()):
        return {}
    scale = 1.0 / np.sqrt(values["variance"] + norm.attr[epsilon].f)
    if norm.op != _GLOBAL or norm.attr["scale_after_normalization"].b:
        scale = scale * values["gamma"]
    offset = (bias - values["mean"]) * scale + values["beta"]
    scaled = filters * (scale if before.op == "Conv2D" else scale.reshape(filters.shape[2:]))
    # Other nodes that use the filters keep them as they are.
    shared = uses[filters_node.name] != 1
    new_filters = _const(f"{before.name}_bn_filters" if shared else filters_node.name, scaled, filters)
    convolution = NodeDef()
    convolution.CopyFrom(before)
    convolution.input[1] = new_filters.name
    new_offset = _const(f"{before.name}_bn_offset", offset, filters)
    sum_node = NodeDef(name=norm.name, op="BiasAdd", device=norm.device)
    sum_node.input.extend([convolution.name, new_offset.name, *(t for t in norm.input if t.startswith("^"))])
    for key in ("T", "data_format"):
        if key in before.attr:
            sum_node.attr[key].CopyFrom(before.attr[key])
    replaced = {
        before.name: [*([new_filters] if shared else []), convolution],
        norm.name: [new_offset, sum_node],
    }
    if not shared:
        replaced[filters_node.name] = [new_filters]
    if added is not None:
        replaced[added.name] = []
    return replaced


def _by_name(graph_def: GraphDef) -> dict[str, NodeDef]:
    nodes: dict[str, NodeDef] = {}
    for node in graph_def.node:
        if node.name in nodes:
            raise ValueError(f"Duplicate node names detected for {node.name}")
        nodes[node.name] = node
    return nodes


def _constant(node: NodeDef | None) -> Array | None:
    if node is None or node.op != "Const":
        return None
    value: Array = make_ndarray(node.attr["value"].tensor)
    return value


def _const(name: str, value: Array, like: Array) -> NodeDef:
    node = NodeDef(name=name, op="Const")
    tensor = make_tensor_proto(value.astype(like.dtype))
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
    return node
