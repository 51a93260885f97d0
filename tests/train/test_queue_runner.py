"""Threads that fill queues."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet_service.kernels.data_flow import queue_ops
from tests.until import Call, until


def finite(count: int) -> tuple[Any, Any]:
    """A queue, and an operation that puts 1, 2, … `count` into it and then is out of range."""
    number = tf.Variable(0, name="number")
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]], name="queue")
    return queue, queue.enqueue([tf.count_up_to(number, count) + 1])


def test_a_queue_is_filled_and_closed_at_the_end_of_the_input() -> None:
    queue, enqueue = finite(10)
    runner = tf.train.QueueRunner(queue, [enqueue])
    assert runner.name == "queue"
    take = queue.dequeue()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        threads = runner.create_threads(session, start=True)
        assert [session.run(take) for _ in range(10)] == list(range(1, 11))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)
        for thread in threads:
            thread.join(30)
        assert runner.exceptions_raised == []


def test_the_last_of_several_threads_closes_the_queue() -> None:
    queue, enqueue = finite(20)
    runner = tf.train.QueueRunner(queue, [enqueue] * 4)
    take = queue.dequeue()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        threads = runner.create_threads(session, start=True)
        assert len(threads) == 4
        assert runner.create_threads(session, start=True) == []
        assert sorted(session.run(take) for _ in range(20)) == list(range(1, 21))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)


def test_the_coordinator_ends_enqueues_that_wait_for_room() -> None:
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([1])] * 2))
    size = queue.size()
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = tf.train.start_queue_runners(coord=coord)
        assert len(threads) == 3
        assert all(thread.daemon for thread in threads)
        until(lambda: session.run(size) == 3)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=30)
        with pytest.raises(tf.errors.CancelledError):
            session.run(queue.enqueue([1]))


def test_an_error_reaches_the_coordinator() -> None:
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]])
    broken = queue.enqueue([tf.div(1, tf.placeholder_with_default(0, []))])
    runner = tf.train.QueueRunner(queue, [broken])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        runner.create_threads(session, coord, daemon=True, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError):
            coord.join(stop_grace_period_secs=30)


def test_an_error_without_a_coordinator_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue([tf.div(1, tf.placeholder_with_default(0, []))])])
    with tf.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join(30)
    assert [type(error) for error in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]


def test_messages() -> None:
    with tf.name_scope("outer"):
        queue, enqueue = finite(10)
        runner = tf.train.QueueRunner(
            queue,
            [enqueue],
            queue_closed_exception_types=(tf.errors.CancelledError, tf.errors.OutOfRangeError),
        )
    message = runner.to_proto()
    assert message is not None
    assert message.queue_name == "outer/queue"
    assert list(message.queue_closed_exception_types) == [1, 11]
    assert runner.to_proto("elsewhere") is None
    inner = runner.to_proto("outer")
    assert inner is not None
    assert inner.queue_name == "queue"
    again = tf.train.QueueRunner.from_proto(inner, import_scope="outer")
    assert again.name == "outer/queue"
    assert again.enqueue_ops == [enqueue]
    assert again.close_op is runner.close_op
    assert again.cancel_op is runner.cancel_op
    assert again.queue_closed_exception_types == (tf.errors.CancelledError, tf.errors.OutOfRangeError)


def test_wrong_arguments() -> None:
    queue, enqueue = finite(1)
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        tf.train.QueueRunner()
    with pytest.raises(TypeError, match=r"must be a tuple of tf\.error types"):
        tf.train.QueueRunner(queue, [enqueue], queue_closed_exception_types=[KeyError])
    message = tf.train.QueueRunner(queue, [enqueue]).to_proto()
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.train.QueueRunner(queue, queue_runner_def=message)
    with pytest.raises(ValueError, match="No default session is registered"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match=r"sess must be a `tf\.Session` object"):
        tf.train.start_queue_runners(sess=3)


def test_no_runners_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    tf.no_op()
    with tf.Session():
        assert tf.train.start_queue_runners() == []
    assert "no queue runners were defined" in caplog.text


def test_an_imported_graph_has_runners_and_savers_of_its_own() -> None:
    queue, enqueue = finite(3)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    tf.add_to_collection("taken", queue.dequeue())
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    exported = tf.train.export_meta_graph()
    for scope in (None, "copy"):
        with tf.Graph().as_default():
            tf.train.import_meta_graph(exported, import_scope=scope)
            (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
            assert isinstance(runner, tf.train.QueueRunner)
            assert runner.name == ("copy/queue" if scope else "queue")
            (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)
            assert isinstance(saver, tf.train.Saver)
            (taken,) = tf.get_collection("taken")
            init = tf.global_variables_initializer()
            with tf.train.SingularMonitoredSession(scaffold=tf.train.Scaffold(init_op=init)) as session:
                assert [session.run(taken) for _ in range(3)] == [1, 2, 3]


def test_signatures_that_are_prepared_at_once_share_a_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the first step of a queue runner's thread, beside that of the program."""
    both = threading.Barrier(2)
    make = queue_ops._make

    def made(*arguments: Any) -> Any:
        both.wait(10)
        return make(*arguments)

    monkeypatch.setattr(queue_ops, "_make", made)
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]])
    put, take = queue.enqueue(7), queue.dequeue()
    with tf.Session() as session:
        calls = [Call(lambda fetch=fetch: session.run(fetch)) for fetch in (take, put)]  # type: ignore[misc]
        assert calls[1].result() is None
        assert calls[0].result(10) == 7
