"""`tf.import_graph_def`: adds the nodes of a GraphDef message to the default graph."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensorfleet.core import attr_value, errors, gc_pause
from tensorfleet.core.dtypes import DType
from tensorfleet.core.proto_field import encoded_attributes
from tensorfleet.graph import hints
from tensorfleet.graph.attributes import complete
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import PRODUCER_VERSION, Graph, get_default_graph
from tensorfleet.graph.op_def import OpDef
from tensorfleet.graph.op_def_proto import summary, type_name
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.function_pb2 import FunctionDef, FunctionDefLibrary
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef

_NODE_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_LOCATION = b"loc:@"
_INPUT = re.compile(r"\^[^:]+|[^^:]+(:\d+)?")
"""An input of a node: a control input, or an output by its number, 0 if there is none."""

_MERGES = frozenset(("Merge", "RefMerge"))
_NEXT_ITERATIONS = frozenset(("NextIteration", "RefNextIteration"))


def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Tensor | Operation] | None:
    """Adds the nodes of `graph_def`, in whatever order, to the default graph (`tf.import_graph_def`).

    Args:
        graph_def: the GraphDef message; it is not changed.
        input_map: from tensor names in `graph_def` ("n" is "n:0", "^n" a control input) to the tensors of the
            default graph that the imported nodes take instead.
        return_elements: names in `graph_def` of the tensors ("n:0") and operations ("n") to return.
        name: the prefix of the new names; "import" by default, "" for none.
        op_dict: ignored.
        producer_op_list: an OpList; attributes that are unknown here are left out where they have the default
            that it names.

    Returns:
        What `return_elements` names, or None if that is None.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: `graph_def` contradicts itself, or has no such element; the text is TensorFlow's.
        NotFoundError: it has an op type that is not registered.

    Example:
        >>> x = tf.constant(3, name="x")
        >>> message = tf.get_default_graph().as_graph_def()
        >>> with tf.Graph().as_default():
        ...     [y] = tf.import_graph_def(message, return_elements=["x:0"])
        >>> y.name
        'import/x:0'
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a GraphDef proto.")
    if graph_def.versions.min_consumer > PRODUCER_VERSION:
        raise ValueError(
            f"GraphDef min consumer version {graph_def.versions.min_consumer} above current version "
            f"{PRODUCER_VERSION}. Please upgrade TensorFleet."
        )
    _check_input_map(input_map)
    if return_elements is not None and not all(isinstance(e, (str, bytes)) for e in return_elements):
        raise TypeError(f"return_elements must be a list of strings. Obtained {return_elements}.")
    graph = get_default_graph()
    with graph.name_scope("import" if name is None else name) as scope:
        mapped = _as_tensors(graph, name, input_map or {})
    with gc_pause.paused(), graph._all_or_nothing():
        _add_library(graph, graph_def.library)
        importer = _Importer(graph, graph_def, scope, mapped, _producer_defaults(producer_op_list))
        importer.run()
        elements = None
        if return_elements is not None:
            elements = [importer.element(e.decode() if isinstance(e, bytes) else e) for e in return_elements]
    missing = importer.unused_and_missing()
    if missing:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")
    return elements


def _add_library(graph: Graph, library: FunctionDefLibrary) -> None:
    """Adds functions, which nodes may call by their names, with their gradients."""
    gradients = {item.function_name: item.gradient_func for item in library.gradient}
    for function in library.function:
        copied = FunctionDef()  # a part of a message keeps the whole message in memory
        copied.CopyFrom(function)
        try:
            graph._add_function(copied, gradients.get(function.signature.name))
        except errors.InvalidArgumentError as error:
            raise ValueError(error.message) from None


def _check_input_map(input_map: Any) -> None:
    if input_map is None:
        return
    if not isinstance(input_map, dict):
        raise TypeError(
            "input_map must be a dictionary mapping strings to Tensor objects. "
            f"Obtained {type(input_map).__name__}"
        )
    if not all(isinstance(key, (str, bytes)) for key in input_map):
        raise TypeError(
            "input_map must be a dictionary mapping strings to Tensor objects. "
            f"Obtained keys: {list(input_map)}"
        )


