"""`tf.graph_util`: GraphDefs cut down to what computes some of their nodes, and freed of variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.proto.attr_value_pb2 import AttrValue
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef

_REFERENCES = frozenset(("Variable", "VariableV2"))
_READS = frozenset(("ReadVariableOp", "ResourceGather"))
_CARRIERS = frozenset(("Enter", "Exit", "Identity", "LoopCond", "Merge", "NextIteration", "Switch"))
# As TensorFlow counts them.
_OF_VARIABLES = _REFERENCES | {
    *("Assign", "AssignAdd", "AssignSub", "Queue", "ScatterAdd", "ScatterSub", "ScatterUpdate"),
    "TruncatedNormal",
}


def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """`dest_nodes` and all that they need, in the order of `graph_def` (`tf.graph_util.extract_sub_graph`).

    Raises:
        TypeError: an argument is of the wrong type.
        AssertionError: `graph_def` lacks one of the nodes.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError(f"graph_def must be a graph_pb2.GraphDef proto, but got type {type(graph_def)}.")
    if isinstance(dest_nodes, str):
        raise TypeError(f"dest_nodes must be a list of strings, but got type {type(dest_nodes)}.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    needed: set[str] = set()
    waiting = list(dest_nodes)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += map(_source, nodes[name].input)
    result = GraphDef(versions=graph_def.versions, library=graph_def.library)
    result.node.extend(node for node in graph_def.node if node.name in needed)
    return result


def remove_training_nodes(input_graph: GraphDef, protected_nodes: Iterable[str] | None = None) -> GraphDef:
    """The graph without CheckNumerics and needless Identity nodes (`tf.graph_util.remove_training_nodes`).

    Args:
        protected_nodes: names that stay.
    """
    keep = set(protected_nodes or ())
    # A node that waits for others, or that others wait for, orders them and has to stay.
    keep.update(text[1:] for node in input_graph.node for text in node.input if text.startswith("^"))
    # So has one that others ask to be placed with.
    keep.update(
        group.removeprefix(b"loc:@").decode()
        for node in input_graph.node
        for group in node.attr["_class"].list.s
        if "_class" in node.attr and group != b"loc:@" + node.name.encode()
    )
    removable = {
        node.name: node
        for node in input_graph.node
        if node.op in ("Identity", "CheckNumerics")
        and node.name not in keep
        and len(node.input) == 1
        and not node.input[0].startswith("^")
    }

    def followed(text: str) -> str:
        while not text.startswith("^") and _source(text) in removable:
            text = removable[_source(text)].input[0]
        return text

    result = GraphDef(versions=input_graph.versions, library=input_graph.library)
    for node in input_graph.node:
        if node.name in removable:
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        copy.input[:] = [followed(text) for text in node.input]
    return result


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: GraphDef,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> GraphDef:
    """The graph of some nodes, with the present values of variables as constants.

    `tf.graph_util.convert_variables_to_constants`.

    Args:
        sess: a session in which the variables have values.
        output_node_names: the nodes to keep, with all that they need.
        variable_names_whitelist, variable_names_blacklist: only these variables, or all but these.
    """
    sub_graph = extract_sub_graph(input_graph_def, output_node_names)
    reads = {
        node.input[0]: node.name for node in reversed(input_graph_def.node) if node.op == "ReadVariableOp"
    }
    names = [
        node.name
        for node in sub_graph.node
        if (node.op in _REFERENCES or (node.op == "VarHandleOp" and node.name in reads))
        and (variable_names_whitelist is None or node.name in set(variable_names_whitelist))
        and node.name not in set(variable_names_blacklist or ())
    ]
    values = dict(zip(names, sess.run([f"{reads.get(name, name)}:0" for name in names]), strict=True))
    readers, carried = _readers(sub_graph.node, values)
    result = GraphDef(versions=sub_graph.versions, library=sub_graph.library)
    for node in sub_graph.node:
        if node.name in readers and node.op == "ResourceGather":
            _add_gather(result, node)
            continue
        copy = result.node.add()
        if node.name in values:
            _as_constant(copy, node.name, node.attr["dtype"], values[node.name])
        elif node.name in readers:
            _as_identity(node, copy)
        else:
            copy.CopyFrom(node)
            if node.name in carried:
                copy.attr["T"].CopyFrom(carried[node.name])
                # These were the shapes of a handle.
                copy.attr.pop("_output_shapes", None)
    return result


def _readers(nodes: Iterable[NodeDef], variables: Collection[str]) -> tuple[set[str], dict[str, AttrValue]]:
    """The nodes that read variables, and those that hand their handles to the readers, such as the Enter of a
    loop, with the dtype of what is read."""
    by_name = {node.name: node for node in nodes}
    readers: set[str] = set()
    carried: dict[str, AttrValue] = {}
    for node in by_name.values():
        if node.op not in _READS:
            continue
        passed: dict[str, None] = {}
        waiting = [_source(node.input[0])]
        found = False
        while waiting:
            name = waiting.pop()
            found = found or name in variables
            carrier = by_name[name]
            if carrier.op in _CARRIERS and name not in passed:
                passed[name] = None
                inputs = carrier.input if carrier.op == "Merge" else carrier.input[:1]
                waiting += [_source(text) for text in inputs if not text.startswith("^")]
        if found:
            readers.add(node.name)
            carried.update(dict.fromkeys(passed, node.attr["dtype"]))
    return readers, carried


def _as_constant(copy: NodeDef, name: str, dtype: AttrValue, value: Any) -> None:
    copy.name, copy.op = name, "Const"
    copy.attr["dtype"].CopyFrom(dtype)
    copy.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(value, dtype.type))


