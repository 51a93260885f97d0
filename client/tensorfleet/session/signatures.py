"""Run signatures: what is worked out once for each pair of fetches and feed keys, and then only called.

A `Run` takes the values of the feed keys, in the order of the keys, and returns what `Session.run` returns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.session import feeds
from tensorfleet.session.fetches import Build, Fetches, expansion_of
from tensorfleet.session.tensor_handles import SessionRef
from tensorfleet.session.transport import Signature, Transport, Value

if TYPE_CHECKING:
    from tensorfleet.proto.config_pb2 import RunMetadata, RunOptions

REMEMBERED = 10_000
"""Runs, and signatures, that a session keeps: as many as the master keeps prepared."""

Run = Callable[[Iterable[Any]], Any]
Prepare = Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], Signature]
_Key = tuple[Any, ...]


class Signatures:
    """The run signatures of one session.

    Attributes:
        cache: runs by the identities of what they were asked with: `id(fetches)`, or a tuple of that and of
            the ids of the feed keys. These objects are kept alive, so no other object has their ids. To be
            read alone, without the lock.
    """

    def __init__(self, graph: Graph, prepare: Prepare, session: SessionRef) -> None:
        self._session = session
        self.cache: dict[Any, Run] = {}
        self._graph = graph
        self._prepare = prepare
        self._signatures: dict[tuple[_Key, _Key, _Key], Signature] = {}
        self._alive: dict[Any, Any] = {}
        """What the entries of the cache are named by: it comes before its entry, and goes after it."""
        self._lock = threading.Lock()  # of changes to these three
        graph._remember_signatures(self)

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None) -> Any:
        """Runs a step whose fetches are several objects, or that was not seen before."""
        if feed_dict and not isinstance(feed_dict, Mapping):
            return self._call(fetches, feed_dict, _run)
        keys = tuple(feed_dict or ())
        cache_key = _cache_key(fetches, keys)
        run = self.cache.get(cache_key)
        if run is None:
            run = self.compile(fetches, keys) if _all_last(fetches, keys) else None
            if run is None:
                return self._call(fetches, feed_dict, _run)
            self._keep(cache_key, run, (_copy(fetches), keys))
        return run(feed_dict.values() if feed_dict else ())

    def _keep(self, key: Any, run: Run, named_by: Any) -> None:
        with self._lock:
            self._alive[key] = named_by
            self.cache[key] = run
            if len(self._alive) > REMEMBERED:
                oldest = next(iter(self._alive))
                del self.cache[oldest]
                del self._alive[oldest]

    def forget(self) -> None:
        """Looks anew at what has been run: it may not be allowed any longer."""
        with self._lock:
            self.cache.clear()
            self._alive.clear()

    def run_traced(
        self, fetches: Any, feed_dict: Mapping[Any, Any] | None, options: RunOptions, metadata: RunMetadata
    ) -> Any:
        """Runs a step under `options`."""
        timeout = options.timeout_in_ms / 1000 or None
        return self._call(
            fetches, feed_dict, lambda signature, values: signature.traced(values, options, metadata, timeout)
        )

    def compile(self, fetches: Any, keys: Sequence[Any]) -> Run | None:
        """The function of a signature; None for nested or composite keys, or several names of one tensor."""
        if any(isinstance(key, tuple) or expansion_of(key) is not None for key in keys):
            return None
        fed = [feeds.feed_tensor(self._graph, key) for key in keys]
        if len(set(fed)) < len(fed):
            return None
        wanted = Fetches(self._graph, fetches, self._session)
        tensors = [e for e in wanted.elements if isinstance(e, Tensor)]
        if not wanted.elements or not set(tensors).isdisjoint(fed):
            return None
        # Sorted, so that the order of a feed_dict makes no new signature on the master.
        order = sorted(range(len(fed)), key=lambda i: fed[i].name)
        targets = [e for e in wanted.elements if isinstance(e, Operation)]
        signature = self._signature([fed[i] for i in order], tensors, targets)
        plan = [(i, feeds.converter(fed[i])) for i in order]
        if wanted.elements == [fetches] and wanted.is_plain:
            return _single_run(signature, plan, tensors)
        return _general_run(signature, plan, _expand(wanted.elements, wanted.build))

    def _call(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None,
        run: Callable[[Signature, list[Value]], Sequence[Value]],
    ) -> Any:
        """Runs a step in which nothing is kept for the next time but the signature."""
        fed = self._convert(feed_dict)
        wanted = Fetches(self._graph, fetches, self._session)
        needed = [e for e in wanted.elements if e not in fed]
        results: Sequence[Value] = ()
        if needed:
            order = sorted(fed, key=lambda tensor: tensor.name)
            tensors = [e for e in needed if isinstance(e, Tensor)]
            signature = self._signature(order, tensors, [e for e in needed if isinstance(e, Operation)])
            results = run(signature, [fed[tensor] for tensor in order])
        return _with_fed(wanted, fed, results)

    def _convert(self, feed_dict: Mapping[Any, Any] | None) -> dict[Tensor, Value]:
        fed = {}
        for part, value, key, whole_value in feeds.flat_items(feed_dict or {}):
            tensor = feeds.feed_tensor(self._graph, part)
            fed[tensor] = feeds.convert(tensor, value, key, whole_value)
        return fed

    def _signature(
        self, fed: Sequence[Tensor], tensors: Sequence[Tensor], targets: Sequence[Operation]
    ) -> Signature:
        key = (tuple(t.name for t in fed), tuple(t.name for t in tensors), tuple(op.name for op in targets))
        signature = self._signatures.get(key)
        if signature is None:
            signature = self._prepare(*key)
            with self._lock:
                self._signatures[key] = signature
                if len(self._signatures) > REMEMBERED:
                    del self._signatures[next(iter(self._signatures))]
        return signature

    def partial_run_setup(self, master: Transport, fetches: Any, keys: Any) -> str:
        """Opens a step that is run in parts."""
        fed: list[Tensor] = []
        for key in keys if isinstance(keys, (list, tuple)) else [] if keys is None else [keys]:
            expansion = expansion_of(key)
            if expansion is not None and expansion.partial_feed is None:
                raise TypeError(f'Feed argument {key} has invalid type "{type(key).__name__}"')
            parts = (
                [key] if expansion is None or expansion.partial_feed is None else expansion.partial_feed(key)
            )
            fed += [feeds.feed_tensor(self._graph, part) for part in parts]
        elements = Fetches(self._graph, fetches, self._session).elements
        return master.partial_run_setup(
            tuple(t.name for t in fed),
            tuple(e.name for e in elements if isinstance(e, Tensor)),
            tuple(e.name for e in elements if isinstance(e, Operation)),
        )

    def partial_run(
        self, master: Transport, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None
    ) -> Any:
        """Runs a part of an open step. Raises RuntimeError if an operation is fetched."""
        fed = self._convert(feed_dict)
        wanted = Fetches(self._graph, fetches, self._session)
        targets = [e for e in wanted.elements if isinstance(e, Operation)]
        if targets:
            raise RuntimeError(
                f"partial_run() requires empty `target_list`. Received: target_list={targets} (non-empty)"
            )
        needed = tuple(e.name for e in wanted.elements if e not in fed)
        results: Sequence[Value] = ()
        if needed or fed:
            results = master.partial_run(handle, {t.name: v for t, v in fed.items()}, needed)
        return _with_fed(wanted, fed, results)


def _run(signature: Signature, values: list[Value]) -> Sequence[Value]:
    return signature(values)


def _cache_key(fetches: Any, keys: tuple[Any, ...]) -> Any:
    """The key of a run by the identities of its objects."""
    kind = type(fetches)
    if kind is list or kind is tuple:
        return kind, tuple(map(id, fetches)), tuple(map(id, keys))
    if kind is dict:
        return tuple(fetches), tuple(map(id, fetches.values())), tuple(map(id, keys))
    return (id(fetches), *map(id, keys)) if keys else id(fetches)


def _all_last(fetches: Any, keys: tuple[Any, ...]) -> bool:
    """Whether a run may be kept: none of its objects is a mere name, nested or composite."""
    kind = type(fetches)
    leaves = fetches.values() if kind is dict else fetches if kind is list or kind is tuple else (fetches,)
    return all(map(_lasts, leaves)) and all(map(_lasts, keys))


def _lasts(value: Any) -> bool:
    kind = type(value)
    return kind is Tensor or kind is Operation or hasattr(kind, "_as_graph_element")


def _copy(fetches: Any) -> Any:
    return fetches.copy() if isinstance(fetches, (list, dict)) else fetches


def _finish(value: Any) -> Any:
    """The value that `run` returns for a tensor: at rank 0 a scalar of NumPy, or bytes."""
    if type(value) is bytes or value.shape:
        return value
    return value[()]


def _expand(elements: Sequence[Any], build: Build) -> Build:
    """`build`, from the results of the tensors alone."""
    places: list[int | None] = []
    count = 0
    for element in elements:
        if isinstance(element, Operation):
            places.append(None)
        else:
            places.append(count)
            count += 1
    if None not in places:
        return lambda results: build([_finish(value) for value in results])
    return lambda results: build([None if place is None else _finish(results[place]) for place in places])


def _with_fed(wanted: Fetches, fed: dict[Tensor, Value], results: Sequence[Value]) -> Any:
    """The result where some of the fetches are fed: these come back as they were converted."""
    remaining = iter(results)
    values: list[Any] = []
    for element in wanted.elements:
        if isinstance(element, Operation):
            values.append(None)
        elif element in fed:
            values.append(np.asarray(fed[element]))
        else:
            values.append(_finish(next(remaining)))
    return wanted.build(values)


def _single_run(
    signature: Signature, plan: list[tuple[int, feeds.Convert]], tensors: Sequence[Tensor]
) -> Run:
    """A run that fetches one tensor or one operation."""
    if not tensors:
        return _general_run(signature, plan, lambda _: None)
    if tensors[0].dtype.base is dtypes.string or len(plan) > 1:
        return _general_run(signature, plan, lambda results: _finish(results[0]))
    if not plan:

        def fetch(_: Iterable[Any]) -> Any:
            value: Any = signature(())[0]
            return value if value.shape else value[()]

        return fetch
    convert = plan[0][1]

    def feed_and_fetch(values: Iterable[Any]) -> Any:
        for value in values:
            result: Any = signature((convert(value),))[0]
            return result if result.shape else result[()]

    return feed_and_fetch


def _general_run(signature: Signature, plan: list[tuple[int, feeds.Convert]], build: Build) -> Run:
    if not plan:
        return lambda _: build(signature(()))
    if [place for place, _ in plan] == list(range(len(plan))):
        converters = [convert for _, convert in plan]

        def in_order(values: Iterable[Any]) -> Any:
            return build(
                signature([convert(value) for convert, value in zip(converters, values, strict=True)])
            )

        return in_order

    def reorder(values: Iterable[Any]) -> Any:
        given = list(values)
        return build(signature([convert(given[place]) for place, convert in plan]))

    return reorder
