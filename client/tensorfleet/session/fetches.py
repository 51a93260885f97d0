"""Fetches of `Session.run`: any nested structure of them, and the way back to it."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.session.tensor_handles import SessionRef, TensorHandle

Element = Tensor | Operation
Build = Callable[[Sequence[Any]], Any]
"""A function from one value per element (None for an operation) to what `run` returns."""

FetchFunction = Callable[[Any], tuple[Sequence[Any], Build]]
FeedFunction = Callable[[Any, Any], Sequence[tuple[Any, Any]]]
PartialFeedFunction = Callable[[Any], Sequence[Any]]


class Expansion(NamedTuple):
    """The way in which values of a type that stands for several tensors are fetched and fed."""

    type: type
    fetch: FetchFunction
    feed: FeedFunction | None
    partial_feed: PartialFeedFunction | None


_expansions: list[Expansion] = []
_present: Callable[[Any], Any] | None = None


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: FetchFunction,
    feed_function: FeedFunction | None = None,
    feed_function_for_partial_run: PartialFeedFunction | None = None,
) -> None:
    """Lets `Session.run` fetch and feed values of a type that stands for several tensors.

    Args:
        tensor_type: the type.
        fetch_function: from a value to (its tensors, a function from their results to the result).
        feed_function: from a feed_dict key of the type and its value to pairs of (tensor, value).
        feed_function_for_partial_run: from a key to its tensors.

    Raises:
        ValueError: the type, or a subtype of it, is registered already.
    """
    if any(issubclass(expansion.type, tensor_type) for expansion in _expansions):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _expansions.insert(
        0, Expansion(tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    )


def expansion_of(value: Any) -> Expansion | None:
    """The expansion of `value`, if it stands for several tensors, for fetches and feeds."""
    for expansion in _expansions:
        if isinstance(value, expansion.type):
            return expansion
    return None


def present_by(function: Callable[[Any], Any] | None) -> None:
    """Has what sessions return for a tensor go through `function`, where it is run anew; None ends it."""
    global _present
    _present = function


def _no_session() -> None:
    return None


class Fetches:
    """The elements that a structure of fetches needs, each once, and how to build the result from them.

    Attributes:
        elements: tensors and operations, in the order of their first appearance.
        is_plain: whether values are results as they are: none is the handle of a kept tensor, quantized, or
            presented as something else.
        build: takes one value for each element.

    Raises:
        TypeError, ValueError: a leaf is no element of the graph, in the words of TensorFlow.
    """

    def __init__(self, graph: Graph, structure: Any, session: SessionRef = _no_session) -> None:
        self._graph = graph
        self._session = session
        self.is_plain = True
        self._places: dict[Element, int] = {}
        self.build = self._build(structure)
        self.elements = list(self._places)

    def _build(self, fetch: Any) -> Build:
        if fetch is None:
            raise TypeError(f'Argument `fetch` = {fetch} has invalid type "NoneType". Cannot be None')
        if isinstance(fetch, (Tensor, Operation)):
            return self._leaf(fetch)
        if isinstance(fetch, (list, tuple)):
            return self._sequence(_sequence_type(type(fetch)), fetch)
        if isinstance(fetch, Mapping):
            return self._mapping(fetch)
        if hasattr(type(fetch), "__attrs_attrs__"):
            values = [getattr(fetch, attribute.name) for attribute in type(fetch).__attrs_attrs__]
            return self._sequence(functools.partial(_call, type(fetch)), values)
        expansion = expansion_of(fetch)
        if expansion is None:
            return self._leaf(fetch)
        parts, contract = expansion.fetch(fetch)
        builds = [self._leaf(part) for part in parts]
        return lambda values: contract([build(values) for build in builds])

    def _leaf(self, fetch: Any) -> Build:
        try:
            element = self._graph.as_graph_element(fetch)
        except TypeError as e:
            raise TypeError(
                f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a string '
                f"or Tensor. ({e})"
            ) from None
        except (ValueError, KeyError) as e:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({e})") from None
        op = element if isinstance(element, Operation) else element.op
        if not self._graph.is_fetchable(op):
            raise ValueError(
                f"Operation {op.name!r} has been marked as not fetchable: it belongs to the inside of a loop "
                "or a branch. Fetch what the loop or the branch returns."
            )
        place = self._places.setdefault(element, len(self._places))
        if op.type == "GetSessionHandle":
            self.is_plain = False
            dtype, session = op.inputs[0].dtype.base, self._session
            return lambda values: TensorHandle(values[place], dtype, session)
        if isinstance(element, Tensor) and element.dtype.is_quantized:
            self.is_plain = False
            name = element.dtype.base.name
            return lambda values: np.asarray(values[place])[name][()]  # TensorFlow gives plain integers
        if _present is not None and isinstance(element, Tensor):
            self.is_plain = False
            present = _present
            return lambda values: present(values[place])
        return lambda values: values[place]

    def _sequence(self, make: Callable[[Iterable[Any]], Any], fetches: Iterable[Any]) -> Build:
        builds = [self._build(fetch) for fetch in fetches]
        return lambda values: make([build(values) for build in builds])

    def _mapping(self, fetches: Mapping[Any, Any]) -> Build:
        make: Callable[..., Any] = type(fetches)
        if isinstance(fetches, defaultdict):
            make = functools.partial(defaultdict, fetches.default_factory)
        builds = [(key, self._build(fetch)) for key, fetch in fetches.items()]
        return lambda values: make((key, build(values)) for key, build in builds)


def _sequence_type(kind: type) -> Callable[[Iterable[Any]], Any]:
    if issubclass(kind, list):
        return list
    return tuple if kind is tuple else functools.partial(_call, kind)


def _call(kind: type, values: Iterable[Any]) -> Any:
    return kind(*values)
