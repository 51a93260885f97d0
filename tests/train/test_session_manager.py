"""Sessions whose model is ready, in one process and on clusters that come up in any order."""

from __future__ import annotations

import time
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.session import transport
from tests.cluster.processes import Cluster
from tests.ports import free_ports
from tests.until import Call


def manager(**more: Any) -> tf.train.SessionManager:
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), **more)


def test_prepare_runs_what_initializes() -> None:
    v = tf.Variable(1.0, name="v")
    start = tf.placeholder(tf.float32, [])
    w = tf.Variable(start, name="w")
    local = tf.Variable(5.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    ready_for_local = tf.report_uninitialized_variables(tf.global_variables())
    sessions = manager(
        local_init_op=tf.local_variables_initializer(), ready_for_local_init_op=ready_for_local
    )
    add = tf.assign_add(v, 10.0)
    session = sessions.prepare_session(
        "",
        init_op=tf.global_variables_initializer(),
        init_feed_dict={start: 2.0},
        init_fn=lambda session: session.run(add),
    )
    assert session.run([v, w, local]) == [11.0, 2.0, 5.0]
    session.close()


def test_prepare_without_anything_to_initialize_with() -> None:
    tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager().prepare_session("")


def test_prepare_names_what_is_still_missing() -> None:
    v = tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="lost/w")
    with pytest.raises(RuntimeError, match=r"did not make model ready\. .*not initialized: lost/w"):
        manager().prepare_session("", init_op=v.initializer)
    sessions = manager(local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match=r"ready for local_init\. .*not initialized: lost/w"):
        sessions.prepare_session("", init_op=v.initializer)


def test_a_ready_op_may_be_an_assertion() -> None:
    v = tf.Variable(1.0, name="v")
    sessions = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
    with pytest.raises(RuntimeError, match="uninitialized value v"):
        sessions.prepare_session("", init_op=tf.no_op())
    sessions.prepare_session("", init_op=v.initializer).close()


def test_two_kinds_of_checkpoint() -> None:
    tf.Variable(1.0)
    with pytest.raises(ValueError, match="both checkpoint_dir and checkpoint_filename_with_path"):
        manager().prepare_session("", checkpoint_dir="a", checkpoint_filename_with_path="b")


def test_ready_for_local_init_needs_a_local_init() -> None:
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=tf.no_op())


def test_recover_without_a_checkpoint() -> None:
    v = tf.Variable(1.0)
    session, ready = manager().recover_session("")
    assert not ready
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(v)
    session.close()


def test_waiting_ends_at_its_deadline_and_names_what_is_missing() -> None:
    tf.Variable(1.0, name="first")
    tf.Variable(1.0, name="second")
    begin = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.3 secs\. .*: first, second"):
        manager().wait_for_session("", max_wait_secs=0.3)
    assert 0.3 <= time.monotonic() - begin < 5


def test_waiting_names_what_local_initialization_lacks() -> None:
    tf.Variable(1.0, name="v")
    sessions = manager(local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables())
    with pytest.raises(tf.errors.DeadlineExceededError, match="not initialized: v"):
        sessions.wait_for_session("", max_wait_secs=0)


@pytest.mark.cluster
def test_a_worker_waits_for_the_chief(fleet: Cluster) -> None:
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(7.0, name="v")
    init = tf.global_variables_initializer()
    sessions = manager(recovery_wait_secs=0.2)
    waiting = Call(lambda: sessions.wait_for_session(fleet.target("worker", 1), max_wait_secs=30))
    with pytest.raises(tf.errors.DeadlineExceededError, match="not initialized: v"):
        sessions.wait_for_session(fleet.target("worker", 1), max_wait_secs=0.1)
    assert waiting.running
    chief = sessions.prepare_session(fleet.target(), init_op=init)
    with waiting.result() as worker:
        assert worker.run(v) == 7.0
    chief.close()


def test_a_cluster_that_does_not_come_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "DEFAULT_CONNECT_SECONDS", 0.2)
    v = tf.Variable(7.0)
    target = f"grpc://127.0.0.1:{free_ports(1)[0]}"
    message = rf"cluster was not ready after 0\.1 secs\. .*{target.removeprefix('grpc://')}"
    with pytest.raises(tf.errors.DeadlineExceededError, match=message):
        manager().prepare_session(target, init_op=v.initializer, max_wait_secs=0.1)
    message = rf"was not ready after waiting 0\.1 secs\. .*{target.removeprefix('grpc://')}"
    with pytest.raises(tf.errors.DeadlineExceededError, match=message):
        manager().wait_for_session(target, max_wait_secs=0.1)


@pytest.mark.cluster
@pytest.mark.parametrize("late", [("ps", 0), ("worker", 0), ("worker", 1)])
def test_chief_and_worker_wait_for_tasks_that_come_last(
    fleet: Cluster, late: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "DEFAULT_CONNECT_SECONDS", 0.2)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(7.0, name="v")
    init = tf.global_variables_initializer()
    sessions = manager(recovery_wait_secs=0.2)
    fleet[late].kill()
    chief = Call(lambda: sessions.prepare_session(fleet.target(), init_op=init, max_wait_secs=60))
    worker = Call(lambda: sessions.wait_for_session(fleet.target("worker", 1), max_wait_secs=60))
    assert chief.running
    assert worker.running
    fleet[late].restart()
    with chief.result(60), worker.result(60) as session:
        assert session.run(v) == 7.0
