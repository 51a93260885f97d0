"""Feeds and fetches beside TensorFlow's session in one process: results, or exception types and texts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

real.disable_v2_behavior()

pytestmark = pytest.mark.slow


class Program:
    """The same graph in one of the libraries, and a session on it."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.float_vector = tf.placeholder(tf.float32, [None, 2], name="float_vector")
            self.int_any = tf.placeholder(tf.int32, name="int_any")
            self.int_scalar = tf.placeholder(tf.int64, [], name="int_scalar")
            self.bool_any = tf.placeholder(tf.bool, name="bool_any")
            self.text = tf.placeholder(tf.string, name="text")
            self.half = tf.placeholder(tf.float16, name="half")
            self.scalar = tf.placeholder(tf.float32, [], name="scalar")
            self.double = tf.placeholder(tf.float64, name="double")
            self.byte = tf.placeholder(tf.uint8, name="byte")
            self.complex = tf.placeholder(tf.complex64, name="complex")
            self.forbidden = tf.placeholder(tf.float32, name="forbidden")
            self.graph.prevent_feeding(self.forbidden)
            self.constant = tf.constant([1.0, 2.0], name="constant")
            self.zero = tf.constant(0.0, name="zero")
            self.word = tf.constant("wörd", name="word")
            self.empty = tf.constant([], shape=[0, 3], name="empty")
        self.session = tf.Session(graph=self.graph)

    def echo(self, name: str, value: Any) -> Any:
        tensor = getattr(self, name)
        with self.graph.as_default():
            output = self.tf.identity(tensor)
        return self.session.run(output, {tensor: value})


@pytest.fixture(scope="module")
def both() -> tuple[Program, Program]:
    return Program(real), Program(fleet)


def outcome(function: Any, program: Program) -> Any:
    with np.errstate(all="ignore"):
        try:
            return plain(function(program))
        except Exception as error:
            message = error.message if hasattr(error, "message") else str(error)
            return type(error).__name__, message.removeprefix("Graph execution error:\n\n")


def plain(value: Any) -> Any:
    """A result in a form that compares: types, dtypes, shapes and elements."""
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, str(value.dtype), value.shape, repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return type(value).__name__, value


FED_FOR = re.compile(r"\. It was fed for Tensor [^ ]+, which has dtype \w+ and shape .*$")


def same(both: tuple[Program, Program], function: Any) -> None:
    expected, got = (outcome(function, program) for program in both)
    if expected != got and got[0] in ("ValueError", "TypeError"):
        # A value of the wrong kind: TensorFlow's words, and then which tensor it was fed for.
        got = (got[0], FED_FOR.sub("", got[1]))
    assert got == expected


PLACEHOLDERS = [
    "float_vector",
    "int_any",
    "int_scalar",
    "bool_any",
    "text",
    "half",
    "scalar",
    "double",
    "byte",
    "complex",
    "forbidden",
]
VALUES = [
    1,
    -1,
    0,
    300,
    2**24 + 1,
    2**31,
    2**40,
    2**70,
    1.5,
    2.9,
    1e300,
    True,
    1j,
    "a",
    "é",
    b"a\0",
    [1, 2],
    [1.9, 2.9],
    [[1, 2]],
    [[1, 2, 3]],
    [[1], [2, 3]],
    [],
    [2**40],
    ["a", b"b"],
    [None],
    {},
    np.float64(2.5),
    np.int64(2**40),
    np.array(3),
    np.array([[1.0, 2.0]], np.float32),
    np.array([[1.0, 2.0]]),
    np.array([[1, 2]], ">f4"),
    np.array(["a", "b"]),
    np.array([b"a\0"], "S2"),
    np.array([1, 2])[::-1],
    np.zeros((0, 2)),
]


@pytest.mark.parametrize("name", PLACEHOLDERS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_feed_values(both: tuple[Program, Program], name: str, value: Any) -> None:
    same(both, lambda program: program.echo(name, value))


KEYS = [
    lambda p: {"scalar:0": 1},
    lambda p: {b"scalar:0": 1},
    lambda p: {"scalar": 1},
    lambda p: {"nope:0": 1},
    lambda p: {"scalar:1": 1},
    lambda p: {"scalar:x": 1},
    lambda p: {p.scalar.op: 1},
    lambda p: {None: 1},
    lambda p: {1.5: 1},
    lambda p: {(p.scalar, p.int_any): (1, 2)},
    lambda p: {(p.scalar, (p.int_any,)): (1, (2,))},
    lambda p: {p.constant: [5.0, 6.0]},
    lambda p: {p.constant: [5.0, 6.0, 7.0]},
    lambda p: {},
    lambda p: None,
]


@pytest.mark.parametrize("key", range(len(KEYS)))
def test_feed_keys(both: tuple[Program, Program], key: int) -> None:
    same(both, lambda program: program.session.run(program.zero, KEYS[key](program)))


FETCHES = [
    lambda p: p.constant,
    lambda p: p.zero,
    lambda p: p.word,
    lambda p: p.empty,
    lambda p: p.constant.op,
    lambda p: "constant:0",
    lambda p: "constant",
    lambda p: b"constant:0",
    lambda p: [p.zero, p.word, p.zero.op],
    lambda p: (p.zero, [p.constant, {"k": p.word}]),
    lambda p: {"a": p.zero, "b": (p.zero,)},
    lambda p: [],
    lambda p: {},
    lambda p: None,
    lambda p: [p.zero, None],
    lambda p: 5,
    lambda p: "nope:0",
    lambda p: "nope",
    lambda p: "constant:7",
    lambda p: "constant:0:0",
    lambda p: object,
    lambda p: {1, 2},
]


@pytest.mark.parametrize("fetch", range(len(FETCHES)))
def test_fetches(both: tuple[Program, Program], fetch: int) -> None:
    same(both, lambda program: program.session.run(FETCHES[fetch](program)))


@pytest.mark.parametrize("value", [2, 2.5, [1, 2], "a"], ids=repr)
@pytest.mark.parametrize("name", ["scalar", "int_any", "text"])
def test_fed_fetches(both: tuple[Program, Program], name: str, value: Any) -> None:
    def run(program: Program) -> Any:
        tensor = getattr(program, name)
        result = program.session.run([tensor, program.zero], {tensor: value})[0]
        # TensorFlow hands back text as it was fed, we hand back what was sent.
        return [v.encode() if isinstance(v, str) else v for v in np.ravel(result).tolist()]

    same(both, run)


def test_tensor_as_a_value(both: tuple[Program, Program]) -> None:
    expected, got = (
        outcome(lambda p: p.session.run(p.zero, {p.scalar: p.constant}), program) for program in both
    )
    assert got[0] == expected[0] == "TypeError"
    assert got[1] == expected[1]
