"""The proxy for clients that know neither TLS nor tokens: what it passes on, and whom it lets in."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.security import peer_user
from tensorfleet.security.settings import CA, CERT, KEY, TOKEN_FILE, Security
from tensorfleet.session.proxy import Proxy
from tensorfleet_service.server import TaskServer
from tests.cluster import networks
from tests.ports import free_ports
from tests.security.conftest import SECRET, MakeTasks, Pki, TokenBook
from tests.until import until

SECONDS = 30.0
LOOPBACK = ("127.0.0.1", 0)


class Bridge:
    """A secured task, and a proxy that leads to it."""

    def __init__(self, task: TaskServer, proxy: Proxy, said: list[str]) -> None:
        self.task = task
        self.proxy = proxy
        self.said = said
        self.address = f"127.0.0.1:{proxy.port}"
        self.target = f"grpc://{self.address}"


@pytest.fixture(autouse=True)
def by_grpc(by_socket: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients of these tests know gRPC alone, as TensorFlow's."""
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")


@pytest.fixture
def bridge(tasks: MakeTasks, pki: Pki, book: TokenBook, tmp_path: Path) -> Iterator[Bridge]:
    """One task with TLS and tokens."""
    text = book.add("alice")
    task = tasks({"worker:0": Security(tls=pki.task("worker", 0), tokens=str(book.path))}, "grpc")["worker:0"]
    path = tmp_path / "token"
    path.write_text(text)
    said: list[str] = []
    # A certificate that names no user: it is the token that says who comes.
    security = Security(tls=pki.issue("client", "", "localhost"), token_file=str(path))
    proxy = Proxy(task.address, LOOPBACK, security, said.append)
    proxy.check()
    proxy.start()
    yield Bridge(task, proxy, said)
    proxy.close()


def test_a_client_without_tls_and_token_is_the_tokens_holder(bridge: Bridge) -> None:
    config = tf.ConfigProto(operation_timeout_in_ms=1500)
    with pytest.raises(errors.OpError), tf.Session(bridge.task.target, config=config) as session:
        session.run(tf.constant(1.0))
    x = tf.placeholder(tf.float32)
    with tf.Session(bridge.target) as session:
        assert session.run(x * 2.0, {x: 4.0}) == 8.0
        assert [s.owner for s in bridge.task._master.sessions()] == ["token:alice"]
    assert not bridge.said, bridge.said


def test_large_tensors_pass_both_ways(bridge: Bridge) -> None:
    values = np.random.default_rng(1).integers(0, 255, 24 << 20, np.uint8)
    x = tf.placeholder(tf.uint8)
    with tf.Session(bridge.target) as session:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(255 - x, {x: values}), 255 - values)


