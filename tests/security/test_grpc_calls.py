"""Calls by gRPC: who makes them is decided before a byte of the request is read, whatever the method."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2, master_pb2
from tensorfleet.security import secret as proofs
from tensorfleet.security.calls import AUTHORIZATION, PROOF
from tensorfleet.security.settings import Security
from tensorfleet.session.transport_grpc import Channel
from tensorfleet_service.net.grpc_loop import INLINE_BYTES
from tensorfleet_service.rpc import health_service, request_memory
from tensorfleet_service.server import TaskServer
from tests.security.conftest import SECRET, MakeTasks, Pki, TokenBook
from tests.until import until

PS = "/job:ps/replica:0/task:0"
OPEN_METHODS = {
    "/tensorfleet.FleetService/GetEndpoint",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/tensorfleet.FleetService/Connect",  # where those who come say who they are by HELLO, as by a socket
}
Show = Callable[..., None]
Shown = tuple[tuple[str, str], ...]


def refusals(task: TaskServer, metadata: Shown) -> dict[str, grpc.StatusCode]:
    """By method, how a task answers a call of which no byte of a request ever comes."""
    never = threading.Event()

    def nothing() -> Iterator[bytes]:
        never.wait(60)
        yield from ()

    found = {}
    with grpc.insecure_channel(task.address) as channel:
        for name in sorted(task._grpc._handlers._methods.keys() - OPEN_METHODS):
            try:
                channel.stream_unary(name)(nothing(), timeout=10, metadata=metadata)
            except grpc.RpcError as e:
                found[name] = e.code()
        never.set()
    return found


def spied(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls for whose requests memory was asked."""
    asked: list[Any] = []
    take = request_memory.RequestMemory.take

    async def spy(self: request_memory.RequestMemory, context: Any) -> request_memory.Ticket:
        asked.append(context)
        return await take(self, context)

    monkeypatch.setattr(request_memory.RequestMemory, "take", spy)
    return asked


@pytest.mark.parametrize("kind", ["token", "secret"])
def test_strangers_are_refused_before_the_request_is_read(
    tasks: MakeTasks, book: TokenBook, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    book.add("alice")
    asked = spied(monkeypatch)
    security = Security(tokens=str(book.path)) if kind == "token" else Security(secret=SECRET)
    task = tasks({"worker:0": security})["worker:0"]
    found = refusals(task, ((AUTHORIZATION, "Bearer tft_wrong"),) if kind == "token" else ())
    assert len(found) > 20
    assert set(found.values()) == {grpc.StatusCode.UNAUTHENTICATED}
    assert not asked
    assert task._grpc.traffic.received == 0


def test_what_tasks_alone_may_call_is_refused_before_the_request_is_read(
    tasks: MakeTasks, book: TokenBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.add("root", "admin")
    asked = spied(monkeypatch)
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    handlers = task._grpc._handlers
    for_tasks = {name: m for name, m in handlers._methods.items() if "Worker" in name}
    monkeypatch.setattr(handlers, "_methods", for_tasks)
    found = refusals(task, ((AUTHORIZATION, f"Bearer {book.texts['root']}"),))
    assert found == dict.fromkeys(for_tasks, grpc.StatusCode.PERMISSION_DENIED)
    assert "/tensorflow.WorkerService/RunGraph" in found
    assert not asked


@pytest.mark.parametrize("size", [10, 4 * INLINE_BYTES])
@pytest.mark.parametrize(
    "method",
    [
        "/tensorflow.MasterService/RunStep",
        "/tensorflow.MasterService/CreateSession",
        "/tensorflow.WorkerService/RunGraph",
    ],
)
def test_a_proof_is_for_one_request(tasks: MakeTasks, method: str, size: int) -> None:
    """Whoever puts another request under a proof that was made is refused, before it is understood."""
    task = tasks({"worker:0": Security(secret=SECRET)})["worker:0"]
    data = b"\xff" * size
    claim = "" if "Master" in method else "/job:worker/replica:0/task:0"

    def code_of(sent: bytes) -> grpc.StatusCode:
        proof = proofs.call_proof(SECRET, claim, task._incarnation, method, data)
        with grpc.insecure_channel(task.address) as channel, pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary(method)(sent, timeout=10, metadata=((PROOF, proof),))
        code: grpc.StatusCode = raised.value.code()
        return code

    assert code_of(data) is grpc.StatusCode.INTERNAL  # it was taken, and is no message
    assert code_of(data[:-1] + b"\xfe") is grpc.StatusCode.UNAUTHENTICATED
    assert task._guard.refused["unauthenticated"] == 1


def test_the_digest_of_a_proof_cannot_be_replaced(tasks: MakeTasks) -> None:
    task = tasks({"worker:0": Security(secret=SECRET)})["worker:0"]
    method = "/tensorflow.MasterService/RunStep"
    parts = proofs.call_proof(SECRET, "", task._incarnation, method, b"one").split(",")
    for digest in (proofs.request_digest(b"other"), ""):
        parts[3] = digest
        with grpc.insecure_channel(task.address) as channel, pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary(method)(b"other", timeout=10, metadata=((PROOF, ",".join(parts)),))
        assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_health_is_open_and_watched(tasks: MakeTasks, book: TokenBook) -> None:
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    with grpc.insecure_channel(task.address) as channel:
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10) == b"\x08\x01"
        answers = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=10)
        assert next(answers) == b"\x08\x01"
        answers.cancel()


