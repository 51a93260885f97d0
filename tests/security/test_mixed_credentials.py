"""Tasks that know each other by different means; what is shown where it does not count lets none in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.core.errors import OpError
from tensorfleet.security.settings import Security, SecurityError
from tensorfleet.wire.frames import MAGIC, Kind, encode, unpack_error
from tensorfleet.wire.hello import say_hello
from tensorfleet.wire.opening import encrypted
from tensorfleet.wire.proof import open_with_proof
from tensorfleet.wire.reader import Reader
from tensorfleet.wire.tls import TlsReader
from tensorfleet_service.server import TaskServer
from tests.security.conftest import SECRET, MakeTasks, Pki, TokenBook
from tests.security.test_between_tasks import PS, across, addresses, open_socket

Show = Callable[..., None]
WORKER = "/job:worker/replica:0/task:0"
KINDS = ("nothing", "a secret", "another secret", "TLS")


def of(kind: str, pki: Pki, job: str) -> Security:
    if kind == "TLS":
        return Security(tls=pki.task(job, 0))
    return Security(secret={"a secret": SECRET, "another secret": SECRET[::-1]}.get(kind, b""))


def show(kind: str, pki: Pki, client: Show) -> None:
    made = of(kind, pki, "worker")
    client(secret=made.secret, tls=pki.user("alice") if made.tls else None)


def step(target: str) -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.0) + 1.0
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=2000)) as session:
            session.run(x)


@pytest.mark.parametrize(("worker", "ps"), list(itertools.permutations(KINDS, 2)))
def test_tasks_that_differ_do_not_work_together(
    tasks: MakeTasks, pki: Pki, client: Show, worker: str, ps: str
) -> None:
    """With a client that shows what its master wants; no side takes less than it was told to."""
    if ps == "nothing":
        # It lets anybody in; its own word is worth nothing to the others.
        made = tasks({"ps:0": of(ps, pki, "ps"), "worker:0": of(worker, pki, "worker")})
        peer = made["worker:0"]._peers
        with pytest.raises(OpError):
            peer.get(PS, 2.0)
        return
    made = tasks({"ps:0": of(ps, pki, "ps"), "worker:0": of(worker, pki, "worker")})
    show(worker, pki, client)
    with pytest.raises((tf.errors.UnauthenticatedError, tf.errors.DeadlineExceededError)):
        across(made["worker:0"].target, seconds=2.0)
    assert made["ps:0"]._worker.graphs == 0


@pytest.mark.parametrize(("kind", "shown"), list(itertools.permutations(KINDS, 2)))
def test_a_client_that_shows_what_its_master_does_not_ask_for(
    tasks: MakeTasks, pki: Pki, client: Show, kind: str, shown: str
) -> None:
    """It does not go on without what it was told to have either."""
    task = tasks({"worker:0": of(kind, pki, "worker")})["worker:0"]
    show(shown, pki, client)
    with pytest.raises(OpError):
        step(task.target)
    if kind != "nothing":
        assert task._master.sessions_created == 0


def test_both_at_once_there_is_not(pki: Pki) -> None:
    with pytest.raises(SecurityError, match="cannot have both"):
        Security(tls=pki.task("worker", 0), secret=SECRET)


def greeted(task: TaskServer, security: Security, say: Callable[[Any, Reader], Any]) -> Any:
    """What comes of a greeting on a task's TCP port, with TLS where the settings have it."""
    with open_socket([addresses(task)[-1]], 5) as sock:
        sock.settimeout(5)
        tls = encrypted(sock, security)
        return say(tls or sock, Reader(sock) if tls is None else TlsReader(tls))


