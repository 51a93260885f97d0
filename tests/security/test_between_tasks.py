"""Tasks know each other, by a secret or by certificates; whoever is none of them is kept out."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.security import identity, secret as proofs
from tensorfleet.security.settings import OPEN, Security, TlsFiles
from tensorfleet.security.tls import certificates
from tensorfleet.wire.connection import open_socket
from tensorfleet.wire.frames import MAGIC, Kind, encode, unpack_error
from tensorfleet.wire.opening import encrypted, open_hello
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.tls import TlsReader
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.server import TaskServer
from tests.security.conftest import CLUSTER, DOMAIN, SECRET, MakeTasks, Pki, TokenBook
from tests.until import until

Show = Callable[..., None]
Secured = Callable[[], dict[str, Security]]

WORKER, PS = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"


@pytest.fixture(params=["secret", "tls"])
def secured(request: pytest.FixtureRequest, pki: Pki, client: Show) -> dict[str, Security]:
    """The settings of a ps and a worker; the client has what it needs."""
    if request.param == "secret":
        client(secret=SECRET)
        return {"ps:0": Security(secret=SECRET), "worker:0": Security(secret=SECRET)}
    client(tls=pki.user("alice", "admin"))
    return {"ps:0": Security(tls=pki.task("ps", 0)), "worker:0": Security(tls=pki.task("worker", 0))}


def across(target: str, size: int = 300_000, seconds: float = 10.0) -> float:
    """A step whose tensor, of 8 bytes each, goes from ps to worker and to the client."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            x = tf.fill([size], tf.constant(1.5, tf.float64))
        with tf.device("/job:worker/task:0"):
            y = x * 2.0
        config = tf.ConfigProto(operation_timeout_in_ms=int(seconds * 1000))
        with tf.Session(target, config=config) as session:
            value = session.run(y)
    assert value.shape == (size,)
    return float(value[-1])


@pytest.mark.parametrize("protocol", ["grpc+stream", "grpc"])
def test_a_step_on_two_tasks(tasks: MakeTasks, secured: dict[str, Security], way: str, protocol: str) -> None:
    made = tasks(secured, protocol)
    assert across(made["worker:0"].target) == 3.0


def test_a_client_that_shows_nothing_is_kept_out(
    tasks: MakeTasks, secured: dict[str, Security], client: Show, way: str
) -> None:
    made = tasks(secured)
    client()
    with pytest.raises(tf.errors.OpError) as refused:
        across(made["worker:0"].target, seconds=2.0)
    assert isinstance(refused.value, (tf.errors.UnauthenticatedError, tf.errors.DeadlineExceededError))


# ---------------------------------------------------------------------------------------------- attackers


def plain_hello(address: str, about: dict[str, Any]) -> Exception | dict[str, Any]:
    """What a HELLO without TLS or a proof is answered with."""
    with open_socket([address], 5) as sock:
        reader = Reader(sock)
        sock.settimeout(5)
        sock.sendall(b"".join(encode(Kind.HELLO, 0, 0, MAGIC + json.dumps(about).encode())))
        try:
            frame = reader.read()
        except (OSError, EOFError) as e:
            return e
    if frame.kind == Kind.ERROR:
        return unpack_error(frame)
    found: dict[str, Any] = json.loads(frame.meta[len(MAGIC) :])
    return found


def addresses(task: TaskServer) -> list[str]:
    """Those of its stream: a Unix socket and a TCP port."""
    assert task._listener is not None
    return task._listener.addresses


def connected_peer(task: TaskServer, name: str) -> Any:
    return task._peers.existing(name)


def test_nobody_takes_the_place_of_a_task_by_saying_so(
    tasks: MakeTasks, secured: dict[str, Security]
) -> None:
    """A HELLO as ps, with a later incarnation, would have dropped the real one."""
    made = tasks(secured)
    worker = made["worker:0"]
    assert across(worker.target) == 3.0
    before = connected_peer(worker, PS)
    assert before is not None
    for address in addresses(worker):
        answer = plain_hello(address, {"task": PS, "incarnation": 12345})
        assert isinstance(answer, tf.errors.UnauthenticatedError), answer
    assert connected_peer(worker, PS) is before
    assert before.lost is None
    assert across(worker.target) == 3.0


