"""Quotas: what one client may have of a task, by its token and by the task's settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cli import token as token_command
from tensorfleet.core import errors
from tensorfleet.security import tokens
from tensorfleet.security.settings import Security, SecurityError
from tensorfleet.security.tokens import Limits, Token
from tensorfleet_service.master.declared import declared_variables
from tensorfleet_service.net import timeouts
from tensorfleet_service.security.principal import ANYBODY, Principal
from tensorfleet_service.security.quotas import Quotas, from_environment
from tensorfleet_service.server import TaskServer
from tensorfleet_service.threads import turns
from tests.security.conftest import MakeTasks, TokenBook
from tests.until import until

Show = Callable[..., None]
SECONDS = 30.0


def limited(book: TokenBook, tasks: MakeTasks, client: Show, **limits: float) -> TaskServer:
    """A task on which alice has limits, and bob has none; the client is alice."""
    for name, most in (("alice", Limits(**limits)), ("bob", Limits())):  # type: ignore[arg-type]
        book.texts[name], book.kept[name] = tokens.create(name, "run", limits=most)
    book.add("root", "admin")
    task = tasks({"worker:0": Security(tokens=str(book.path))})["worker:0"]
    client(token=book.texts["alice"])
    return task


def refused(what: str) -> pytest.RaisesExc[errors.ResourceExhaustedError]:
    return pytest.raises(errors.ResourceExhaustedError, match=what)


def test_sessions(tasks: MakeTasks, book: TokenBook, client: Show, way: str) -> None:
    task = limited(book, tasks, client, sessions=2)
    x = tf.constant(1.0) + 1.0
    first, second = tf.Session(task.target), tf.Session(task.target)
    assert first.run(x) == second.run(x) == 2.0
    with refused(
        r"token:alice has 2 sessions, and may have 2: max_sessions .*TENSORFLEET_MAX_CLIENT_SESSIONS"
    ):
        tf.Session(task.target).run(x)
    client(token=book.texts["bob"])
    with tf.Session(task.target) as theirs:
        assert theirs.run(x) == 2.0
    client(token=book.texts["alice"])
    first.close()
    with tf.Session(task.target) as third:
        assert third.run(x) == second.run(x) == 2.0
        with refused("has 2 sessions"):
            tf.Session(task.target).run(x)
    second.close()


def test_a_client_by_grpc_that_has_crashed_gives_its_place_back(
    tasks: MakeTasks, book: TokenBook, client: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLEET_TRANSPORT", "grpc")
    task = limited(book, tasks, client, sessions=2)
    x = tf.constant(1.0) + 1.0
    left, used = tf.Session(task.target), tf.Session(task.target)
    assert left.run(x) == used.run(x) == 2.0
    client(token=book.texts["bob"])
    theirs = tf.Session(task.target)
    assert theirs.run(x) == 2.0
    client(token=book.texts["alice"])
    with refused("has 2 sessions"):  # what may be in use for all that is known
        tf.Session(task.target).run(x)
    monkeypatch.setattr(timeouts, "QUOTA_IDLE_SECONDS", 0.0)

    def running() -> int:
        return sum(found.running for found in task._master.sessions())

    with waiting(used, 1, running), tf.Session(task.target) as fresh:
        assert fresh.run(x) == 2.0
        with pytest.raises(errors.AbortedError):
            left.run(x)
        assert running() == 1  # a session with a step is in use, however long
    assert theirs.run(x) == 2.0
    theirs.close()


@contextmanager
def waiting(session: tf.Session, count: int, running: Callable[[], int]) -> Iterator[tf.Operation]:
    """So many steps of a session that wait; what lets one of them end."""
    graph = session.graph
    queue = tf.FIFOQueue(10, tf.int32, (), shared_name="waited_for")
    take, put = queue.dequeue(), queue.enqueue(1)
    assert graph is tf.get_default_graph()
    before = running()
    threads = [threading.Thread(target=_run, args=(session, take)) for _ in range(count)]
    for thread in threads:
        thread.start()
    until(lambda: running() == before + count, SECONDS)
    yield put
    session.close()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def _run(session: tf.Session, fetch: tf.Tensor) -> None:
    try:
        session.run(fetch)
    except errors.OpError:
        pass  # its session was closed


@pytest.mark.parametrize("limit", ["steps", "session_steps"])
def test_steps(tasks: MakeTasks, book: TokenBook, client: Show, way: str, limit: str) -> None:
    task = limited(book, tasks, client, **{limit: 2})
    x = tf.constant(1.0) + 1.0
    session = tf.Session(task.target)
    assert session.run(x) == 2.0

    def running() -> int:
        return sum(found.running for found in task._master.sessions())

    with waiting(session, 2, running) as put:
        with refused(rf"token:alice runs 2 steps.* and may have 2: max_{limit} "):
            session.run(x)
        with tf.Session(task.target) as other:
            if limit == "steps":
                with refused("runs 2 steps"):
                    other.run(x)
            else:
                assert other.run(x) == 2.0
        client(token=book.texts["bob"])
        with tf.Session(task.target) as theirs:
            assert theirs.run(x) == 2.0
            theirs.run(put)  # so one of alice's ends
        until(lambda: running() == 1, SECONDS)
        for _ in range(20):
            assert session.run(x) == 2.0


def test_the_time_of_a_step(tasks: MakeTasks, book: TokenBook, client: Show, way: str) -> None:
    """Whatever the client's own limits are."""
    task = limited(book, tasks, client, step_seconds=0.5)
    take = tf.FIFOQueue(1, tf.int32, ()).dequeue()
    forever = tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [tf.constant(1)])
    with tf.Session(task.target) as session:
        for fetch in (take, forever):
            with refused("token:alice has run a step for 0.5 s, and may have 0.5 s: max_step_seconds"):
                session.run(fetch, options=tf.RunOptions(timeout_in_ms=60_000))
        assert session.run(tf.constant(2.0)) == 2.0
        until(lambda: not task._master.sessions()[0].running, SECONDS)


