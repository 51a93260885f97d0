"""Graphs of layers as configurations, and back."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import nest
from tensorfleet.keras.engine.node import history
from tensorfleet.keras.serialization import get_registered_name, plain


def config_of(model: Any) -> dict[str, Any]:
    """The layers, and for each the calls that connect them."""
    graph = model._graph_of_layers
    places = _places(graph)
    layers = []
    for layer in graph.layers:
        calls = []
        for node in graph.calls_of(layer):
            if node.input_tensors is None or (id(layer), node.index) not in places:
                continue
            arguments = {k: _plain(v, places) for k, v in node.arguments.items()}
            sources = []
            for i, tensor in enumerate(nest.flatten(node.input_tensors)):
                sources.append([*_place(tensor, places), arguments if i == 0 else {}])
            calls.append(sources)
        layers.append(
            {
                "name": layer.name,
                "class_name": get_registered_name(type(layer)),
                "config": layer.get_config(),
                "inbound_nodes": calls,
            }
        )
    return {
        "name": model.name,
        "layers": layers,
        "input_layers": [_place(t, places) for t in model.inputs],
        "output_layers": [_place(t, places) for t in model.outputs],
    }


def _places(graph: Any) -> dict[tuple[int, int], int]:
    """The numbers of calls among those of the same layer that belong to the graph."""
    places = {}
    for layer in graph.layers:
        # A model as it was defined is its call number 0.
        begin = 1 if getattr(layer, "_graph_of_layers", None) is not None else 0
        for number, node in enumerate(graph.calls_of(layer), begin):
            places[id(layer), node.index] = number
    return places


def _place(tensor: Any, places: dict[tuple[int, int], int]) -> list[Any]:
    found = history(tensor)
    assert found is not None
    return [found.layer.name, places[id(found.layer), found.node_index], found.tensor_index]


def _plain(value: Any, places: Any) -> Any:
    if history(value) is not None:
        return {"class_name": "_KerasTensor", "config": _place(value, places)}
    if isinstance(value, (list, tuple)):
        return [_plain(item, places) for item in value]
    return plain(value)


def graph_from(config: dict[str, Any], make: Any) -> tuple[Any, Any, str | None]:
    """The inputs and outputs of a model with that configuration, and its name.

    Args:
        make: from the configuration of a layer to the layer.

    Raises:
        ValueError: calls that depend on each other in a circle.
    """
    made = {entry["name"]: make(entry) for entry in config["layers"]}
    pending = [(entry["name"], list(entry["inbound_nodes"])) for entry in config["layers"]]
    offsets = {name: len(layer._inbound_nodes) for name, layer in made.items()}
    starts = {
        entry["name"]: 1 if getattr(made[entry["name"]], "_graph_of_layers", None) is not None else 0
        for entry in config["layers"]
    }

    def tensor(place: Any) -> Any:
        name, node_index, tensor_index = place[:3]
        layer = made[name]
        if entry_is_input(layer):
            return layer._inbound_nodes[0].output_tensors
        nodes = layer._inbound_nodes
        at = node_index - starts[name] + offsets[name]
        if at >= len(nodes):
            return None
        return nest.flatten(nodes[at].output_tensors)[tensor_index]

    while pending:
        left = []
        progressed = False
        for name, calls in pending:
            while calls:
                arguments = calls[0][0][3] if len(calls[0][0]) > 3 else {}
                sources = [tensor(place) for place in calls[0]]
                given = {key: _restored(value, tensor) for key, value in (arguments or {}).items()}
                if any(s is None for s in sources) or any(v is _LATER for v in given.values()):
                    break
                made[name](nest.unpack_single(sources), **given)
                calls.pop(0)
                progressed = True
            if calls:
                left.append((name, calls))
        if left and not progressed:
            raise ValueError(f"The layers {[name for name, _ in left]} depend on each other in a circle.")
        pending = left
    inputs = [tensor(place) for place in _each(config["input_layers"])]
    outputs = [tensor(place) for place in _each(config["output_layers"])]
    return nest.unpack_single(inputs), nest.unpack_single(outputs), config.get("name")


_LATER = object()


def entry_is_input(layer: Any) -> bool:
    """Whether a layer is where a graph begins."""
    return type(layer).__name__ == "InputLayer"


def _each(places: Any) -> list[Any]:
    return [places] if places and isinstance(places[0], str) else list(places)


def _restored(value: Any, tensor: Any) -> Any:
    if isinstance(value, dict) and value.get("class_name") == "_KerasTensor":
        found = tensor(value["config"])
        return _LATER if found is None else found
    return value