def attack(task: TaskServer, about: dict[str, Any], security: Security) -> Exception:
    """The error that somebody with these settings gets for a HELLO, on each of a task's sockets."""
    for address in addresses(task):
        sock: Any = open_socket([address], 5)
        try:
            sock.settimeout(5)
            tls = encrypted(sock, security)
            reader = Reader(sock) if tls is None else TlsReader(tls)
            heard, _ = open_hello(tls or sock, reader, about, security, "127.0.0.1")
            return AssertionError(f"let in at {address}: {heard}")
        except (OSError, EOFError, tf.errors.OpError) as e:
            error = e
        finally:
            sock.close()
    return error


def test_another_tasks_certificate_is_not_this_tasks(tasks: MakeTasks, pki: Pki) -> None:
    made = tasks({"ps:0": Security(tls=pki.task("ps", 0)), "worker:0": Security(tls=pki.task("worker", 0))})
    as_ps = {"task": PS, "incarnation": 5}
    for files in (pki.task("worker", 1), pki.user("eve", "admin"), pki.issue("host", "", "10.9.8.7")):
        error = attack(made["worker:0"], as_ps, Security(tls=files))
        assert isinstance(error, tf.errors.UnauthenticatedError), error
        assert "its certificate" in str(error)


@pytest.mark.parametrize("about", [{"task": PS, "incarnation": 5}, {"client": "x"}], ids=["task", "client"])
def test_certificates_that_are_not_trusted(
    tasks: MakeTasks, pki: Pki, tmp_path_factory: pytest.TempPathFactory, about: dict[str, Any]
) -> None:
    made = tasks({"ps:0": Security(tls=pki.task("ps", 0)), "worker:0": Security(tls=pki.task("worker", 0))})
    other = Pki(tmp_path_factory.mktemp("other"))
    other.ca.write_bytes(pki.ca.read_bytes())  # the attacker trusts the cluster
    elsewhere = pki.issue("elsewhere", "spiffe://example.org/tensorfleet/two/ps/0")
    for files, why in (
        (other.task("ps", 0), "unknown ca"),
        (pki.task("ps", 0, days=-1), "certificate expired"),
        (elsewhere, "not of spiffe://example.org/tensorfleet/one"),
    ):
        error = attack(made["worker:0"], about, Security(tls=files))
        assert isinstance(error, (ssl.SSLError, tf.errors.UnauthenticatedError)), error
        assert why in str(error).replace("_", " ").lower(), error


def memory_files() -> int:
    """How many descriptors of shared memory this process has."""
    found = 0
    for entry in os.scandir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own is closed by now
            found += "memfd:tensorfleet" in os.readlink(entry.path)
    return found


@pytest.mark.parametrize("count", [1, 2, 30])
def test_descriptors_of_those_who_are_refused_are_closed(tasks: MakeTasks, pki: Pki, count: int) -> None:
    """Whoever connects by a Unix socket may send descriptors with any byte, also in the handshake."""
    worker = tasks({"worker:0": Security(tls=pki.task("worker", 0))})["worker:0"]
    gc.collect()
    before = memory_files()
    for data in (b"\x16no handshake", bytes((22, 3, 1, 2, 0, 1))):
        sent = [os.memfd_create("tensorfleet") for _ in range(count)]
        with open_socket([addresses(worker)[0]], 5) as sock:
            socket.send_fds(sock, [data], sent)
            with contextlib.suppress(ConnectionError):  # which was refused meanwhile
                socket.send_fds(sock, [b"x"], sent)
            for descriptor in sent:
                os.close(descriptor)
            sock.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while sock.recv(100):
                    pass  # until the task has closed the connection
    until(lambda: memory_files() <= before, 20)


