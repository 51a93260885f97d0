"""Master: the sessions of one task, for clients in this process and for those on a transport."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorfleet_service.graph.graph import to_graph_def
from tensorfleet_service.master.session import MasterSession
from tensorfleet_service.master.signature import MasterSignature
from tensorfleet_service.net import timeouts
from tensorfleet_service.tracing.trace import StepTrace

if TYPE_CHECKING:
    from tensorfleet.graph.graph_part import GraphPart
    from tensorfleet.proto.graph_pb2 import GraphDef
    from tensorfleet_service.master.members import Member
    from tensorfleet_service.master.step import MasterStep, StepDone
    from tensorfleet_service.security.quotas import Account
    from tensorfleet_service.tracing.meter import MasterMeter

log = logging.getLogger(__name__)

Join = Callable[[str, ConfigProto], "Sequence[Member]"]


class Master:
    """The sessions of one task.

    Args:
        join: the function from the handle and configuration of a new session to its members, the master's own
            first. Raises an OpError that names the tasks that do not answer.
        reset_members: clears containers on the tasks; called with the containers' names.
        report: gets placements that a client wants to see; by default they are logged.
        meter: counts steps, if there are metrics.
        defaults: what sessions have that their own configuration does not say.
    """

    def __init__(
        self,
        join: Join,
        reset_members: Callable[[Sequence[str]], None],
        report: Callable[[str], None] = log.info,
        meter: MasterMeter | None = None,
        defaults: ConfigProto | None = None,
    ) -> None:
        self.sessions_created = 0
        self._defaults = defaults or ConfigProto()
        self._meter = meter
        self._join = join
        self._report = report
        self._reset_members = reset_members
        self._sessions: dict[str, MasterSession] = {}
        self._lock = threading.Lock()
        self._draining = False

    def create_session(
        self,
        graph_def: GraphDef | GraphPart,
        config: ConfigProto,
        owner: str = "",
        account: Account | None = None,
    ) -> MasterSession:
        """Makes a session, which belongs to the principal of the id `owner`, and counts for its account.

        Raises:
            ResourceExhaustedError: a quota of the client's is used up.
            UnavailableError, DeadlineExceededError: a task does not answer.
            OpError: the graph is invalid.
        """
        if self._draining:
            raise errors.UnavailableError(None, None, "The server is shutting down and takes no new sessions")
        handle = secrets.token_hex(8)
        own, config = config, ConfigProto()
        config.CopyFrom(self._defaults)
        config.MergeFrom(own)
        if account is not None:
            self._make_room(account)
            account.open_session()
        try:
            members = self._join(handle, config)
            session = MasterSession(handle, config, members, self._report, self._meter, owner, account)
        except BaseException:
            if account is not None:
                account.close_session()
            raise
        try:
            session.extend(graph_def)
        except BaseException:  # including MemoryError
            session.close()
            raise
        with self._lock:
            self._sessions[handle] = session
            self.sessions_created += 1
        log.info(
            "session %s: %d nodes, %d tasks",
            handle,
            len(session.graph.nodes),
            len(members),
            extra={"session": handle},
        )
        return session

    def _make_room(self, account: Account) -> None:
        """Closes what a client by gRPC may have left behind, if its quota of sessions is used up."""
        while account.has_all_sessions:
            last = time.monotonic() - timeouts.QUOTA_IDLE_SECONDS
            left = [
                (session.idle_since, session.handle)
                for session in self.sessions()
                if session.account is account
                and session.idle_since is not None
                and session.idle_since <= last
                and not session.running
            ]
            if not left:
                return
            _, handle = min(left)
            log.info(
                "session %s closed: no call for %g s, and its client wants another one",
                handle,
                timeouts.QUOTA_IDLE_SECONDS,
                extra={"session": handle},
            )
            with suppress(errors.AbortedError):  # its client, or another new session, has just closed it
                self.close_session(handle)

    def session(self, handle: str) -> MasterSession:
        """The session with a handle.

        Raises:
            AbortedError: there is none, or no longer.
        """
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(None, None, f"Session {handle} is not found.")
        return found

    def sessions(self) -> list[MasterSession]:
        return list(self._sessions.values())

    def close_session(self, handle: str) -> None:
        """Ends a session.

        Raises:
            AbortedError: there is no session with this handle.
        """
        self.session(handle)
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is not None:
            session.close()
            log.info("session %s closed after %d steps", handle, session.steps, extra={"session": handle})

    def reset(self, containers: Sequence[str]) -> None:
        """Closes all sessions and clears containers on all tasks (all containers if none is named)."""
        self.close_sessions(errors.AbortedError(None, None, "The session was closed by Session.reset"))
        self._reset_members(containers)

    def close_sessions(self, error: errors.OpError) -> None:
        """Closes all sessions; their later use raises `error`."""
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close(error)

    def drain(self, seconds: float) -> bool:
        """Refuses new sessions and steps, and waits for the running steps; False if some have not ended."""
        self._draining = True
        end = time.monotonic() + seconds
        return all([session.drain(end) for session in self.sessions()])

    def run_step(
        self,
        session: MasterSession,
        signature: MasterSignature,
        feeds: Sequence[Any],
        done: StepDone,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        may_block: bool = True,
    ) -> MasterStep:
        """Starts a step. What `options` ask for, as a trace, is in `metadata` before `done` is called."""
        if options is None or metadata is None:
            return session.start(signature, feeds, done, None, may_block)
        if options.output_partition_graphs:
            for _, nodes in signature.graphs:
                to_graph_def(nodes, into=metadata.partition_graphs.add())
        if options.trace_level < RunOptions.SOFTWARE_TRACE:
            return session.start(signature, feeds, done, None, may_block)
        trace = StepTrace(node.assigned for _, nodes in signature.graphs for node in nodes)

        def end(error: errors.OpError | None, values: list[Any]) -> None:
            trace.step_stats(metadata.step_stats)
            done(error, values)

        return session.start(signature, feeds, end, trace, may_block)
