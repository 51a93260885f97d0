"""Builds the graph of several replicas, each on a thread, one at a time.

A replica runs until its function returns or calls `merge_call`, where it waits for the others. Threads are
used as coroutines: exactly one of them, or the caller, is at work.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.distribute.per_replica import regroup, selected
from tensorfleet.distribute.replica_context import ReplicaContext, entered
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state import variable_scope

# Each replica sees what it has added itself: its loss, its updates.
_OWN = (GraphKeys.LOSSES, GraphKeys.UPDATE_OPS, GraphKeys.SUMMARIES)


class _Abandoned(BaseException):
    """Ends a replica that waits at a merge call because another one has failed."""


class ReplicaOfSeveral(ReplicaContext):
    """The context of one of several replicas."""

    def __init__(self, strategy: Any, number: int, thread: _Replica) -> None:
        super().__init__(strategy, number)
        self._thread = thread

    @property
    def number(self) -> int:
        """The number of the replica in this process, as Python's."""
        return self._id

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica among all, an int32 tensor."""
        return constant(self._strategy.extended.first_replica + self._id, name="replica_id_in_sync_group")

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        replicas: int = self._strategy.num_replicas_in_sync
        return replicas

    @property
    def devices(self) -> tuple[str, ...]:
        """The replica's device."""
        return (self._strategy.extended.worker_devices[self._id],)

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Calls `merge_fn(strategy, *args, **kwargs)` once, when all replicas have come here.

        Arguments that differ among replicas are PerReplica; the replica gets its part of the result.
        """
        return self._thread.merge(merge_fn, tuple(args), dict(kwargs or {}))

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or mean over all replicas, on this one's device; of a value, or a structure of them."""

        def reduced(strategy: Any, given: Any) -> Any:
            return strategy.extended.all_reduced(reduce_op, given)

        return self.merge_call(reduced, args=(value,))


class _Replica(threading.Thread):
    """One replica's thread and its scopes."""

    def __init__(self, strategy: Any, number: int, device: str, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True, name=f"replica {number}")
        self._graph = get_default_graph()
        self._session = get_default_session()
        self._context = ReplicaOfSeveral(strategy, number, self)
        self._call, self._device, self._number = call, device, number
        self._scopes = self._graph.scopes().copy()
        self._variable_scopes = variable_scope.copied_scopes(reuse=number > 0)
        self._collected = {name: list(self._graph.get_collection_ref(name)) for name in _OWN}
        self._known = {name: len(items) for name, items in self._collected.items()}
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._is_abandoned = False
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.merging: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None
        self.name_scope = ""

    def run(self) -> None:
        self._go.acquire()
        try:
            with contextlib.ExitStack() as scopes:
                scopes.enter_context(self._graph.as_default())
                self._graph.use_scopes(self._scopes)
                variable_scope.use_scopes(self._variable_scopes)
                if self._session is not None:
                    scopes.enter_context(self._session.as_default())
                scopes.enter_context(self._context)
                if self._number:
                    scopes.enter_context(framework.name_scope(f"replica_{self._number}"))
                scopes.enter_context(framework.device(self._device))
                if not self._is_abandoned:
                    self.result = self._call()
        except _Abandoned:
            pass
        except BaseException as e:  # the caller raises it
            self.error = e
        finally:
            self.is_done = True
            self._stopped.release()

    def proceed(self) -> None:
        """Lets the replica run to its next stop, with its collections."""
        others = self._exchanged(self._collected)
        try:
            self._go.release()
            # It runs the program's function, for as long as that takes, to its end or to a merge call.
            self._stopped.acquire()
        finally:
            self._collected = self._exchanged(others)

    def _exchanged(self, items: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Puts items into the collections that each replica has of its own; returns those that were there."""
        old = {}
        for name, own in items.items():
            held = self._graph.get_collection_ref(name)
            old[name], held[:] = list(held), own
        return old

    def collected(self) -> dict[str, list[Any]]:
        """What the replica has added to these collections: summaries are the first replica's."""
        added = {name: items[self._known[name] :] for name, items in self._collected.items()}
        return {**added, GraphKeys.SUMMARIES: []} if self._number else added

    def abandon(self) -> None:
        """Ends the replica at its merge call, or before its beginning."""
        self._is_abandoned = True
        if not self.is_done:
            self.proceed()

    def merge(self, merge_fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Stops; returns what the merge call gives this replica."""
        if self._is_abandoned:  # the function has caught the end, or does this on its way out
            raise _Abandoned
        self.merging = merge_fn, args, kwargs
        self.name_scope = self._graph.get_name_scope()
        self._stopped.release()
        self._go.acquire()
        if self._is_abandoned:
            raise _Abandoned
        return self.result


def call_for_each_replica(
    strategy: Any, devices: Sequence[str], fn: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Calls `fn` for each replica, with its parts of the arguments; returns the results, PerReplica where
    they differ.

    Raises:
        RuntimeError: some replicas end where others call `merge_call`.
    """
    replicas = [
        _Replica(
            strategy,
            number,
            device,
            functools.partial(fn, *selected(number, tuple(args)), **selected(number, dict(kwargs or {}))),
        )
        for number, device in enumerate(devices)
    ]
    started: list[_Replica] = []
    try:
        for replica in replicas:
            replica.start()
            started.append(replica)
        while not _all_done(replicas):
            for replica in replicas:
                replica.proceed()
                if replica.error is not None:
                    raise replica.error
            if any(replica.is_done != replicas[0].is_done for replica in replicas):
                raise RuntimeError("Some replicas ended, while others called merge_call.")
            if not replicas[0].is_done:
                _merge(strategy, replicas)
    finally:
        for replica in started:
            replica.abandon()
            replica.join()
    graph = get_default_graph()
    for replica in replicas:
        for collection, items in replica.collected().items():
            graph.get_collection_ref(collection).extend(items)
    return regroup([replica.result for replica in replicas])


def _all_done(replicas: Sequence[_Replica]) -> bool:
    return all(replica.is_done for replica in replicas)


def _merge(strategy: Any, replicas: Sequence[_Replica]) -> None:
    calls = [replica.merging for replica in replicas]
    fns, args, kwargs = zip(*(call for call in calls if call is not None), strict=True)
    scope = replicas[0].name_scope
    with entered(strategy, None), framework.name_scope(f"{scope}/" if scope else None):
        result = fns[0](strategy, *regroup(args), **regroup(kwargs))
    for number, replica in enumerate(replicas):
        replica.merging, replica.result = None, selected(number, result)
