"""GrpcPeer: another task without a stream endpoint, reached by TensorFlow's WorkerService.

Its calls go out on one channel. A tensor for TensorFlow's task waits here until that asks, and a tensor from
it is asked for when the step starts. Nothing waits on a
thread: answers come to the one that makes the calls (`grpc_loop`), and are used on one of the pool.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
from google.protobuf.message import EncodeError, Message

from tensorfleet.core import errors
from tensorfleet.proto import worker_pb2
from tensorfleet.security.calls import channel_credentials, metadata
from tensorfleet.security.settings import OPEN, Security
from tensorfleet.wire.connection import cork
from tensorfleet.wire.frames import Method
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.devices.memory import exhausted
from tensorfleet_service.devices.scope import Outgoing
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.graph import message_pieces
from tensorfleet_service.net.grpc_loop import Call, Channel, Ended
from tensorfleet_service.net.limits import check_room, parse
from tensorfleet_service.net.tensor_protos import as_op_error, put_proto, value_of
from tensorfleet_service.threads.run_queue import run_queue

if TYPE_CHECKING:
    from tensorfleet_service.net.peer import MemberDone, TaskService
    from tensorfleet_service.net.wire_graph import Keys
    from tensorfleet_service.tracing.trace import StepTrace

log = logging.getLogger(__name__)

_Response = TypeVar("_Response", bound=Message)

SERVICE = "/tensorflow.WorkerService/"
OWN_ERROR = "tensorfleet-error"  # trailing metadata that mark a status of the task, not of the connection

_NAMES = {
    Method.GET_STATUS: "GetStatus",
    Method.CREATE_WORKER_SESSION: "CreateWorkerSession",
    Method.DELETE_WORKER_SESSION: "DeleteWorkerSession",
    Method.REGISTER_GRAPH: "RegisterGraph",
    Method.DEREGISTER_GRAPH: "DeregisterGraph",
    Method.CLEANUP_ALL: "CleanupAll",
    Method.GET_STEPS: "/tensorfleet.FleetService/GetSteps",
}

CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class WireGraph:
    """A graph that a task has registered: its session, its handle, and its keys."""

    session: str
    handle: str
    keys: Keys


class GrpcPeer:
    """Another task, until a call to it fails for the lack of a connection.

    Args:
        keeps_steps: whether the task keeps its state of a step until it is told that the step is over, as
            TensorFlow's does.
        security: what this process, the task `caller`, shows.
    """

    def __init__(
        self,
        task: str,
        incarnation: int,
        address: str,
        service: TaskService,
        traffic: Traffic,
        keeps_steps: bool = False,
        security: Security = OPEN,
        caller: str = "",
    ) -> None:
        self.keeps_steps = keeps_steps
        self._traffic = traffic
        self.task = task
        self.incarnation = incarnation
        self.address = address
        self.lost: errors.OpError | None = None
        self._service = service
        self._channel = Channel(
            address,
            CHANNEL_OPTIONS,
            None if security.tls is None else channel_credentials(security),
            None
            if not security.secret
            else lambda name, data: metadata(security, address, name, data, incarnation, caller),
        )
        self._lock = threading.Lock()
        self._steps: dict[int, Call] = {}
        self._waited: dict[object, float] = {}  # the time since when the heartbeat has seen each call wait

    def call(self, method: Method, request: Message, response: type[_Response], timeout: float) -> _Response:
        """A call with an answer, within `timeout` seconds."""
        self._check()
        try:
            data = self._sent(message_pieces.serialize(request))
            return response.FromString(
                self._received_bytes(self._channel.wait(_path(_NAMES[method]), data, timeout))
            )
        except grpc.RpcError as e:
            raise self._converted(e) from None

    def notify(self, method: Method, request: Message) -> None:
        """Makes a call whose answer, and whose failure by a lost connection, do not matter."""
        self._tell(_NAMES[method], request)

    def run_graph(
        self,
        step_id: int,
        graph: WireGraph,
        values: Sequence[Any],
        done: MemberDone,
        trace: StepTrace | None,
    ) -> None:
        """Runs a registered graph on the peer; `done` is called once."""
        request = worker_pb2.RunGraphRequest(
            session_handle=graph.session,
            create_worker_session_called=True,
            graph_handle=graph.handle,
            step_id=step_id,
            recv_key=graph.keys.fetches,
            store_errors_in_response_body=True,
            request_id=secrets.randbits(63) or 1,
        )
        request.exec_opts.record_timeline = trace is not None

        def ended(error: grpc.RpcError | None, data: bytes) -> None:
            if self._steps.pop(step_id, None) is not None:
                self._handle(self._answered, error, data, step_id, graph, done, trace)

        try:
            for key, position in graph.keys.feeds:
                put_proto(values[position], request.send.add(name=key).tensor)
            self._start("RunGraph", request, ended, step_id)
        except errors.OpError as e:
            done(e, ())

    def _answered(
        self,
        error: grpc.RpcError | None,
        data: bytes,
        step_id: int,
        graph: WireGraph,
        done: MemberDone,
        trace: StepTrace | None,
    ) -> None:
        try:
            if error is not None:
                raise self._converted(error)
            response = parse(worker_pb2.RunGraphResponse, self._received_bytes(data))
            if trace is not None:
                trace.merge(response.step_stats)
            if response.status_code:
                raise errors.from_code(response.status_code, response.status_error_message)
            found = {named.name: named.tensor for named in response.recv}
            if missing := [key for key in graph.keys.fetches if key not in found]:
                raise errors.InternalError(None, None, f"{self.task} has not returned {missing[0]}")
            values = [value_of(found[key]) for key in graph.keys.fetches]
        except Exception as e:
            done(as_op_error(e, f"the answer of {self.task}"), ())
        else:
            done(None, values)

    def push(self, step_id: int, edge: int, value: Any) -> None:
        """Keeps a tensor until the peer asks for it."""
        if type(value) is Outgoing:
            value = value.to_host()
        self._service.keep(step_id, edge, value)

    def pull(self, step_id: int, edge: int, key: str) -> Callable[[], None]:
        """Asks for a tensor for a step, which an error ends; returns a function that withdraws the request.

        Raises:
            UnavailableError: the peer is lost.
        """

        def ended(error: grpc.RpcError | None, data: bytes) -> None:
            self._handle(self._received, error, data, step_id, edge)

        request = worker_pb2.RecvTensorRequest(
            step_id=step_id, rendezvous_key=key, request_id=secrets.randbits(63) or 1
        )
        return self._start("RecvTensor", request, ended).cancel

    def _received(self, error: grpc.RpcError | None, data: bytes, step_id: int, edge: int) -> None:
        try:
            if error is not None:
                raise self._converted(error)
            response = parse(worker_pb2.RecvTensorResponse, self._received_bytes(data))
            value = DEAD if response.is_dead else value_of(response.tensor)
        except Exception as e:
            self._service.abort(step_id, as_op_error(e, f"a tensor from {self.task}"))
        else:
            self._service.deliver(step_id, (edge,), (value,))

    def abort(self, step_id: int, error: errors.OpError) -> None:
        """Ends a step on the peer, without waiting for its answer."""
        call = self._steps.pop(step_id, None)
        self._tell("CleanupGraph", worker_pb2.CleanupGraphRequest(step_id=step_id))
        if call is not None:
            call.cancel()

    def end_step(self, step_id: int) -> None:
        """Tells the peer that a step is over on all tasks."""
        self._tell("CleanupGraph", worker_pb2.CleanupGraphRequest(step_id=step_id))

    def close(self) -> None:
        self.lose("closed")
        self._channel.close()

    def heard(self, now: float) -> float | None:
        """The monotonic time since when a call or a step has waited for the task; None if none waits."""
        self._waited = {call: self._waited.get(call, now) for call in self._channel.calls.copy()}
        return min(self._waited.values(), default=None)

    def silent(self, why: str) -> None:
        """Gives the other task up as lost, though the connection is not broken; its calls end."""
        self.lose(why)
        self._channel.close()

    def _check(self) -> None:
        """Raises UnavailableError if the peer is lost: a new exception, as one keeps its frames alive."""
        if self.lost is not None:
            raise errors.from_code(self.lost.error_code, self.lost.message)

    def _sent(self, data: bytes) -> bytes:
        self._traffic.sent += 1
        self._traffic.sent_bytes += len(data)
        return data

    def _received_bytes(self, data: bytes) -> bytes:
        self._traffic.received += 1
        self._traffic.received_bytes += len(data)
        return data

    def _handle(self, function: Callable[..., None], *arguments: Any) -> None:
        """Handles an answer on the pool, not on the event loop, as a step may go on with it."""

        def handle() -> None:
            with cork(), run_queue():
                function(*arguments)

        try:
            self._service.submit(handle)
        except (RuntimeError, MemoryError) as e:
            log.warning("an answer of %s is handled on the event loop: %s", self.task, e)
            handle()

    def _start(self, name: str, request: Message, ended: Ended, step_id: int | None = None) -> Call:
        """Begins a call, for a step if it has a number.

        Raises:
            UnavailableError: the peer is lost.
            InvalidArgumentError: the request is larger than a message may be.
            ResourceExhaustedError: there is no memory to send it.
        """
        self._check()
        try:
            data = request.SerializeToString()
        except MemoryError:
            raise exhausted(f"Out of memory for a {type(request).__name__} to {self.task}") from None
        except (ValueError, EncodeError) as e:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The message to {self.task} cannot be sent by gRPC, whose messages hold 2 GiB: {e}",
            ) from None
        check_room(len(data), f"a {type(request).__name__} to {self.task}")
        self._sent(data)
        call = Call(self._channel, _path(name), data, ended)
        if step_id is not None:
            self._steps[step_id] = call
        call.start()
        return call

    def _tell(self, name: str, request: Message) -> None:
        def ended(error: grpc.RpcError | None, data: bytes) -> None:
            if error is not None:
                log.debug("%s not told to %s: %s", name, self.task, error)

        try:
            self._start(name, request, ended)
        except errors.UnavailableError as e:
            log.debug("%s not told to %s: %s", name, self.task, e.message)

    def _converted(self, error: grpc.RpcError) -> errors.OpError:
        """The error for a status, which comes from the task or means the loss of the connection."""
        code, details = error.code(), error.details() or ""
        own = any(key == OWN_ERROR for key, _ in error.trailing_metadata() or ())
        if own or code not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
            if code is grpc.StatusCode.DEADLINE_EXCEEDED and not own:
                details = f"{self.task} ({self.address}) did not answer in time"
            return errors.from_code(code.value[0], details)
        return self.lose(details)

    def lose(self, why: str) -> errors.OpError:
        """Gives the peer up; returns the error that says so, with the first reason."""
        with self._lock:
            first = self.lost is None
            if self.lost is None:
                self.lost = errors.UnavailableError(
                    None, None, f"Lost the connection to {self.task} ({self.address}): {why}"
                )
        if first:
            self._service.peer_lost(self)
        return self.lost


def _path(name: str) -> str:
    """The path of a method, whose name is WorkerService's or a path itself."""
    return name if name.startswith("/") else SERVICE + name
