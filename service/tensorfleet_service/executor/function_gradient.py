"""The gradient of a function of the graph's library, as a body of its own: the op SymbolicGradient.

The client's differentiation is used, on a graph of the function's nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.gradient_registry import RegisterGradient
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.import_graph import import_graph_def
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet_service.graph.function_graph import in_order
from tensorfleet_service.graph.graph import Node, opdef_of, to_graph_def
from tensorfleet_service.graph.session_graph import from_graph_def

_CALLS = frozenset(("PartitionedCall", "StatefulPartitionedCall"))
_CALL_GRADIENT = "GradientOfACallByTheService"


@RegisterGradient(_CALL_GRADIENT)
def _call_gradient(op: Operation, *grads: Any) -> list[Any]:
    """A call inside of the body: the gradient of the called function, of zeros where nothing is asked."""
    given = [zeros_like(y) if g is None else g for y, g in zip(op.outputs, grads, strict=True)]
    types = [x.dtype.base for x in op.inputs]
    return apply_list("SymbolicGradient", [*op.inputs, *given], Tout=types, f=op.attrs["f"])


def gradient_body(nodes: Sequence[Node], function: str) -> list[Node]:
    """The body of the gradient of a function with the body `nodes`.

    Its arguments are those of the function and the gradients of its results; its results are the gradients of
    the function's arguments, zeros where no result depends on one.

    Raises:
        NotFoundError: an op of the body has no gradient.
    """
    args = [node for node in nodes if node.op == "_Arg"]
    results = [node for node in nodes if node.op == "_Retval"]
    inner = [node for node in nodes if node.op not in ("_Arg", "_Retval")]
    for i, node in enumerate(args):
        if node.attrs["index"] != i:
            raise errors.InternalError(None, None, f"The arguments of {function} are out of order")
    graph = Graph()
    try:
        with graph.as_default():
            return _differentiated(graph, args, results, inner, function)
    finally:
        # Operations, their tensors and the graph refer to each other, and nobody waits for the collector.
        operations = graph.get_operations()
        for op in operations:
            op.inputs, op.outputs = (), []
        vars(graph).clear()
        while operations:  # one by one, as others run meanwhile
            operations.pop()


def _differentiated(
    graph: Graph, args: Sequence[Node], results: Sequence[Node], inner: Sequence[Node], function: str
) -> list[Node]:
    """The nodes of the gradient's body, made in a graph of the client's kind."""
    xs = [placeholder(node.attrs["T"], None, f"argument_{i}") for i, node in enumerate(args)]
    sources = [node.inputs[0] for node in results]
    names = [f"{source.name}:{index}" for source, index in sources]
    arguments = {node.name for node in args}
    own = [name for name in names if name.rpartition(":")[0] not in arguments]
    for node in inner:
        if node.op in _CALLS:
            node.attrs["_gradient_op_type"] = _CALL_GRADIENT.encode()
    made = import_graph_def(
        _with_placeholders(args, inner),
        {f"{node.name}:0": x for node, x in zip(args, xs, strict=True)},
        own,
        "body",
    )
    found: dict[str, Any] = dict(zip(own, made or [], strict=True))
    by_arg = {f"{node.name}:0": x for node, x in zip(args, xs, strict=True)}
    ys = [by_arg[name] if name in by_arg else found[name] for name in names]
    given = [placeholder(y.dtype.base, None, f"gradient_{i}") for i, y in enumerate(ys)]
    try:
        zs = gradients(ys, xs, given)
    except (LookupError, TypeError, ValueError) as e:
        text = f"Function {function} has no gradient: {e}"
        raise errors.NotFoundError(None, None, text) from None
    outputs = [zeros_like(x) if z is None else convert_to_tensor(z) for x, z in zip(xs, zs, strict=True)]
    graph_def = graph.as_graph_def()
    return _as_body(graph_def, [*xs, *given], [*outputs], function)


def _with_placeholders(args: Sequence[Node], inner: Sequence[Node]) -> GraphDef:
    """The nodes as a graph of their own, in which the arguments are placeholders that an import replaces."""
    graph_def = to_graph_def(inner)
    for node_def in graph_def.node:
        node_def.device = ""
    for node in args:
        made = graph_def.node.add(name=node.name, op="Placeholder")
        made.attr["dtype"].type = node.attrs["T"].enum
        made.attr["shape"].shape.unknown_rank = True
    return graph_def


def _as_body(
    graph_def: GraphDef, arguments: Sequence[Any], outputs: Sequence[Any], function: str
) -> list[Node]:
    """The nodes of a graph, with `_Arg` in place of the arguments and an `_Retval` for each output."""
    from_arguments = {tensor.op.name: (i, tensor.dtype.base) for i, tensor in enumerate(arguments)}
    nodes = from_graph_def(graph_def)
    by_name = {node.name: node for node in nodes}
    swapped: dict[Node, Node] = {}
    for name, (index, dtype) in from_arguments.items():
        swapped[by_name[name]] = _ended("_Arg", name, index, dtype)
    kept = [node for node in nodes if node not in swapped]
    for node in kept:
        node.inputs = [(swapped.get(source, source), i) for source, i in node.inputs]
        node.controls = [swapped.get(control, control) for control in node.controls]
    ends = []
    for index, output in enumerate(outputs):
        source = by_name[output.op.name]
        end = _ended("_Retval", f"_retval_{index}", index, output.dtype.base)
        end.inputs = [(swapped.get(source, source), output.value_index)]
        ends.append(end)
    return in_order([*swapped.values(), *kept, *ends], set(), f"gradient of {function}")


def _ended(op: str, name: str, index: int, dtype: DType) -> Node:
    return Node(name, opdef_of(op), {"T": dtype, "index": index})
