"""`tf.layers` against TensorFlow's with Keras 2: variables, collections, values, gradients and updates."""

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
from tests.compat.layer_cases import ERRORS, PROGRAMS, WITHOUT_GRADIENTS

real.disable_v2_behavior()

pytestmark = pytest.mark.filterwarnings("ignore")


def start_value(name: str, shape: list[int]) -> Any:
    """Positive numbers that depend on a variable's name alone."""
    return np.random.default_rng(zlib.crc32(name.encode())).uniform(0.2, 1.0, shape).astype(np.float32)


def described(tf: Any, key: str) -> list[tuple[str, list[int]]]:
    return [(v.op.name, v.shape.as_list()) for v in tf.get_collection(key)]


def outcome(tf: Any, name: str) -> tuple[Any, list[Any]]:
    """The variables and collections that a program leaves in the graph, and all that it computes."""
    with tf.Graph().as_default(), tf.Session() as session:
        output = PROGRAMS[name](tf)
        keys = tf.GraphKeys
        losses, updates = tf.get_collection(keys.REGULARIZATION_LOSSES), tf.get_collection(keys.UPDATE_OPS)
        structure = (
            output.shape.as_list(),
            described(tf, keys.GLOBAL_VARIABLES),
            described(tf, keys.TRAINABLE_VARIABLES),
            [tf.convert_to_tensor(loss).op.name.rpartition("/")[0] for loss in losses],
            [update.name for update in updates],
        )
        for variable in tf.global_variables():
            variable.load(start_value(variable.op.name, variable.shape.as_list()), session)
        trained = tf.trainable_variables()
        gradients = []
        if trained and name not in WITHOUT_GRADIENTS:
            gradients = tf.gradients(tf.reduce_sum(output * output) + sum(losses), trained)
        values = session.run([output, *[tf.convert_to_tensor(loss) for loss in losses], *gradients])
        session.run(updates)
        return structure, [*values, *session.run(tf.global_variables())]


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_program(name: str) -> None:
    structure, values = outcome(ours, name)
    real_structure, real_values = outcome(real, name)
    assert structure == real_structure
    for got, expected in zip(values, real_values, strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=5e-4, atol=5e-4)


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    def raised(tf: Any) -> tuple[str, str]:
        with tf.Graph().as_default(), pytest.raises((ValueError, TypeError)) as caught:
            ERRORS[name](tf)
        return type(caught.value).__name__, str(caught.value)[:30]

    assert raised(ours) == raised(real)


def test_names_and_signatures() -> None:
    import inspect

    for name in dir(real.layers):
        theirs = getattr(real.layers, name)
        if name.startswith("_") or name == "experimental":
            continue
        mine = getattr(ours.layers, name)
        if not inspect.isclass(theirs):
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(theirs).parameters), (
                name
            )


def test_dropout_keeps_the_mean() -> None:
    for tf in (ours, real):
        with tf.Graph().as_default(), tf.Session() as session:
            training = tf.placeholder_with_default(True, [])
            dropped = tf.layers.dropout(tf.ones([200, 200]), 0.25, seed=3, training=training)
            value = session.run(dropped)
            assert set(np.unique(value)) == {np.float32(0), np.float32(1 / 0.75)}
            assert abs(value.mean() - 1) < 0.02
            assert (session.run(dropped, {training: False}) == 1).all()
