"""A Python function in the graph gets its arguments as TensorFlow gives them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

ARGUMENTS = """
tf.constant("a")
tf.placeholder_with_default("a", [])
tf.constant(["a", "b"])[1]
tf.constant(["a", "b"])
tf.constant([["a"]])
tf.string_join(["a", tf.constant("b")])
tf.data.Dataset.from_tensor_slices(["a", "b"]).make_one_shot_iterator().get_next()
tf.constant(1.5)
tf.constant(3, tf.int64)
tf.constant(True)
tf.constant([1, 2])
tf.zeros([0])
"""


def received(tf: Any, argument: str) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        given = [eval(argument, {"tf": tf})]
        text = tf.py_func(lambda value: f"{type(value).__name__} {value!r}", given, tf.string)
        found: bytes = session.run(text)
        return found.decode()


@pytest.mark.parametrize("argument", ARGUMENTS.strip().splitlines())
def test_an_argument(argument: str) -> None:
    assert received(fleet, argument) == received(real, argument)


def test_an_argument_in_a_dataset() -> None:
    def run(tf: Any) -> list[bytes]:
        with tf.Graph().as_default(), tf.Session() as session:
            dataset = tf.data.Dataset.from_tensor_slices(["a.txt", "b.txt"]).map(
                lambda name: tf.py_func(lambda text: text.decode().upper(), [name], tf.string)
            )
            following = dataset.make_one_shot_iterator().get_next()
            return [session.run(following) for _ in range(2)]

    assert run(fleet) == run(real) == [b"A.TXT", b"B.TXT"]
