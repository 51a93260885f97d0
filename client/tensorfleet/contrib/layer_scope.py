"""Common parts of `tf.contrib.layers`: names of variables, collections, normalization and activation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tensorfleet.contrib import model_variables
from tensorfleet.graph import framework
from tensorfleet.layers.base import parts_of

_ALIASES = ("__contrib_layer_aliases",)  # no string names this collection


def getter(renamed: dict[str, str] | None = None) -> Callable[..., Any]:
    """A custom getter that makes model variables and changes the last parts of their names by `renamed`."""

    def get(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("reuse", None)
        kwargs.pop("validate_shape", None)
        kwargs.pop("constraint", None)
        start, slash, last = name.rpartition("/")
        full = f"{start}{slash}{(renamed or {}).get(last, last)}"
        return model_variables.model_variable(full, *args, custom_getter=getter, **kwargs)

    return get


def layer_format(data_format: str | None, names: tuple[str, ...] = ("NHWC", "NCHW")) -> str:
    """The name in `tf.layers` of a data format of the ops.

    Raises:
        ValueError: the format is not in `names`.
    """
    if data_format not in (None, *names):
        raise ValueError(f"Invalid data_format: {data_format}")
    return "channels_first" if data_format == names[1] else "channels_last"


def add_variables(collections: Any, variable: Any, kind: str) -> None:
    """Adds a layer's variable to collections: a list of names for all, or a dict of lists by `kind`."""
    if variable is None or not collections:
        return
    names = collections.get(kind, []) if isinstance(collections, dict) else collections
    for name in [names] if isinstance(names, str) else names or ():
        held = framework.get_collection_ref(name)
        for part in parts_of(variable):
            if all(part is not other for other in held):
                held.append(part)


def named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Adds outputs to collections, with an alias (`collect_named_outputs`)."""
    if collections:
        append_alias(outputs, alias)
        framework.get_default_graph().add_to_collections(collections, outputs)
    return outputs


def append_alias(tensor: Any, alias: str) -> Any:
    """Gives a tensor an alias, its key in dicts of a collection."""
    alias = alias.removesuffix("/")
    held = tensor.graph.get_collection_ref(_ALIASES)
    if not held:
        held.append({})
    held[0].setdefault(tensor.name, []).append(alias)
    return tensor


def aliases_of(tensor: Any) -> list[str]:
    """The aliases of a tensor; its own name if it has none."""
    held = tensor.graph.get_collection_ref(_ALIASES)
    found: list[str] = held[0].get(tensor.name, []) if held else []
    return found or [tensor.name.removesuffix(":0")]


def finish(
    outputs: Any,
    scope: Any,
    variables: Iterable[tuple[Any, str]],
    normalizer_fn: Any,
    normalizer_params: Any,
    activation_fn: Any,
    variables_collections: Any,
    outputs_collections: Any,
) -> Any:
    """The end of a layer with weights: collections, normalization, activation."""
    for variable, kind in variables:
        add_variables(variables_collections, variable, kind)
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return named_outputs(outputs_collections, scope.name, outputs)
