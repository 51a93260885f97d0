"""Tokens: who gets in on both transports, as whom, and for what."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

import tensorfleet as tf
from tensorfleet.cli import stacks, status
from tensorfleet.security.calls import AUTHORIZATION
from tensorfleet.security.settings import Security
from tensorfleet.wire.hello import say_hello
from tensorfleet.wire.reader import Reader
from tensorfleet_service.security import repeats
from tensorfleet_service.security.token_file import TokenFile
from tests.security.conftest import MakeTasks, TokenBook
from tests.until import until

Show = Callable[..., None]


def run(target: str) -> float:
    """A step by a session of its own."""
    with tf.Graph().as_default():
        x = tf.constant(1.5) + 2.0
        config = tf.ConfigProto(operation_timeout_in_ms=5000)
        with tf.Session(target, config=config) as session:
            return float(session.run(x))


def test_a_token_lets_in(tasks: MakeTasks, book: TokenBook, client: Show, way: str) -> None:
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.texts["alice"])
    assert run(task.target) == 3.5


@pytest.mark.parametrize("shown", ["", "tft_wrong", "x" * 200])
def test_no_token_and_a_wrong_one_do_not(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, shown: str
) -> None:
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=shown)
    with pytest.raises(tf.errors.UnauthenticatedError, match="token"):
        run(task.target)


def test_an_expired_token_does_not(tasks: MakeTasks, book: TokenBook, client: Show, way: str) -> None:
    book.add("alice", days=-1)
    book.kept["alice"] = book.kept["alice"]
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.texts["alice"])
    with pytest.raises(tf.errors.UnauthenticatedError, match="expired"):
        run(task.target)


def test_a_revoked_token_does_not_and_its_connections_end(
    tasks: MakeTasks, book: TokenBook, client: Show
) -> None:
    book.add("alice")
    book.add("bob")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.texts["alice"])
    x = tf.constant(1.0) * 2.0
    session = tf.Session(task.target)
    assert session.run(x) == 2.0
    book.revoke("alice")
    with pytest.raises(tf.errors.UnauthenticatedError, match="revoked"):
        run(task.target)

    def ended() -> bool:
        try:
            session.run(x)
        except tf.errors.OpError:
            return True
        return False

    until(ended, 20)
    client(token=book.texts["bob"])
    assert run(task.target) == 3.5


def test_a_new_token_lets_in_without_a_restart(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str
) -> None:
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.add("bob"))
    assert run(task.target) == 3.5


def test_the_role_read_sees_but_runs_nothing(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str
) -> None:
    book.add("eve", "read")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.texts["eve"])
    assert status.ask(task.address, 5).task == "/job:worker/replica:0/task:0"
    assert "MainThread" in stacks.ask(task.address, 5)
    with pytest.raises(tf.errors.PermissionDeniedError, match="requires the role run"):
        run(task.target)


def test_status_takes_a_token(tasks: MakeTasks, book: TokenBook) -> None:
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    for ask in (status.ask, stacks.ask):
        with pytest.raises(tf.errors.UnauthenticatedError):
            ask(task.address, 5)


def test_sessions_belong_to_their_token(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who knows the handle of another one's session may neither use nor end it, but for an admin."""
    for name, role in (("alice", "run"), ("mallory", "run"), ("root", "admin")):
        book.add(name, role)
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.texts["alice"])
    x = tf.constant(1.0) * 2.0
    theirs = tf.Session(task.target)
    theirs.run(x)
    handle = theirs._transport._handle  # type: ignore[attr-defined]
    assert [s.handle for s in status.ask(task.address, 5).session] == [handle]
    client(token=book.texts["mallory"])
    assert not status.ask(task.address, 5).session
    mine = tf.Session(task.target)
    assert mine.run(x) == 2.0
    transport = mine._transport  # type: ignore[attr-defined]
    transport._handle = handle
    with pytest.raises(tf.errors.PermissionDeniedError, match="does not belong to token:mallory"):
        transport.list_devices()
    with pytest.raises(tf.errors.PermissionDeniedError):
        transport.prepare((), ("mul:0",), ())([])
    with pytest.raises(tf.errors.PermissionDeniedError):
        transport.close()
    if way == "stream":
        transport._closed = False
        numbers = [
            n for n, (session, _) in task._clients.callables._found.items() if session.handle == handle
        ]
        assert numbers
        for number in numbers:
            with pytest.raises(tf.errors.PermissionDeniedError, match="does not belong to"):
                transport.run(number, (), None, None, None)
    with pytest.raises(tf.errors.PermissionDeniedError, match="admin"):
        tf.Session.reset(task.target)
    client(token=book.texts["root"])
    assert handle in {s.handle for s in status.ask(task.address, 5).session}
    assert theirs.run(x) == 2.0
    tf.Session.reset(task.target)
    assert not status.ask(task.address, 5).session


