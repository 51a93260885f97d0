"""Programs under a Supervisor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tensorfleet as tf
from tests.cluster.processes import Cluster
from tests.until import Call, until


def test_a_program_without_a_directory() -> None:
    v = tf.Variable(1.0, name="v")
    add = tf.assign_add(v, 1.0)
    sv = tf.train.Supervisor()
    assert sv.is_chief
    assert sv.save_path is None
    assert sv.summary_writer is None
    assert tf.get_default_graph().finalized
    with sv.managed_session() as session:
        while not sv.should_stop():
            if session.run(add) >= 10:
                sv.request_stop()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(v)


def test_prepare_and_stop() -> None:
    v = tf.Variable(1.0, name="v")
    sv = tf.train.Supervisor()
    session = sv.prepare_or_wait_for_session()
    calls: list[float] = []
    looper = sv.loop(0.001, lambda: calls.append(session.run(v)))
    until(lambda: len(calls) > 3)
    sv.stop()
    assert sv.should_stop()
    assert not looper.is_alive()
    assert set(calls) == {1.0}
    assert session.run(v) == 1.0  # sessions stay open
    sv.wait_for_stop()
    session.close()


def test_given_operations_are_used_and_none_means_without() -> None:
    v = tf.Variable(1.0, name="v")
    init, ready, local = v.initializer, tf.constant([], tf.string), tf.no_op()
    step = tf.Variable(5, name="steps")
    made = len(tf.get_default_graph().get_operations())
    sv = tf.train.Supervisor(
        init_op=init,
        ready_op=ready,
        ready_for_local_init_op=None,
        local_init_op=local,
        saver=None,
        summary_op=None,
        global_step=step,
        init_fn=lambda session: session.run(step.initializer),
    )
    assert (sv.init_op, sv.ready_op, sv.ready_for_local_init_op) == (init, ready, None)
    assert sv.saver is None
    assert sv.global_step is step
    assert len(tf.get_default_graph().get_operations()) == made
    with sv.managed_session() as session:
        assert session.run([v, step]) == [1.0, 5]


def test_defaults_come_from_the_collections() -> None:
    tf.Variable(1.0)
    step = tf.train.get_or_create_global_step()
    init = tf.global_variables_initializer()
    tf.add_to_collection(tf.GraphKeys.INIT_OP, init)
    sv = tf.train.Supervisor()
    assert sv.init_op is init
    assert sv.global_step is step
    assert tf.get_collection(tf.GraphKeys.READY_OP) == [sv.ready_op]


def test_the_global_step_is_found_by_its_name() -> None:
    tf.Variable(3, name="global_step", trainable=False)
    assert tf.train.Supervisor().global_step.name == "global_step:0"


def test_a_global_step_that_is_no_integer() -> None:
    tf.Variable(3.0, name="global_step")
    assert tf.train.Supervisor().global_step is None


def test_errors_of_the_program_and_of_threads_are_raised() -> None:
    v = tf.Variable(1.0)
    sv = tf.train.Supervisor()
    with pytest.raises(KeyError, match="mine"), sv.managed_session():
        raise KeyError("mine")

    def fail() -> None:
        raise KeyError("thread")

    def run() -> None:
        with sv.managed_session() as session:
            sv.loop(None, fail)
            until(sv.should_stop)
            assert session.run(v) == 1.0

    with pytest.raises(KeyError, match="thread"):
        run()
    with sv.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "the end of the input is a regular end")


def test_stop_on_exception() -> None:
    tf.Variable(1.0)
    sv = tf.train.Supervisor()
    with sv.stop_on_exception():
        raise KeyError("mine")
    assert sv.should_stop()
    with pytest.raises(KeyError, match="mine"):
        sv.stop()


def test_a_replica_must_place_its_variables() -> None:
    tf.Variable(1.0, name="v")
    with pytest.raises(ValueError, match=r"all Variables must have their device set: .*v"):
        tf.train.Supervisor(is_chief=False)


def test_only_the_chief_has_services() -> None:
    with tf.device("/job:ps/task:0"):
        tf.Variable(1.0, name="v")
    sv = tf.train.Supervisor(is_chief=False, logdir="unused")
    assert (sv.save_path, sv.save_model_secs, sv.save_summaries_secs, sv.summary_writer) == (None,) * 4
    with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
        sv.start_standard_services(None)
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        sv.summary_computed(None, b"")


def test_the_plain_loop_goes_on_after_a_lost_session() -> None:
    v = tf.Variable(0.0)
    add = tf.assign_add(v, 1.0)
    sv = tf.train.Supervisor(logdir=None)
    seen: list[float] = []

    def step(session: Any, limit: int, by: str) -> None:
        assert by == "name"
        seen.append(float(session.run(add)))
        if len(seen) == 3:
            raise tf.errors.AbortedError(None, None, "lost")
        if len(seen) == limit:
            sv.request_stop()

    tf.train.basic_train_loop(sv, step, args=(5,), kwargs={"by": "name"})
    assert seen == [1.0, 2.0, 3.0, 1.0, 2.0]


def test_old_names() -> None:
    tf.Variable(1.0)
    sv = tf.train.Supervisor()
    with sv.PrepareSession():
        assert not sv.ShouldStop()
        sv.RequestStop()
        sv.WaitForStop()
        sv.Stop()


@pytest.mark.cluster
def test_a_worker_waits_for_the_chief(fleet: Cluster) -> None:
    def train(index: int) -> tuple[int, int]:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                step = tf.train.get_or_create_global_step()
                add = tf.assign_add(step, 1)
            sv = tf.train.Supervisor(is_chief=index == 0, recovery_wait_secs=0.1)
            steps = last = 0
            with sv.managed_session(fleet.target("worker", index)) as session:
                while not sv.should_stop() and last < 200:
                    last = int(session.run(add))
                    steps += 1
            return steps, last

    worker = Call(lambda: train(1))
    assert worker.running
    steps, _ = train(0)
    more_steps, last = worker.result()
    assert last >= 200
    assert 200 <= steps + more_steps <= 201


@pytest.mark.cluster
def test_a_worker_without_a_chief_gives_up(fleet: Cluster) -> None:
    with tf.device("/job:ps/task:0"):
        tf.Variable(1.0, name="weights")
    sv = tf.train.Supervisor(is_chief=False)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.3 secs.*: weights"):
        sv.prepare_or_wait_for_session(fleet.target("worker", 1), max_wait_secs=0.3)


def test_services_of_a_chief(tmp_path: Path) -> None:
    step = tf.train.get_or_create_global_step()
    add = tf.assign_add(step, 1)
    tf.summary.scalar("half", tf.cast(step, tf.float32) / 2)
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.05, save_model_secs=0.05)
    assert sv.save_path == str(tmp_path / "model.ckpt")
    with sv.managed_session() as session:
        for _ in range(20):
            session.run(add)
        until(lambda: (tmp_path / "model.ckpt-20.index").exists())
        sv.summary_computed(session, session.run(sv.summary_op))
    assert (tmp_path / "graph.pbtxt").exists()
    assert list(tmp_path.glob("events.out.tfevents.*"))
    again = tf.train.Supervisor(graph=counting(), logdir=str(tmp_path), save_summaries_secs=0)
    with again.managed_session() as session:
        assert session.run("global_step:0") == 20


def counting() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        tf.train.get_or_create_global_step()
    return graph
