"""The body of a function as a list of nodes in the order in which they run, like a partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tensorfleet.core import attr_value, dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.graph import op_def
from tensorfleet.proto import attr_value_pb2, function_pb2, graph_pb2, node_def_pb2, op_def_pb2
from tensorfleet_service.graph.calls import output_number, types_of
from tensorfleet_service.graph.graph import Node, is_back_edge
from tensorfleet_service.graph.session_graph import from_graph_def

Attrs = Mapping[str, attr_value_pb2.AttrValue]


def body(function: function_pb2.FunctionDef, attrs: Attrs) -> list[Node]:
    """The nodes that a call runs: an `_Arg` for each argument first, an `_Retval` for each result last.

    The other nodes are those that results need, those with state or side effects, and those that these need,
    in the order of the definition as far as inputs allow.

    Args:
        attrs: the attributes of the call, which stand for the placeholders in the definition.

    Raises:
        InvalidArgumentError: the definition contradicts itself.
        NotFoundError: an op type is not registered.
    """
    graph_def = graph_pb2.GraphDef()
    texts = _Texts(function, attrs, graph_def)
    for node_def in function.node_def:
        copied = graph_def.node.add()
        copied.CopyFrom(node_def)
        for value in copied.attr.values():
            if value.WhichOneof("value") == "placeholder":
                value.CopyFrom(_given(function, attrs, value.placeholder))
        texts.know(copied)
    for copied in graph_def.node:
        inputs = [texts.plain(text) for text in copied.input]
        del copied.input[:]
        copied.input.extend(inputs)
    index = 0
    for arg, types in _types(function, attrs, function.signature.output_arg):
        for offset, dtype in enumerate(types):
            retval = graph_def.node.add(name=f"_retval_{index}", op="_Retval")
            attr_value.to_proto(dtype, retval.attr["T"])
            attr_value.to_proto(index, retval.attr["index"])
            retval.input.append(texts.plain(function.ret[arg.name], offset))
            index += 1
    needed = set(function.control_ret.values())
    return in_order(from_graph_def(graph_def), needed, function.signature.name)


def _given(function: function_pb2.FunctionDef, attrs: Attrs, name: str) -> attr_value_pb2.AttrValue:
    if name not in attrs:
        text = f"Function {function.signature.name} is called without its attribute {name}"
        raise InvalidArgumentError(None, None, text)
    return attrs[name]


def _types(
    function: function_pb2.FunctionDef, attrs: Attrs, args: Sequence[op_def_pb2.OpDef.ArgDef]
) -> Iterator[tuple[op_def_pb2.OpDef.ArgDef, list[DType]]]:
    """Each argument, or result, with the dtypes of the tensors that it stands for."""
    what = f"a call of function {function.signature.name}"

    def given(name: str) -> attr_value_pb2.AttrValue:
        return _given(function, attrs, name)

    types_of(args, given, what)  # all together are not too many
    for arg in args:
        try:
            yield arg, [dtypes.from_enum(each) for each in types_of([arg], given, what)]
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(None, None, f"{arg.name} in {what}: {error}") from None


def check_call(nodes: Iterable[Node], name: str, given: Sequence[DType], results: Sequence[DType]) -> None:
    """Sees that a call gives what a body takes, and takes what that gives.

    Args:
        nodes: the body of the function.
        name: of the function.
        given: the types of the call's inputs.
        results: the types of its outputs.

    Raises:
        InvalidArgumentError: it does not.
    """
    nodes = list(nodes)
    for op, what, types in (("_Arg", "arguments", given), ("_Retval", "results", results)):
        own = [node.attrs["T"].base for node in nodes if node.op == op]
        if len(own) != len(types):
            text = f"Function {name} has {len(own)} {what}, and is called with {len(types)}"
            raise InvalidArgumentError(None, None, text)
        for index, (wanted, found) in enumerate(zip(own, types, strict=True)):
            if wanted != found.base:
                one = "Argument" if op == "_Arg" else "Result"
                text = f"{one} {index} of function {name} is {wanted.name}, not {found.base.name}"
                raise InvalidArgumentError(None, None, text)


class _Texts:
    """Translates the inputs of a body, "node:output:index", to those of a graph, "node:index"."""

    def __init__(
        self, function: function_pb2.FunctionDef, attrs: Attrs, graph_def: graph_pb2.GraphDef
    ) -> None:
        self._function = function.signature.name
        self._args: dict[str, list[str]] = {}
        self._outputs: dict[tuple[str, str], int] = {}
        index = 0
        for arg, types in _types(function, attrs, function.signature.input_arg):
            names = self._args[arg.name] = []
            for offset, dtype in enumerate(types):
                node = graph_def.node.add(name=f"{arg.name}_{offset}" if offset else arg.name, op="_Arg")
                attr_value.to_proto(dtype, node.attr["T"])
                attr_value.to_proto(index, node.attr["index"])
                names.append(node.name)
                index += 1

    def know(self, node_def: node_def_pb2.NodeDef) -> None:
        """Notes the index at which each output of a node begins."""
        definition = op_def.lookup(node_def.op)
        if definition is None:
            return  # raises an error when the nodes are made
        if definition.simple:
            for index, output in enumerate(definition.outputs):
                self._outputs[node_def.name, output.name] = index
            return
        given = {attr.name: attr.default for attr in definition.attrs.values() if attr.has_default}
        given.update((key, attr_value.from_proto(value)) for key, value in node_def.attr.items())
        for output, start, _ in definition.output_slices(given):
            self._outputs[node_def.name, output.name] = start

    def plain(self, text: str, offset: int = 0) -> str:
        if text.startswith("^"):
            return text
        parts = text.split(":")
        if parts[0] in self._args and len(parts) <= 2:
            number = output_number(parts[1]) if len(parts) == 2 else 0
            names = self._args[parts[0]]
            if number is not None and offset + number < len(names):
                return names[offset + number]
        elif len(parts) in (2, 3) and (parts[0], parts[1]) in self._outputs:
            number = output_number(parts[2]) if len(parts) == 3 else 0
            if number is not None:
                index = self._outputs[parts[0], parts[1]] + offset + number
                return f"{parts[0]}:{index}" if index else parts[0]
        message = f"Function {self._function} uses '{text}', which is neither an argument nor an output in it"
        raise InvalidArgumentError(None, None, message)


def in_order(nodes: Iterable[Node], needed: set[str], function: str) -> list[Node]:
    """The nodes of a body that have to run, arguments first and results last, each after those it needs.

    Args:
        needed: names of nodes that run though no result needs them, beside those with state.
    """
    nodes = list(nodes)
    roots = [node for node in nodes if node.opdef.is_stateful or node.name in needed]
    # Arguments stand first and results last in `nodes`; both are stateful by their definitions.
    order: dict[Node, None] = {}
    entered: set[Node] = set()
    for root in roots:
        pending = [root]
        while pending:
            node = pending[-1]
            if node in order:
                pending.pop()
                continue
            waits_for = [source for source in _sources(node) if source not in order]
            if not waits_for:
                order[pending.pop()] = None
            elif node in entered:
                text = f"Function {function}: {node.name} and {waits_for[0].name} wait for each other"
                raise InvalidArgumentError(None, None, text)
            else:
                entered.add(node)
                pending += reversed(waits_for)
                for source, _ in node.inputs:
                    if is_back_edge(source, node):
                        roots.append(source)  # the loop needs it, though no result does
    results = [node for node in order if node.op == "_Retval"]
    return [node for node in order if node.op != "_Retval"] + results


def _sources(node: Node) -> Iterator[Node]:
    for source, _ in node.inputs:
        if not is_back_edge(source, node):
            yield source
    yield from node.controls
