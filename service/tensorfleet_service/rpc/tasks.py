"""The services of a task for the other tasks of its cluster, by stream and by gRPC."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors, gc_pause
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.wire.frames import Frame, Method
from tensorfleet_service.executor.feed_layout import task_of
from tensorfleet_service.graph.session_graph import check_partition, from_graph_def
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.net.wire_graph import from_wire
from tensorfleet_service.tracing.trace import StepTrace
from tensorfleet_service.worker.progress import activities

if TYPE_CHECKING:
    from tensorfleet_service.devices.scope import Scope
    from tensorfleet_service.net.peers import AnyPeer, Peers
    from tensorfleet_service.worker.worker import Worker

log = logging.getLogger(__name__)


Owner = Peer | tuple[str, int]
"""The owner of a session: the master's connection or, by gRPC, the master's task and incarnation."""


class Tasks:
    """Serves one worker to its peers, and knows which steps and sessions belong to which of them.

    At the loss of a peer, the steps and sessions of which it is the master end here.
    """

    def __init__(self, worker: Worker, peers: Peers) -> None:
        self._worker = worker
        self._peers = peers
        self._lock = threading.Lock()
        self._steps: dict[Peer, set[int]] = {}
        self._sessions: dict[Owner, set[str]] = {}
        peers.serve(self)
        worker.connect(peers)

    @property
    def task(self) -> str:
        """This task's canonical name."""
        return self._worker.task

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        self._worker.pool.submit(function, *arguments)

    def gpu(self, number: int) -> Scope | None:
        """What makes a GPU of this task current; None if it has none of that number."""
        device = self._worker.devices.get(f"{self._worker.task}/device:GPU:{number}")
        return None if device is None else device.scope

    def call(self, peer: Peer, method: int, request: bytes) -> bytes:
        """Answers a call; runs on the pool."""
        match method:
            case Method.CREATE_WORKER_SESSION:
                create = worker_pb2.CreateWorkerSessionRequest.FromString(request)
                return self.create_session(create, peer).SerializeToString()
            case Method.GET_STATUS:
                return self.status().SerializeToString()
            case Method.REGISTER_GRAPH:
                register = limits.parse(worker_pb2.RegisterGraphRequest, request)
                return self.register(register).SerializeToString()
            case Method.DEREGISTER_GRAPH:
                deregister = worker_pb2.DeregisterGraphRequest.FromString(request)
                return self.deregister(deregister).SerializeToString()
            case Method.DELETE_WORKER_SESSION:
                delete = worker_pb2.DeleteWorkerSessionRequest.FromString(request)
                return self.delete_session(delete).SerializeToString()
            case Method.GET_STEPS:
                return self.steps(fleet_pb2.StepsRequest.FromString(request)).SerializeToString()
            case Method.CLEANUP_ALL:
                cleanup = worker_pb2.CleanupAllRequest.FromString(request)
                return self.cleanup_all(cleanup).SerializeToString()
        raise errors.UnimplementedError(None, None, f"Call {method} is not known")

    def status(self) -> worker_pb2.GetStatusResponse:
        """The devices of this task."""
        devices = [device.attributes() for device in self._worker.devices.values()]
        return worker_pb2.GetStatusResponse(device_attributes=devices)

    def steps(self, request: fleet_pb2.StepsRequest) -> fleet_pb2.StepsReply:
        """Descriptions of what the parts of steps on this task wait for."""
        reply = fleet_pb2.StepsReply(task=self._worker.task)
        for part in activities(self._worker, set(request.step_id) or None):
            age = time.monotonic() - part.began
            reply.part.add(step_id=part.id, age_secs=age, activity=part.texts)
        return reply

    def create_session(
        self, request: worker_pb2.CreateWorkerSessionRequest, peer: Peer | None = None
    ) -> worker_pb2.CreateWorkerSessionResponse:
        """Prepares for a session of another master; it ends with `peer`, the stream connection to that.

        By gRPC there is no such connection: sessions from before a restart of a master end when it comes
            back.
        """
        handle = request.session_handle
        self._worker.create_session(handle, request.isolate_session_state)
        owner: Owner = peer or (request.master_task, request.master_incarnation)
        stale: list[Owner] = []
        with self._lock:
            # `peer_lost` takes this lock after `lost` is set, so either it finds the session or this the
            # loss.
            lost = None if peer is None else peer.lost
            if lost is None:
                self._sessions.setdefault(owner, set()).add(handle)
            if peer is None:
                stale = [
                    other
                    for other in self._sessions
                    if isinstance(other, tuple) and other[0] == request.master_task and other != owner
                ]
            forgotten = [session for other in stale for session in self._sessions.pop(other)]
        for session in forgotten:
            self._worker.delete_session(session)
        if lost is not None:
            self._worker.delete_session(handle)
            raise lost
        return worker_pb2.CreateWorkerSessionResponse()

    def delete_session(
        self, request: worker_pb2.DeleteWorkerSessionRequest
    ) -> worker_pb2.DeleteWorkerSessionResponse:
        """Drops a session's state on this task."""
        self._worker.delete_session(request.session_handle)
        with self._lock:
            for owner, handles in list(self._sessions.items()):
                handles.discard(request.session_handle)
                if not handles:
                    del self._sessions[owner]
        return worker_pb2.DeleteWorkerSessionResponse()

    def deregister(self, request: worker_pb2.DeregisterGraphRequest) -> worker_pb2.DeregisterGraphResponse:
        """Drops a graph."""
        if request.graph_handle.isdigit():
            self._worker.deregister_graph(int(request.graph_handle))
        return worker_pb2.DeregisterGraphResponse()

    def cleanup_all(self, request: worker_pb2.CleanupAllRequest) -> worker_pb2.CleanupAllResponse:
        """Clears containers; all of them if none is named."""
        self._worker.resources.reset(list(request.container))
        return worker_pb2.CleanupAllResponse()

    def register(
        self, request: worker_pb2.RegisterGraphRequest, by_grpc: bool = False
    ) -> worker_pb2.RegisterGraphResponse:
        """Compiles a graph, which has TensorFlow's form if it comes by gRPC."""
        keys = None
        with gc_pause.paused():
            if by_grpc:
                nodes, keys = from_wire(request.graph_def)
            else:
                nodes = from_graph_def(request.graph_def)
                for node in nodes:
                    node.assigned = node.device
                check_partition(nodes)
        # Connects now to the tasks to which this one will send, not in the middle of the first step.
        for task in sorted({task_of(n.attrs["recv_device"].decode()) for n in nodes if n.op == "_Send"}):
            if task != self._worker.task:
                self._peers.get(task, timeouts.PEER_SECONDS)
        with gc_pause.paused():
            handle, graph = self._worker.register_graph(
                request.session_handle, nodes, list(request.graph_def.library.function)
            )
            graph.keys = keys
        return worker_pb2.RegisterGraphResponse(graph_handle=str(handle))

    def run_graph(self, peer: Peer, step_id: int, handle: int, values: Sequence[Any], traced: bool) -> None:
        """Runs this task's part of a peer's step, and answers when it has ended."""
        trace = StepTrace() if traced else None
        try:
            graph = self._worker.graph(handle)
        except errors.OpError as e:
            peer.step_done(step_id, e, (), None)
            return
        steps = self._steps.get(peer)
        if steps is None:
            with self._lock:
                steps = self._steps.setdefault(peer, set())
        steps.add(step_id)

        def done(error: errors.OpError | None, results: Sequence[Any]) -> None:
            steps.discard(step_id)
            peer.step_done(step_id, error, results, trace.step_stats() if trace else None)

        self._worker.run(graph, step_id, values, done, trace, may_block=False)

    def deliver(self, step_id: int, edges: Sequence[int], values: Sequence[Any]) -> None:
        self._worker.deliver(step_id, edges, values)

    def collective(self, peer: Peer, frame: Frame) -> None:
        self._worker.collectives.receive(peer, frame)

    def chunk(self, round_id: int, number: int, value: Any) -> None:
        self._worker.collectives.chunk(round_id, number, value)

    def keep(self, step_id: int, edge: int, value: Any) -> None:
        self._worker.rendezvous.put(step_id, edge, value)

    def abort(self, step_id: int, error: errors.OpError) -> None:
        self._worker.abort(step_id, error)

    def peer_lost(self, peer: AnyPeer) -> None:
        """Ends the steps and sessions of a lost peer, and the steps that wait for its tensors."""
        self._peers.forget(peer)
        steps: set[int] = set()
        sessions: set[str] = set()
        if isinstance(peer, Peer):
            with self._lock:
                steps = self._steps.pop(peer, steps)
                sessions = self._sessions.pop(peer, sessions)
        assert peer.lost is not None
        for step_id in list(steps):
            self._worker.abort(step_id, peer.lost)
        now = self._peers.existing(peer.task)
        if now is None or now.incarnation == peer.incarnation:
            self._worker.task_lost(peer.task, peer.lost)
        for session in sessions:
            self._worker.delete_session(session)
        self._worker.collectives.lost(peer)
        log.info("%s", peer.lost.message)