def test_no_certificate_at_all(tasks: MakeTasks, pki: Pki) -> None:
    made = tasks({"worker:0": Security(tls=pki.task("worker", 0))})
    context = ssl.create_default_context(cafile=str(pki.ca))
    context.check_hostname = False
    address = addresses(made["worker:0"])[-1].removeprefix("tcp:").split(":")
    with (
        socket.create_connection((address[0], int(address[1])), 5) as raw,
        context.wrap_socket(raw) as sock,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"),
    ):
        sock.recv(1)


def test_tls_of_an_earlier_version_is_refused(tasks: MakeTasks, pki: Pki) -> None:
    made = tasks({"worker:0": Security(tls=pki.task("worker", 0))})
    files = pki.user("alice")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files.cert, files.key)
    context.load_verify_locations(files.ca)
    host, port = addresses(made["worker:0"])[-1].removeprefix("tcp:").split(":")
    with socket.create_connection((host, int(port)), 5) as raw, pytest.raises(ssl.SSLError, match="VERSION"):
        context.wrap_socket(raw)


def test_a_client_with_tls_does_not_talk_to_a_task_without(tasks: MakeTasks, pki: Pki, client: Show) -> None:
    """Whoever sits in between cannot have it fall back to plain connections."""
    made = tasks({"worker:0": OPEN})
    error = attack(made["worker:0"], {"client": "x"}, Security(tls=pki.user("alice")))
    assert isinstance(error, OSError)
    client(tls=pki.user("alice"))
    with pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)):
        across(made["worker:0"].target, seconds=2.0)


