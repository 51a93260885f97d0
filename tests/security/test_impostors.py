"""Impostors: somebody listens where a client expects a task, and gets nothing of use."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.proto import fleet_pb2
from tensorfleet.security.calls import AUTHORIZATION, ENDPOINT, PROOF
from tensorfleet.security.secret import call_proof
from tensorfleet.security.settings import Security
from tensorfleet.wire.hello import say_hello
from tensorfleet.wire.reader import Reader
from tensorfleet_service.local_cluster import LocalCluster, _Credentials, _Task
from tests.security.conftest import SECRET, MakeTasks, TokenBook
from tests.until import until

STATUS = "/tensorfleet.FleetService/GetStatus"
Show = Callable[..., None]


class Impostor(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Says by gRPC to be a task without a stream, and keeps what callers show."""

    def __init__(self, incarnation: int) -> None:
        self.shown: list[tuple[str, str]] = []
        self.asked: set[str] = set()
        self._refused: set[str] = set()
        self._answer = fleet_pb2.Endpoint(
            task="/job:worker/replica:0/task:0", incarnation=incarnation, version="0.1.0"
        )
        self._server = grpc.server(futures.ThreadPoolExecutor(4), handlers=(self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def refuse_endpoint(self) -> None:
        """From now on it is a server that knows nothing of streams."""
        self._refused.add(ENDPOINT)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        self.asked.add(details.method)
        if details.method in self._refused:
            return None

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.shown += context.invocation_metadata()
            if details.method == ENDPOINT:
                return bytes(self._answer.SerializeToString())
            context.abort(grpc.StatusCode.INTERNAL, "no")
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)

    def stop(self) -> None:
        self._server.stop(0).wait()


@pytest.fixture
def impostor() -> Iterator[Impostor]:
    made = Impostor(incarnation=4711)
    yield made
    made.stop()


@pytest.mark.parametrize("transport", ["stream", "grpc"])
def test_an_impostor_gets_no_token_where_there_is_a_secret(
    impostor: Impostor, book: TokenBook, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", transport)
    monkeypatch.setenv("TENSORFLEET_TOKEN", book.add("alice"))
    monkeypatch.setenv("TENSORFLEET_CLUSTER_SECRET", SECRET.decode())
    with pytest.raises(errors.OpError):
        tf.Session(f"grpc://{impostor.address}").list_devices()
    assert impostor.shown
    assert not [value for _, value in impostor.shown if book.texts["alice"] in str(value)]


@pytest.mark.parametrize("kind", ["no stream", "no task", "no secret", "another secret"])
def test_an_impostor_gets_no_graph_where_there_is_a_secret(
    impostor: Impostor, tasks: MakeTasks, client: Show, kind: str
) -> None:
    """A client goes on with nobody who has not proven to know it, by no other way either."""
    client(secret=SECRET)
    if kind in ("no stream", "no task"):
        target = f"grpc://{impostor.address}"
        if kind == "no task":
            impostor.refuse_endpoint()
    else:
        security = Security(secret=SECRET[::-1]) if kind == "another secret" else Security()
        task = tasks({"worker:0": security})["worker:0"]
        target = task.target
    with tf.Graph().as_default():
        x = tf.constant(1.0) + 1.0
        with pytest.raises(
            errors.UnauthenticatedError,
            match=r"Nobody at .* has proven to know|does not know the cluster secret",
        ):
            tf.Session(target).run(x)
    if kind in ("no stream", "no task"):
        assert impostor.asked <= {ENDPOINT, "/tensorfleet.FleetService/Connect"}
    else:
        assert task._master.sessions_created == 0


def test_who_starts_a_cluster_gives_no_token_to_another_at_its_port(impostor: Impostor) -> None:
    cluster = LocalCluster({"worker": 1}, secured=True)
    credentials = cluster._credentials = _Credentials(cluster.spec)
    ended = subprocess.Popen(["true"])
    ended.wait()
    try:
        channel = cluster._ask_when_ready(_Task("/job:worker/task:0", impostor.address, ended))
        with channel:
            until(lambda: PROOF in dict(impostor.shown), 20)
        token = credentials.of_clients.token
        assert token
        assert not [value for _, value in impostor.shown if token in str(value)]
    finally:
        credentials.remove()


@pytest.mark.parametrize("role", ["read", "run"])
def test_a_proof_says_which_token_its_client_has(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, role: str
) -> None:
    token = book.add("alice", role)
    task = tasks({"worker:0": Security(tokens=str(book.path), secret=SECRET)})["worker:0"]
    client(token=token, secret=SECRET)
    x = tf.constant(1.0) * 2.0
    if role == "read":
        with pytest.raises(errors.PermissionDeniedError, match="token:alice has read"):
            tf.Session(task.target).run(x)
        return
    with tf.Session(task.target) as session:
        assert session.run(x) == 2.0
        assert [found.owner for found in task._master.sessions()] == ["token:alice"]
    book.revoke("alice")
    with pytest.raises(errors.UnauthenticatedError, match="revoked"):
        tf.Session(task.target).run(x)


def test_the_hash_of_a_token_is_of_no_use_without_the_secret(tasks: MakeTasks, book: TokenBook) -> None:
    book.add("alice", "admin")
    hash = book.kept["alice"].hash
    task = tasks({"worker:0": Security(tokens=str(book.path), secret=SECRET)})["worker:0"]
    forged = call_proof(b"not the cluster's secret", hash, task._incarnation, STATUS, b"")
    with grpc.insecure_channel(task.address) as channel:
        for shown in ((AUTHORIZATION, f"Bearer {hash}"), (PROOF, forged), (PROOF, hash)):
            with pytest.raises(grpc.RpcError) as raised:
                channel.unary_unary(STATUS)(b"", timeout=10, metadata=(shown,))
            assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED
    address = next(a for a in task._listener.addresses if a.startswith("tcp:")).removeprefix("tcp:")
    host, _, port = address.rpartition(":")
    for shown in ({"token_hash": hash}, {"token": hash}):
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            reader = Reader(sock)
            with pytest.raises(errors.UnauthenticatedError):
                say_hello(sock, reader, {"client": "tensorfleet", **shown})


def test_no_proxy_comes_between(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gRPC takes the environment's proxy even to loopback, where a token goes without encryption."""
    client(token=book.add("alice"))
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "no_grpc_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
        with tf.Session(task.target, config=tf.ConfigProto(operation_timeout_in_ms=10_000)) as session:
            assert session.run(tf.constant(1.0) * 2.0) == 2.0
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()