def test_what_was_done_is_in_the_audit_log_without_secrets(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, tmp_path: Path
) -> None:
    book.add("alice")
    path = tmp_path / "audit.jsonl"
    task = tasks({"worker:0": Security(tokens=str(book.path), audit_log=str(path))})["worker:0"]
    client(token="tft_not\nthere")
    with pytest.raises((tf.errors.OpError, ValueError)):
        run(task.target)
    client(token="tft_not_there")
    with pytest.raises(tf.errors.UnauthenticatedError):
        run(task.target)
    client(token=book.texts["alice"])
    run(task.target)
    until(lambda: "lose" in path.read_text().lower(), 10)
    text = path.read_text()
    events = [json.loads(line) for line in text.splitlines()]
    assert {e["task"] for e in events} == {"/job:worker/replica:0/task:0"}
    assert any(e["event"] == "refused" and "not known" in e["reason"] for e in events)
    done = [e for e in events if e["who"] == "token:alice"]
    about = {e["event"]: e["session"] for e in done if "session" in e}
    assert set(about) == {"create_session", "close_session"}
    assert about["create_session"] == about["close_session"]
    assert "tft_" not in text
    assert book.texts["alice"] not in text
    assert path.stat().st_mode & 0o077 == 0
    assert time.strptime(events[0]["time"][:19], "%Y-%m-%dT%H:%M:%S")


def test_what_was_tried_with_the_session_of_another_is_in_the_audit_log(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, tmp_path: Path
) -> None:
    for name in ("alice", "mallory"):
        book.add(name)
    path = tmp_path / "audit.jsonl"
    task = tasks({"worker:0": Security(tokens=str(book.path), audit_log=str(path))})["worker:0"]
    x = tf.constant(1.0)
    client(token=book.texts["alice"])
    with tf.Session(task.target) as theirs:
        theirs.run(x)
        handle = theirs._transport._handle  # type: ignore[attr-defined]
        client(token=book.texts["mallory"])
        mine = tf.Session(task.target)
        mine.run(x)
        transport = mine._transport  # type: ignore[attr-defined]
        own, transport._handle = transport._handle, handle
        with pytest.raises(tf.errors.PermissionDeniedError, match="does not belong to token:mallory"):
            transport.list_devices()
        transport._handle = own
        mine.close()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    refused = [e for e in events if e["event"] == "refused" and e["who"] == "token:mallory"]
    assert [e["session"] for e in refused] == [handle]
    assert "does not belong to token:mallory" in refused[0]["reason"]


def test_a_token_does_not_stay_because_its_revocation_could_not_be_read_at_once(
    book: TokenBook,
) -> None:
    """Such as for want of descriptors, of which somebody may take many just then."""
    alice = book.add("alice")
    file = TokenFile(str(book.path))
    assert file.find(alice)[0] is not None
    book.revoke("alice")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert file.find(alice)[0] is not None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert file.find(alice) == (None, "the token is not known here: it is wrong, or was revoked")


def test_a_step_by_grpc_ends_when_its_token_is_revoked(
    tasks: MakeTasks, book: TokenBook, client: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    client(token=book.add("alice"))
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    with tf.Graph().as_default():
        never = tf.FIFOQueue(1, tf.float32).dequeue()
        session = tf.Session(task.target)

    def runs() -> bool:
        return any(made.running for made in task._master.sessions())

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.run, never)
        until(runs, 20)
        book.revoke("alice")
        try:
            with pytest.raises(tf.errors.UnauthenticatedError, match="revoked"):
                running.result(30)
        except BaseException:
            task.stop(0)  # else the pool would wait for the step
            raise
    until(lambda: not runs(), 20)


def test_a_hello_of_no_text_is_refused_like_others(tasks: MakeTasks, book: TokenBook) -> None:
    """Half a character of UTF-16, which JSON can spell, and UTF-8 cannot."""
    book.add("alice")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    assert task._listener is not None
    port = int(task._listener.addresses[-1].rpartition(":")[2])
    for said in ({"task": "\ud800"}, {"token": "\ud800"}):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as sock,
            pytest.raises(tf.errors.UnauthenticatedError),
        ):
            say_hello(sock, Reader(sock), said)


def test_who_is_refused_again_and_again_does_not_fill_the_audit_log(
    tasks: MakeTasks, book: TokenBook, tmp_path: Path
) -> None:
    book.add("alice")
    path = tmp_path / "audit.jsonl"
    task = tasks({"worker:0": Security(tokens=str(book.path), audit_log=str(path))})["worker:0"]
    calls = 3 * repeats.MAX_OF_PLACE
    with grpc.insecure_channel(task.address) as channel:
        method = channel.unary_unary("/tensorflow.MasterService/ListDevices")
        heard = 0
        while heard < calls:
            with pytest.raises(grpc.RpcError) as refused:
                method(b"", timeout=20, metadata=((AUTHORIZATION, "Bearer wrong"),))
            # Others end with their connection, on which too many were refused.
            heard += refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    task.stop()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    rest = [e for e in events if "more" in e]
    assert {e["peer"].rpartition(":")[2] for e in rest} == {"127.0.0.1"}
    assert all(e["event"] == "refused" for e in events)
    assert len(events) - len(rest) + sum(e["more"] for e in rest) >= calls
    assert rest