def test_a_client_does_not_take_another_task_for_its_master(
    tasks: MakeTasks, pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task's certificate does not make it another task, nor a user's a task."""
    uri = identity.task_uri(DOMAIN, CLUSTER, "worker", 0)
    monkeypatch.setattr(Guard, "_check_own", lambda guard, own: None)  # as an impostor's
    for number, files in enumerate((pki.task("ps", 0), pki.user("eve", "admin"))):
        own = pki.issue(f"impostor-{number}", uri)
        made = tasks({"worker:0": Security(tls=own)})
        for name, other in ((own.key, files.key), (own.cert, files.cert)):
            Path(name).write_bytes(Path(other).read_bytes())
        error = attack(made["worker:0"], {"client": "x"}, Security(tls=pki.user("alice")))
        assert isinstance(error, tf.errors.UnauthenticatedError), error
        assert "its certificate is that of" in str(error)


def replace(files: TlsFiles, other: TlsFiles) -> None:
    """Puts the files of another certificate in the place of one, the key first."""
    for old, new in ((files.key, other.key), (files.cert, other.cert)):
        Path(old).write_bytes(Path(new).read_bytes())


def test_a_task_keeps_its_certificate_when_that_of_another_takes_its_place(
    tasks: MakeTasks, pki: Pki, client: Show, caplog: pytest.LogCaptureFixture
) -> None:
    own, fresh = pki.task("worker", 0), pki.issue("fresh", identity.task_uri(DOMAIN, CLUSTER, "worker", 0))
    made = tasks({"worker:0": Security(tls=own), "ps:0": Security(tls=pki.task("ps", 0))})
    client(tls=pki.user("alice"))
    held = certificates(own)
    for wrong in (
        pki.task("worker", 1),
        pki.user("eve"),
        pki.issue("elsewhere", "spiffe://a/tensorfleet/b/ps/0"),
    ):
        before = held.pem
        caplog.clear()
        replace(own, wrong)
        assert held.pem == before
        assert "the certificates are not replaced" in caplog.text
        assert f"is {own.cert!r} on {WORKER}, but its certificate is" in caplog.text
        assert across(made["worker:0"].target) == 3.0
    replace(own, fresh)  # one that is right is taken
    assert held.pem[1] == Path(fresh.cert).read_bytes()
    assert across(made["worker:0"].target) == 3.0


def test_another_secret_is_refused_by_both_sides(tasks: MakeTasks) -> None:
    made = tasks({"ps:0": Security(secret=SECRET), "worker:0": Security(secret=SECRET)})
    for about in ({"task": PS, "incarnation": 5}, {"client": "x"}):
        error = attack(made["worker:0"], about, Security(secret=b"x" * 32))
        assert isinstance(error, tf.errors.UnauthenticatedError)
        assert "does not know the cluster secret" in str(error)
    error = attack(tasks({"worker:0": OPEN})["worker:0"], {"client": "x"}, Security(secret=SECRET))
    assert isinstance(error, (OSError, EOFError, tf.errors.OpError))
    assert "let in" not in str(error)


class Tap:
    """Forwards connections to a port, and keeps what goes over them in both directions."""

    def __init__(self, host: str, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._to = (host, port)
        self.port: int = self._server.getsockname()[1]
        self.there, self.back = bytearray(), bytearray()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._server.accept()
            except OSError:
                return
            other = socket.create_connection(self._to)
            for a, b, kept in ((sock, other, self.there), (other, sock, self.back)):
                threading.Thread(target=self._copy, args=(a, b, kept), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
        try:
            while data := source.recv(1 << 16):
                kept += data
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for sock in (source, sink):
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def tap() -> Iterator[Callable[[TaskServer], Tap]]:
    made: list[Tap] = []

    def listen(task: TaskServer) -> Tap:
        host, port = addresses(task)[-1].removeprefix("tcp:").rsplit(":", 1)
        made.append(Tap(host, int(port)))
        return made[-1]

    yield listen
    for one in made:
        one.close()


def feed_through(tap: Tap, task: TaskServer, security: Security, value: np.ndarray[Any, Any]) -> None:
    """Sends a tensor by HELLO and PUSH, as a task would, through a tap."""
    sock: Any = socket.create_connection(("127.0.0.1", tap.port), 5)
    tls = encrypted(sock, security)
    reader = Reader(sock) if tls is None else TlsReader(tls)
    open_hello(tls or sock, reader, {"task": PS, "incarnation": 5}, security, "127.0.0.1")
    (tls or sock).sendmsg(encode(Kind.PUSH, 77, 1, b"", [value]))
    (tls or sock).sendall(b"".join(encode(Kind.CALL, 1, 20)))
    assert reader.read().number == 1  # what came before it has been read
    sock.close()


def test_who_listens_between_two_tasks_finds_no_tensor(
    tasks: MakeTasks, pki: Pki, tap: Callable[[TaskServer], Tap]
) -> None:
    value = np.frombuffer(b"a tensor that nobody else may see " * 8000, np.uint8)
    needle = b"nobody else may see"
    ps = pki.task("ps", 0)
    made = tasks({"ps:0": Security(tls=ps), "worker:0": Security(tls=pki.task("worker", 0))})
    listening = tap(made["worker:0"])
    feed_through(listening, made["worker:0"], Security(tls=ps), value)
    assert len(listening.there) > value.nbytes
    assert needle not in listening.there
    assert PS.encode() not in listening.there
    # The same with the secret alone, which does not encrypt: the tap does see what there is to see.
    both = dict.fromkeys(("ps:0", "worker:0"), Security(secret=SECRET))
    made = tasks(both)
    listening = tap(made["worker:0"])
    feed_through(listening, made["worker:0"], both["ps:0"], value)
    assert needle in listening.there
    assert SECRET not in listening.there + listening.back


@pytest.mark.parametrize("kind", ["secret", "tls"])
def test_what_was_heard_does_not_let_in_a_second_time(
    tasks: MakeTasks, pki: Pki, tap: Callable[[TaskServer], Tap], kind: str
) -> None:
    if kind == "tls":
        ps = Security(tls=pki.task("ps", 0))
        made = tasks({"ps:0": ps, "worker:0": Security(tls=pki.task("worker", 0))})
    else:
        ps = Security(secret=SECRET)
        made = tasks({"ps:0": ps, "worker:0": ps})
    worker = made["worker:0"]
    listening = tap(worker)
    feed_through(listening, worker, ps, np.zeros(4))
    heard = bytes(listening.there)
    refused = worker._guard.refused["unauthenticated"]
    host, port = addresses(worker)[-1].removeprefix("tcp:").rsplit(":", 1)
    peers = connected_peer(worker, PS)
    with socket.create_connection((host, int(port)), 5) as sock:
        sock.settimeout(5)
        sock.sendall(heard)
        answer = bytearray()
        try:
            while data := sock.recv(65536):
                answer += data
        except OSError:
            pass
    assert MAGIC not in answer
    assert worker._guard.refused["unauthenticated"] == refused + 1
    assert connected_peer(worker, PS) in (None, peers)  # which may have ended meanwhile


def test_a_call_by_grpc_counts_once_for_one_task(tasks: MakeTasks) -> None:
    both = {"ps:0": Security(secret=SECRET), "worker:0": Security(secret=SECRET)}
    made = tasks(both)
    worker, ps = made["worker:0"], made["ps:0"]
    method = "/tensorflow.WorkerService/CleanupAll"
    data = worker_pb2.CleanupAllRequest(container=["x"]).SerializeToString()
    proof = proofs.call_proof(SECRET, PS, worker._incarnation, method, data)

    def call(task: TaskServer, method: str, data: bytes, proof: str) -> grpc.StatusCode:
        with grpc.insecure_channel(task.address) as channel:
            try:
                channel.unary_unary(method)(data, timeout=5, metadata=(("tensorfleet-proof", proof),))
            except grpc.RpcError as e:
                code: grpc.StatusCode = e.code()
                return code
        return grpc.StatusCode.OK

    refused = grpc.StatusCode.UNAUTHENTICATED
    other = worker_pb2.CleanupAllRequest(container=["y"]).SerializeToString()
    assert call(worker, method, other, proof) is refused
    assert call(worker, method, data, proof) is refused  # it was used
    proof = proofs.call_proof(SECRET, PS, worker._incarnation, method, data)
    assert call(worker, "/tensorflow.WorkerService/DeleteWorkerSession", data, proof) is refused
    assert call(ps, method, data, proof) is refused
    assert call(worker, method, data, proof) is grpc.StatusCode.OK
    assert call(worker, method, data, proof) is refused
    late = proofs.call_proof(SECRET, PS, worker._incarnation, method, data, now=1_000_000.0)
    assert call(worker, method, data, late) is refused
    for wrong in ("", "a,b", "a,b,c,d", ",,,,", "a,b,c,d,e", "ü,1,2,3,4".encode().decode("latin-1")):
        assert call(worker, method, data, wrong.encode("ascii", "replace").decode()) is refused


def test_worker_service_is_for_tasks(tasks: MakeTasks, secured: dict[str, Security], client: Show) -> None:
    from tensorfleet.session.transport_grpc import Channel

    made = tasks(secured)
    channel = Channel(made["worker:0"].address, tf.ConfigProto())
    channel.call("/tensorfleet.FleetService/GetStatus", fleet_pb2.StatusRequest(), fleet_pb2.StatusReply, 5)
    with pytest.raises(tf.errors.PermissionDeniedError, match="requires the role task"):
        channel.call(
            "/tensorflow.WorkerService/CleanupAll",
            worker_pb2.CleanupAllRequest(),
            worker_pb2.CleanupAllResponse,
            5,
        )
    channel.close()


def test_certificates_are_read_again(tasks: MakeTasks, pki: Pki, client: Show, way: str) -> None:
    """A new certificate is shown to the next connection, an unusable one changes nothing."""
    files = pki.task("worker", 0)
    worker = tasks({"worker:0": Security(tls=files)})["worker:0"]
    client(tls=pki.user("alice"))

    def serial() -> bytes:
        host, port = worker.address.rsplit(":", 1)
        if way == "stream":
            host, port = addresses(worker)[-1].removeprefix("tcp:").rsplit(":", 1)
        held = certificates(pki.user("alice"))
        context = held.client_context()
        if way == "grpc":
            context.set_alpn_protocols(["h2"])
        with socket.create_connection((host, int(port)), 5) as raw, context.wrap_socket(raw) as sock:
            found = sock.getpeercert(True)
            assert found is not None
            return found

    first = serial()
    pki.task("worker", 0)
    second = serial()
    assert second != first
    with open(files.cert, "w") as file:
        file.write("not a certificate")
    assert serial() == second


def test_a_user_of_another_cluster_is_none_of_a_task_whose_certificate_names_no_cluster(
    tasks: MakeTasks, pki: Pki, client: Show, way: str
) -> None:
    task = tasks({"worker:0": Security(tls=pki.issue("hosts-only", "", "127.0.0.1"))})["worker:0"]
    client(tls=pki.issue("eve", identity.user_uri(DOMAIN, "other", "admin", "eve")))
    with pytest.raises(tf.errors.UnauthenticatedError, match="names no cluster"):
        tf.Session(task.target).run(tf.constant(1.0) * 2.0)


def test_tasks_whose_certificates_name_hosts_alone(
    tasks: MakeTasks, pki: Pki, book: TokenBook, client: Show, way: str
) -> None:
    """As of a CA that knows no URIs: they are whom the ClusterSpec has at these hosts."""
    book.add("alice")

    def at(name: str, host: str) -> Security:
        return Security(tls=pki.issue(name, "", host), tokens=str(book.path))

    client(tls=pki.issue("client", "", "elsewhere.example.org"), token=book.texts["alice"])
    made = tasks({"ps:0": at("ps", "127.0.0.1"), "worker:0": at("worker", "127.0.0.1")})
    assert across(made["worker:0"].target) == 3.0
    if way == "stream":
        as_ps = {"task": PS, "incarnation": 5}
        other = Security(tls=pki.issue("other", "", "elsewhere.example.org"))
        error = attack(made["worker:0"], as_ps, other)
        assert isinstance(error, tf.errors.UnauthenticatedError), error


@pytest.mark.parametrize("uri", ["", "spiffe://example.org/another/workload"], ids=["none", "foreign"])
def test_a_clients_certificate_of_a_host_with_tasks_makes_no_task(
    tasks: MakeTasks, pki: Pki, book: TokenBook, client: Show, way: str, uri: str
) -> None:
    """Where the tasks' certificates say which task they are, one of the host alone is nobody's."""
    of_task = Security(tls=pki.task("worker", 0), tokens=str(book.path))
    token = book.add("alice")
    target = tasks({"worker:0": of_task})["worker:0"].target
    of_host = pki.issue("client", uri, "127.0.0.1")
    client(tls=of_host, token=token)
    with tf.Session(target) as session:
        assert session.run(tf.constant(1.0) * 2.0) == 2.0
    with pytest.raises(tf.errors.PermissionDeniedError, match="admin"):
        tf.Session.reset(target)
    client(tls=of_host)
    with pytest.raises(tf.errors.UnauthenticatedError, match="no token"):
        tf.Session(target).run(tf.constant(1.0) * 2.0)


def test_a_name_that_looks_like_an_identity_is_none() -> None:
    """By gRPC the alternative names of all kinds come in one list as well."""
    uri = identity.user_uri(DOMAIN, "one", "admin", "eve").encode()
    names = {"x509_pem_cert": [b"-"], "x509_subject_alternative_name": [uri, b"worker-0"]}
    assert identity.of_grpc({**names, "peer_email": [uri, b"worker-0"]}) == identity.Identity()
    known = identity.of_grpc({**names, "peer_uri": [uri], "peer_dns": [b"worker-0"], "peer_ip": [b"::1"]})
    assert known is not None
    assert (known.user, known.hosts) == ("eve", ("worker-0", "::1"))
