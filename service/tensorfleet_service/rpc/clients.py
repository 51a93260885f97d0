"""Clients on the stream transport: their calls to this task's master.

A client has at most one call under way on a connection (its threads use a connection each), so that the
thread that reads the connection may run the step itself. While a step waits for other tasks, the thread is
back at reading,
and sees a client that is gone: its step is cancelled.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import errors
from tensorfleet.proto import master_pb2
from tensorfleet.proto.config_pb2 import RunMetadata, RunOptions
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.frames import (
    UNKNOWN_CALLABLE,
    Frame,
    FrameTooLarge,
    Kind,
    Method,
    encode,
    pack_error,
)
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices import blocks
from tensorfleet_service.graph import message_pieces
from tensorfleet_service.master.partial import PartialRuns
from tensorfleet_service.net import limits
from tensorfleet_service.net.admission import client_of
from tensorfleet_service.net.tensor_protos import as_op_error
from tensorfleet_service.net.timeouts import ORPHAN_SECONDS
from tensorfleet_service.rpc.callables import Callables
from tensorfleet_service.rpc.waiting_client import WaitingClient
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.security.principal import ANYBODY, Principal
from tensorfleet_service.threads.running import RUNNING
from tensorfleet_service.threads.turns import Turns

if TYPE_CHECKING:
    from tensorfleet_service.master.master import Master
    from tensorfleet_service.master.session import MasterSession
    from tensorfleet_service.master.signature import MasterSignature
    from tensorfleet_service.master.step import MasterStep
    from tensorfleet_service.threads.deadlines import Deadline, Deadlines

log = logging.getLogger(__name__)


class Clients:
    """Serves the master to the clients' connections."""

    def __init__(
        self,
        master: Master,
        deadlines: Deadlines,
        orphan_seconds: float = ORPHAN_SECONDS,
        guard: Guard | None = None,
    ) -> None:
        self.master = master
        self.guard = guard or Guard()
        self._orphan_seconds = orphan_seconds
        self.deadlines = deadlines
        self.turns = Turns(max(blocks.thread_count(), 2))
        self.callables = Callables()
        self.partial: dict[str, PartialRuns] = {}
        self.traffic = Traffic()
        self.draining = False
        self._connected: set[_Client] = set()
        self._idle = threading.Condition()
        self._users: dict[str, int] = {}
        self._orphans: dict[str, object] = {}  # sessions that nobody uses, each with a mark of this time
        self._lock = threading.Lock()

    def accept(self, connection: Connection, principal: Principal = ANYBODY) -> None:
        """Serves a principal's connection on the calling thread, until it ends."""
        connection.count_in(self.traffic)
        client = _Client(self, connection, principal)
        self._connected.add(client)
        try:
            client.serve()
        finally:
            self._connected.discard(client)
            self.answered()

    @property
    def connections(self) -> int:
        """The number of open connections of clients."""
        return len(self._connected)

    def session(self, handle: str, principal: Principal) -> MasterSession:
        """The session of a handle.

        Raises:
            AbortedError: there is none.
            PermissionDeniedError: it is another one's.
        """
        session = self.master.session(handle)
        self.guard.check_use(principal, session.owner, handle)
        return session

    def check_principals(self) -> None:
        """Ends the connections of those whose tokens are not accepted any more."""
        for client in self._connected.copy():
            if not self.guard.still(client.principal):
                log.warning("a connection of %s is ended: its token was revoked", client.principal.id)
                client.refuse(self.guard.refusal("the token was revoked, or has expired"))

    def drain(self, end: float) -> bool:
        """Waits until every step is answered, or the monotonic time is `end`; whether all are.

        The answers may still be on their way to the sockets: see `flush`.
        """
        self.draining = True
        with self._idle:
            return self._idle.wait_for(
                lambda: not any(client.busy for client in self._connected.copy()), end - time.monotonic()
            )

    def answered(self) -> None:
        """A step was answered while the task drains, or a connection has ended."""
        with self._idle:
            self._idle.notify_all()

    def flush(self, end: float) -> None:
        """Waits until the sockets have taken all answers, or the monotonic time is `end`."""
        for client in self._connected.copy():
            client.flush(max(end - time.monotonic(), 0))

    def attach(self, handle: str) -> None:
        """A connection uses a session."""
        with self._lock:
            self._users[handle] = self._users.get(handle, 0) + 1
            self._orphans.pop(handle, None)

    def detach(self, handle: str) -> None:
        """A connection that used a session has ended; without any, the session is closed after a while."""
        with self._lock:
            left = self._users.get(handle, 1) - 1
            if left:
                self._users[handle] = left
                return
            self._users.pop(handle, None)
        try:
            self.master.session(handle)
        except errors.AbortedError:
            self.forget(handle)  # closed by its client, as it should be, or by a reset
            return
        mark = object()
        with self._lock:
            if handle in self._users:
                return  # another connection uses it by now
            self._orphans[handle] = mark
        self.deadlines.after(self._orphan_seconds, lambda: self._close_orphan(handle, mark))

    def _close_orphan(self, handle: str, mark: object) -> None:
        """Closes a session unless it has been used since it got the mark."""
        with self._lock:
            if self._orphans.get(handle) is not mark:
                return
            del self._orphans[handle]
        try:
            self.close_session(handle)
            log.info("session %s closed: its client is gone", handle, extra={"session": handle})
        except errors.AbortedError:
            self.forget(handle)  # closed meanwhile

    def close_session(self, handle: str) -> None:
        """Closes a session and forgets its signatures."""
        try:
            self.master.close_session(handle)
        finally:
            self.forget(handle)

    def forget(self, handle: str) -> None:
        """Drops what is known of a session that is closed."""
        self.partial.pop(handle, None)
        self.callables.forget(handle)


