"""GrpcPeer: another task that offers no stream endpoint, reached by TensorFlow's WorkerService.

Its calls go out on one channel. A tensor for it waits here until it asks, and a tensor from it is asked for
when the step starts. Nothing waits on a thread: answers come as callbacks, whose work is done on the pool.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
from google.protobuf.message import Message

from tensorfleet import errors, tensor_util
from tensorfleet.proto import worker_pb2
from tensorfleet.stream import Method
from tensorfleet.traffic import Traffic
from tensorfleet_service.worker import memory
from tensorfleet_service.worker.dead import DEAD

if TYPE_CHECKING:
    from tensorfleet.proto.tensor_pb2 import TensorProto
    from tensorfleet_service.observe.trace import StepTrace
    from tensorfleet_service.worker.peer import MemberDone, TaskService

log = logging.getLogger(__name__)

_Response = TypeVar("_Response", bound=Message)

SERVICE = "/tensorflow.WorkerService/"
OWN_ERROR = (
    "tensorfleet-error"  # trailing metadata of a status that the task itself gave, not the connection to it
)

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
    # A step may wait for hours; a machine that is gone is noticed within half a minute all the same.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


class GrpcPeer:
    """Another task, until a call to it fails for the lack of a connection."""

    def __init__(
        self, task: str, incarnation: int, address: str, service: TaskService, traffic: Traffic
    ) -> None:
        self._traffic = traffic
        self.task = task
        self.incarnation = incarnation
        self.address = address
        self.lost: errors.OpError | None = None
        self._service = service
        self._channel = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        self._stubs: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._steps: dict[int, grpc.Future] = {}

    def call(self, method: Method, request: Message, response: type[_Response], timeout: float) -> _Response:
        """A call with an answer, within `timeout` seconds."""
        if self.lost is not None:
            raise self.lost
        try:
            answer = self._stub(_NAMES[method])(self._sent(request.SerializeToString()), timeout=timeout)
            return response.FromString(self._received_bytes(answer))
        except grpc.RpcError as e:
            raise self._converted(e) from None

    def notify(self, method: Method, request: Message) -> None:
        """A call whose answer does not matter; a lost connection does not, either."""
        self._tell(_NAMES[method], request)

    def run_graph(
        self, step_id: int, handle: int, values: Sequence[Any], done: MemberDone, trace: StepTrace | None
    ) -> None:
        """Runs a registered graph on the peer; `done` is called once."""
        request = worker_pb2.RunGraphRequest(
            graph_handle=str(handle),
            step_id=step_id,
            store_errors_in_response_body=True,
            request_id=secrets.randbits(63) or 1,
        )
        request.exec_opts.record_timeline = trace is not None
        for i, value in enumerate(values):
            request.send.add(name=f"feed_{i}", tensor=tensor_util.to_proto(value))

        def ended(future: grpc.Future) -> None:
            self._steps.pop(step_id, None)
            if not future.cancelled():
                self._service.submit(self._answered, future, done, trace)

        try:
            self._start("RunGraph", request, ended, lambda future: self._steps.__setitem__(step_id, future))
        except errors.UnavailableError as e:
            done(e, ())

    def _answered(self, future: grpc.Future, done: MemberDone, trace: StepTrace | None) -> None:
        try:
            response = worker_pb2.RunGraphResponse.FromString(self._received_bytes(future.result()))
            if trace is not None:
                trace.merge(response.step_stats)
            if response.status_code:
                raise errors.from_code(response.status_code, response.status_error_message)
            values = [value_of(named.tensor) for named in response.recv]
        except grpc.RpcError as e:
            done(self._converted(e), ())
        except errors.OpError as e:
            done(e, ())
        else:
            done(None, values)

    def push(self, step_id: int, edge: int, value: Any) -> None:
        """Keeps a tensor until the peer asks for it."""
        self._service.keep(step_id, edge, value)

    def pull(self, step_id: int, edge: int, key: str) -> Callable[[], None]:
        """Asks for a tensor, which is delivered to its step, or ends it; returns what withdraws the question.

        Raises:
            UnavailableError: the peer is lost.
        """
        asked: list[grpc.Future] = []

        def ended(future: grpc.Future) -> None:
            if not future.cancelled():
                self._service.submit(self._received, future, step_id, edge)

        request = worker_pb2.RecvTensorRequest(
            step_id=step_id, rendezvous_key=key, request_id=secrets.randbits(63) or 1
        )
        self._start("RecvTensor", request, ended, asked.append)

        def withdraw() -> None:
            asked[0].cancel()

        return withdraw

    def _received(self, future: grpc.Future, step_id: int, edge: int) -> None:
        try:
            response = worker_pb2.RecvTensorResponse.FromString(self._received_bytes(future.result()))
            value = DEAD if response.is_dead else value_of(response.tensor)
        except grpc.RpcError as e:
            self._service.abort(step_id, self._converted(e))
        except errors.OpError as e:
            self._service.abort(step_id, e)
        else:
            self._service.deliver(step_id, (edge,), (value,))

    def abort(self, step_id: int, error: errors.OpError) -> None:
        """Ends a step on the peer; its answer is not waited for any more."""
        future = self._steps.pop(step_id, None)
        self._tell("CleanupGraph", worker_pb2.CleanupGraphRequest(step_id=step_id))
        if future is not None:
            future.cancel()

    def close(self) -> None:
        self._lose("closed")
        self._channel.close()

    def _sent(self, data: bytes) -> bytes:
        self._traffic.sent += 1
        self._traffic.sent_bytes += len(data)
        return data

    def _received_bytes(self, data: bytes) -> bytes:
        self._traffic.received += 1
        self._traffic.received_bytes += len(data)
        return data

    def _stub(self, name: str) -> Any:
        stub = self._stubs.get(name)
        if stub is None:
            stub = self._stubs[name] = self._channel.unary_unary(name if name[0] == "/" else SERVICE + name)
        return stub

    def _start(
        self,
        name: str,
        request: Message,
        ended: Callable[[grpc.Future], None],
        started: Callable[[grpc.Future], None],
    ) -> None:
        """Begins a call: `started` gets its future first, `ended` the same when it is over, on gRPC's thread.

        Raises:
            UnavailableError: the peer is lost.
        """
        if self.lost is not None:
            raise self.lost
        try:
            future = self._stub(name).future(self._sent(request.SerializeToString()))
        except ValueError:  # the channel was closed meanwhile
            raise self._lose("closed") from None
        started(future)
        future.add_done_callback(ended)

    def _tell(self, name: str, request: Message) -> None:
        def ended(future: grpc.Future) -> None:
            if not future.cancelled() and future.exception() is not None:
                log.debug("%s not told to %s: %s", name, self.task, future.exception())

        try:
            self._start(name, request, ended, lambda future: None)
        except errors.UnavailableError as e:
            log.debug("%s not told to %s: %s", name, self.task, e.message)

    def _converted(self, error: grpc.RpcError) -> errors.OpError:
        """The error for a status: one that the task gave, or the loss of the connection to it."""
        code, details = error.code(), error.details() or ""
        own = any(key == OWN_ERROR for key, _ in error.trailing_metadata() or ())
        if own or code not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
            if code is grpc.StatusCode.DEADLINE_EXCEEDED and not own:
                details = f"{self.task} ({self.address}) did not answer in time"
            return errors.from_code(code.value[0], details)
        return self._lose(details)

    def _lose(self, why: str) -> errors.OpError:
        with self._lock:
            first = self.lost is None
            if self.lost is None:
                self.lost = errors.UnavailableError(
                    None, None, f"Lost the connection to {self.task} ({self.address}): {why}"
                )
        if first:
            self._service.peer_lost(self)
        return self.lost


def value_of(tensor: TensorProto) -> Any:
    """The runtime's form of a tensor in a message: a NumPy scalar for rank 0, but an array for strings.

    Raises:
        InvalidArgumentError: the message contradicts itself.
    """
    try:
        array = tensor_util.make_ndarray(tensor)
    except MemoryError as e:
        raise memory.exhausted(f"Out of memory for a received tensor: {e}") from None
    except (ValueError, TypeError) as e:
        raise errors.InvalidArgumentError(None, None, f"A tensor cannot be read: {e}") from None
    return array[()] if array.ndim == 0 and array.dtype != object else array
