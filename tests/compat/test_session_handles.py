"""Tensors that stay in sessions: the same programs with TensorFlow and with TensorFleet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet


def chained(tf: Any) -> list[Any]:
    """A value that goes through three steps without leaving the session."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        handle = session.run(tf.get_session_handle(x * 2.0), {x: [1.0, 2.0]})
        seen: list[Any] = [handle.eval().tolist(), handle.handle.startswith("GetSessionHandle")]
        holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
        again = tf.get_session_handle(kept + 1.0)
        for _ in range(3):
            handle = session.run(again, {holder: handle.handle})
        seen.append(handle.eval().tolist())
        where, delete = tf.delete_session_tensor(handle.handle)
        seen.append(session.run(delete, {where: handle.handle}))
        try:
            session.run(kept, {holder: handle.handle})
        except tf.errors.OpError as error:
            seen += [type(error).__name__, "is not in the session store" in error.message]
        return seen


def test_handles() -> None:
    assert chained(fleet) == chained(real)
    np.testing.assert_equal(chained(fleet)[0], [2.0, 4.0])


def fed_for_values(tf: Any) -> list[Any]:
    """A handle that is fed for a tensor of its dtype, in place of the value, and for one of another."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32)
        handle = session.run(tf.get_session_handle(x + 0), {x: [1, 2]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y / 2.0, {y: handle})
        return [session.run(x * 2, {x: handle}).tolist(), session.run(x[1], {x: handle})]


def test_handles_are_fed_for_values() -> None:
    assert fed_for_values(fleet) == fed_for_values(real) == [[2, 4], 2]


def quantized(tf: Any) -> list[Any]:
    """Fetched quantized tensors, and one that is fed what was fetched."""
    with tf.Graph().as_default(), tf.Session() as session:
        codes, low, _ = tf.quantize_v2([[-1.0, 2.0]], -6.0, 6.0, tf.quint8)
        fetched = session.run({"codes": codes, "one": codes[0, 0], "low": low})
        fed = tf.placeholder(tf.quint8, [1, 2])
        value = session.run(tf.dequantize(fed, -6.0, 6.0), {fed: fetched["codes"]})
        arrays = [fetched["codes"], fetched["one"], value, session.make_callable(codes)()]
        return [(np.asarray(a).dtype.name, np.asarray(a).tolist()) for a in arrays]


def test_fetched_quantized_tensors_are_plain_integers() -> None:
    assert quantized(fleet) == quantized(real)


def sections(tf: Any) -> list[Any]:
    """Updates in a critical section, and what it refuses."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, use_resource=True)
        section = tf.CriticalSection(name="section")
        other = tf.CriticalSection(name="other")

        def double() -> Any:
            with tf.control_dependencies([v.assign(v.read_value() * 2.0)]):
                return {"v": v.read_value(), "one": tf.constant(1)}

        result = section.execute(double)
        session.run(v.initializer)
        seen = [session.run(result) for _ in range(3)]
        for execute in (
            lambda: section.execute(lambda: section.execute(lambda: tf.constant(1))),
            lambda: other.execute(double),
        ):
            try:
                execute()
                seen.append("made")
            except ValueError:
                seen.append("refused")
        return seen


def test_sections() -> None:
    assert sections(fleet) == sections(real)