class _Client:
    """One connection of a client."""

    def __init__(self, clients: Clients, connection: Connection, principal: Principal = ANYBODY) -> None:
        self._clients = clients
        self.principal = principal
        self._turns = clients.turns
        self._share = clients.turns.share(principal.own_name or client_of(connection.sock))
        self._connection = connection
        self._sessions: set[str] = set()
        self._step: MasterStep | None = None
        self._waiting = WaitingClient(connection)
        self.busy = False  # from a step's request until its answer is handed to the connection

    def serve(self) -> None:
        np.seterr(all="ignore")  # this thread runs kernels
        RUNNING.client = self._waiting
        read = self._connection.reader.read
        try:
            while True:
                try:
                    frame = read()
                except FrameTooLarge as e:
                    self._answer_error(e.number, limits.frame_error(e))
                    self._connection.reader.skip(e)
                    continue
                if frame.kind == Kind.RUN:
                    self._run(frame)
                elif frame.kind == Kind.CALL:
                    self._call(frame)
                else:
                    raise ValueError(f"a frame of kind {frame.kind} from a client")
                del frame
        except (EOFError, OSError):
            pass  # the client is done with this connection, or gone
        except (ValueError, DecodeError) as e:
            log.warning("a client sent what cannot be understood, and its connection is given up: %s", e)
            self._connection.refuse(
                errors.InvalidArgumentError(None, None, f"The server cannot understand what came: {e}")
            )
        except Exception:
            log.exception("a client's connection is given up")
        finally:
            self._connection.close()
            RUNNING.client = None
            step = self._step
            if step is not None:
                step.fail(errors.CancelledError(None, None, "The client's connection was lost"))
            for handle in self._sessions:
                self._clients.detach(handle)

    def flush(self, timeout: float) -> None:
        self._connection.flush(timeout)

    def refuse(self, error: errors.OpError) -> None:
        """Ends the connection."""
        self._connection.refuse(error)

    def _session(self, handle: str) -> MasterSession:
        return self._clients.session(handle, self.principal)

    def _audit(self, event: str, **about: Any) -> None:
        if self._clients.guard.enabled:
            self._clients.guard.audit.write(event, self.principal.id, **about)

    def _ended(self) -> None:
        """A step's answer was handed to the connection."""
        self.busy = False
        if self._clients.draining:
            self._clients.answered()

    # Steps

    def _run(self, frame: Frame) -> None:
        self.busy = True
        found = self._clients.callables.get(frame.detail)
        if found is None:
            self._fail(frame.number, errors.AbortedError(None, None, UNKNOWN_CALLABLE))
            return
        session, signature = found
        handle = session.handle
        if handle not in self._sessions:
            try:
                self._clients.guard.check_use(self.principal, session.owner, handle)
            except errors.OpError as e:
                self._fail(frame.number, e)
                return
            self._sessions.add(handle)
            self._clients.attach(handle)
        began = self._turns.take(self._share)
        try:
            signature.check_feeds(frame.tensors)
            self._waiting.begin(session)
            if signature.direct is not None and not frame.meta and not session.operation_timeout:
                RUNNING.step = self._waiting
                try:
                    values = session.run_metered(signature, frame.tensors)
                finally:
                    RUNNING.step = None
                self._answer(frame.number, values)
                self._ended()
            else:
                self._start(frame, session, signature)
        except errors.OpError as e:
            self._fail(frame.number, e)
        finally:
            self._waiting.end()
            self._turns.give(self._share, began)

    def _fail(self, request: int, error: errors.OpError) -> None:
        """Answers a step with an error."""
        self._answer_error(request, error)
        self._ended()

    def _start(self, frame: Frame, session: MasterSession, signature: MasterSignature) -> None:
        options = RunOptions.FromString(frame.meta) if frame.meta else None
        metadata = RunMetadata() if options is not None else None
        timeout = (options.timeout_in_ms / 1000 if options is not None else 0) or session.operation_timeout
        done = _Done(self, frame.number, metadata)
        # A step with a limit does not compute on this thread, which is the one that sets the limit; nor does
        # one that may last: this thread is the one that notices when the client has gone.
        may_block = not timeout and not signature.lasts
        step = self._clients.master.run_step(
            session, signature, frame.tensors, done, options, metadata, may_block
        )
        self._watch(step, done, timeout)

    def _watch(self, step: MasterStep, done: _Done, timeout: float) -> None:
        """Has the step end at its limit, and with this connection."""
        self._step = step
        if timeout:
            done.deadline = self._clients.deadlines.after(timeout, lambda: step.time_out(timeout))
        if done.ended:
            # Before or while both were set: nobody else lets go of them then.
            self._step = None
            if done.deadline is not None:
                done.deadline.cancel()

    def step_done(
        self, request: int, error: errors.OpError | None, values: Sequence[Any], metadata: RunMetadata | None
    ) -> None:
        self._step = None
        try:
            if metadata is not None:
                self._connection.send(encode(Kind.TRACED, request, 0, message_pieces.serialize(metadata)))
            if error is not None:
                self._answer_error(request, error)
            else:
                self._answer(request, values)
        except errors.OpError as e:
            self._answer_error(request, e)
        except OSError:
            log.debug("a step's client is gone")
        self._ended()

    def _answer(self, request: int, values: Sequence[Any]) -> None:
        connection = self._connection
        connection.send(encode(Kind.RESULT, request, 0, b"", values, arena=connection.arena))

    def _answer_error(self, request: int, error: errors.OpError) -> None:
        code, text = pack_error(error)
        self._connection.send(encode(Kind.ERROR, request, code, text))

    # Calls

    def _call(self, frame: Frame) -> None:
        function = _CALLS.get(frame.detail)
        try:
            if frame.detail == Method.RUN_STEP:
                self.busy = True
                self._partial_run(frame)
                return
            if function is None:
                raise errors.UnimplementedError(None, None, f"Call {frame.detail} is not known")
            reply = function(self, frame.meta)
        except errors.OpError as e:
            self._fail(frame.number, e)
        except DecodeError as e:
            message = f"The request of call {frame.detail} cannot be read: {e}"
            self._fail(frame.number, errors.InvalidArgumentError(None, None, message))
        except OSError:
            raise
        except Exception as e:
            self._fail(frame.number, as_op_error(e, f"call {frame.detail}"))
        else:
            self._connection.send(encode(Kind.REPLY, frame.number, 0, message_pieces.serialize(reply)))

    def _create_session(self, data: bytes) -> master_pb2.CreateSessionResponse:
        request = limits.parse(master_pb2.CreateSessionRequest, data)
        owner, account = self.principal.id, self._clients.guard.quotas.account(self.principal)
        session = self._clients.master.create_session(request.graph_def, request.config, owner, account)
        self._audit("create_session", session=session.handle, nodes=len(session.graph.nodes))
        self._sessions.add(session.handle)
        self._clients.attach(session.handle)
        return master_pb2.CreateSessionResponse(
            session_handle=session.handle, graph_version=session.graph.version
        )

    def _extend_session(self, data: bytes) -> master_pb2.ExtendSessionResponse:
        request = limits.parse(master_pb2.ExtendSessionRequest, data)
        session = self._session(request.session_handle)
        self._audit("extend_session", session=session.handle, nodes=len(request.graph_def.node))
        version = session.extend(request.graph_def, request.current_graph_version)
        return master_pb2.ExtendSessionResponse(new_graph_version=version)

    def _make_callable(self, data: bytes) -> master_pb2.MakeCallableResponse:
        request = limits.parse(master_pb2.MakeCallableRequest, data)
        clients = self._clients
        session = self._session(request.session_handle)
        options = request.options
        signature = session.prepare(tuple(options.feed), tuple(options.fetch), tuple(options.target))
        handle = clients.callables.number(session, signature)
        try:
            self._session(session.handle)
        except errors.OpError:
            clients.forget(session.handle)  # closed meanwhile: nobody else would
            raise
        return master_pb2.MakeCallableResponse(handle=handle)

    def _partial_run_setup(self, data: bytes) -> master_pb2.PartialRunSetupResponse:
        request = limits.parse(master_pb2.PartialRunSetupRequest, data)
        session = self._session(request.session_handle)
        runs = self._clients.partial.setdefault(session.handle, PartialRuns(session))
        return master_pb2.PartialRunSetupResponse(
            partial_run_handle=runs.setup(request.feed, request.fetch, request.target)
        )

    def _partial_run(self, frame: Frame) -> None:
        request = limits.parse(master_pb2.RunStepRequest, frame.meta)
        if len(request.feed) != len(frame.tensors):
            message = f"Expected {len(request.feed)} feed tensors, but got {len(frame.tensors)}"
            raise errors.InvalidArgumentError(None, None, message)
        runs = self._clients.partial.get(request.session_handle)
        if runs is None:
            raise errors.InvalidArgumentError(None, None, "Must run 'setup' before performing partial runs!")
        self._session(request.session_handle)
        feeds = dict(zip((feed.name for feed in request.feed), frame.tensors, strict=True))
        done = _Done(self, frame.number, None)
        step = runs.run(request.partial_run_handle, feeds, list(request.fetch), done)
        timeout = (
            request.options.timeout_in_ms / 1000
            or self._clients.master.session(request.session_handle).operation_timeout
        )
        self._watch(step, done, timeout)

    def _close_session(self, data: bytes) -> master_pb2.CloseSessionResponse:
        request = master_pb2.CloseSessionRequest.FromString(data)
        self._session(request.session_handle)
        self._clients.close_session(request.session_handle)
        self._audit("close_session", session=request.session_handle)
        return master_pb2.CloseSessionResponse()

    def _list_devices(self, data: bytes) -> master_pb2.ListDevicesResponse:
        request = master_pb2.ListDevicesRequest.FromString(data)
        return self._session(request.session_handle).list_devices()

    def _reset(self, data: bytes) -> master_pb2.ResetResponse:
        request = master_pb2.ResetRequest.FromString(data)
        if not self.principal.may("admin"):
            error = self._clients.guard.forbidden(self.principal, "admin", "Reset")
            self._audit("refused", call="Reset", reason=error.message)
            raise error
        self._audit("reset", containers=list(request.container))
        self._clients.master.reset(list(request.container))
        return master_pb2.ResetResponse()


_CALLS: dict[int, Callable[[_Client, bytes], Any]] = {
    Method.CREATE_SESSION: _Client._create_session,
    Method.EXTEND_SESSION: _Client._extend_session,
    Method.MAKE_CALLABLE: _Client._make_callable,
    Method.PARTIAL_RUN_SETUP: _Client._partial_run_setup,
    Method.CLOSE_SESSION: _Client._close_session,
    Method.LIST_DEVICES: _Client._list_devices,
    Method.RESET: _Client._reset,
}


class _Done:
    """The callback of one step."""

    __slots__ = ("client", "deadline", "ended", "metadata", "request")

    def __init__(self, client: _Client, request: int, metadata: RunMetadata | None) -> None:
        self.client = client
        self.request = request
        self.metadata = metadata
        self.ended = False
        self.deadline: Deadline | None = None

    def __call__(self, error: errors.OpError | None, values: Sequence[Any]) -> None:
        self.ended = True
        if self.deadline is not None:
            self.deadline.cancel()
        self.client.step_done(self.request, error, values, self.metadata)
