"""Recurrent networks against TensorFlow's with Keras 2: variables, static shapes, values and gradients."""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

pytest.importorskip("tf_keras")

import tensorflow.compat.v1 as real

import tensorfleet as ours
from tests.compat.rnn_cases import BATCH, ERRORS, INPUTS, PROGRAMS

real.disable_v2_behavior()

pytestmark = pytest.mark.filterwarnings("ignore")


def start_value(name: str, shape: list[int]) -> Any:
    """Numbers that depend on a variable's name alone."""
    return np.random.default_rng(zlib.crc32(name.encode())).uniform(-0.8, 0.8, shape).astype(np.float32)


def outcome(tf: Any, name: str) -> tuple[Any, list[Any]]:
    with tf.Graph().as_default(), tf.Session() as session:
        outputs = PROGRAMS[name](tf)
        structure = (
            [o.shape.as_list() for o in outputs],
            [(v.op.name, v.shape.as_list()) for v in tf.global_variables()],
            [v.op.name for v in tf.trainable_variables()],
        )
        for variable in tf.global_variables():
            variable.load(start_value(variable.op.name, variable.shape.as_list()), session)
        loss = tf.add_n([tf.reduce_sum(o * (i + 1.0)) for i, o in enumerate(outputs)])
        gradients = tf.gradients(loss, tf.trainable_variables())
        return structure, session.run([*outputs, *gradients])


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_program(name: str) -> None:
    structure, values = outcome(ours, name)
    real_structure, real_values = outcome(real, name)
    assert structure == real_structure
    for got, expected in zip(values, real_values, strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    def raised(tf: Any) -> tuple[str, str]:
        with tf.Graph().as_default(), pytest.raises((ValueError, TypeError)) as caught:
            ERRORS[name](tf)
        return type(caught.value).__name__, str(caught.value)[:30]

    assert raised(ours) == raised(real)


def test_signatures() -> None:
    import inspect

    for name in (
        "dynamic_rnn",
        "bidirectional_dynamic_rnn",
        "static_rnn",
        "static_bidirectional_rnn",
        "raw_rnn",
    ):
        mine, theirs = (inspect.signature(getattr(tf.nn, name)) for tf in (ours, real))
        assert [(p.name, p.default) for p in mine.parameters.values()] == [
            (p.name, p.default) for p in theirs.parameters.values()
        ]
    for name in dir(real.nn.rnn_cell):
        if not name.startswith("_") and name != "LSTMStateTuple":
            mine, theirs = (inspect.signature(getattr(tf.nn.rnn_cell, name).__init__) for tf in (ours, real))
            assert [
                (p.name, p.default) for p in mine.parameters.values() if p.kind is not p.VAR_POSITIONAL
            ] == [
                (p.name, p.default) for p in theirs.parameters.values() if p.kind is not p.VAR_POSITIONAL
            ], name


def test_wrong_number_of_lengths() -> None:
    for tf in (ours, real):
        with tf.Graph().as_default(), tf.Session() as session:
            lengths = tf.placeholder(tf.int32, [None])
            outputs, _ = tf.nn.dynamic_rnn(
                tf.nn.rnn_cell.GRUCell(2), tf.constant(INPUTS), lengths, dtype=tf.float32
            )
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape for Tensor"):
                session.run(outputs, {lengths: [1, 2]})


def test_dropout_of_the_same_elements_in_every_step() -> None:
    for tf in (ours, real):
        with tf.Graph().as_default(), tf.Session() as session:
            wrapped = tf.nn.rnn_cell.DropoutWrapper(
                tf.nn.rnn_cell.GRUCell(50),
                output_keep_prob=0.5,
                variational_recurrent=True,
                dtype=tf.float32,
                seed=3,
            )
            outputs, _ = tf.nn.dynamic_rnn(wrapped, tf.constant(INPUTS), dtype=tf.float32)
            session.run(tf.global_variables_initializer())
            dropped = session.run(outputs) == 0
            assert (dropped == dropped[:1, :1]).all()
            assert 5 < dropped[0, 0].sum() < 45


def test_dropout_spares_the_memory() -> None:
    for tf in (ours, real):
        with tf.Graph().as_default(), tf.Session() as session:
            wrapped = tf.nn.rnn_cell.DropoutWrapper(
                tf.nn.rnn_cell.BasicLSTMCell(60), state_keep_prob=0.5, seed=3
            )
            _, state = wrapped(tf.constant(INPUTS[:, 0]), wrapped.zero_state(BATCH, tf.float32))
            session.run(tf.global_variables_initializer())
            c, h = session.run(state)
            assert (c != 0).all()
            assert 40 < (h == 0).sum() < 140
