"""Remote members: other tasks, reached as peers by stream or by gRPC."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.wire.frames import Method
from tensorfleet_service.executor.feed_layout import layout
from tensorfleet_service.graph.graph import to_graph_def
from tensorfleet_service.master.members import Functions, Member, MemberDone, Registered
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.peer_grpc import GrpcPeer, WireGraph
from tensorfleet_service.net.wire_graph import to_wire

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.net.peer import Peer
    from tensorfleet_service.net.peers import AnyPeer, Peers
    from tensorfleet_service.threads.pool import Pool
    from tensorfleet_service.tracing.trace import StepTrace


def remote_member(
    peers: Peers, peer: AnyPeer, pool: Pool, session: str, isolate: bool, timeout: float
) -> RemoteMember:
    """The member of a session for a peer.

    Raises:
        OpError: the peer does not answer within `timeout` seconds, or refuses.
    """
    if isinstance(peer, GrpcPeer):
        return GrpcMember(peers, peer, pool, session, isolate, timeout)
    return StreamMember(peers, peer, pool, session, isolate, timeout)


class RemoteMember(Member):
    """Another task, for one session.

    The session is bound to the task's process: when that restarts, or the connection breaks, the session's
    registered graphs are gone, and every later step fails with an error that says so.
    """

    def __init__(
        self, peers: Peers, peer: AnyPeer, pool: Pool, session: str, isolate: bool, timeout: float
    ) -> None:
        self.task = peer.task
        self._peers = peers
        self._connected = peer
        self._pool = pool
        self._session = session
        peer.call(
            Method.CREATE_WORKER_SESSION,
            worker_pb2.CreateWorkerSessionRequest(
                session_handle=session,
                isolate_session_state=isolate,
                master_task=peers.task,
                master_incarnation=peers.incarnation,
            ),
            worker_pb2.CreateWorkerSessionResponse,
            timeout,
        )
        status = peer.call(
            Method.GET_STATUS, worker_pb2.GetStatusRequest(), worker_pb2.GetStatusResponse, timeout
        )
        self.devices = list(status.device_attributes)

    def run(
        self,
        handle: int,
        step_id: int,
        values: Sequence[Any],
        done: MemberDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> None:
        if self._connected.lost is None:
            self._run(handle, step_id, values, done, trace)
        else:
            self._pool.submit(lambda: done(self._why_lost(), ()))

    @abstractmethod
    def _run(
        self, handle: int, step_id: int, values: Sequence[Any], done: MemberDone, trace: StepTrace | None
    ) -> None:
        """Asks the task to run its part."""

    def _check(self) -> None:
        if self._connected.lost is not None:
            raise self._why_lost()

    def _why_lost(self) -> errors.OpError:
        """UnavailableError while the task is lost; AbortedError once it is back, since the session's state
        there is gone.
        """
        try:
            peer = self._peers.get(self.task, timeouts.RECONNECT_SECONDS)
        except errors.OpError as e:
            return e
        happened = (
            "has restarted"
            if peer.incarnation != self._connected.incarnation
            else "lost the connection to this session's master"
        )
        return errors.AbortedError(
            None,
            None,
            f"Session handle is not found: {self._session}. {self.task} ({peer.address}) {happened}. "
            "Make a new session; variables that lived on a restarted task have to be restored.",
        )

    def activity(self, step_id: int, timeout: float) -> Sequence[str]:
        lost = self._connected.lost
        if lost is not None:
            raise errors.from_code(
                lost.error_code, lost.message
            )  # without checking whether the task is back, as time is short
        request = fleet_pb2.StepsRequest(step_id=[step_id])
        reply = self._connected.call(Method.GET_STEPS, request, fleet_pb2.StepsReply, timeout)
        return [text for part in reply.part for text in part.activity]

    def abort(self, step_id: int, error: errors.OpError) -> None:
        self._connected.abort(step_id, error)

    def delete_session(self, session: str) -> None:
        self._connected.notify(
            Method.DELETE_WORKER_SESSION, worker_pb2.DeleteWorkerSessionRequest(session_handle=session)
        )


class StreamMember(RemoteMember):
    """A task that is reached by stream; graphs and values are sent in the runtime's own form."""

    def __init__(
        self, peers: Peers, peer: Peer, pool: Pool, session: str, isolate: bool, timeout: float
    ) -> None:
        self._peer = peer
        super().__init__(peers, peer, pool, session, isolate, timeout)

    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        self._check()
        response = self._peer.call(
            Method.REGISTER_GRAPH,
            worker_pb2.RegisterGraphRequest(session_handle=session, graph_def=to_graph_def(nodes, functions)),
            worker_pb2.RegisterGraphResponse,
            timeouts.REGISTER_SECONDS,
        )
        return Registered(self, int(response.graph_handle), layout(nodes))

    def deregister(self, handle: int) -> None:
        self._peer.notify(
            Method.DEREGISTER_GRAPH, worker_pb2.DeregisterGraphRequest(graph_handle=str(handle))
        )

    def _run(
        self, handle: int, step_id: int, values: Sequence[Any], done: MemberDone, trace: StepTrace | None
    ) -> None:
        self._peer.run_graph(step_id, handle, values, done, trace)


class GrpcMember(RemoteMember):
    """A task reached by gRPC, perhaps TensorFlow's; graphs and values are sent in TensorFlow's form."""

    by_grpc = True

    def __init__(
        self, peers: Peers, peer: GrpcPeer, pool: Pool, session: str, isolate: bool, timeout: float
    ) -> None:
        self._peer = peer
        self._handles = itertools.count()
        self._graphs: dict[int, WireGraph] = {}
        self.cleans_up = peer.keeps_steps
        super().__init__(peers, peer, pool, session, isolate, timeout)
        # gRPC reconnects by itself, perhaps to another process.
        self._incarnations = {device.name: device.incarnation for device in self.devices}
        if peer.incarnation not in self._incarnations.values():
            raise peer.lose("it has restarted")

    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        self._check()
        graph_def, keys = to_wire(nodes, functions, self._incarnations)
        response = self._peer.call(
            Method.REGISTER_GRAPH,
            worker_pb2.RegisterGraphRequest(
                session_handle=session, graph_def=graph_def, create_worker_session_called=True
            ),
            worker_pb2.RegisterGraphResponse,
            timeouts.REGISTER_SECONDS,
        )
        handle = next(self._handles)
        self._graphs[handle] = WireGraph(session, response.graph_handle, keys)
        return Registered(self, handle, layout(nodes))

    def deregister(self, handle: int) -> None:
        graph = self._graphs.pop(handle, None)
        if graph is not None:
            request = worker_pb2.DeregisterGraphRequest(
                graph_handle=graph.handle, session_handle=graph.session, create_worker_session_called=True
            )
            self._peer.notify(Method.DEREGISTER_GRAPH, request)

    def _run(
        self, handle: int, step_id: int, values: Sequence[Any], done: MemberDone, trace: StepTrace | None
    ) -> None:
        graph = self._graphs.get(handle)
        if graph is None:
            done(errors.AbortedError(None, None, "The session was closed"), ())
        else:
            self._peer.run_graph(step_id, graph, values, done, trace)

    def end_step(self, step_id: int) -> None:
        self._peer.end_step(step_id)

    def delete_session(self, session: str) -> None:
        self._graphs.clear()
        super().delete_session(session)
