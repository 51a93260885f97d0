"""MasterSession: a client's session on its master.

The graph work of a run signature (feeds, fetches, targets) is done once, by `prepare`; a later step goes from
the look-up straight to the tasks. `graph_work` derives the tasks' parts from the session's graph,
`signature_cache` keeps prepared signatures, `running_steps` has the steps, and `gate` decides whether new
ones may start.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tensorfleet.core import errors, gc_pause
from tensorfleet.graph.graph_part import GraphPart
from tensorfleet.proto import master_pb2
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet_service.graph import large
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master.declared import declared_variables
from tensorfleet_service.master.gate import Gate
from tensorfleet_service.master.graph_work import Cut, GraphWork
from tensorfleet_service.master.members import LocalMember, Member, Registered
from tensorfleet_service.master.prune import after, prune
from tensorfleet_service.master.registration import register
from tensorfleet_service.master.request_ids import RequestIds
from tensorfleet_service.master.running_steps import RunningSteps
from tensorfleet_service.master.signature import MasterSignature
from tensorfleet_service.master.signature_cache import SignatureCache
from tensorfleet_service.tracing.meter import MasterMeter, timed

if TYPE_CHECKING:
    from tensorfleet.proto.graph_pb2 import GraphDef
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.security.quotas import Account

log = logging.getLogger(__name__)


class MasterSession:
    """One session of a client on the master.

    `report` gets the placement of each signature if the client asks for it (log_device_placement). `meter`
    counts steps, if there are metrics.

    Attributes:
        account: of the client, where it has quotas.
        idle_since: the monotonic time of the last call for it; None where its client's end is noticed.
        owner: the id of the principal that has made it; "" without authentication.
        start, run_metered, run_direct: the methods of `RunningSteps`; attributes, as every step calls them.
    """

    def __init__(
        self,
        handle: str,
        config: ConfigProto,
        members: Sequence[Member],
        report: Callable[[str], None] = log.info,
        meter: MasterMeter | None = None,
        owner: str = "",
        account: Account | None = None,
    ) -> None:
        self.handle = handle
        self.owner = owner
        self.config = config
        self.members = {member.task: member for member in members}
        self.graph = SessionGraph()
        self.created = time.time()
        self.idle_since: float | None = None
        self.request_ids = RequestIds()
        self.operation_timeout = config.operation_timeout_in_ms / 1000
        self._lock = threading.Lock()
        self._closed = False
        self._when_closed: list[Callable[[], object]] = []
        self._meter = meter
        self.account = account
        if account is not None:
            self._when_closed.append(account.close_session)
        self._gate = Gate()
        self.check_open = self._gate.check
        work = self._work = GraphWork(
            config, members, lambda text: report(f"placement of session {handle}:\n{text}"), meter
        )
        self._signatures = SignatureCache(
            self._lock,
            self._gate.check,
            partial(work.cut, self.graph),
            partial(_register, handle, meter),
            direct=account is None,
        )
        self._steps = RunningSteps(handle, self._gate, self._signatures.get, meter, account)
        self.start = self._steps.start
        self.run_metered = self._steps.run_metered
        self.run_direct = self._steps.run_direct

    def extend(self, graph_def: GraphDef | GraphPart, current_version: int | None = None) -> int:
        """Adds nodes to the session's graph; returns its new version.

        Raises:
            AbortedError: the client expects another version.
            ResourceExhaustedError: its variables are more than the client may have; nothing was added.
            OpError: the graph is invalid; nothing was added.
        """
        with self._lock:
            if current_version is not None and current_version != self.graph.version:
                raise errors.AbortedError(
                    None,
                    None,
                    f"Expected graph version {current_version} but the current version is "
                    f"{self.graph.version}.",
                )
            account = self.account
            claimed = {}
            if account is not None:
                own = self.handle if self.config.isolate_session_state else ""
                if isinstance(graph_def, GraphPart):
                    graph_def = graph_def.graph_def()
                claimed = account.claim(declared_variables(graph_def, own))
            try:
                with gc_pause.paused():
                    self.graph.extend(graph_def)
            except BaseException:
                if account is not None:
                    account.release(claimed)
                raise
            if self.config.isolate_session_state and account is not None:
                self._when_closed.append(partial(account.release, claimed))
            return self.graph.version

    def prepare(
        self,
        feeds: tuple[str, ...],
        fetches: tuple[str, ...],
        targets: tuple[str, ...],
        ran: frozenset[str] = frozenset(),
    ) -> MasterSignature:
        """The run signature; its graph work is done at its first use.

        Raises:
            OpError: a name is unknown, a node cannot be placed, has no kernel, or a task does not answer.
        """
        try:
            return self._signatures.get((feeds, fetches, targets, ran))
        except errors.OpError as e:
            if self._meter is not None and self._gate.refusal is None:
                self._meter.prepare_errors.add(e.error_code)
            raise

    def pruned(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        ran: frozenset[str] = frozenset(),
    ) -> list[Node]:
        """Copies of the nodes that a signature runs, as they are in the session's graph.

        Raises:
            OpError: a name is unknown, or the session is closed.
        """
        with self._lock:
            self._gate.check()
            graph = after(self.graph, ran)
            nodes = prune(graph, feeds, fetches, targets)
            if graph is not self.graph:
                large.end(list(graph.nodes.values()))
            return nodes

    def prepared(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> MasterSignature | None:
        """The run signature, without waiting; None if it has not been used before."""
        return self._signatures.prepared((feeds, fetches, targets, frozenset()))

    def list_devices(self) -> master_pb2.ListDevicesResponse:
        """The devices of the session: those of the master's task, and those of the others."""
        response = master_pb2.ListDevicesResponse()
        for member in self.members.values():
            found = response.local_device if isinstance(member, LocalMember) else response.remote_device
            found.extend(member.devices)
        return response

    def drain(self, end: float) -> bool:
        """Refuses new steps, and waits for running ones until the monotonic time `end`; whether none runs."""
        return self._gate.drain(self._steps.__len__, end)

    def close(self, error: errors.OpError | None = None) -> None:
        """Ends the session's steps and drops its graphs on the tasks. Variables stay."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._gate.refusal = error or errors.AbortedError(
                None, None, f"Session {self.handle} is not found."
            )
            self._signatures.clear()
            large.discard(self.graph, (self.graph.nodes,))
            self._work.close()
            functions, self._when_closed = self._when_closed, []
        for function in functions:
            function()
        self._steps.cancel("Session was closed.")
        for member in self.members.values():
            member.delete_session(self.handle)

    def when_closed(self, function: Callable[[], object]) -> None:
        """Has `function`, which must not block, called when the session is closed, at once if it is."""
        with self._lock:
            if not self._closed:
                self._when_closed.append(function)
                return
        function()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def is_metered(self) -> bool:
        """Whether steps are counted."""
        return self._steps.is_metered

    @property
    def steps(self) -> int:
        """The number of steps that were started."""
        return self._steps.started

    @property
    def running(self) -> int:
        """The number of running steps."""
        return len(self._steps)

    def running_steps(self) -> list[tuple[int, float, list[str]]]:
        """The running steps: number (0 if they have none), age in seconds, what they wait for."""
        return self._steps.describe()

    @property
    def began(self) -> list[int]:
        """The start times of the running steps, by the performance counter, in nanoseconds."""
        return self._steps.began()

    @property
    def signatures(self) -> int:
        """The number of prepared run signatures."""
        return len(self._signatures)


def _register(session: str, meter: MasterMeter | None, cut: Cut) -> list[Registered]:
    with timed(meter, "register"):
        return register(session, cut.parts)
