"""tf.CriticalSection: parts of graphs that run in one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.until import Call, until


def test_updates_in_a_section_are_never_lost() -> None:
    v = tf.Variable(0.0, use_resource=True)
    section = tf.CriticalSection()

    def add() -> Any:
        # What is between the read and the write takes a while.
        product = tf.linalg.matmul(tf.ones([200, 200]) + v.read_value(), tf.ones([200, 200]))
        with tf.control_dependencies([v.assign(v.read_value() + 1.0 + 0.0 * product[0, 0])]):
            return v.read_value()

    result = section.execute(add)
    with tf.Session() as session:
        session.run(v.initializer)
        calls = [Call(lambda: [session.run(result) for _ in range(25)]) for _ in range(4)]
        seen = np.concatenate([call.result() for call in calls])
        assert session.run(v) == 100.0
    assert sorted(seen) == list(np.arange(1.0, 101.0))


def test_a_failed_step_releases_the_lock() -> None:
    section = tf.CriticalSection(name="guarded")
    fails = tf.placeholder(tf.bool, [])

    def guarded() -> Any:
        with tf.control_dependencies([tf.Assert(tf.logical_not(fails), ["told to fail"])]):
            return tf.constant(1)

    result = section.execute(guarded)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="told to fail"):
                session.run(result, {fails: True})
        # Without the release this would wait until its time is over.
        assert session.run(result, {fails: False}, tf.RunOptions(timeout_in_ms=30_000)) == 1


def test_those_that_wait_can_be_cancelled() -> None:
    section = tf.CriticalSection()
    queue = tf.FIFOQueue(1, [tf.int32], shapes=[[]])
    held = section.execute(queue.dequeue)
    free = tf.identity(section.execute(lambda: tf.constant(2), exclusive_resource_access=False))
    put = queue.enqueue([1])
    with tf.Session() as session:
        call = Call(lambda: session.run(held))

        def is_held() -> bool:
            try:
                session.run(free, options=tf.RunOptions(timeout_in_ms=50))
            except tf.errors.DeadlineExceededError:
                return True
            return False

        until(is_held)
        session.run(put)
        assert call.result() == 1
        assert session.run(free, options=tf.RunOptions(timeout_in_ms=30_000)) == 2


def test_results_have_their_structure() -> None:
    section = tf.CriticalSection()
    v = tf.Variable(1, use_resource=True)
    pair = section.execute(lambda: {"a": tf.constant(1), "b": [v.read_value(), 3]})

    def add() -> None:
        v.assign_add(1)

    nothing = section.execute(add)
    assert isinstance(nothing, tf.Operation)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(pair) == {"a": 1, "b": [1, 3]}
        assert session.run(nothing) is None
        assert session.run(v) == 2


def test_sections_do_not_nest_in_themselves_nor_share_what_is_theirs() -> None:
    first, second = tf.CriticalSection(), tf.CriticalSection()
    v = tf.Variable(1.0, use_resource=True)
    with pytest.raises(ValueError, match="would wait for its own end"):
        first.execute(lambda: first.execute(lambda: tf.constant(1)))
    first.execute(v.read_value, exclusive_resource_access=False)
    second.execute(v.read_value, exclusive_resource_access=False)
    with pytest.raises(ValueError, match="has exclusive access"):
        second.execute(v.read_value)


def test_a_variable_from_outside_is_ready_before_the_lock() -> None:
    section = tf.CriticalSection()
    outside = tf.constant(2.0) * 3.0
    result = section.execute(lambda: outside + 1.0)
    [lock] = [op for op in tf.get_default_graph().get_operations() if op.type == "MutexLock"]
    assert outside.op in lock.control_inputs
    with tf.Session() as session:
        assert session.run(result) == 7.0


def test_a_section_in_a_loop_is_executed_in_each_iteration() -> None:
    v = tf.Variable(0.0, use_resource=True)
    section = tf.CriticalSection()
    step = tf.constant(2.0) * 1.0

    def body(i: Any) -> Any:
        added = section.execute(lambda: v.assign_add(step))
        with tf.control_dependencies([added]):
            return i + 1

    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])) == 5
        assert session.run(v) == 10.0


def test_branches_and_loops_in_a_section_end_in_it() -> None:
    """The lock is given back after the branch that was taken, though the other never runs."""
    size, capacity = (tf.Variable(start, use_resource=False) for start in (0, 4))
    section = tf.CriticalSection()
    is_full = tf.equal(size, capacity)
    grow = section.execute(
        lambda: tf.cond(is_full, lambda: tf.assign(capacity, capacity * 2), lambda: tf.identity(capacity))
    )
    count = section.execute(lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(grow) == 4
        session.run(size.assign(4))
        assert session.run(grow) == 8
        assert session.run(capacity) == 8
        assert session.run(count) == 3
