"""The inputs that a tensor of a graph of layers comes from."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import nest
from tensorfleet.keras.engine.node import history


def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> list[Any]:
    """The inputs of a graph of layers that a tensor depends on (`tf.keras.utils.get_source_inputs`).

    Args:
        layer: whose call the tensor comes from, by default the one that made it.
        node_index: which of the layer's calls; without one, the tensor's own.

    Returns:
        A list of tensors, each once, in the order in which they are met; the tensor itself if no layer
        made it.
    """
    origin = history(tensor)
    if layer is None or node_index is None:
        if origin is None:
            return [tensor]
        layer, node_index = origin.layer, origin.node_index
    found: dict[int, Any] = {}
    waiting = [layer._inbound_nodes[node_index]] if layer._inbound_nodes else []
    seen = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        before = node.inbound_nodes
        if not before:
            found.update((id(x), x) for x in nest.flatten(node.output_tensors))
        waiting += reversed(before)
    return list(found.values())
