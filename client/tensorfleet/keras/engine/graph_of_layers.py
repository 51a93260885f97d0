"""The calls of layers between inputs and outputs, in an order in which they can be done again."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import nest
from tensorfleet.keras.engine.node import Node, history


class LayerGraph:
    """The calls between some inputs and outputs.

    Attributes:
        nodes: the calls, each after those whose outputs it takes.
        layers: the layers, from the inputs to the outputs, those at one depth as they were met.

    Raises:
        ValueError: an output that does not depend on the inputs alone, or two layers of one name.
    """

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        for tensor in [*inputs, *outputs]:
            if history(tensor) is None:
                raise ValueError(
                    "Input tensors and output tensors to a Model must be the outputs of layers "
                    "(thus holding past "
                    f"layer metadata): {tensor}. Is the tensor made by tf.keras.Input or a layer?"
                )
        self._begin = {id(t) for t in inputs}
        self.nodes: list[Node] = []
        self._first: dict[int, int] = {}
        self._layers: dict[int, Any] = {}
        for output in outputs:
            self._visit(_node_of(output))
        self._depths(inputs)
        names: dict[str, Any] = {}
        for layer in self.layers:
            if names.setdefault(layer.name, layer) is not layer:
                raise ValueError(
                    f'The name "{layer.name}" is used twice in the model. All layer names should be unique.'
                )

    def _visit(self, last: Node) -> None:
        """Adds a call after the calls that it depends on."""
        done = {id(node) for node in self.nodes}
        pending: list[tuple[Node, bool]] = [(last, False)]
        open_: set[int] = set()
        while pending:
            node, is_ready = pending.pop()
            if id(node) in done:
                continue
            layer = node.outbound_layer
            self._first.setdefault(id(layer), len(self._first))
            self._layers[id(layer)] = layer
            if is_ready:
                done.add(id(node))
                open_.discard(id(node))
                self.nodes.append(node)
                continue
            if id(node) in open_:
                raise ValueError(f"The tensors of layer {layer.name} are part of a cycle.")
            open_.add(id(node))
            pending.append((node, True))
            produced = {id(t) for t in nest.flatten(node.output_tensors)}
            if node.input_tensors is None and not produced & self._begin:
                raise ValueError(
                    "Graph disconnected: cannot obtain value for tensor "
                    f'{node.output_tensors} at layer "{layer.name}". It is no input of the model.'
                )
            before = [t for t in node.flat_inputs if history(t) is not None]
            if not produced & self._begin:
                pending += [(_node_of(t), False) for t in reversed(before)]

    def _depths(self, inputs: list[Any]) -> None:
        depths: dict[int, int] = {}
        layer_depths: dict[int, int] = {}
        for node in reversed(self.nodes):
            depth = max(depths.get(id(node), 0), layer_depths.get(id(node.outbound_layer), 0))
            layer_depths[id(node.outbound_layer)] = depths[id(node)] = depth
            if {id(t) for t in nest.flatten(node.output_tensors)} & self._begin:
                continue
            for other in node.inbound_nodes:
                depths[id(other)] = max(depth + 1, depths.get(id(other), 0))
        for tensor in inputs:
            layer = _node_of(tensor).outbound_layer
            if id(layer) not in layer_depths:
                layer_depths[id(layer)] = 0
                self._first[id(layer)] = -1
                self._layers[id(layer)] = layer
                self.nodes.insert(0, _node_of(tensor))
        order = sorted(layer_depths, key=lambda key: (-layer_depths[key], self._first[key]))
        self.layers = [self._layers[key] for key in order]
        self.layer_depths = {id(layer): layer_depths[id(layer)] for layer in self.layers}

    def calls_of(self, layer: Any) -> list[Node]:
        """The calls of one of the layers, in the order in which they were made."""
        return sorted((n for n in self.nodes if n.outbound_layer is layer), key=lambda n: n.index)

    def run(self, inputs: list[Any], values: list[Any], outputs: list[Any], call: Any) -> list[Any]:
        """The outputs for other inputs: each call is made again, by `call(node, inputs, arguments)`."""
        known: dict[int, Any] = {id(t): value for t, value in zip(inputs, values, strict=True)}

        def value(tensor: Any) -> Any:
            return known.get(id(tensor), tensor)

        for node in self.nodes:
            made = nest.flatten(node.output_tensors)
            if all(id(t) in known for t in made) or node.input_tensors is None:
                continue
            given = nest.map_structure(value, node.input_tensors)
            arguments = nest.map_structure(value, node.arguments) if node.arguments else {}
            results = nest.flatten(call(node, given, arguments))
            known.update((id(t), result) for t, result in zip(made, results, strict=True))
        return [known[id(t)] for t in outputs]


def _node_of(tensor: Any) -> Node:
    found = history(tensor)
    assert found is not None
    node: Node = found.layer._inbound_nodes[found.node_index]
    return node