def test_strangers_cannot_watch_in_any_number(
    tasks: MakeTasks, book: TokenBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_service, "MAX_WATCHES", 3)
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    with grpc.insecure_channel(task.address) as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        watches = [watch(b"", timeout=60) for _ in range(3)]
        assert [next(answers) for answers in watches] == [b"\x08\x01"] * 3
        with pytest.raises(grpc.RpcError) as raised:
            next(watch(b"", timeout=10))
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        watches[0].cancel()
        until(lambda: len(task._health_service._ends) < 3)
        last = watch(b"", timeout=60)
        assert next(last) == b"\x08\x01"
        for answers in (*watches, last):
            answers.cancel()


@pytest.mark.parametrize("kind", ["token", "secret"])
def test_what_strangers_send_with_open_calls_is_not_received(
    tasks: MakeTasks, book: TokenBook, kind: str
) -> None:
    book.add("alice")
    security = Security(tokens=str(book.path)) if kind == "token" else Security(secret=SECRET)
    task = tasks({"worker:0": security})["worker:0"]
    options = (("grpc.max_send_message_length", -1),)
    with grpc.insecure_channel(task.address, options) as channel:
        large = bytes(8 << 20)
        found = channel.unary_unary("/tensorfleet.FleetService/GetEndpoint")(large, timeout=10)
        assert fleet_pb2.Endpoint.FromString(found).task == task.task
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(large, timeout=10) == b"\x08\x01"
        answers = channel.unary_stream("/grpc.health.v1.Health/Watch")(large, timeout=10)
        assert next(answers) == b"\x08\x01"
        answers.cancel()
    assert task._grpc.traffic.received_bytes == 0


@pytest.mark.parametrize("kind", ["secret", "tls"])
@pytest.mark.parametrize("bytes", [8, 1 << 21])
def test_tensors_are_pushed_by_grpc_between_tasks_that_prove_who_they_are(
    tasks: MakeTasks, pki: Pki, client: Show, kind: str, bytes: int
) -> None:
    if kind == "tls":
        made = tasks({f"{j}:0": Security(tls=pki.task(j, 0)) for j in ("ps", "worker")}, protocol="grpc")
        client(tls=pki.user("alice"))
    else:
        made = tasks({f"{j}:0": Security(secret=SECRET) for j in ("ps", "worker")}, protocol="grpc")
        client(secret=SECRET)
    with tf.device("/job:ps/task:0"):
        x = tf.ones((bytes // 8,), tf.float64) * tf.random_uniform((), 1, 2, tf.float64)
    with tf.device("/job:worker/task:0"):
        y = tf.reduce_sum(x) / tf.reduce_sum(x)
    with tf.device("/job:ps/task:0"):
        z = y + tf.reduce_sum(x) * 0
    with tf.Session(made["worker:0"].target) as session:
        for _ in range(3):
            assert session.run(z) == 1.0
    assert not sum(task._guard.refused.total() for task in made.values())


def test_a_callable_is_released_by_its_session_alone(tasks: MakeTasks, book: TokenBook, client: Show) -> None:
    for name in ("alice", "mallory"):
        book.add(name)
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    tf.constant(2.5, name="c")
    graph = tf.get_default_graph().as_graph_def()

    def opened(name: str) -> tuple[Channel, str]:
        client(token=book.texts[name])
        channel = Channel(task.address, tf.ConfigProto())
        request = master_pb2.CreateSessionRequest(graph_def=graph)
        return channel, channel.call(
            "CreateSession", request, master_pb2.CreateSessionResponse, 10
        ).session_handle

    (alice, theirs), (mallory, own) = opened("alice"), opened("mallory")
    make = master_pb2.MakeCallableRequest(session_handle=theirs)
    make.options.fetch.append("c:0")
    handle = alice.call("MakeCallable", make, master_pb2.MakeCallableResponse, 10).handle
    for session, error in ((own, tf.errors.InvalidArgumentError), (theirs, tf.errors.PermissionDeniedError)):
        for kind in ("Release", "Run"):
            request = getattr(master_pb2, f"{kind}CallableRequest")(session_handle=session, handle=handle)
            with pytest.raises(error):
                mallory.call(f"{kind}Callable", request, getattr(master_pb2, f"{kind}CallableResponse"), 10)
    run = master_pb2.RunCallableRequest(session_handle=theirs, handle=handle)
    answer = alice.call("RunCallable", run, master_pb2.RunCallableResponse, 10)
    assert answer.fetch[0].float_val[:] == [2.5] or answer.fetch[0].tensor_content
    for channel in (alice, mallory):
        channel.close()


def test_connections_are_counted_by_token(
    tasks: MakeTasks, book: TokenBook, client: Show, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("alice", "bob"):
        book.add(name)
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    task._admission._per_client = 1
    x = tf.constant(1.0) * 2.0
    client(token=book.texts["alice"])
    first = tf.Session(task.target)
    assert first.run(x) == 2.0
    config = tf.ConfigProto(operation_timeout_in_ms=5000)
    with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.UnavailableError)):
        tf.Session(task.target, config=config).run(x)
    assert "token:alice has 1 connections" in caplog.text
    client(token=book.texts["bob"])
    with tf.Session(task.target) as session:
        assert session.run(x) == 2.0
    assert first.run(x) == 2.0
