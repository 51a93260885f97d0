"""A call of a layer in a graph of layers."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorfleet.keras import nest


class KerasHistory(NamedTuple):
    """Where a tensor comes from: the layer, which of its calls, and which of the outputs."""

    layer: Any
    node_index: int
    tensor_index: int


def history(tensor: Any) -> KerasHistory | None:
    """Where a tensor comes from, None if it is no layer's output."""
    found: KerasHistory | None = getattr(tensor, "_keras_history", None)
    return found


class Node:
    """One call of a layer, which connects its inputs with its outputs.

    Attributes:
        outbound_layer: the layer that was called.
        input_tensors, output_tensors: as the call took and gave them.
        arguments: the other arguments of the call, by name.

    Args:
        is_definition: whether this is a model as it was defined: its tensors stay those of its layers.
    """

    def __init__(
        self,
        layer: Any,
        input_tensors: Any,
        output_tensors: Any,
        arguments: Any = None,
        is_definition: bool = False,
    ) -> None:
        self.outbound_layer = layer
        self.input_tensors, self.output_tensors = input_tensors, output_tensors
        self.arguments: dict[str, Any] = dict(arguments or {})
        self.index = len(layer._inbound_nodes)
        layer._inbound_nodes.append(self)
        if is_definition:
            return
        for tensor in self.flat_inputs:
            source = history(tensor)
            if source is not None:
                source.layer._outbound_nodes.append(self)
        for index, tensor in enumerate(nest.flatten(output_tensors)):
            tensor._keras_history = KerasHistory(layer, self.index, index)

    @property
    def flat_inputs(self) -> list[Any]:
        """The input tensors in a list, with those among the arguments."""
        extra = [t for t in nest.flatten(self.arguments) if history(t) is not None]
        given = [] if self.input_tensors is None else nest.flatten(self.input_tensors)
        return [*given, *extra]

    @property
    def inbound_nodes(self) -> list[Node]:
        """The calls whose outputs are inputs of this one."""
        found = [history(t) for t in self.flat_inputs]
        return [h.layer._inbound_nodes[h.node_index] for h in found if h is not None]

    @property
    def inbound_layers(self) -> Any:
        """The layers whose outputs are the inputs."""
        return nest.unpack_single([node.outbound_layer for node in self.inbound_nodes])
