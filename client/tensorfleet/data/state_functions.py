"""Functions of a state and an element, for `Dataset.scan` and `Dataset.reduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.type_specs import common_dims
from tensorfleet.data.structure import Structure, components_of, normalize
from tensorfleet.graph.func_graph import Traced, trace
from tensorfleet.graph.tensor import Tensor


def trace_with_state(
    label: str,
    function: Callable[[Any, Any], tuple[Any, list[Tensor]]],
    before: Structure,
    given: Structure,
) -> tuple[Traced, Structure]:
    """A function of the graph's library that takes a state and an element.

    Args:
        function: a Python function that returns the next state, and further components.

    Returns:
        The function, and the structure of states; a shape that changes is relaxed to the common one.
    """
    while True:
        state = before
        after: list[Structure] = []

        def call(
            *components: Tensor, state: Structure = state, after: list[Structure] = after
        ) -> list[Tensor]:
            count = len(state.types)
            new, more = function(state.element(components[:count]), given.element(components[count:]))
            new = normalize(new)
            found = Structure.of(new)
            _check_state(state, found, f"{label}_func")
            after.append(found)
            return [*components_of(new), *more]

        traced = trace(f"Dataset_{label}", call, _arguments(state, given), list)
        dims = [common_dims(a, b) for a, b in zip(state.dims, after[0].dims, strict=True)]
        if dims == state.dims:
            return traced, state
        before = state.with_dims(dims)


def _arguments(state: Structure, element: Structure) -> list[tuple[Any, Any]]:
    return [
        *zip(state.component_types, state.component_dims, strict=True),
        *zip(element.component_types, element.component_dims, strict=True),
    ]


def _check_state(before: Structure, after: Structure, name: str) -> None:
    if not before.agrees(after):
        raise TypeError(
            "The element types for the new state must match the initial state. Expected "
            f"{before.output_types}; got {after.output_types} from `{name}`."
        )
