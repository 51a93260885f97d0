"""Replaces ops that TensorFlow's master has fused by those that the program had.

Its rewriter uses kernels that only TensorFlow's runtime has, such as `_FusedMatMul` for MatMul, BiasAdd and
Relu. Here the executor fuses ops itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorfleet.core.errors import UnimplementedError
from tensorfleet.graph.op_def import lookup
from tensorfleet.proto import graph_pb2, node_def_pb2

_FIRST = {
    "_FusedMatMul": "MatMul",
    "_FusedConv2D": "Conv2D",
    "_FusedConv3D": "Conv3D",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
}
_CHAINS = frozenset(("_UnaryOpsComposition",))
_ACTIVATIONS = frozenset(("Elu", "LeakyRelu", "Relu", "Relu6", "Sigmoid", "Tanh"))
_ARGUMENTS = {"Add": 1, "BiasAdd": 1, "FusedBatchNorm": 4}


def take_apart(graph_def: graph_pb2.GraphDef) -> None:
    """Replaces the fused nodes of a graph; the last node of each has the name of the fused one.

    Raises:
        UnimplementedError: a fused node contains an unknown op.
    """
    if not any(node.op in _FIRST or node.op in _CHAINS for node in graph_def.node):
        return
    nodes = [part for node in graph_def.node for part in _parts(node)]
    del graph_def.node[:]
    graph_def.node.extend(nodes)


def _parts(node: node_def_pb2.NodeDef) -> list[node_def_pb2.NodeDef]:
    if node.op in _CHAINS:
        return _chain(node, [name.decode() for name in node.attr["op_names"].list.s], [])
    first = _FIRST.get(node.op)
    if first is None:
        return [node]
    names = [name.decode() for name in node.attr["fused_ops"].list.s]
    return _chain(node, [first, *names], list(node.input[:2]))


def _chain(node: node_def_pb2.NodeDef, ops: list[str], begins: list[str]) -> list[node_def_pb2.NodeDef]:
    """Nodes, each of which takes the output of the one before."""
    data = [text for text in node.input if not text.startswith("^")]
    controls = [text for text in node.input if text.startswith("^")]
    begins = begins or data[:1]
    rest = iter(data[len(begins) :])
    made: list[node_def_pb2.NodeDef] = []
    for position, op in enumerate(ops):
        is_last = position == len(ops) - 1
        name = node.name if is_last else f"{node.name}/{position}_{op}"
        inputs = [made[-1].name, *_arguments(node, op, rest)] if made else begins
        part = _part(node, op, name)
        part.input.extend(inputs)
        part.input.extend(controls)
        made.append(part)
    return made


def _arguments(node: node_def_pb2.NodeDef, op: str, rest: Iterator[str]) -> list[str]:
    if node.op in _FIRST and op not in _ARGUMENTS and op not in _ACTIVATIONS:
        raise UnimplementedError(
            None,
            None,
            f"{node.op} with {op} has no kernel: set rewrite_options.remapping = OFF in the graph_options "
            f"of the session.\n\t [[{{{{node {node.name}}}}}]]",
        )
    return [next(rest) for _ in range(_ARGUMENTS.get(op, 0))]


def _part(node: node_def_pb2.NodeDef, op: str, name: str) -> node_def_pb2.NodeDef:
    kind = "FusedBatchNormV3" if op == "FusedBatchNorm" else op
    part = node_def_pb2.NodeDef(name=name, op=kind, device=node.device)
    opdef = lookup(kind)
    for key in opdef.attrs if opdef is not None else ():
        if key in node.attr:
            part.attr[key].CopyFrom(node.attr[key])
    if op == "FusedBatchNorm":
        part.attr["U"].type = node.attr["T"].type
        part.attr["is_training"].b = False
    elif op == "LeakyRelu":
        part.attr["alpha"].f = node.attr["leakyrelu_alpha"].f
    return part