def _as_tensors(graph: Graph, name: str | None, input_map: Mapping[Any, Any]) -> dict[str, Any]:
    """The map with full tensor names as keys and tensors (or, for control inputs, operations) as values."""
    if name == "" and not all(isinstance(v, (Tensor, Operation)) for v in input_map.values()):
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. "
            "Try calling tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def()."
        )
    result: dict[str, Any] = {}
    for key, value in input_map.items():
        key = key.decode() if isinstance(key, bytes) else key
        if not isinstance(value, (Tensor, Operation)):
            with graph.name_scope("_inputs"):
                value = convert_to_tensor(value)
        result[key if key.startswith("^") or ":" in key else key + ":0"] = value
    return result


def _producer_defaults(producer_op_list: Any) -> dict[str, dict[str, Any]]:
    """The attributes of the producer that have a default, with that default, by op type."""
    if producer_op_list is None:
        return {}
    return {
        op.name: {attr.name: attr.default_value for attr in op.attr if attr.HasField("default_value")}
        for op in producer_op_list.op
    }


class _Importer:
    """One import: the nodes to come and those that are there, by their names in the message."""

    def __init__(
        self,
        graph: Graph,
        graph_def: GraphDef,
        scope: str,
        mapped: dict[str, Any],
        producer_defaults: dict[str, dict[str, Any]],
    ) -> None:
        self._graph = graph
        self._scope = scope
        self._mapped = mapped
        self._used: set[str] = set()
        self._defaults = producer_defaults
        self._made: dict[str, Operation] = {}
        self._nodes: dict[str, NodeDef] = {}
        self._colocated: dict[str, list[str]] = {}
        self._known_attrs: dict[tuple[str, bytes], dict[str, Any]] = {}
        for node in graph_def.node:
            if not _NODE_NAME.fullmatch(node.name):
                raise ValueError(f"Node '{node.name}': Node name contains invalid characters")
            if node.name in self._nodes:
                raise ValueError(f"Node '{node.name}' is not unique")
            self._nodes[node.name] = node
            if others := _colocated_with(node):
                self._colocated[node.name] = others

    def run(self) -> None:
        """Adds all nodes, each after its inputs; loops are closed last, their Merge nodes come first."""
        order = self._order()
        for name in order if self._colocated else ():
            self._check_colocation(name)
        back_edges: list[tuple[Operation, int, str]] = []
        with self._graph.no_colocation(), self._graph.container(""):
            for name in order:
                node = self._nodes[name]
                op = self._add(node)
                self._made[name] = op
                if op.type in _MERGES:
                    back_edges += [
                        (op, i, text) for i, text in enumerate(node.input) if self._is_back_edge(text)
                    ]
        for op, index, text in back_edges:
            op._update_input(index, self._tensor(op.name, text))
        self._place_colocated()

    def _order(self) -> list[str]:
        """The names such that inputs come first. Raises ValueError for unknown inputs and for cycles."""
        waiting: dict[str, int] = {}
        consumers: dict[str, list[str]] = {}
        for name, node in self._nodes.items():
            sources = {_source(text) for text in node.input if not self._is_satisfied(node, text)}
            for text in node.input:
                is_known = _source(text) in self._nodes and _INPUT.fullmatch(text) is not None
                if not is_known and not self._is_mapped(text):
                    raise ValueError(f"Node '{name}': Unknown input node '{text}'")
            waiting[name] = len(sources)
            for source in sources:
                consumers.setdefault(source, []).append(name)
        ready = [name for name in self._nodes if not waiting[name]]
        for name in ready:  # grows
            for consumer in consumers.get(name, ()):
                waiting[consumer] -= 1
                if not waiting[consumer]:
                    ready.append(consumer)
        if len(ready) < len(self._nodes):
            raise ValueError(f"{len(self._nodes) - len(ready)} nodes in a cycle")
        return ready

    def _is_satisfied(self, node: NodeDef, text: str) -> bool:
        """Whether an input need not wait for its source."""
        return self._is_mapped(text) or (node.op in _MERGES and self._is_back_edge(text))

    def _is_mapped(self, text: str) -> bool:
        return _full_name(text) in self._mapped

    def _is_back_edge(self, text: str) -> bool:
        source = self._nodes.get(_source(text))
        return source is not None and source.op in _NEXT_ITERATIONS and not self._is_mapped(text)

    def _add(self, node: NodeDef) -> Operation:
        definition = self._graph._op_definition(node.op)
        texts = list(node.input)
        attrs = self._attrs(node, definition, texts)
        data = [text for text in texts if not text.startswith("^")]
        if len(data) < len(texts) and any(text.startswith("^") for text in texts[: len(data)]):
            raise ValueError(f"Node '{node.name}': Control dependencies must come after regular dependencies")
        inputs = self._inputs(node, data)
        self._check_types(node, definition, attrs, inputs)
        with self._device_scope(node):
            op = self._graph.add_operation(
                definition,
                self._unique_name(node.name),
                inputs,
                attrs,
                definition.output_types(attrs),
                3,
            )
        if node.op in _MERGES and any(map(self._is_back_edge, data)):
            op.outputs[0].dims = None  # what the next iteration brings is not known yet
        for text in texts[len(data) :]:
            op._add_control_input(self._control(text))
        return op

    def _device_scope(self, node: NodeDef) -> contextlib.AbstractContextManager[None]:
        if node.name in self._colocated:
            return self._graph.device(None)  # `_place_colocated` decides
        return self._graph.device(node.device) if node.device else contextlib.nullcontext()

    def _unique_name(self, name: str) -> str:
        full = self._scope + name
        used = self._graph._names_in_use
        if full in self._graph._operations:
            with self._graph.name_scope(None):
                return self._graph.unique_name(full)
        used.setdefault(full.lower(), 1)
        return full

    def _attrs(self, node: NodeDef, definition: OpDef, inputs: Sequence[str]) -> dict[str, Any]:
        """The node's attributes, read and checked once for all nodes in which they are the same."""
        data = encoded_attributes(node, node.name, node.op, inputs, node.device)
        if data is None:
            return self._new_attrs(node, definition)
        found = self._known_attrs.get((node.op, data))
        if found is None:
            found = self._known_attrs[node.op, data] = self._new_attrs(node, definition)
        return dict(found)

    def _new_attrs(self, node: NodeDef, definition: OpDef) -> dict[str, Any]:
        dropped = self._defaults.get(node.op, {})
        values = {
            key: attr_value.from_proto(value)
            for key, value in sorted(node.attr.items())
            if key in definition.attrs or dropped.get(key) != value
        }
        for key, attr in definition.attrs.items():
            if key not in values and not attr.has_default:
                raise ValueError(
                    f"NodeDef missing attr '{key}' from {summary(definition)}; "
                    f"NodeDef: {{{{node {node.name}}}}}"
                )
            self._check_allowed(node, definition, key, values)
        try:
            attrs = complete(definition, node.name, values)
        except TypeError as error:
            raise ValueError(f"{error}; NodeDef: {{{{node {node.name}}}}}") from None
        attrs.update(
            (key, value) for key, value in values.items() if key not in attrs and not hints.is_hint(key)
        )
        if "_class" in attrs:
            prefix = _LOCATION + self._scope.encode()
            attrs["_class"] = [
                prefix + c[len(_LOCATION) :] if c.startswith(_LOCATION) else c for c in attrs["_class"]
            ]
        return attrs

    def _check_allowed(self, node: NodeDef, definition: OpDef, key: str, values: Mapping[str, Any]) -> None:
        allowed = definition.attrs[key].allowed
        value = values.get(key)
        if allowed is None or not isinstance(value, DType) or value in allowed:
            return
        raise ValueError(
            f"Value for attr '{key}' of {type_name(value)} is not in the list of allowed values: "
            f"{', '.join(map(type_name, allowed))}\n\t; NodeDef: {{{{node {node.name}}}}}; "
            f"{summary(definition)}"
        )

    def _inputs(self, node: NodeDef, data: Iterable[str]) -> tuple[Tensor, ...]:
        tensors = [
            None if node.op in _MERGES and self._is_back_edge(text) else self._tensor(node.name, text)
            for text in data
        ]
        # A Merge stands on another of its inputs until the loop is closed.
        entry = next((tensor for tensor in tensors if tensor is not None), None)
        if entry is None and tensors:
            raise ValueError(f"{len(tensors)} nodes in a cycle")
        return tuple(entry if tensor is None else tensor for tensor in tensors)  # type: ignore[misc]

    def _tensor(self, consumer: str, text: str) -> Tensor:
        key = _full_name(text)
        if key in self._mapped:
            self._used.add(key)
            mapped: Tensor = self._mapped[key]
            return mapped
        source, _, index = key.rpartition(":")
        outputs = self._made[source].outputs
        if int(index) >= len(outputs):
            raise ValueError(
                f"Node '{consumer}': Connecting to invalid output {index} of source node {source} which has "
                f"{len(outputs)} outputs."
            )
        return outputs[int(index)]

    def _control(self, text: str) -> Operation:
        if text in self._mapped:
            self._used.add(text)
            target = self._mapped[text]
            return target.op if isinstance(target, Tensor) else target
        return self._made[text[1:]]

    def _check_types(
        self, node: NodeDef, definition: OpDef, attrs: dict[str, Any], inputs: tuple[Tensor, ...]
    ) -> None:
        expected = definition.input_types(attrs)
        if len(expected) != len(inputs):
            raise ValueError(
                f"NodeDef expected inputs '{', '.join(map(type_name, expected))}' do not match {len(inputs)} "
                f"inputs specified; {summary(definition)}; NodeDef: {{{{node {node.name}}}}}"
            )
        for i, (dtype, tensor) in enumerate(zip(expected, inputs, strict=True)):
            if dtype.base is not tensor.dtype.base or (dtype.is_ref and not tensor.dtype.is_ref):
                raise ValueError(
                    f"Input {i} of node {self._scope}{node.name} was passed {type_name(tensor.dtype)} from "
                    f"{tensor.name} incompatible with expected {type_name(dtype)}."
                )

    def _check_colocation(self, name: str) -> None:
        for other in self._colocated.get(name, ()):
            if other not in self._nodes:
                raise ValueError(f"Node '{name}' expects to be colocated with unknown node '{other}'")

    def _place_colocated(self) -> None:
        for name, op in self._made.items() if self._colocated else ():
            others = self._colocated.get(name, ())
            placed = (self._made[other].device for other in others if self._made[other].device)
            if others:
                op._set_device(next(placed, op.device))

    def unused_and_missing(self) -> list[str]:
        """The keys of the input map that were not used and name nothing in the message."""
        return [key for key in self._mapped if key not in self._used and not self._exists(key)]

    def _exists(self, key: str) -> bool:
        if key.startswith("^"):
            return key[1:] in self._made
        source, _, index = key.rpartition(":")
        return source in self._made and int(index) < len(self._made[source].outputs)

    def element(self, name: str) -> Tensor | Operation:
        """The tensor or operation that a name in the message stands for now."""
        if name in self._mapped:
            self._used.add(name)
            mapped: Tensor | Operation = self._mapped[name]
            return mapped
        source, colon, index = name.rpartition(":")
        op = self._made.get(source if colon else name)
        if op is None:
            kind = "tensor" if colon else "node"
            raise ValueError(f"Requested return {kind} '{name}' not found in graph def")
        if not colon:
            return op
        if not index.isdigit():
            raise ValueError(
                f"Cannot convert {name!r} to a tensor name. Second component of the name following the `:` "
                f"should be an int. Got {index}."
            )
        if int(index) >= len(op.outputs):
            raise ValueError(
                f"Invalid return output {index} of node '{source}', which has {len(op.outputs)} output(s)"
            )
        return op.outputs[int(index)]


def _source(text: str) -> str:
    """The node that an input comes from."""
    return text.removeprefix("^").partition(":")[0]


def _full_name(text: str) -> str:
    """An input with its output index, also where that is 0 and left out; control inputs as they are."""
    return text if text.startswith("^") or ":" in text else text + ":0"


def _colocated_with(node: NodeDef) -> list[str]:
    """The other nodes that a node wants to be placed with."""
    groups = node.attr["_class"].list.s if "_class" in node.attr else ()
    names = [group[len(_LOCATION) :].decode() for group in groups if group.startswith(_LOCATION)]
    return [name for name in names if name != node.name]
