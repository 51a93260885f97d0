"""What each role may call, method by method, and what somebody with the role `run` can guess of others."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cli.steps import as_rows, cluster_steps
from tensorfleet.core import tensor_util
from tensorfleet.proto import fleet_pb2, master_pb2
from tensorfleet.security.calls import AUTHORIZATION, PROOF
from tensorfleet.security.secret import call_proof
from tensorfleet.security.settings import Security
from tensorfleet.wire.frames import Kind, encode
from tensorfleet.wire.hello import say_hello
from tensorfleet.wire.reader import Reader
from tensorfleet_service.master.request_ids import RequestIds
from tensorfleet_service.server import TaskServer
from tests.security.conftest import SECRET, MakeTasks, Pki, TokenBook
from tests.until import Call, until

Show = Callable[..., None]
SECONDS = 20.0

FLEET, MASTER, WORKER = (
    "/tensorfleet.FleetService/",
    "/tensorflow.MasterService/",
    "/tensorflow.WorkerService/",
)
OPEN = {f"{FLEET}GetEndpoint", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"}
READ = {f"{FLEET}{name}" for name in ("Connect", "GetStatus", "GetSteps", "GetStacks")}
ADMIN = {f"{MASTER}Reset"}
RUN = {
    f"{MASTER}{name}"
    for name in (
        *("CreateSession", "ExtendSession", "PartialRunSetup", "RunStep", "CloseSession", "ListDevices"),
        *("MakeCallable", "RunCallable", "ReleaseCallable"),
    )
}
MAY = {
    "nobody": OPEN,
    "read": OPEN | READ,
    "run": OPEN | (READ - {f"{FLEET}GetStacks"}) | RUN,
    "admin": OPEN | READ | RUN | ADMIN,
}
REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


def answers(task: TaskServer, metadata: tuple[tuple[str, str], ...], methods: set[str]) -> set[str]:
    """The methods of which a call is not refused, whatever else it is answered with."""
    found = set()
    with grpc.insecure_channel(task.address) as channel:
        for method in methods:
            made = channel.stream_stream(method)(iter([b""]), timeout=3, metadata=metadata)
            try:
                # An error may come after an empty answer; what is answered with more is not refused.
                refused = not next(made, b"") and made.code() in REFUSED
            except grpc.RpcError as e:
                refused = e.code() in REFUSED
            finally:
                made.cancel()
            if not refused:
                found.add(method)
    return found


@pytest.mark.parametrize("role", MAY)
def test_methods_of_a_role(tasks: MakeTasks, book: TokenBook, role: str) -> None:
    """All methods that there are; a new one is in none of these sets, and fails here."""
    book.add("somebody", role if role != "nobody" else "admin")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    methods = set(task._grpc._handlers._methods)
    for_tasks = {method for method in methods if method.startswith(WORKER)}
    for_tasks |= {method for method in methods if method.startswith(FLEET)} - MAY["admin"]
    assert methods - for_tasks == MAY["admin"]
    shown = () if role == "nobody" else ((AUTHORIZATION, f"Bearer {book.texts['somebody']}"),)
    assert answers(task, shown, methods) == MAY[role]


def test_a_users_certificate_and_a_proof_make_no_task(tasks: MakeTasks, pki: Pki, client: Show) -> None:
    """Where there is TLS, a proof of some secret is worth nothing, whatever it says."""
    task = tasks({"worker:0": Security(tls=pki.task("worker", 0))})["worker:0"]
    user = pki.user("alice", "admin")
    contents = [Path(path).read_bytes() for path in (user.ca, user.key, user.cert)]
    method = f"{WORKER}GetStatus"
    proof = call_proof(SECRET, "/job:worker/replica:0/task:0", task._incarnation, method, b"")
    with (
        grpc.secure_channel(task.address, grpc.ssl_channel_credentials(*contents)) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        channel.unary_unary(method)(b"", timeout=5, metadata=((PROOF, proof),))
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.fixture
def two(tasks: MakeTasks, book: TokenBook) -> TaskServer:
    for name in ("alice", "mallory"):
        book.add(name)
    return tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]


class Caller:
    """Calls of a token's holder by plain gRPC."""

    def __init__(self, task: TaskServer, token: str) -> None:
        self._channel = grpc.insecure_channel(task.address)
        self._shown = ((AUTHORIZATION, f"Bearer {token}"),)

    def __call__(self, method: str, request: Any, answer: Any) -> Any:
        made = self._channel.unary_unary(method if method.startswith("/") else MASTER + method)
        return answer.FromString(made(request.SerializeToString(), timeout=SECONDS, metadata=self._shown))

    def session(self, graph: tf.Graph) -> str:
        request = master_pb2.CreateSessionRequest(graph_def=graph.as_graph_def())
        return str(self("CreateSession", request, master_pb2.CreateSessionResponse).session_handle)

    def close(self) -> None:
        self._channel.close()


