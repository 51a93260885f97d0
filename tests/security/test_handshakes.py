"""One handshake for each connection, few connections, a record for each message: the costs of TLS beside."""

from __future__ import annotations

import fcntl
import socket
import ssl
import struct
import termios
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.security.settings import Security, TlsFiles
from tensorfleet.security.tls import certificates
from tensorfleet.wire import tls_records
from tensorfleet.wire.frames import Kind, encode
from tensorfleet.wire.tls import TlsConnection, TlsSocket
from tests.client.wire.sockets import in_thread, join
from tests.security.conftest import MakeTasks, Pki
from tests.until import until

Show = Callable[..., None]

RECORD_HEAD, RECORD_END = 5, 17  # the head in plain, a byte for what it holds, and the mark of 16 bytes


@pytest.fixture
def handshakes(monkeypatch: pytest.MonkeyPatch) -> list[TlsSocket]:
    """The accepting ends of new connections: those whose handshake is over before anything is said."""
    made: list[TlsSocket] = []
    original = TlsSocket._handshake

    def handshake(sock: TlsSocket) -> None:
        original(sock)
        if sock._tls.server_side:
            made.append(sock)

    monkeypatch.setattr(TlsSocket, "_handshake", handshake)
    return made


def test_steps_use_connections_that_are_there(
    tasks: MakeTasks, pki: Pki, client: Show, handshakes: list[TlsSocket]
) -> None:
    client(tls=pki.user("alice", "admin"))
    made = tasks({"ps:0": Security(tls=pki.task("ps", 0)), "worker:0": Security(tls=pki.task("worker", 0))})
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            x = tf.placeholder(tf.float32, [])
            y = x + 1.0
        with tf.device("/job:worker/task:0"):
            z = y * 2.0
        with tf.Session(made["worker:0"].target) as session:
            assert session.run(z, {x: 1.0}) == 4.0
            before = len(handshakes)
            for i in range(50):
                assert session.run(z, {x: float(i)}) == 2.0 * i + 2.0
            assert len(handshakes) == before
            # The client's connection to its master, and one between the tasks, or one in each direction.
            assert 2 <= before <= 3


def encrypted_pair(server: TlsFiles, user: TlsFiles) -> tuple[TlsSocket, TlsSocket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far = listening.accept()[0]
    accepted: list[TlsSocket] = []
    context = certificates(server).server_context()
    thread = in_thread(lambda: accepted.append(TlsSocket(far, context, server_side=True)))
    one = TlsSocket(near, certificates(user).client_context(), server_side=False)
    join(thread)
    return one, accepted[0]


def test_no_session_is_resumed(pki: Pki) -> None:
    """A session that is resumed verifies no certificate: neither its end nor its CA."""
    server, user = pki.task("worker", 0), pki.user("alice")
    sessions: list[Any] = []
    for _ in range(2):
        one, other = encrypted_pair(server, user)
        other.sendall(b"x")  # a ticket would come before it
        buffer = bytearray(1)
        assert one.recv_into(buffer) == 1
        assert not one._tls.session_reused
        sessions.append(one._tls.session)
        for end in (one, other):
            end.close()
    assert not any(session.has_ticket for session in sessions)
    assert certificates(server).server_context().session_stats()["hits"] == 0
    # Nor is one that somebody offers who has kept it.
    near, far = socket.socketpair()
    accepted: list[TlsSocket] = []
    context = certificates(server).server_context()
    thread = in_thread(lambda: accepted.append(TlsSocket(far, context, server_side=True)))
    with certificates(user).client_context().wrap_socket(near, session=sessions[0]) as again:
        join(thread)
        assert isinstance(again, ssl.SSLSocket)
        assert not again.session_reused
    accepted[0].close()


@pytest.mark.parametrize("compiled", [True, False])
def test_a_message_is_one_record(pki: Pki, compiled: bool) -> None:
    if compiled and tls_records.module() is None:
        pytest.skip("tensorfleet-kernels is not there")
    one, other = encrypted_pair(pki.task("worker", 0), pki.user("alice"))
    if compiled:
        one.greeted()
        assert one.records is not None
    connection = TlsConnection(one)
    frame = encode(Kind.PUSH, 1, 1, b"", [np.ones(200, np.uint8), np.zeros(3, np.float32)])
    size = sum(map(len, frame))
    connection.send(frame)
    until(lambda: waiting(other) >= size)
    # It is sent by one call, so that all of it is there.
    assert waiting(other) == size + RECORD_HEAD + RECORD_END
    connection.close()
    other.close()


def waiting(sock: TlsSocket) -> int:
    """Bytes that have come to a socket, and were not yet received."""
    (size,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0" * 4))
    return int(size)
