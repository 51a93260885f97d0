"""What a task does for the other tasks of its cluster: the WorkerService behind the stream connections."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet import collector, errors
from tensorfleet.proto import worker_pb2
from tensorfleet.stream import Method
from tensorfleet_service.graph import from_graph_def
from tensorfleet_service.observe.trace import StepTrace
from tensorfleet_service.worker.layout import task_of

if TYPE_CHECKING:
    from tensorfleet_service.worker.peer import Peer
    from tensorfleet_service.worker.peers import Peers
    from tensorfleet_service.worker.worker import Worker

log = logging.getLogger(__name__)

PEER_SECONDS = 30.0


class Tasks:
    """Serves one worker to its peers, and remembers what belongs to which of them.

    A peer that is gone takes with it the steps that it runs here as their master, and its sessions' graphs.
    """

    def __init__(self, worker: Worker, peers: Peers) -> None:
        self._worker = worker
        self._peers = peers
        self._lock = threading.Lock()
        self._steps: dict[Peer, set[int]] = {}
        self._sessions: dict[Peer, set[str]] = {}
        peers.serve(self)
        worker.connect(peers.push)

    def submit(self, function: Callable[..., None], *arguments: Any) -> None:
        self._worker.pool.submit(function, *arguments)

    def call(self, peer: Peer, method: int, request: bytes) -> bytes:
        """Answers a call; runs on the pool."""
        match method:
            case Method.CREATE_WORKER_SESSION:
                create = worker_pb2.CreateWorkerSessionRequest.FromString(request)
                self._worker.create_session(create.session_handle, create.isolate_session_state)
                with self._lock:
                    self._sessions.setdefault(peer, set()).add(create.session_handle)
                return self._status()
            case Method.GET_STATUS:
                return self._status()
            case Method.REGISTER_GRAPH:
                return self._register(worker_pb2.RegisterGraphRequest.FromString(request))
            case Method.DEREGISTER_GRAPH:
                deregister = worker_pb2.DeregisterGraphRequest.FromString(request)
                self._worker.deregister_graph(int(deregister.graph_handle))
                return b""
            case Method.DELETE_WORKER_SESSION:
                delete = worker_pb2.DeleteWorkerSessionRequest.FromString(request)
                self._worker.delete_session(delete.session_handle)
                with self._lock:
                    self._sessions.get(peer, set()).discard(delete.session_handle)
                return b""
            case Method.CLEANUP_ALL:
                cleanup = worker_pb2.CleanupAllRequest.FromString(request)
                self._worker.resources.reset(list(cleanup.container))
                return b""
        raise errors.UnimplementedError(None, None, f"Call {method} is not known")

    def _status(self) -> bytes:
        devices = [device.attributes() for device in self._worker.devices.values()]
        return worker_pb2.GetStatusResponse(device_attributes=devices).SerializeToString()

    def _register(self, request: worker_pb2.RegisterGraphRequest) -> bytes:
        with collector.paused():
            nodes = from_graph_def(request.graph_def)
            for node in nodes:
                node.assigned = node.device
        # The tasks that this one is going to send to are connected now, not in the middle of the first step.
        for task in sorted({task_of(n.attrs["recv_device"].decode()) for n in nodes if n.op == "_Send"}):
            if task != self._worker.task:
                self._peers.get(task, PEER_SECONDS)
        with collector.paused():
            handle, _ = self._worker.register_graph(request.session_handle, nodes)
        return worker_pb2.RegisterGraphResponse(graph_handle=str(handle)).SerializeToString()

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

    def deliver(self, step_id: int, edge: int, value: Any) -> None:
        self._worker.deliver(step_id, edge, value)

    def abort(self, step_id: int, error: errors.OpError) -> None:
        self._worker.abort(step_id, error)

    def peer_lost(self, peer: Peer) -> None:
        """Ends what the peer was master of on this task."""
        with self._lock:
            steps = self._steps.pop(peer, set())
            sessions = self._sessions.pop(peer, set())
        assert peer.lost is not None
        for step_id in list(steps):
            self._worker.abort(step_id, peer.lost)
        for session in sessions:
            self._worker.delete_session(session)
        log.info("%s", peer.lost.message)
