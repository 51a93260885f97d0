"""TensorFlow's MasterService, which unmodified TensorFlow clients call."""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tensorfleet.core import errors, tensor_util
from tensorfleet.core.printable import told
from tensorfleet.proto import master_pb2
from tensorfleet.proto.config_pb2 import RunOptions
from tensorfleet.proto.tensor_pb2 import TensorProto
from tensorfleet_service.devices import memory
from tensorfleet_service.graph import tensor_pieces
from tensorfleet_service.master.partial import PartialRuns
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.tensor_protos import as_op_error
from tensorfleet_service.rpc import answers
from tensorfleet_service.rpc.grpc_calls import Call, Methods, Prompt, Reply, Response
from tensorfleet_service.security.guard import Guard

if TYPE_CHECKING:
    from tensorfleet_service.master.master import Master
    from tensorfleet_service.master.session import MasterSession
    from tensorfleet_service.master.signature import MasterSignature
    from tensorfleet_service.master.step import MasterStep
    from tensorfleet_service.threads.deadlines import Deadline, Deadlines

log = logging.getLogger(__name__)

LOCAL = "/tensorflow.MasterService/"


class MasterService:
    """The calls of MasterService on one master."""

    def __init__(self, master: Master, deadlines: Deadlines, guard: Guard | None = None) -> None:
        self._master = master
        self._guard = guard or Guard()
        self._deadlines = deadlines
        self._lock = threading.Lock()
        self._signatures: dict[int, tuple[str, Any]] = {}
        self._callables: dict[str, int] = {}
        """How many callables a session has."""
        self._callable_ids = itertools.count()
        self._partial: dict[str, PartialRuns] = {}
        self._idle: dict[str, Deadline] = {}

    def methods(self) -> Methods:
        """The calls that may wait, by their gRPC names."""
        calls: dict[str, tuple[Any, Any]] = {
            "CreateSession": (master_pb2.CreateSessionRequest, self.create_session),
            "ExtendSession": (master_pb2.ExtendSessionRequest, self.extend_session),
            "PartialRunSetup": (master_pb2.PartialRunSetupRequest, self.partial_run_setup),
            "CloseSession": (master_pb2.CloseSessionRequest, self.close_session),
            "ListDevices": (master_pb2.ListDevicesRequest, self.list_devices),
            "Reset": (master_pb2.ResetRequest, self.reset),
            "MakeCallable": (master_pb2.MakeCallableRequest, self.make_callable),
            "ReleaseCallable": (master_pb2.ReleaseCallableRequest, self.release_callable),
        }
        return {LOCAL + name: call for name, call in calls.items()}

    def prompt(self) -> Prompt:
        return {}

    def running(self) -> Prompt:
        """The calls that are answered at the end of a step."""
        return {
            LOCAL + "RunStep": (master_pb2.RunStepRequest, self.run_step),
            LOCAL + "RunCallable": (master_pb2.RunCallableRequest, self.run_callable),
        }

    def create_session(
        self, request: master_pb2.CreateSessionRequest, call: Call
    ) -> master_pb2.CreateSessionResponse:
        owner, account = call.principal.id, self._guard.quotas.account(call.principal)
        session = self._master.create_session(request.graph_def, request.config, owner, account)
        session.idle_since = time.monotonic()
        self._watch(session)
        session.when_closed(functools.partial(self._forget, session.handle))
        self._audit(call, "create_session", session=session.handle, nodes=len(session.graph.nodes))
        return master_pb2.CreateSessionResponse(
            session_handle=session.handle, graph_version=session.graph.version
        )

    def extend_session(
        self, request: master_pb2.ExtendSessionRequest, call: Call
    ) -> master_pb2.ExtendSessionResponse:
        session = self._session(request.session_handle, call)
        self._audit(call, "extend_session", session=session.handle, nodes=len(request.graph_def.node))
        version = session.extend(request.graph_def, request.current_graph_version)
        return master_pb2.ExtendSessionResponse(new_graph_version=version)

    def run_step(self, request: master_pb2.RunStepRequest, call: Call, reply: Reply) -> None:
        """Runs a step; errors, which may be long, go into the body if the client asks for it."""

        def answer(error: errors.OpError | None, response: Response | None) -> None:
            if error is not None and request.store_errors_in_response_body:
                response = master_pb2.RunStepResponse(
                    status_code=error.error_code,  # type: ignore[arg-type]
                    status_error_message=told(error.message),
                )
                error = None
            reply(error, response)

        def begin(signature: MasterSignature | None) -> None:
            response = master_pb2.RunStepResponse()
            feeds = {feed.name: _value(call, i, feed.tensor) for i, feed in enumerate(request.feed)}
            call.received()
            if len(feeds) != len(request.feed):
                raise errors.InvalidArgumentError(None, None, "A tensor is fed twice in one step")

            def respond(values: Sequence[Any]) -> Response:
                return answers.of_step(response, fetches, values)

            running = _RunningCall(call, respond, answer, session)
            if request.partial_run_handle:
                runs = self._partial.get(session.handle)
                if runs is None:
                    raise errors.InvalidArgumentError(
                        None, None, "Must run 'setup' before performing partial runs!"
                    )
                step = runs.run(request.partial_run_handle, feeds, fetches, running.done)
            else:
                if signature is None:
                    signature = session.prepare(tuple(feeds), fetches, tuple(request.target))
                signature.check_feeds(list(feeds.values()))
                step = self._master.run_step(
                    session,
                    signature,
                    list(feeds.values()),
                    running.done,
                    request.options,
                    response.metadata,
                    may_block=False,
                )
            running.started(step, _seconds(request.options, session), self._deadlines)

        try:
            session = self._session(request.session_handle, call)
            session.request_ids.check_new(request.request_id)
            fetches = tuple(request.fetch)
            prepared = None
            if not request.partial_run_handle:
                names = tuple(feed.name for feed in request.feed)
                prepared = session.prepared(names, fetches, tuple(request.target))
            if prepared is not None:
                begin(prepared)
            else:
                call.keeps_room = True
                call.submit(_answering, begin, answer)  # on the pool, as preparing waits for other tasks
        except Exception as e:
            answer(as_op_error(e, "RunStep"), None)

    def partial_run_setup(
        self, request: master_pb2.PartialRunSetupRequest, call: Call
    ) -> master_pb2.PartialRunSetupResponse:
        session = self._session(request.session_handle, call)
        session.request_ids.check_new(request.request_id)
        with self._lock:
            session.check_open()  # entries of a closed session would never be dropped
            runs = self._partial.setdefault(session.handle, PartialRuns(session))
        return master_pb2.PartialRunSetupResponse(
            partial_run_handle=runs.setup(request.feed, request.fetch, request.target)
        )

    def close_session(
        self, request: master_pb2.CloseSessionRequest, call: Call
    ) -> master_pb2.CloseSessionResponse:
        self._session(request.session_handle, call)
        self._master.close_session(request.session_handle)
        self._audit(call, "close_session", session=request.session_handle)
        return master_pb2.CloseSessionResponse()

    def list_devices(
        self, request: master_pb2.ListDevicesRequest, call: Call
    ) -> master_pb2.ListDevicesResponse:
        return self._session(request.session_handle, call).list_devices()

    def reset(self, request: master_pb2.ResetRequest, call: Call) -> master_pb2.ResetResponse:
        self._audit(call, "reset", containers=list(request.container))
        self._master.reset(list(request.container))
        return master_pb2.ResetResponse()

    def make_callable(
        self, request: master_pb2.MakeCallableRequest, call: Call
    ) -> master_pb2.MakeCallableResponse:
        session = self._session(request.session_handle, call)
        session.request_ids.check_new(request.request_id)
        options = request.options
        signature = session.prepare(tuple(options.feed), tuple(options.fetch), tuple(options.target))
        with self._lock:
            session.check_open()
            made = self._callables.get(session.handle, 0)
            if made >= limits.MAX_CALLABLES:
                raise errors.ResourceExhaustedError(
                    None,
                    None,
                    f"Session {session.handle} has {made} callables, and may have {limits.MAX_CALLABLES}: "
                    "release those that are not needed any longer",
                )
            self._callables[session.handle] = made + 1
            handle = next(self._callable_ids)
            self._signatures[handle] = session.handle, (signature, options.run_options)
        return master_pb2.MakeCallableResponse(handle=handle)

    def run_callable(self, request: master_pb2.RunCallableRequest, call: Call, reply: Reply) -> None:
        session = self._session(request.session_handle, call)
        session.request_ids.check_new(request.request_id)
        found = self._signatures.get(request.handle)
        if found is None or found[0] != request.session_handle:
            raise errors.InvalidArgumentError(None, None, f"No such callable handle: {request.handle}")
        signature, options = found[1]
        response = master_pb2.RunCallableResponse()

        def respond(values: Sequence[Any]) -> Response:
            return answers.of_callable(response, values)

        running = _RunningCall(call, respond, reply, session)
        feeds = [_value(call, i, tensor) for i, tensor in enumerate(request.feed)]
        signature.check_feeds(feeds)
        step = self._master.run_step(
            session, signature, feeds, running.done, options, response.metadata, may_block=False
        )
        running.started(step, _seconds(options, session), self._deadlines)

    def release_callable(
        self, request: master_pb2.ReleaseCallableRequest, call: Call
    ) -> master_pb2.ReleaseCallableResponse:
        session = self._session(request.session_handle, call)
        with self._lock:
            found = self._signatures.get(request.handle)
            if found is None or found[0] != session.handle:
                raise errors.InvalidArgumentError(None, None, f"No such callable handle: {request.handle}")
            del self._signatures[request.handle]
            self._callables[session.handle] -= 1
        return master_pb2.ReleaseCallableResponse()

    def _session(self, handle: str, call: Call) -> MasterSession:
        """The session with a handle, if the caller may use it."""
        session = self._master.session(handle)
        self._guard.check_use(call.principal, session.owner, handle)
        session.idle_since = time.monotonic()
        return session

    def _audit(self, call: Call, event: str, **about: Any) -> None:
        if self._guard.enabled:
            self._guard.audit.write(event, call.principal.id, **about)

    def _watch(self, session: MasterSession) -> None:
        check = functools.partial(self._check_idle, session.handle, session.steps)
        with self._lock:
            if not session.closed:  # otherwise nobody would cancel the deadline
                self._idle[session.handle] = self._deadlines.after(timeouts.IDLE_SESSION_SECONDS, check)

    def _check_idle(self, handle: str, steps: int) -> None:
        """Closes a session without steps for long, as the end of a client by gRPC is not noticed."""
        try:
            session = self._master.session(handle)
            if session.steps != steps or session.running:
                self._watch(session)
                return
            log.info(
                "session %s closed: no step for %g s",
                handle,
                timeouts.IDLE_SESSION_SECONDS,
                extra={"session": handle},
            )
            self._master.close_session(handle)
        except errors.AbortedError:
            pass  # its client has just closed it

    def _forget(self, session: str) -> None:
        """Drops the entries of a closed session."""
        with self._lock:
            idle = self._idle.pop(session, None)
            self._partial.pop(session, None)
            self._callables.pop(session, None)
            for handle in [h for h, (owner, _) in self._signatures.items() if owner == session]:
                del self._signatures[handle]
        if idle is not None:
            idle.cancel()


