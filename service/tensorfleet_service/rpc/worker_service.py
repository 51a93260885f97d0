"""TensorFlow's WorkerService, by which tasks call each other if one of them has no stream endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.core.printable import told
from tensorfleet.proto import worker_pb2
from tensorfleet.wire.connection import cork
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.executor.rendezvous import edge_of
from tensorfleet_service.net.peer_grpc import SERVICE
from tensorfleet_service.net.tensor_protos import put_proto, value_of
from tensorfleet_service.rpc.grpc_calls import Call, Methods, Prompt, Reply, at_once
from tensorfleet_service.tracing.trace import StepTrace

if TYPE_CHECKING:
    from tensorfleet_service.rpc.tasks import Tasks
    from tensorfleet_service.worker.worker import Worker


class WorkerService:
    """The calls of WorkerService on one worker. Fed values and fetches are in the order of the graph's
    layout.
    """

    def __init__(self, worker: Worker, tasks: Tasks) -> None:
        self._worker = worker
        self._tasks = tasks
        self._incarnations = {device.name: device.incarnation for device in worker.devices.values()}

    def methods(self) -> Methods:
        """The calls that may wait, by their gRPC names."""
        tasks = self._tasks
        calls: dict[str, tuple[Any, Any]] = {
            "GetStatus": (worker_pb2.GetStatusRequest, lambda request, _: tasks.status()),
            "CreateWorkerSession": (
                worker_pb2.CreateWorkerSessionRequest,
                lambda request, _: tasks.create_session(request),
            ),
            "DeleteWorkerSession": (
                worker_pb2.DeleteWorkerSessionRequest,
                lambda request, _: tasks.delete_session(request),
            ),
            "RegisterGraph": (
                worker_pb2.RegisterGraphRequest,
                lambda request, _: tasks.register(request, True),
            ),
            "DeregisterGraph": (
                worker_pb2.DeregisterGraphRequest,
                lambda request, _: tasks.deregister(request),
            ),
            "CleanupAll": (worker_pb2.CleanupAllRequest, lambda request, _: tasks.cleanup_all(request)),
        }
        return {SERVICE + name: call for name, call in calls.items()}

    def prompt(self) -> Prompt:
        """The call that is answered at once."""
        return {SERVICE + "CleanupGraph": (worker_pb2.CleanupGraphRequest, at_once(self._cleanup_graph))}

    def running(self) -> Prompt:
        """The calls that are answered at the end of a step, or when a tensor is there."""
        return {
            SERVICE + "RunGraph": (worker_pb2.RunGraphRequest, self._run_graph),
            SERVICE + "RecvTensor": (worker_pb2.RecvTensorRequest, self._recv_tensor),
        }

    def _cleanup_graph(self, request: worker_pb2.CleanupGraphRequest) -> worker_pb2.CleanupGraphResponse:
        self._tasks.abort(
            request.step_id,
            errors.AbortedError(None, None, f"Step {request.step_id} was ended by its master"),
        )
        return worker_pb2.CleanupGraphResponse()

    def _run_graph(self, request: worker_pb2.RunGraphRequest, call: Call, reply: Reply) -> None:
        step_id = request.step_id
        graph = self._worker.graph(graph_number(request.graph_handle))
        if graph.keys is None or request.is_partial:
            what = "A partial run" if request.is_partial else "A graph that was not registered by gRPC"
            raise errors.UnimplementedError(None, None, f"{what} cannot be run by gRPC")
        sent = {named.name: named.tensor for named in request.send}
        if missing := [key for key, _ in graph.keys.feeds if key not in sent]:
            raise errors.InvalidArgumentError(None, None, f"No value was sent for {missing[0]}")
        values = [value_of(sent[key]) for key, _ in graph.keys.feeds]
        fetches = graph.keys.fetches
        trace = StepTrace() if request.exec_opts.record_timeline else None
        ended = False

        def done(error: errors.OpError | None, results: Sequence[Any]) -> None:
            nonlocal ended
            ended = True
            response = worker_pb2.RunGraphResponse()
            if trace is not None:
                trace.step_stats(response.step_stats)
            try:
                if error is not None:
                    raise error
                for key, value in zip(fetches, results, strict=True):
                    put_proto(value, response.recv.add(name=key).tensor)
            except errors.OpError as e:
                response.ClearField("recv")
                response.status_code = e.error_code  # type: ignore[assignment]
                response.status_error_message = told(e.message)
            reply(None, response)

        def gone() -> None:
            if not ended:
                error = errors.CancelledError(None, None, f"The master of step {step_id} is gone")
                self._tasks.abort(step_id, error)

        if call.add_callback(gone):
            with cork():
                self._worker.run(graph, step_id, values, done, trace, may_block=False)

    def _recv_tensor(self, request: worker_pb2.RecvTensorRequest, call: Call, reply: Reply) -> None:
        edge = edge_of(request.rendezvous_key, self._incarnations)

        def taken(error: errors.OpError | None, value: Any) -> None:
            if error is not None:
                reply(error, None)
                return
            try:
                response = worker_pb2.RecvTensorResponse(is_dead=value is DEAD)
                if value is not DEAD:
                    put_proto(value, response.tensor)
            except errors.OpError as e:
                reply(e, None)
            else:
                reply(None, response)

        withdraw = self._worker.rendezvous.take(request.step_id, edge, taken)
        if not call.add_callback(withdraw):
            withdraw()


def graph_number(handle: str) -> int:
    """The number of a graph handle; -1, which no graph has, for a handle that another program has made."""
    return int(handle) if handle.isascii() and handle.isdigit() else -1