@pytest.fixture
def callers(two: TaskServer, book: TokenBook) -> Iterator[tuple[Caller, Caller]]:
    made = Caller(two, book.texts["alice"]), Caller(two, book.texts["mallory"])
    yield made
    for caller in made:
        caller.close()


def test_every_call_with_the_session_of_another(callers: tuple[Caller, Caller]) -> None:
    """By the messages of each method: none is answered, and the session is as it was."""
    alice, mallory = callers
    with tf.Graph().as_default() as graph:
        tf.add(tf.placeholder_with_default(1.0, (), name="x"), 1.0, name="y")
    theirs = alice.session(graph)
    run = master_pb2.RunStepRequest(session_handle=theirs, fetch=["y:0"])
    setup = master_pb2.PartialRunSetupRequest(session_handle=theirs, feed=["x:0"], fetch=["y:0"])
    begun = alice("PartialRunSetup", setup, master_pb2.PartialRunSetupResponse).partial_run_handle
    part = master_pb2.RunStepRequest(session_handle=theirs, fetch=["y:0"], partial_run_handle=begun)
    part.feed.add(name="x:0").tensor.CopyFrom(tensor_util.make_tensor_proto(np.float32(5)))
    make = master_pb2.MakeCallableRequest(session_handle=theirs)
    make.options.fetch.append("y:0")
    made = alice("MakeCallable", make, master_pb2.MakeCallableResponse).handle
    call = master_pb2.RunCallableRequest(session_handle=theirs, handle=made)
    requests = {
        "ExtendSession": master_pb2.ExtendSessionRequest(session_handle=theirs),
        "PartialRunSetup": setup,
        "RunStep": run,
        "CloseSession": master_pb2.CloseSessionRequest(session_handle=theirs),
        "ListDevices": master_pb2.ListDevicesRequest(session_handle=theirs),
        "MakeCallable": make,
        "RunCallable": call,
        "ReleaseCallable": master_pb2.ReleaseCallableRequest(session_handle=theirs, handle=made),
    }
    assert {MASTER + name for name in requests} == RUN - {f"{MASTER}CreateSession"}
    own = mallory.session(graph)
    for method, request in [*requests.items(), ("RunStep", part)]:
        with pytest.raises(grpc.RpcError) as refused:
            mallory(method, request, master_pb2.RunStepResponse)
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED, method
        # And what belongs to the session of another, by the handle of an own one.
        if method in ("RunCallable", "ReleaseCallable") or request is part:
            request = type(request).FromString(request.SerializeToString())
            request.session_handle = own
            with pytest.raises(grpc.RpcError) as unknown:
                mallory(method, request, master_pb2.RunStepResponse)
            assert unknown.value.code() is grpc.StatusCode.INVALID_ARGUMENT, method
    response = alice("RunStep", part, master_pb2.RunStepResponse)
    assert tensor_util.make_ndarray(response.tensor[0].tensor) == 6
    response = alice("RunCallable", call, master_pb2.RunCallableResponse)
    assert tensor_util.make_ndarray(response.fetch[0]) == 2


def test_request_ids_of_another(callers: tuple[Caller, Caller], monkeypatch: pytest.MonkeyPatch) -> None:
    """One client's requests have no retried one of another's run again."""
    monkeypatch.setattr(RequestIds.__init__, "__defaults__", (4,))
    alice, mallory = callers
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")

    def run(caller: Caller, session: str, number: int) -> None:
        request = master_pb2.RunStepRequest(session_handle=session, fetch=["c:0"], request_id=number)
        caller("RunStep", request, master_pb2.RunStepResponse)

    theirs, own = alice.session(graph), mallory.session(graph)
    run(alice, theirs, 7)
    for number in range(1, 20):
        run(mallory, own, number)
    with pytest.raises(grpc.RpcError) as retried:
        run(alice, theirs, 7)
    assert retried.value.code() is grpc.StatusCode.ABORTED