def test_many_calls_at_the_same_time_on_one_connection(bridge: Bridge) -> None:
    x = tf.placeholder(tf.int64)
    y = x + 1
    with tf.Session(bridge.target) as session:

        def run(first: int) -> None:
            for i in range(first, first + 40):
                found.append(int(session.run(y, {x: i})) - i)

        found: list[int] = []
        threads = [threading.Thread(target=run, args=(1000 * i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
    assert found == [1] * 320


def test_errors_keep_their_codes_and_texts(bridge: Bridge) -> None:
    x = tf.placeholder(tf.int64, name="x")
    with tf.Session(bridge.target) as session:
        y = tf.gather(tf.constant([1, 2]), x)
        with pytest.raises(errors.InvalidArgumentError, match="indices = 7 is not in"):
            session.run(y, {x: 7})
    with grpc.insecure_channel(bridge.address) as channel:
        with pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary("/tensorflow.MasterService/ListDevices")(b"\x0a\x03abc", timeout=SECONDS)
        assert raised.value.code() is grpc.StatusCode.ABORTED
        with pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary("/tensorflow.MasterService/Reset")(b"", timeout=SECONDS)
        assert raised.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert "requires the role admin" in raised.value.details()


def test_deadlines_and_cancellations_pass(bridge: Bridge) -> None:
    queue = tf.FIFOQueue(1, tf.int32, ())
    wait = queue.dequeue()
    session = tf.Session(bridge.target)
    with pytest.raises(errors.DeadlineExceededError):
        session.run(wait, options=tf.RunOptions(timeout_in_ms=300))
    master = bridge.task._master.sessions()[0]
    until(lambda: not master.running, SECONDS)
    other = threading.Thread(target=lambda: _ignored(session.run, wait))
    other.start()
    until(lambda: bool(master.running), SECONDS)
    bridge.proxy.close()  # as if the client were gone
    until(lambda: not master.running, SECONDS)
    other.join(SECONDS)
    assert not other.is_alive()
    _ignored(session.close)


def _ignored(function: Callable[..., Any], *arguments: Any) -> None:
    try:
        function(*arguments)
    except errors.OpError:
        pass  # which one is not asked here


def test_a_token_that_was_replaced_is_shown_and_a_revoked_one_refused(
    bridge: Bridge, book: TokenBook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensorfleet.session.proxy.TOKEN_SECONDS", 0.0)
    call = b"\x0a\x03abc"
    with grpc.insecure_channel(bridge.address) as channel:
        ask = channel.unary_unary("/tensorflow.MasterService/ListDevices")

        def code() -> Any:
            with pytest.raises(grpc.RpcError) as raised:
                ask(call, timeout=SECONDS)
            return raised.value.code()

        assert code() is grpc.StatusCode.ABORTED
        bob = book.add("bob")
        book.revoke("alice")
        until(lambda: code() is grpc.StatusCode.UNAUTHENTICATED, SECONDS)
        (tmp_path / "token").write_text(bob)
        until(lambda: code() is grpc.StatusCode.ABORTED, SECONDS)


def test_what_is_not_grpc_is_refused(bridge: Bridge) -> None:
    """Such as a web page's request to a port of the user's own machine."""
    with socket.create_connection(("127.0.0.1", bridge.proxy.port), SECONDS) as sock:
        sock.settimeout(SECONDS)
        sock.sendall(b"POST /tensorflow.MasterService/Reset HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answered = b""
        with contextlib.suppress(ConnectionError):
            while data := sock.recv(1000):
                answered += data
    assert b"HTTP/1" not in answered
    assert bridge.task._grpc.traffic.received == 1  # that of `check`
    until(lambda: any("does not speak gRPC" in text for text in bridge.said), SECONDS)


def test_it_listens_for_others_only_if_that_is_said() -> None:
    security = Security(token="tft_x")
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(errors.InvalidArgumentError, match="--open-to-others"):
            Proxy("127.0.0.1:1", (host, 0), security, print)
    Proxy("127.0.0.1:1", ("0.0.0.0", 0), security, print, open_to_others=True).close()


def test_a_token_is_not_sent_to_other_machines_without_tls() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="not encrypted"):
        Proxy("192.0.2.1:2222", LOOPBACK, Security(token="tft_x"), print)
    with pytest.raises(errors.InvalidArgumentError, match="cluster secret"):
        Proxy("127.0.0.1:1", LOOPBACK, Security(secret=SECRET), print)


def test_whoever_answers_in_the_tasks_place_gets_no_token(
    bridge: Bridge, pki: Pki, tasks: MakeTasks, book: TokenBook
) -> None:
    """Such as another task of the same cluster, whose certificate is a good one."""
    other = tasks({"ps:0": Security(tls=pki.task("ps", 0), tokens=str(book.path))}, "grpc")["ps:0"]
    bridge.proxy.address = other.address
    with grpc.insecure_channel(bridge.address) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/tensorflow.MasterService/ListDevices")(b"", timeout=5)
    until(lambda: any("its certificate is that of /job:ps" in text for text in bridge.said), SECONDS)
    assert other._grpc.traffic.received == 0


@pytest.mark.skipif(not peer_user.KNOWN, reason="the system does not say whose a connection is")
@pytest.mark.parametrize(
    ("family", "host", "to"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET, "127.0.0.1", "::ffff:127.0.0.1"),  # as gRPC's sockets
    ],
)
def test_whose_a_connection_is(family: int, host: str, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError as e:
        pytest.skip(f"nothing can listen at {host}: {e}")
    with server, socket.create_connection((to, server.getsockname()[1]), SECONDS) as client:
        accepted, _ = server.accept()
        with accepted:
            assert peer_user.is_own(accepted)
            with monkeypatch.context() as patch:
                patch.setattr(os, "getuid", lambda: 4321)
                assert not peer_user.is_own(accepted)
            client.close()
            until(lambda: not peer_user.is_own(accepted), SECONDS)


def test_a_table_that_misses_the_connection_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [None, None, os.getuid()]
    monkeypatch.setattr(peer_user, "_user", lambda _: answers.pop(0))
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), SECONDS) as client,
    ):
        assert peer_user.is_own(client)
    assert answers == []


@pytest.mark.skipif(os.getuid() != 0, reason="takes the rights to be another user")
def test_another_user_of_the_machine_is_refused(bridge: Bridge) -> None:
    program = """
import os, socket, sys
os.setuid(65534)
sock = socket.socket()
sock.settimeout(20)
sock.connect(("127.0.0.1", int(sys.argv[1])))
try:
    print(len(sock.recv(100)))
except ConnectionError:
    print(0)
"""
    ask = [sys.executable, "-c", program, str(bridge.proxy.port)]
    done = subprocess.run(ask, capture_output=True, timeout=60)
    assert done.stdout.strip() == b"0", done.stderr
    until(lambda: any("another user" in text for text in bridge.said), SECONDS)
    with tf.Session(bridge.target) as session:
        assert session.run(tf.constant(2.0)) == 2.0


def test_the_port_cannot_be_reached_from_another_machine() -> None:
    """But where that is asked for: so the same way leads there, and it is the address that does not."""
    if why := networks.missing():
        pytest.skip(why)
    listening = """
import sys, threading
from tensorfleet.security.settings import Security
from tensorfleet.session.proxy import Proxy
ports = []
for host in ("127.0.0.1", "0.0.0.0"):
    proxy = Proxy("127.0.0.1:1", (host, 0), Security(), print, open_to_others=host == "0.0.0.0")
    proxy.start()
    ports.append(proxy.port)
print(*ports, flush=True)
threading.Event().wait(120)
"""
    trying = """
import socket, sys
for port in sys.argv[1:]:
    try:
        socket.create_connection(("10.77.0.1", int(port)), 10).close()
        print("reached", flush=True)
    except OSError:
        print("not reached", flush=True)
"""
    hosts = networks.Networks(2)
    try:
        near = networks.python(hosts[0], listening, {})
        try:
            ports = first_line(near).split()
            ask = ["nsenter", f"--net={hosts[1].path}", sys.executable, "-c", trying, *ports]
            done = subprocess.run(ask, capture_output=True, timeout=60, text=True)
            assert done.stdout.split("\n")[:2] == ["not reached", "reached"], done.stderr
        finally:
            near.kill()
            near.communicate(timeout=SECONDS)
    finally:
        hosts.close()


# The command


@contextmanager
def command(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TENSORFLEET_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorfleet.cli.main", "connect", *arguments, "--stop-with-stdin"],
        env=kept | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 60)[0]
    return process.stdout.readline().strip()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, None])
