"""Peers: the connections of a task to the other tasks of its cluster, made at their first use."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.security.calls import host_of
from tensorfleet.security.settings import OPEN, Security
from tensorfleet.wire.connection import Connection, open_socket
from tensorfleet.wire.grpc_socket import open_grpc_socket
from tensorfleet.wire.heartbeat import Heart
from tensorfleet.wire.limits import HELLO_SECONDS
from tensorfleet.wire.opening import encrypted, open_hello, unauthenticated
from tensorfleet.wire.tls import TlsConnection
from tensorfleet.wire.traffic import Traffic
from tensorfleet_service.net import limits, timeouts
from tensorfleet_service.net.peer import Peer, TaskService
from tensorfleet_service.net.peer_grpc import GrpcPeer

if TYPE_CHECKING:
    from tensorfleet.proto import fleet_pb2
    from tensorfleet_service.devices.ipc import Chunk
    from tensorfleet_service.executor.step import Push
    from tensorfleet_service.net.discovery import Discovery

log = logging.getLogger(__name__)

AnyPeer = Peer | GrpcPeer

SHARES_GPUS = "shares_gpus"
"""What a task says of itself in HELLO if it knows frames about GPUs' memory."""


class Peers:
    """The other tasks of the cluster, by canonical name.

    Args:
        task, incarnation: of this task.
        addresses: the gRPC addresses by the tasks' canonical names.
        discover: asks the task at an address for its stream endpoint.
        streams: whether this task has a stream endpoint. Two tasks are connected by stream if both have one,
            as both have to know how tensors are sent.
        heart: notices tasks that have fallen silent.
        security: the credentials of this task, and what it requires of the others.
    """

    def __init__(
        self,
        task: str,
        incarnation: int,
        addresses: dict[str, str],
        discover: Discovery,
        streams: bool = True,
        heart: Heart | None = None,
        security: Security = OPEN,
    ) -> None:
        self.task = task
        self.incarnation = incarnation
        self.addresses = addresses
        self.traffic = {name: Traffic() for name in addresses if name != task}
        self._discover = discover
        self._security = security
        self._streams = streams
        self._heart = heart or Heart(0)
        self._service: TaskService | None = None
        self._lock = threading.Lock()
        self._peers: dict[str, AnyPeer] = {}
        # All streams that have not ended: two tasks that connect to each other at once have a second one.
        self._streamed: set[Peer] = set()
        self._connecting: dict[str, threading.Lock] = {}
        self._reconnecting: set[str] = set()
        self.gpu_traffic = {name: Traffic() for name in self.traffic}
        """What of the traffic went from a GPU's memory to another's."""
        self._chunks: dict[str, list[Chunk]] = {name: [] for name in self.traffic}
        self._stopped = threading.Event()
        self.problems: dict[str, str] = {}
        """The reason why the last attempt to connect to a task failed."""

    @property
    def closed(self) -> bool:
        """Whether the task is being stopped, and connects to no task any more."""
        return self._stopped.is_set()

    def serve(self, service: TaskService) -> None:
        """Sets the service that answers the peers."""
        self._service = service

    def existing(self, task: str) -> AnyPeer | None:
        """The peer if it is connected."""
        peer = self._peers.get(task)
        return peer if peer is not None and peer.lost is None else None

    def sender(self, tasks: Iterable[str]) -> Push:
        """The function of (task, step, edge, value) that sends tensors to these tasks until they restart.

        It never waits: if the connection is lost, it fails at once, and another thread makes a new connection
        for later steps.

        Raises:
            UnavailableError: a task does not answer.
        """
        routes = {task: self.get(task, HELLO_SECONDS) for task in tasks}

        def push(task: str, step_id: int, edge: int, value: Any) -> None:
            peer = routes[task]
            if peer.lost is not None:
                peer = routes[task] = self._again(peer)
            peer.push(step_id, edge, value)

        return push

    def _again(self, lost: AnyPeer) -> AnyPeer:
        """Another connection to the same process of a task.

        Raises:
            UnavailableError: there is none now.
            AbortedError: the task has restarted.
        """
        peer = self.existing(lost.task)
        if peer is None:
            assert self._service is not None
            with self._lock:
                is_first = lost.task not in self._reconnecting
                self._reconnecting.add(lost.task)
            if is_first:
                try:
                    self._service.submit(self._reconnect, lost.task)
                except BaseException:
                    with self._lock:
                        self._reconnecting.discard(lost.task)
                    raise
            assert lost.lost is not None
            raise errors.UnavailableError(None, None, lost.lost.message)
        if peer.incarnation != lost.incarnation:
            text = f"{lost.task} ({lost.address}) has restarted. Make a new session."
            raise errors.AbortedError(None, None, text)
        return peer

    def _reconnect(self, task: str) -> None:
        try:
            self.get(task, HELLO_SECONDS)
        except errors.OpError as e:
            log.info("no connection for later steps: %s", e.message)
        finally:
            with self._lock:
                self._reconnecting.discard(task)

    def pulls_from(self, task: str) -> bool:
        """Whether tensors of a task have to be asked for, as those of TensorFlow's tasks.

        Raises:
            UnavailableError: the task does not answer.
        """
        peer = self.get(task, HELLO_SECONDS)
        return isinstance(peer, GrpcPeer)

    def pull(self, task: str, step_id: int, edge: int, key: str) -> Callable[[], None]:
        """Asks for a tensor, without waiting; returns a function that withdraws the request.

        Raises:
            UnavailableError: the connection to the task is lost.
        """
        peer = self._peers.get(task)
        if not isinstance(peer, GrpcPeer):
            raise errors.UnavailableError(None, None, f"There is no connection by gRPC to {task}")
        return peer.pull(step_id, edge, key)

    def get(self, task: str, timeout: float) -> AnyPeer:
        """The peer, connected if need be.

        Raises:
            UnavailableError: it does not answer within `timeout` seconds; with its address and the last
                error.
            InvalidArgumentError: the cluster has no such task.
        """
        found = self.existing(task)
        if found is not None:
            return found
        address = self.addresses.get(task)
        if address is None:
            raise errors.InvalidArgumentError(
                None, None, f"The cluster has no task {task}; it has {', '.join(sorted(self.addresses))}"
            )
        with self._lock:
            lock = self._connecting.setdefault(task, threading.Lock())
        return self._connect(task, address, lock, timeout)

    def _connect(self, task: str, address: str, lock: threading.Lock, timeout: float) -> AnyPeer:
        """Tries to connect until the time is over. Only one thread tries at a time."""
        end = time.monotonic() + timeout
        last = "another attempt to connect is under way"
        while True:
            left = max(end - time.monotonic(), 0.1)
            if lock.acquire(timeout=left):
                try:
                    return self.existing(task) or self._try(task, address, left)
                except errors.UnavailableError as e:
                    last = self.problems[task] = e.message
                finally:
                    lock.release()
            left = end - time.monotonic()
            if left <= 0 or self._stopped.wait(min(timeouts.CONNECT_RETRY_SECONDS, left)):
                text = f"{task} at {address} does not answer; last error: {last}"
                known = self._peers.get(task)
                if known is not None and known.lost is not None:
                    text += f". Before that: {known.lost.message}"
                raise errors.UnavailableError(None, None, text)

    def _try(self, task: str, address: str, timeout: float) -> AnyPeer:
        endpoint = self._discover(address, min(timeout, HELLO_SECONDS))
        if endpoint.task != task:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{address} is said to be {task}, but it is {endpoint.task}: check the ClusterSpec",
            )
        sock: Any
        if self._streams and endpoint.stream_address:
            sock = open_socket(endpoint.stream_address, min(timeout, HELLO_SECONDS))
        elif endpoint.connects:
            sock = open_grpc_socket(address, self._security, endpoint.incarnation, self.task)
        else:
            return self._add_grpc(task, endpoint, address)
        try:
            about = {"task": self.task, "incarnation": self.incarnation, SHARES_GPUS: True}
            connection, hello = greet(sock, about, task, self._security, host_of(address))
        except Exception as e:
            sock.close()
            if not isinstance(e, OSError):
                raise
            if isinstance(e, ssl.SSLError):
                raise unauthenticated(e) from None
            raise errors.UnavailableError(None, None, f"{type(e).__name__}: {e}") from None
        if hello.get("task") != task:
            connection.close()
            raise errors.InvalidArgumentError(
                None, None, f"The stream endpoint of {task} at {address} says to be {hello.get('task')}"
            )
        return self._add(connection, task, hello["incarnation"], address, bool(hello.get(SHARES_GPUS)))

    def accept(self, connection: Connection, hello: dict[str, Any]) -> None:
        """Accepts or refuses a connection of somebody who claims to be a task."""
        task, incarnation = str(hello["task"]), hello.get("incarnation")
        address = self.addresses.get(task)
        if address is None or task == self.task or not isinstance(incarnation, int):
            said = ascii(task)[1:-1]  # not all characters can be logged
            text = f"it says to be {said}, incarnation {incarnation!r}, which is no other task of the cluster"
            log.warning("a connection was refused: %s", text)
            connection.refuse(errors.InvalidArgumentError(None, None, f"{self.task} refuses: {text}"))
            return
        try:
            self._add(connection, task, incarnation, address, bool(hello.get(SHARES_GPUS)))
        except (errors.UnavailableError, RuntimeError, MemoryError) as e:
            log.warning("the connection of %s was refused: %s", task, e)
            connection.refuse(errors.UnavailableError(None, None, f"{self.task} has no thread for it: {e}"))

    def _add(
        self, connection: Connection, task: str, incarnation: int, address: str, shares_gpus: bool
    ) -> Peer:
        assert self._service is not None
        connection.count_in(self.traffic[task])
        peer = Peer(connection, task, incarnation, address, self._service)
        if shares_gpus:
            peer.share_gpus(self._chunks[task], self.gpu_traffic[task])
        with self._lock:
            open_yet = not self._stopped.is_set()
            if open_yet:
                self._streamed.add(peer)
            known = self._peers.get(task)
            if open_yet and (known is None or known.lost is not None or known.incarnation != incarnation):
                self._peers[task] = peer
        if not open_yet:
            connection.close()
            raise errors.UnavailableError(None, None, f"{self.task} is being stopped")
        self._heart.watch(peer)
        if known is not None and known.lost is None and known.incarnation != incarnation:
            known.close()  # the task has restarted, so its earlier connection leads nowhere
        try:
            peer.start()
        except (RuntimeError, MemoryError) as e:
            peer.silent(str(e))  # `get` connects anew
            self.forget(peer)
            assert peer.lost is not None
            raise peer.lost from None
        return peer

    def _add_grpc(self, task: str, endpoint: fleet_pb2.Endpoint, address: str) -> GrpcPeer:
        assert self._service is not None
        peer = GrpcPeer(
            task,
            endpoint.incarnation,
            address,
            self._service,
            self.traffic[task],
            keeps_steps=not endpoint.version,
            security=self._security,
            caller=self.task,
        )
        self._heart.watch(peer)
        with self._lock:
            self._peers[task] = peer
        return peer

    @property
    def silence(self) -> float:
        """Seconds after which a task that gives no sign of life is lost; 0: never."""
        return self._heart.seconds

    def forget(self, peer: AnyPeer) -> None:
        """Stops listening for signs of life of a lost peer."""
        self._heart.forget(peer)
        with self._lock:
            self._streamed.discard(peer)

    def flush(self, end: float) -> None:
        """Waits until the sockets have taken all frames, or the monotonic time is `end`."""
        with self._lock:
            streamed = list(self._streamed)
        for peer in streamed:
            peer.flush(max(end - time.monotonic(), 0))

    def close(self) -> None:
        with self._lock:
            self._stopped.set()
            peers = {*self._peers.values(), *self._streamed}
        for peer in peers:
            peer.close()


def greet(
    sock: Any, hello: dict[str, Any], expected: str, security: Security = OPEN, host: str = ""
) -> tuple[Connection, dict[str, Any]]:
    """Sends HELLO on a new socket and reads the answer, within a deadline.

    Args:
        expected: the task that the socket leads to, at `host`.
        security: the credentials of this side, and what it requires of the other.

    Raises:
        OSError: the connection broke, or the other side does not speak this protocol.
        OpError: the other side refuses.
    """
    connection = Connection(sock, expected)
    sock.settimeout(HELLO_SECONDS)
    try:
        tls = encrypted(sock, security)
        if tls is not None:
            connection = TlsConnection(tls, expected)
            sock.settimeout(HELLO_SECONDS)
        limits.apply(connection.reader)
        answer, connection.arena = open_hello(connection.sock, connection.reader, hello, security, host)
    except EOFError:
        raise ConnectionError(f"{expected} closed the connection") from None
    except ValueError as e:
        raise ConnectionError(f"{expected} does not speak this protocol: {e}") from None
    sock.settimeout(None)
    return connection, answer
