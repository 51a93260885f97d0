"""`Model.summary()`."""

from __future__ import annotations

from typing import Any


def print_summary(
    model: Any, line_length: int | None = None, positions: Any = None, print_fn: Any = None
) -> None:
    """Prints the layers, the shapes of their outputs and the numbers of their parameters."""
    write = print_fn or print
    is_line = type(model).__name__ == "Sequential" or _is_line(model)
    width = line_length or (65 if is_line else 98)
    fractions = positions or ([0.45, 0.85, 1.0] if is_line else [0.33, 0.55, 0.67, 1.0])
    ends = [int(width * p) for p in fractions] if fractions[-1] <= 1 else list(fractions)
    titles = ["Layer (type)", "Output Shape", "Param #", *([] if is_line else ["Connected to"])]

    def row(fields: list[str]) -> None:
        line = ""
        for i, field in enumerate(fields):
            line = (line[:-1] + " " if i else "") + field
            line = line[: ends[i]].ljust(ends[i])
        write(line)

    write(f'Model: "{model.name}"')
    write("_" * width)
    row(titles)
    write("=" * width)
    layers = model.layers
    for i, layer in enumerate(layers):
        fields = [f"{layer.name} ({type(layer).__name__})", _shape(layer), str(_params(layer))]
        sources = [] if is_line else _sources(model, layer)
        row([*fields, *sources[:1]] if sources or is_line else [*fields, ""])
        for source in sources[1:]:
            row(["", "", "", source])
        write(("=" if i == len(layers) - 1 else "_") * width)
    trainable = _count(model.trainable_weights)
    others = _count(model.non_trainable_weights)
    write(f"Total params: {trainable + others:,}")
    write(f"Trainable params: {trainable:,}")
    write(f"Non-trainable params: {others:,}")
    write("_" * width)


def _count(weights: list[Any]) -> int:
    return sum(int(w.shape.num_elements()) for w in weights)


def _params(layer: Any) -> int | str:
    return layer.count_params() if layer.built else "0 (unused)"


def _shape(layer: Any) -> str:
    try:
        return str(layer.output_shape)
    except (AttributeError, RuntimeError):
        return "multiple"


def _nodes(model: Any, layer: Any) -> list[Any]:
    graph = model._graph_of_layers
    return [] if graph is None else graph.calls_of(layer)


def _is_line(model: Any) -> bool:
    """Whether each layer has one input and one output, so that the order says it all."""
    if model._graph_of_layers is None:
        return True
    return all(len(n.inbound_nodes) <= 1 for n in model._graph_of_layers.nodes) and all(
        len(_nodes(model, layer)) == 1 for layer in model.layers
    )


def _sources(model: Any, layer: Any) -> list[str]:
    found = []
    for node in _nodes(model, layer):
        for tensor in node.flat_inputs:
            known = getattr(tensor, "_keras_history", None)
            if known is not None and node.input_tensors is not None:
                found.append(f"{known.layer.name}[{known.node_index}][{known.tensor_index}]")
    return found