def test_the_memory_of_variables(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = limited(book, tasks, client, variable_mb=4)

    def make(name: str, mib: float) -> None:
        with tf.Graph().as_default():
            tf.Variable(tf.zeros([int(mib * (1 << 18))]), name=name)
            with tf.Session(task.target) as session:
                session.run(tf.global_variables_initializer())

    make("a", 3)
    make("a", 3)  # the same one
    with refused(r"token:alice has variables of 3145728 bytes, and wants 2097152 more, and may have 4 MiB: "):
        make("b", 2)
    make("c", 1)
    with tf.Graph().as_default(), tf.Session(task.target) as session:
        session.run(tf.constant(1.0))
        tf.Variable(np.zeros(10), use_resource=True, name="late")
        with refused("max_variable_mb of the token, or TENSORFLEET_MAX_CLIENT_VARIABLE_MB"):
            session.run(tf.global_variables_initializer())
    client(token=book.texts["bob"])
    make("b", 9)
    client(token=book.texts["root"])
    tf.Session.reset(task.target)
    client(token=book.texts["alice"])
    make("b", 2)


def test_a_variable_counts_with_its_largest_size(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str
) -> None:
    """One that is declared, but not made yet, can still become any size."""
    task = limited(book, tasks, client, variable_mb=2)
    for mib, within in ((0, True), (1, True), (3, False)):
        with tf.Graph().as_default(), tf.Session(task.target) as session:
            tf.Variable(tf.zeros([(mib << 18) or 1]), name="a")
            if within:
                session.run(tf.constant(1.0))
            else:
                with refused("has variables of 1048576 bytes, and wants 2097152 more, and may have 2 MiB"):
                    session.run(tf.constant(1.0))


def test_variables_that_a_session_shares_with_none_count_for_each(
    tasks: MakeTasks, book: TokenBook, client: Show, way: str
) -> None:
    task = limited(book, tasks, client, variable_mb=2)
    alone = tf.ConfigProto(isolate_session_state=True)

    def make() -> tf.Session:
        with tf.Graph().as_default() as graph:
            tf.Variable(tf.zeros([1 << 18]), name="a")
            session = tf.Session(task.target, graph, alone)
            session.run(tf.global_variables_initializer())
        return session

    first, second = make(), make()
    with refused("has variables of 2097152 bytes, and wants 1048576 more"):
        make()
    first.close()
    third = make()
    with refused("has variables of 2097152 bytes, and wants 1048576 more"):
        make()
    second.close()
    third.close()


def test_variables_in_bodies_of_functions_count() -> None:
    graph = tf.GraphDef()
    node = graph.library.function.add().node_def.add(name="a", op="VarHandleOp")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["shape"].shape.dim.add(size=10)
    assert declared_variables(graph) == {("localhost", "a"): 40}
    assert declared_variables(graph, "s") == {("s", "localhost/a"): 40}


def test_a_new_limit_holds_without_a_restart(tasks: MakeTasks, book: TokenBook, client: Show) -> None:
    task = limited(book, tasks, client)
    x = tf.constant(1.0) + 1.0
    with tf.Session(task.target) as session:
        assert session.run(x) == 2.0
    kept = book.kept["alice"]
    book.kept["alice"] = Token(kept.name, kept.role, kept.hash, max_sessions=1)
    tokens.write(str(book.path), book.kept.values())
    with tf.Session(task.target) as session:
        assert session.run(x) == 2.0
        with refused("has 1 sessions"):
            tf.Session(task.target).run(x)


def test_settings_are_for_those_whose_tokens_say_nothing() -> None:
    environment = {"TENSORFLEET_MAX_CLIENT_SESSIONS": "5", "TENSORFLEET_MAX_STEP_SECONDS": "1.5"}
    quotas = Quotas(from_environment(environment))
    alice = quotas.account(Principal("token", "alice", "run", "x", Limits(sessions=2)))
    bob = quotas.account(Principal("token", "bob", "run", "x"))
    assert alice is not None
    assert bob is not None
    assert (alice.limits.sessions, alice.limits.step_seconds) == (2, 1.5)
    assert bob.limits.sessions == 5
    assert quotas.account(Principal("token", "bob", "run", "y")) is bob
    # Those without a name share nothing.
    one, other = quotas.account(ANYBODY), quotas.account(ANYBODY)
    assert one is not other
    assert Quotas(Limits()).account(ANYBODY) is None
    assert Quotas(Limits()).account(Principal("token", "bob", "run", "x")) is None


def test_the_command_sets_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "tokens.json")
    flags = ["--max-sessions", "3", "--max-steps", "8", "--max-session-steps", "4"]
    flags += ["--max-variable-mb", "100", "--max-step-seconds", "2.5"]
    assert token_command.main(["create", "alice", "--file", path, *flags]) == 0
    assert token_command.main(["create", "bob", "--file", path]) == 0
    assert {token.name: token.limits for token in tokens.read(path)} == {
        "alice": Limits(3, 8, 4, 100, 2.5),
        "bob": Limits(),
    }
    assert "max_" not in (tmp_path / "tokens.json").read_text().partition("bob")[2]
    capsys.readouterr()
    assert token_command.main(["list", "--file", path]) == 0
    shown = capsys.readouterr().out
    assert "sessions=3 steps=8 session_steps=4 variable_mb=100 step_seconds=2.5" in shown
    assert token_command.main(["create", "eve", "--file", path, "--max-steps", "-1"]) == 1
    assert "max_steps" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["-1", "true", '"3"', "1.5", "1e300", "NaN"])
