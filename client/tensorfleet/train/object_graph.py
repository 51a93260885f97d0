"""Objects that a checkpoint keeps by the names under which they hold each other, and the message for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorfleet.graph.graph import get_default_graph
from tensorfleet.layers.base import Layer
from tensorfleet.ops.state.modules import Module
from tensorfleet.ops.state.variables import Variable
from tensorfleet.proto.trackable_object_graph_pb2 import TrackableObjectGraph
from tensorfleet.train.optimizer import Optimizer

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"
_VALUE_SUFFIX = f".ATTRIBUTES/{_VALUE}"
_SLOT = ".OPTIMIZER_SLOT"


class Tracked:
    """The base class of objects whose attributes checkpoints keep."""

    def _checkpoint_children(self) -> dict[str, Any]:
        """What the object holds, by local names; checkpoints keep of it what they can."""
        return vars(self)

    def _checkpoint_slots(self) -> list[tuple[Any, str, Any]]:
        """Variables that belong to other variables: (that variable, name, variable)."""
        return []


def children(value: Any) -> dict[str, Any]:
    """What an object holds, by local names: only what checkpoints can keep."""
    if isinstance(value, Variable):
        return {}
    if isinstance(value, Optimizer):
        graph = get_default_graph()
        return {name: v for (name, own), v in sorted(value._non_slots.items(), key=_name) if own is graph}
    if isinstance(value, Layer):
        return {v.op.name.rpartition("/")[2]: v for v in value.variables}
    items: Iterator[tuple[Any, Any]]
    if isinstance(value, Tracked):
        items = iter(value._checkpoint_children().items())
    elif isinstance(value, Module):
        items = iter(vars(value).items())
    elif isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, (list, tuple)):
        items = iter(enumerate(value))
    else:
        return {}
    return {str(key): item for key, item in items if is_trackable(item)}


def _name(item: tuple[tuple[str, Any], Any]) -> str:
    return item[0][0]


def is_trackable(value: Any) -> bool:
    """Whether checkpoints can keep an object: a variable, or what holds variables."""
    return isinstance(value, (Variable, Optimizer, Layer, Module, Tracked)) or (
        isinstance(value, (dict, list, tuple)) and bool(children(value))
    )


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """The objects that a root holds, each once.

    Attributes:
        message: names and references, as checkpoints keep them.
        variables: by the keys of their values in a checkpoint.
    """

    def __init__(self, root: Any) -> None:
        self.message = TrackableObjectGraph()
        self.variables: dict[str, Any] = {}
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._paths: list[str] = []
        self._add(root, "")
        for number, value in enumerate(self._objects):  # grows while it is walked, nearest objects first
            for name, child in children(value).items():
                self._child(number, name, child)
        for number, value in enumerate(list(self._objects)):
            if isinstance(value, Optimizer):
                self._slots(number, value)
            elif isinstance(value, Tracked):
                for variable, slot_name, slot in value._checkpoint_slots():
                    if id(variable) in self._numbers:
                        self._add_slot(number, self._numbers[id(variable)], slot_name, slot)

    def _add(self, value: Any, path: str) -> int:
        number = self._numbers[id(value)] = len(self._objects)
        self._objects.append(value)
        self._paths.append(path)
        node = self.message.nodes.add()
        node.has_checkpoint_values.value = True
        if isinstance(value, Variable):
            key = f"{path}/{_VALUE_SUFFIX}"
            node.attributes.add(name=_VALUE, full_name=value.op.name, checkpoint_key=key)
            self.variables[key] = value
        return number

    def _child(self, number: int, name: str, child: Any) -> None:
        found = self._numbers.get(id(child))
        if found is None:
            path = self._paths[number]
            found = self._add(child, f"{path}/{_escaped(name)}" if path else _escaped(name))
        self.message.nodes[number].children.add(node_id=found, local_name=name)

    def _slots(self, number: int, optimizer: Optimizer) -> None:
        graph = get_default_graph()
        by_name = {v.op.name: n for n, v in enumerate(self._objects) if isinstance(v, Variable)}
        for slot_name, slots in sorted(optimizer._slots.items()):
            for (own, primary), slot in slots.items():
                original = by_name.get(primary)
                if own is not graph or original is None:
                    continue
                self._add_slot(number, original, slot_name, slot)

    def _add_slot(self, number: int, original: int, slot_name: str, slot: Any) -> None:
        path = f"{self._paths[original]}/{_SLOT}/{self._paths[number]}/{_escaped(slot_name)}"
        self.message.nodes[number].slot_variables.add(
            original_variable_node_id=original,
            slot_name=slot_name,
            slot_variable_node_id=self._add(slot, path),
        )


class Match:
    """What of an object graph in a checkpoint there is in the program.

    Attributes:
        variables: the program's variables by the keys of their values in the checkpoint.
        unused: the keys of values for which the program has no variable.
        matched: the ids of the program's objects that are in the checkpoint.
    """

    def __init__(self, root: Any, message: TrackableObjectGraph) -> None:
        self.variables: dict[str, Any] = {}
        self.matched: set[int] = set()
        self._nodes = message.nodes
        objects: dict[int, Any] = {0: root}
        pending = [0]
        while pending:
            number = pending.pop()
            value = objects[number]
            self.matched.add(id(value))
            held = children(value)
            for reference in self._nodes[number].children:
                child = held.get(reference.local_name)
                if child is not None and reference.node_id not in objects:
                    objects[reference.node_id] = child
                    pending.append(reference.node_id)
        self._find_slots(objects)
        for number, value in objects.items():
            for attribute in self._nodes[number].attributes:
                if isinstance(value, Variable) and attribute.name == _VALUE:
                    self.variables[attribute.checkpoint_key] = value
        saved = {a.checkpoint_key for node in self._nodes for a in node.attributes}
        self.unused = sorted(saved - self.variables.keys())

    def _find_slots(self, objects: dict[int, Any]) -> None:
        for number, value in list(objects.items()):
            slots = self._nodes[number].slot_variables
            if isinstance(value, Optimizer):
                for slot in slots:
                    original = objects.get(slot.original_variable_node_id)
                    found = None if original is None else value.get_slot(original, slot.slot_name)
                    self._found_slot(objects, slot.slot_variable_node_id, found)
            elif isinstance(value, Tracked) and slots:
                known = {(id(v), name): own for v, name, own in value._checkpoint_slots()}
                for slot in slots:
                    key = id(objects.get(slot.original_variable_node_id)), slot.slot_name
                    self._found_slot(objects, slot.slot_variable_node_id, known.get(key))

    def _found_slot(self, objects: dict[int, Any], node: int, slot: Any) -> None:
        if slot is not None:
            objects[node] = slot
            self.matched.add(id(slot))