def _value(call: Call, place: int, tensor: TensorProto) -> Any:
    """The value of a request's fed tensor, whose bytes may be apart from the request."""
    data = call.apart.pop(("feed", place), None)
    try:
        array = tensor_util.make_ndarray(tensor) if data is None else tensor_pieces.array(data)
    except DecodeError as e:
        raise errors.InternalError(None, None, f"Unable to parse a fed tensor: {e}") from None
    except MemoryError as e:
        raise memory.exhausted(f"Out of memory for a received tensor: {e}") from None
    except (ValueError, TypeError) as e:
        raise errors.InvalidArgumentError(None, None, f"A fed tensor cannot be read: {e}") from None
    return array[()] if array.ndim == 0 and array.dtype != object else array


def _seconds(options: RunOptions, session: MasterSession) -> float | None:
    return options.timeout_in_ms / 1000 or session.operation_timeout or None


def _answering(begin: Callable[[None], None], answer: Reply) -> None:
    """Begins a step whose signature has to be prepared."""
    try:
        begin(None)
    except Exception as e:
        answer(as_op_error(e, "RunStep"), None)


class _RunningCall:
    """A call with a running step: each ends with the other, or at the deadline."""

    def __init__(
        self, call: Call, respond: Callable[[Sequence[Any]], Response], reply: Reply, session: MasterSession
    ) -> None:
        self._call = call
        self._session = session
        self._respond = respond
        self._reply = reply
        self._ended = False
        self._deadline: Deadline | None = None

    def done(self, error: errors.OpError | None, values: Sequence[Any]) -> None:
        """Called once, at the end of the step."""
        self._ended = True
        self._session.idle_since = time.monotonic()
        if self._deadline is not None:
            self._deadline.cancel()
        response = None
        if error is None:
            try:
                response = self._respond(values)
            except Exception as e:
                error = as_op_error(e, "the answer of a step")
        self._reply(error, response)

    def started(self, step: MasterStep, timeout: float | None, deadlines: Deadlines) -> None:
        """Watches a started step, which may have ended already."""
        if self._ended:
            return

        def client_gone() -> None:
            if not self._ended:
                step.fail(errors.CancelledError(None, None, "The client's call has ended"))

        if not self._call.add_callback(client_gone):
            client_gone()
        limit = min((t for t in (timeout, self._call.time_remaining()) if t is not None), default=None)
        if limit is not None:
            deadline = self._deadline = deadlines.after(limit, functools.partial(step.time_out, limit))
            if self._ended:
                deadline.cancel()