def test_a_proof_where_certificates_count(tasks: MakeTasks, pki: Pki) -> None:
    """With a user's certificate, that it is the other task."""
    task = tasks({"worker:0": of("TLS", pki, "worker"), "ps:0": of("TLS", pki, "ps")})["worker:0"]
    about = {"task": PS, "incarnation": 7}
    alice = Security(tls=pki.user("alice", "admin"))
    with pytest.raises((OpError, ValueError, OSError, EOFError)):
        greeted(task, alice, lambda sock, reader: open_with_proof(sock, reader, SECRET, about))
    with pytest.raises((OSError, EOFError, OpError)):
        greeted(task, Security(), lambda sock, reader: open_with_proof(sock, reader, SECRET, about))
    with pytest.raises(tf.errors.UnauthenticatedError, match="it says to be"):
        greeted(task, alice, lambda sock, reader: say_hello(sock, reader, about))
    assert task._peers.existing(PS) is None


def test_what_is_proven_is_what_is_said(tasks: MakeTasks) -> None:
    """Who knows the secret proves to be nobody, and then says to be a task; or another process of it."""
    made = tasks({"worker:0": Security(secret=SECRET), "ps:0": Security(secret=SECRET)})
    task = made["worker:0"]

    def other_claim(sock: Any, reader: Reader) -> Any:
        open_with_proof(sock, reader, SECRET, {})
        return say_hello(sock, reader, {"task": PS, "incarnation": 7})

    def other_incarnation(sock: Any, reader: Reader) -> Any:
        open_with_proof(sock, reader, SECRET, {"task": PS, "incarnation": 6})
        return say_hello(sock, reader, {"task": PS, "incarnation": 7})

    def unproven(sock: Any, reader: Reader) -> Any:
        return say_hello(sock, reader, {"task": PS, "incarnation": 7})

    def unfinished(sock: Any, reader: Reader) -> Any:
        sock.sendall(b"".join(encode(Kind.AUTH, 0, 0, b"\0" * 32 + b"{}")))
        reader.read()
        return say_hello(sock, reader, {})

    for say in (other_claim, other_incarnation, unproven):
        with pytest.raises(tf.errors.UnauthenticatedError):
            greeted(task, Security(), say)
    with pytest.raises((OpError, ValueError, OSError, EOFError)):
        greeted(task, Security(), unfinished)
    assert task._peers.existing(PS) is None


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b"[" * 3000, b'{"task": "\\ud800"}', b'{"a": 1e999}'])
def test_a_proof_that_says_nothing(tasks: MakeTasks, said: bytes) -> None:
    task = tasks({"worker:0": Security(secret=SECRET)})["worker:0"]

    def say(sock: Any, reader: Reader) -> Any:
        sock.sendall(b"".join(encode(Kind.AUTH, 0, 0, b"\0" * 32 + said)))
        answer = reader.read()
        if answer.kind == Kind.ERROR:
            raise unpack_error(answer)
        sock.sendall(b"".join(encode(Kind.AUTH, 0, 0, b"\0" * 32)))
        sock.sendall(b"".join(encode(Kind.HELLO, 0, 0, MAGIC + b"{}")))
        raise unpack_error(reader.read())

    with pytest.raises((OpError, EOFError, OSError)):
        greeted(task, Security(), say)
    assert task._clients.connections == 0


def test_the_hash_of_a_token_without_a_proof(tasks: MakeTasks, pki: Pki, book: TokenBook) -> None:
    """It is in the task's file, and lets nobody in; nor with a certificate of a host."""
    book.add("alice", "admin")
    hash = book.kept["alice"].hash
    host = Security(tls=pki.issue("host", ""))
    for security in (
        Security(tls=pki.task("worker", 0), tokens=str(book.path)),
        Security(tokens=str(book.path)),
    ):
        task = tasks({"worker:0": security})["worker:0"]
        for about in ({"token_hash": hash}, {"token": hash}, {"token_hash": hash, "token": None}):
            with pytest.raises(tf.errors.UnauthenticatedError):
                greeted(
                    task,
                    host if security.tls else Security(),
                    lambda sock, reader, about=about: say_hello(sock, reader, about),
                )