def test_steps_of_another(
    two: TaskServer, book: TokenBook, client: Show, callers: tuple[Caller, Caller]
) -> None:
    """Each sees what its own steps wait for, on other tasks by their numbers, and who may read sees all."""
    alice, mallory = callers
    with tf.Graph().as_default() as graph:
        tf.FIFOQueue(1, tf.float32, shared_name="theirs").dequeue(name="take")
    handle = alice.session(graph)
    run = master_pb2.RunStepRequest(session_handle=handle, fetch=["take:0"])
    step = Call(lambda: alice("RunStep", run, master_pb2.RunStepResponse))
    book.add("reader", "read")
    reader = Caller(two, book.texts["reader"])

    def steps(caller: Caller, **request: Any) -> fleet_pb2.StepsReply:
        return caller(f"{FLEET}GetSteps", fleet_pb2.StepsRequest(**request), fleet_pb2.StepsReply)

    (own,) = until(lambda: steps(alice, master=True).step)
    assert own.session == handle
    (part,) = until(lambda: steps(alice, step_id=[own.step_id]).part)
    assert "theirs" in part.activity[0]
    assert steps(alice, master=True).withheld
    for seen in (steps(mallory, master=True), steps(mallory), steps(mallory, step_id=[0, 1])):
        assert (list(seen.step), list(seen.part)) == ([], [])
    everything = steps(reader, master=True)
    assert (everything.step[0].step_id, everything.part[0].step_id) == (own.step_id, own.step_id)
    assert not everything.withheld
    for name, count in (("alice", 2), ("mallory", 0), ("reader", 2)):
        client(token=book.texts[name])
        assert len(as_rows(cluster_steps([("/job:worker/task:0", two.address)], SECONDS))) == count
    reader.close()
    alice(
        "CloseSession", master_pb2.CloseSessionRequest(session_handle=handle), master_pb2.CloseSessionResponse
    )
    with pytest.raises(grpc.RpcError):
        step.result()


def test_tensors_that_another_session_keeps(two: TaskServer, book: TokenBook, client: Show, way: str) -> None:
    """Their handles can be guessed, and lead to nothing elsewhere."""
    client(token=book.texts["alice"])
    with tf.Session(two.target) as theirs:
        handle = theirs.run(tf.get_session_handle(tf.constant(42.0)))
        client(token=book.texts["mallory"])
        with tf.Session(two.target) as mine:
            holder, value = tf.get_session_tensor(handle.handle, tf.float32)
            with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
                mine.run(value, {holder: handle.handle})
            gone, deleted = tf.delete_session_tensor(handle.handle)
            with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
                mine.run(deleted, {gone: handle.handle})
        assert theirs.run(value, {holder: handle.handle}) == 42


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.CALL, Kind.RUN)])
def test_frames_that_a_client_does_not_send(two: TaskServer, book: TokenBook, kind: Kind) -> None:
    """Those of tasks, such as about collectives: they end the connection, and reach nobody."""
    reached: list[Any] = []
    two._worker.collectives.receive = lambda *what: reached.append(what)  # type: ignore[method-assign]
    two._worker.rendezvous.put = lambda *what: reached.append(what)  # type: ignore[method-assign]
    assert two._listener is not None
    port = int(two._listener.addresses[-1].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as sock:
        reader = Reader(sock)
        say_hello(sock, reader, {"token": book.texts["mallory"]})
        tensors = [np.float32(1)] if kind in (Kind.PUSH, Kind.CHUNK, Kind.PUSH_ALL) else []
        sock.sendall(b"".join(map(bytes, encode(kind, 1, 12, b'{"key": [1, 1], "ask": 1}', tensors))))
        frame = reader.read()
        assert frame.kind == Kind.ERROR
        with pytest.raises((EOFError, OSError)):
            reader.read()
    assert not reached


def test_a_token_that_ends_while_a_step_runs(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str
) -> None:
    """At its own time, without any change of the file."""
    seconds = 4.0
    client(token=book.add("alice", days=seconds / 86400))
    began = time.monotonic()
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    with tf.Graph().as_default():
        never, more = tf.FIFOQueue(1, tf.float32).dequeue(), tf.constant(1.0) + 1.0
        session = tf.Session(task.target)
        with pytest.raises(tf.errors.UnauthenticatedError, match="expired"):
            session.run(never)
        assert time.monotonic() - began < SECONDS
        until(lambda: not any(made.running for made in task._master.sessions()), SECONDS)
        for act in (lambda: session.run(more), session.close):
            with pytest.raises(tf.errors.UnauthenticatedError, match="expired"):
                act()