def test_what_is_no_limit_is_no_token(value: str) -> None:
    hash = "sha256:" + "0" * 64
    with pytest.raises(SecurityError, match="max_steps"):
        tokens.parse(
            f'{{"tokens": [{{"name": "a", "role": "run", "hash": "{hash}", "max_steps": {value}}}]}}'.encode()
        )


def test_steps_of_clients_take_turns(
    tasks: MakeTasks, book: TokenBook, client: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose tokens are the same share a turn's queue; who has computed less goes first."""
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", SECONDS)
    task = limited(book, tasks, client)
    order = task._clients.turns
    most = len(order._free)
    x = tf.constant(1.0) + 1.0
    sessions = {}
    for name in ("alice", "bob"):
        client(token=book.texts[name])
        sessions[name] = tf.Session(task.target)
        assert sessions[name].run(x) == 2.0
    order.share("token:alice").used = 5.0
    other = order.share("other")
    until(lambda: len(order._free) == most, SECONDS)  # a turn ends after its answer
    for _ in range(most):
        order.take(other)
    went: list[str] = []
    names = {id(order.share(f"token:{name}")): name for name in sessions}
    take = order.take

    def noted(share: turns.Share) -> float:
        began = take(share)
        went.append(names[id(share)])  # before it ends, so before the next one has the turn
        return began

    monkeypatch.setattr(order, "take", noted)

    def run(name: str) -> None:
        sessions[name].run(x)

    threads = []
    for waiting_before, name in enumerate(("alice", "bob")):
        threads.append(threading.Thread(target=run, args=(name,)))
        threads[-1].start()
        until(lambda before=waiting_before: len(order._waiting) == before + 1, SECONDS)  # type: ignore[misc]
    assert not went
    order.give(other, 0.0)
    for thread in threads:
        thread.join(SECONDS)
    assert went == ["bob", "alice"]
    for _ in range(most - 1):
        order.give(other, 0.0)
    until(lambda: len(order._free) == most, SECONDS)
    for session in sessions.values():
        session.close()