def test_the_command_leads_to_the_cluster_until_it_is_ended(
    tasks: MakeTasks, pki: Pki, book: TokenBook, tmp_path: Path, end: int | None
) -> None:
    (tmp_path / "token").write_text(book.add("alice"))
    task = tasks({"worker:0": Security(tls=pki.task("worker", 0), tokens=str(book.path))}, "grpc")["worker:0"]
    files = pki.issue("client", "", "localhost")
    environment = {
        CERT: files.cert,
        KEY: files.key,
        CA: files.ca,
        TOKEN_FILE: str(tmp_path / "token"),
    }
    with command(task.target, "--listen", "127.0.0.1:0", **environment) as process:
        target = first_line(process)
        with tf.Session(target) as session:
            assert session.run(tf.constant(3.0) * 2.0) == 6.0
        if end is not None:
            process.send_signal(end)
            assert process.wait(SECONDS) == 0
        else:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(SECONDS) == 0
            process.stdin = None


def test_the_command_says_what_is_wrong(tasks: MakeTasks, book: TokenBook, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tft_wrong")
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))}, "grpc")["worker:0"]
    with command(task.target, "--listen", "127.0.0.1:0", **{TOKEN_FILE: str(tmp_path / "token")}) as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "the token is not known here: it is wrong, or was revoked" in said
        assert "tft_wrong" not in said
    (port,) = free_ports(1)
    with command(f"127.0.0.1:{port}", "--listen", "127.0.0.1:0") as process:
        _, said = process.communicate(timeout=90)
        assert process.returncode == 1
        assert f"127.0.0.1:{port}" in said
        assert "Traceback" not in said
    with command(task.target, "--listen", "0.0.0.0:0") as process:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "--open-to-others" in said
