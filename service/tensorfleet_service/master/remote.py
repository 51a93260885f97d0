"""RemoteMember: a task elsewhere, reached as a peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet import errors
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.stream import Method
from tensorfleet_service.graph import to_graph_def
from tensorfleet_service.master.members import Functions, Member, MemberDone, Registered
from tensorfleet_service.worker.layout import layout

if TYPE_CHECKING:
    from tensorfleet_service.graph import Node
    from tensorfleet_service.observe.trace import StepTrace
    from tensorfleet_service.worker.peers import AnyPeer, Peers
    from tensorfleet_service.worker.pool import Pool

REGISTER_SECONDS = 600.0  # compiling a graph of millions of nodes takes minutes
RECONNECT_SECONDS = 2.0


class RemoteMember(Member):
    """A task elsewhere, for one session.

    The session is bound to the process that it found there: when that restarts, or the connection breaks,
    what the session had registered is gone, and every later step says so.
    """

    def __init__(
        self, peers: Peers, peer: AnyPeer, pool: Pool, session: str, isolate: bool, timeout: float
    ) -> None:
        self.task = peer.task
        self._peers = peers
        self._peer = peer
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

    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        self._check()
        response = self._peer.call(
            Method.REGISTER_GRAPH,
            worker_pb2.RegisterGraphRequest(session_handle=session, graph_def=to_graph_def(nodes, functions)),
            worker_pb2.RegisterGraphResponse,
            REGISTER_SECONDS,
        )
        return Registered(self, int(response.graph_handle), layout(nodes))

    def deregister(self, handle: int) -> None:
        self._peer.notify(
            Method.DEREGISTER_GRAPH, worker_pb2.DeregisterGraphRequest(graph_handle=str(handle))
        )

    def run(
        self,
        handle: int,
        step_id: int,
        values: Sequence[Any],
        done: MemberDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> None:
        if self._peer.lost is None:
            self._peer.run_graph(step_id, handle, values, done, trace)
        else:
            self._pool.submit(lambda: done(self._why_lost(), ()))

    def _check(self) -> None:
        if self._peer.lost is not None:
            raise self._why_lost()

    def _why_lost(self) -> errors.OpError:
        """UnavailableError while the task is away; AbortedError once it is back, since the session's state
        there is gone.
        """
        try:
            peer = self._peers.get(self.task, RECONNECT_SECONDS)
        except errors.OpError as e:
            return e
        happened = (
            "has restarted"
            if peer.incarnation != self._peer.incarnation
            else "lost the connection to this session's master"
        )
        return errors.AbortedError(
            None,
            None,
            f"Session handle is not found: {self._session}. {self.task} ({peer.address}) {happened}. "
            "Make a new session; variables that lived on a restarted task have to be restored.",
        )

    def abort(self, step_id: int, error: errors.OpError) -> None:
        self._peer.abort(step_id, error)

    def activity(self, step_id: int, timeout: float) -> Sequence[str]:
        self._check()
        request = fleet_pb2.StepsRequest(step_id=[step_id])
        reply = self._peer.call(Method.GET_STEPS, request, fleet_pb2.StepsReply, timeout)
        return [text for part in reply.part for text in part.activity]

    def delete_session(self, session: str) -> None:
        self._peer.notify(
            Method.DELETE_WORKER_SESSION, worker_pb2.DeleteWorkerSessionRequest(session_handle=session)
        )
