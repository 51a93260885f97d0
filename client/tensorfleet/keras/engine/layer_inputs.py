"""The inputs and outputs of a layer in a graph of layers."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import nest
from tensorfleet.keras.engine.node import Node


class LayerEnds:
    """The part of a layer that knows its calls."""

    _inbound_nodes: list[Node]
    _outbound_nodes: list[Node]
    _name: str

    def _node(self, index: int, what: str) -> Node:
        if not self._inbound_nodes:
            raise RuntimeError(
                f"The layer has never been called and thus has no defined {what}. (layer: {self._name})"
            )
        if not -len(self._inbound_nodes) <= index < len(self._inbound_nodes):
            raise ValueError(
                f"Asked to get {what} at node {index}, but the layer has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        return self._inbound_nodes[index]

    def _first_node(self, what: str) -> Node:
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self._name} is not connected, no {what} to return.")
        return self._inbound_nodes[0]

    def _one_shape(self, what: str) -> Any:
        self._first_node(f"{what}_shape")
        shapes = [_shapes(getattr(node, f"{what}_tensors")) for node in self._inbound_nodes]
        if any(shape != shapes[0] for shape in shapes):
            raise AttributeError(
                f'The layer "{self._name}" has multiple inbound nodes with different {what} shapes, hence '
                f'the notion of "{what} shape" is ill-defined. Use `get_{what}_shape_at(node_index)` instead.'
            )
        return shapes[0]

    @property
    def inbound_nodes(self) -> list[Node]:
        """The calls of the layer."""
        return self._inbound_nodes

    @property
    def outbound_nodes(self) -> list[Node]:
        """The calls of other layers on this one's outputs."""
        return self._outbound_nodes

    @property
    def input(self) -> Any:
        """The inputs of the first call; a model's own inputs."""
        return self._first_node("input").input_tensors

    @property
    def output(self) -> Any:
        """The outputs of the first call; a model's own outputs."""
        return self._first_node("output").output_tensors

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs in all calls, a tuple; a list of them for several inputs."""
        return self._one_shape("input")

    @property
    def output_shape(self) -> Any:
        """The shape of the outputs in all calls, a tuple; a list of them for several outputs."""
        return self._one_shape("output")

    @property
    def input_mask(self) -> Any:
        """The mask of the inputs, None without one."""
        return nest.map_structure(_mask, self.input)

    @property
    def output_mask(self) -> Any:
        """The mask of the outputs, None without one."""
        return nest.map_structure(_mask, self.output)

    def get_input_at(self, node_index: int) -> Any:
        """The inputs of one of the calls."""
        return self._node(node_index, "input").input_tensors

    def get_output_at(self, node_index: int) -> Any:
        """The outputs of one of the calls."""
        return self._node(node_index, "output").output_tensors

    def get_input_shape_at(self, node_index: int) -> Any:
        """The shape of the inputs of one of the calls."""
        return _shapes(self._node(node_index, "input_shape").input_tensors)

    def get_output_shape_at(self, node_index: int) -> Any:
        """The shape of the outputs of one of the calls."""
        return _shapes(self._node(node_index, "output_shape").output_tensors)

    def get_input_mask_at(self, node_index: int) -> Any:
        """The mask of the inputs of one of the calls."""
        return nest.map_structure(_mask, self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """The mask of the outputs of one of the calls."""
        return nest.map_structure(_mask, self.get_output_at(node_index))


def _mask(tensor: Any) -> Any:
    return getattr(tensor, "_keras_mask", None)


def _shapes(tensors: Any) -> Any:
    shapes = [None if t.shape.ndims is None else tuple(t.shape.as_list()) for t in nest.flatten(tensors)]
    return nest.unpack_single(shapes)
