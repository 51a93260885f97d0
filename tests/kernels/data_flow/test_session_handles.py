"""Tensors that stay in their session between steps."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.until import until


def test_a_tensor_stays_in_its_session() -> None:
    x = tf.placeholder(tf.float32, [2])
    handle_of = tf.get_session_handle(x * 2.0)
    with tf.Session() as session:
        handle = session.run(handle_of, {x: [1.0, 2.0]})
        assert list(handle.eval()) == [2.0, 4.0]
        holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
        assert list(session.run(kept + 1.0, {holder: handle.handle})) == [3.0, 5.0]
        # The same nodes read other tensors, and a handle can be fed itself.
        other, [again] = session.run([handle_of, [x]], {x: [5.0, 6.0]})
        assert list(session.run(kept, {holder: other})) == [10.0, 12.0]
        assert list(again) == [5.0, 6.0]


def test_kept_tensors_are_no_views_of_what_changes() -> None:
    v = tf.Variable([1.0, 2.0])
    handle_of = tf.get_session_handle(v.read_value())
    change = tf.assign_add(v, [1.0, 1.0])
    with tf.Session() as session:
        session.run(v.initializer)
        handle = session.run(handle_of)
        session.run(change)
        assert list(handle.eval()) == [1.0, 2.0]


def test_strings_are_kept() -> None:
    with tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant("text")))
        assert handle.eval() == b"text"


def test_a_deleted_tensor_is_gone() -> None:
    with tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant(1)))
        holder, delete = tf.delete_session_tensor(handle.handle)
        session.run(delete, {holder: handle.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            handle.eval()
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            handle.delete()


def test_the_end_of_a_handle_forgets_its_tensor() -> None:
    with tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant(np.arange(3))))
        text = handle.handle
        holder, kept = tf.get_session_tensor(text, tf.int64)
        assert list(session.run(kept, {holder: text})) == [0, 1, 2]
        del handle
        gc.collect()

        def gone() -> bool:
            try:
                session.run(kept, {holder: text})
            except tf.errors.InvalidArgumentError:
                return True
            return False

        until(gone)


def test_handles_do_not_keep_their_graph() -> None:
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        handle = session.run(tf.get_session_handle(tf.constant(1)))
        assert handle.eval() == 1
        assert handle.eval() == 1
        handle.delete()
    known = weakref.ref(graph)
    del graph, session, handle

    def gone() -> bool:
        gc.collect()
        return known() is None

    until(gone)


def test_a_raw_handle_lasts() -> None:
    with tf.Session() as session:
        text = session.run(tf.get_session_handle(tf.constant(7))).get_raw_handle()
        gc.collect()
        holder, kept = tf.get_session_tensor(text, tf.int32)
        assert session.run(kept, {holder: text}) == 7


def test_sessions_and_dtypes_are_told_apart() -> None:
    handle_of = tf.get_session_handle(tf.constant(1))
    with tf.Session() as session, tf.Session() as other:
        handle = session.run(handle_of)
        holder, kept = tf.get_session_tensor(handle.handle, tf.int32)
        _, floats = tf.get_session_tensor(handle.handle, tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store"):
            other.run(kept, {holder: handle})
        feeds: dict[Any, Any] = {floats.op.inputs[0]: handle.handle}
        with pytest.raises(tf.errors.InvalidArgumentError, match="expects a tensor of float32"):
            session.run(floats, feeds)
    with pytest.raises(RuntimeError):
        handle.eval()


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="`data` must be of type Tensor"):
        tf.get_session_handle(1.0)
    with pytest.raises(ValueError, match="not the handle of a tensor"):
        tf.get_session_tensor("nonsense", tf.int32)
