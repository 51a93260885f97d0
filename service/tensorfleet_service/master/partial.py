"""Partial runs: a step that is fed and fetched in parts (`Session.partial_run`).

Each part runs as a step of its own. Tensors that one part computes and later ones need are fetched with it,
kept here, and fed to the next ones. So no op runs twice, wherever it is placed.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors, gc_pause
from tensorfleet_service.graph import large
from tensorfleet_service.master.step import MasterStep
from tensorfleet_service.net import limits

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.master.session import MasterSession
    from tensorfleet_service.master.step import StepDone


class PartialRuns:
    """The open partial runs of a session."""

    def __init__(self, session: MasterSession) -> None:
        self._session = session
        self._runs: dict[str, _PartialRun] = {}
        self._nodes = 0  # of all of them
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def setup(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> str:
        """Opens a partial run with all feeds and fetches of its parts; returns its handle."""
        run = _PartialRun(self._session, feeds, fetches, targets)
        handle = f"{self._session.handle}-{next(self._ids)}"
        dropped = []
        with self._lock:
            self._runs[handle] = run
            self._nodes += run.size
            while len(self._runs) > 1 and (
                len(self._runs) > limits.MAX_OPEN_RUNS or self._nodes > limits.MAX_OPEN_RUN_NODES
            ):
                dropped.append(self._runs.pop(next(iter(self._runs))))
                self._nodes -= dropped[-1].size
        return handle

    def run(self, handle: str, feeds: dict[str, Any], fetches: Sequence[str], done: StepDone) -> MasterStep:
        """Starts a part; `done` is called once, possibly before this returns.

        Raises:
            InvalidArgumentError: the run has ended or is unknown, or a name was not set up or was used
                already.
        """
        run = self._runs.get(handle)
        if run is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Must run 'setup' before performing partial runs! None is left after the last fetch.",
            )
        step, last = run.run(feeds, fetches, done)
        if last:
            with self._lock:
                if self._runs.pop(handle, None) is not None:
                    self._nodes -= run.size
        return step


class _PartialRun:
    def __init__(
        self, session: MasterSession, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> None:
        self._session = session
        feeds, fetches = tuple(feeds), tuple(fetches)  # a message makes their texts anew each time
        self._declared_feeds, self._declared_fetches = frozenset(feeds), frozenset(fetches)
        self._feeds = set(feeds)
        self._fetches = dict.fromkeys(fetches)
        self._targets = list(targets)
        self._whole: list[Node] = []
        with gc_pause.paused():
            self._whole += session.pruned(feeds, fetches, targets)
        self.size = len(self._whole) + len(feeds) + len(fetches) + len(self._targets)
        large.keep(self, len(self._whole))
        self._values: dict[str, Any] = {}  # fed values and kept results, by tensor name
        self._ran: set[str] = set()
        self._failed: errors.OpError | None = None
        self._lock = threading.Lock()

    def __del__(self, discard: Callable[..., None] = large.discard) -> None:
        discard(self, (getattr(self, "_whole", ()),))

    def run(self, feeds: dict[str, Any], fetches: Sequence[str], done: StepDone) -> tuple[MasterStep, bool]:
        """Starts a part; its step, and whether it is the last one."""
        with self._lock:
            if self._failed is not None:
                raise self._failed
            _check_pending(feeds, self._feeds, self._declared_feeds, "feed", "fed")
            _check_pending(fetches, self._fetches, self._declared_fetches, "fetch", "fetched")
            last = len(self._fetches) == len(fetches)
            known = [*self._values, *feeds]
            # Values that an earlier part has computed are kept here.
            wanted = [name for name in fetches if name not in self._values]
            targets = [name for name in self._targets if name not in self._ran] if last else []
            ran = frozenset(self._ran)
            extra: list[str] = []
            signature = None
            if wanted or targets:
                with gc_pause.paused():
                    missing = self._feeds.difference(feeds)
                    extra = self._left_for_others(known, wanted, targets, ran, fetches, missing)
                signature = self._session.prepare(tuple(known), (*wanted, *extra), tuple(targets), ran)
            self._feeds.difference_update(feeds)
            self._values.update(feeds)
            for name in fetches:
                del self._fetches[name]
            values = [self._values[name] for name in known]

        def end(error: errors.OpError | None, results: list[Any]) -> None:
            if error is not None:
                self._failed = error
                done(error, [])
                return
            self._values.update(zip((*wanted, *extra), results, strict=True))
            done(None, [self._values[name] for name in fetches])

        if signature is None:
            self._session.check_open()
            step = MasterStep(0, (), 0, end)
            step.start(())
            return step, last
        return self._session.start(signature, values, end, may_block=False), last

    def _left_for_others(
        self,
        known: Sequence[str],
        wanted: Sequence[str],
        targets: Sequence[str],
        ran: frozenset[str],
        fetches: Sequence[str],
        missing: set[str],
    ) -> list[str]:
        """The tensors that a part has to return beside those that are wanted, as later parts need them."""
        nodes = self._session.pruned(known, wanted, targets, ran)
        try:
            self._check_fed(nodes, fetches, missing)
            own = set(wanted)
            return [name for name in self._frontier(nodes, set(known)) if name not in own]
        finally:
            large.end(nodes)

    def _check_fed(self, nodes: Sequence[Node], fetches: Sequence[str], missing: set[str]) -> None:
        for node in nodes:
            for source, index in node.inputs:
                name = f"{source.name}:{index}"
                if name in missing:
                    raise errors.InvalidArgumentError(
                        None,
                        None,
                        f"Fetch {fetches[0] if fetches else ''} can't be computed from the feeds that have "
                        f"been fed so far: {name} is missing.",
                    )

    def _frontier(self, nodes: Sequence[Node], known: set[str]) -> list[str]:
        """The tensors that this part computes and a later one needs."""
        computed = {node.name for node in nodes if not node.op.startswith("_")}
        needed: dict[str, None] = {}
        for node in self._whole:
            if node.name in computed or node.name in self._ran:
                continue
            for source, index in node.inputs:
                dtype = source.output_types[index]
                name = f"{source.name}:{index}"
                # References and handles cannot be fed, and come from the variable again.
                if (
                    source.name in computed
                    and name not in known
                    and (not dtype.is_ref or node.op == "_Retval")
                    and dtype.np is not None
                ):
                    needed[name] = None
        self._ran |= computed
        return list(needed)


def _check_pending(
    names: Iterable[str], pending: Container[str], declared: frozenset[str], kind: str, done: str
) -> None:
    """Raises InvalidArgumentError for a name that was not set up, or that an earlier part has had."""
    for name in names:
        if name not in declared:
            message = f"The {kind} {name} was not specified in partial_run_setup."
        elif name not in pending:
            message = f"The {kind} {name} has already been {done}."
        else:
            continue
        raise errors.InvalidArgumentError(None, None, message)