def _add_gather(result: GraphDef, read: NodeDef) -> None:
    """Adds the GatherV2 that stands for a ResourceGather, and its axis."""
    batch_dims, indices = read.attr["batch_dims"].i, read.attr["Tindices"]
    _as_constant(result.node.add(), f"{read.name}/axis", indices, batch_dims)
    copy = result.node.add()
    copy.name, copy.op, copy.device = read.name, "GatherV2", read.device
    copy.input.extend([*read.input[:2], f"{read.name}/axis", *read.input[2:]])
    copy.attr["Tparams"].CopyFrom(read.attr["dtype"])
    for key in ("Tindices", "Taxis"):
        copy.attr[key].CopyFrom(indices)
    copy.attr["batch_dims"].i = batch_dims
    if "_class" in read.attr:
        copy.attr["_class"].CopyFrom(read.attr["_class"])


def _as_identity(read: NodeDef, copy: NodeDef) -> None:
    copy.name, copy.op, copy.device = read.name, "Identity", read.device
    copy.input.extend(read.input)
    copy.attr["T"].CopyFrom(read.attr["dtype"])
    if "_class" in read.attr:
        copy.attr["_class"].CopyFrom(read.attr["_class"])


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """The static shape of the tensor that an input text of a NodeDef names."""
    name = input_name if ":" in input_name else input_name + ":0"
    return (graph or get_default_graph()).get_tensor_by_name(name).get_shape()


def _source(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]


def must_run_on_cpu(node: Operation | NodeDef, pin_variables_on_cpu: bool = False) -> bool:
    """Whether TensorFlow has a node of this kind on CPUs alone: a Const of strings or int32, a DynamicStitch
    of int32, a Cast from int32 (`tf.graph_util.must_run_on_cpu`).

    Args:
        pin_variables_on_cpu: true of variables, and of what assigns to them, too.
    """
    node_def = node.node_def if isinstance(node, Operation) else node
    if pin_variables_on_cpu and node_def.op in _OF_VARIABLES:
        return True
    attr = {"Const": "dtype", "DynamicStitch": "T", "ParallelDynamicStitch": "T", "Cast": "SrcT"}.get(
        node_def.op
    )
    if attr is None:
        return False
    kind = node_def.attr[attr].type
    return kind == dtypes.int32.as_datatype_enum or (
        node_def.op == "Const" and kind == dtypes.string.as_datatype_enum
    )
