"""Functions beside TensorFlow's: definitions, values, graphs of one library run by the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from google.protobuf import text_format
from tensorflow.python.framework import function as real_function
from tensorflow.python.ops import functional_ops as real_ops

import tensorfleet as fleet
from tensorfleet.functions import functional_ops as fleet_ops
from tensorfleet.functions.defun import Defun
from tests.compat.cluster import Cluster

real.disable_v2_behavior()

BOTH = ((fleet, Defun, fleet_ops), (real, real_function.Defun, real_ops))


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ValueError, TypeError, LookupError, real.errors.OpError, fleet.errors.OpError) as error:
        return type(error).__name__


# Definitions


def two_results(tf: Any, defun: Any) -> Any:
    @defun(tf.float32, tf.float32, func_name="F")
    def f(a: Any, B: Any) -> Any:
        """Some results."""
        with tf.name_scope("scope"):
            c = a * B
        return c, a, c, tf.constant(1.0)

    return f


def named_results(tf: Any, defun: Any) -> Any:
    return defun(tf.float32, func_name="F", out_names=["first", "second"])(lambda x: (x + 1.0, x * x))


def no_results(tf: Any, defun: Any) -> Any:
    return defun(tf.float32, func_name="F")(lambda x: None)


def varargs(tf: Any, defun: Any) -> Any:
    return defun(tf.float32, tf.int32, func_name="F")(lambda x, *more: (x, more[0] + 1))


def options(tf: Any, defun: Any) -> Any:
    kept = {"noinline": True, "compiled": True, "experimental_tag": "t", "experimental_n": 3}
    return defun(tf.float32, func_name="F", **kept)(lambda x: -x)


def control_inputs(tf: Any, defun: Any) -> Any:
    @defun(tf.float32, func_name="F")
    def f(x: Any) -> Any:
        y = tf.exp(x, name="first")
        with tf.control_dependencies([y]):
            return tf.sin(x, name="second")

    return f


def random_numbers(tf: Any, defun: Any) -> Any:
    return defun(func_name="F")(lambda: tf.random_uniform([2], seed=3))


def names_that_clash(tf: Any, defun: Any) -> Any:
    @defun(tf.float32, tf.float32, func_name="F")
    def f(add: Any, x: Any) -> Any:
        first = tf.add(add, x, name="add")
        return first, tf.add(first, x, name="ADD_1"), tf.add(first, x, name="9_Odd.Name")

    return f


@pytest.mark.parametrize(
    "program",
    [
        *(two_results, named_results, no_results, varargs, options, control_inputs, random_numbers),
        names_that_clash,
    ],
    ids=lambda program: program.__name__,
)
def test_definitions_are_tensorflows(program: Callable[..., Any]) -> None:
    found = []
    for tf, defun, _ in BOTH:
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            definition = program(tf, defun).definition
            for node in definition.node_def:
                node.attr.pop("_has_manual_control_dependencies", None)  # a note of TensorFlow 2
            text = text_format.MessageToString(definition)
            found.append(text_format.Parse(text, real.GraphDef().library.function.add()))
    assert found[0] == found[1]


# Values


def gradients_of_two_results(tf: Any, defun: Any, ops: Any) -> Any:
    @defun(tf.float32, tf.float32)
    def f(x: Any, y: Any) -> Any:
        return tf.matmul(x, y) * 2.0 + x, tf.reduce_sum(x * y)

    a, b = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0, 6.0], [7.0, 8.0]])
    first, second = f(a, b)
    return [first, second, *tf.gradients([first, second], [a, b]), *tf.gradients(first * 3.0, [a, b])]


def calls_in_calls(tf: Any, defun: Any, ops: Any) -> Any:
    @defun(tf.float32)
    def inner(x: Any) -> Any:
        return tf.square(x) * 3.0, x

    @defun(tf.float32)
    def outer(x: Any) -> Any:
        first, second = inner(x)
        return first + inner(second + 1.0)[0]

    x = tf.constant([1.0, 2.0])
    return [outer(x), *tf.gradients(outer(x), x)]


def gradient_functions(tf: Any, defun: Any, ops: Any) -> Any:
    @defun(tf.float32, tf.float32)
    def slope(x: Any, dy: Any) -> Any:
        return dy * 100.0 + x

    @defun(tf.float32, grad_func=slope)
    def f(x: Any) -> Any:
        return x * 2.0

    @defun(tf.float32, python_grad_func=lambda op, dy: dy * 7.0 + op.inputs[0])
    def g(x: Any) -> Any:
        return tf.exp(x)

    x = tf.constant([1.0, 2.0])
    return [f(x), g(x), *tf.gradients(f(x) * 2.0, x), *tf.gradients(g(x) * 2.0, x)]


def variables(tf: Any, defun: Any, ops: Any) -> Any:
    v = tf.Variable(3.0, use_resource=True)

    @defun(tf.float32)
    def f(x: Any) -> Any:
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(2.0), use_resource=True)
        r = tf.get_variable("r", [], initializer=tf.constant_initializer(5.0), use_resource=False)
        return x * v * w + r

    y = f(2.0)
    reused = [x for x in tf.trainable_variables() if x.op.name in ("w", "r")]
    return [y, *tf.gradients(y, [v, *reused])]


def in_conditionals(tf: Any, defun: Any, ops: Any) -> Any:
    x = tf.placeholder_with_default(2.0, [])
    double = defun(tf.float32, func_name="Double")(lambda a: a * 2.0)
    treble = defun(tf.float32, func_name="Treble")(lambda a: a * 3.0)
    y = tf.cond(x > 1.0, lambda: double(x), lambda: treble(x))
    z = tf.cond(x > 3.0, lambda: double(x), lambda: treble(x))
    return [y, z, *tf.gradients(y + z, x)]


def in_loops(tf: Any, defun: Any, ops: Any) -> Any:
    double = defun(tf.float32, func_name="TimesItself")(lambda a: a * a)

    def body(i: Any, y: Any) -> Any:
        y = double(y)
        y.set_shape([])
        return i + 1, y

    x = tf.constant(1.5)
    y = tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]
    return [y, *tf.gradients(y, x)]


def loops_in_functions(tf: Any, defun: Any, ops: Any) -> Any:
    @defun(tf.float32)
    def power(x: Any) -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.reshape(x, [])), [0, 1.0])[1]

    return [power(2.0), power(power(1.5))]


def ifs(tf: Any, defun: Any, ops: Any) -> Any:
    double = defun(tf.float32, func_name="Double")(lambda a: a * 2.0)
    treble = defun(tf.float32, func_name="Treble")(lambda a: a * 3.0)
    conditions = (True, False, 0, 7, "", "x", 0.0, 0.5)
    return [ops.If(tf.constant(condition), [1.0], double, treble)[0] for condition in conditions]


def whiles_and_fors(tf: Any, defun: Any, ops: Any) -> Any:
    n = tf.constant(3.0)
    below = defun(tf.int32, tf.float32, func_name="Below")(lambda i, x: i < 5)
    body = defun(tf.int32, tf.float32, func_name="Body")(lambda i, x: (i + 1, x * n))
    turn = defun(tf.int32, tf.float32, func_name="Turn")(lambda i, x: x * n + tf.cast(i, tf.float32))
    found = list(ops.While([tf.constant(0), tf.constant(1.0)], below, body))
    for bounds in ((0, 5, 1), (5, 0, -2), (3, 3, 1), (0, 7, 3)):
        for as_while in (False, True):
            given = [tf.constant(bound) for bound in bounds]
            found += ops.For(*given, [tf.constant(1.0)], turn, rewrite_with_while=as_while)
    return found


def gradients_by_name(tf: Any, defun: Any, ops: Any) -> Any:
    f = defun(tf.float32, tf.float32, func_name="Both")(lambda x, y: (x * y, tf.exp(x)))
    given = [tf.constant(each) for each in (3.0, 4.0, 2.0, 0.5)]
    f.add_to_graph(tf.get_default_graph())
    return ops.Gradient(given, f)


def shapes_by_a_function(tf: Any, defun: Any, ops: Any) -> Any:
    f = defun(tf.float32, func_name="Shaped", shape_func=lambda op: [[2], []])(
        lambda x: (x, tf.reduce_sum(x))
    )
    first, second = f([1.0, 2.0])
    assert first.shape == [2]
    return [first, second]


@pytest.mark.parametrize(
    "program",
    [
        *(gradients_of_two_results, calls_in_calls, gradient_functions, variables, in_conditionals, in_loops),
        *(loops_in_functions, ifs, whiles_and_fors, gradients_by_name, shapes_by_a_function),
    ],
    ids=lambda program: program.__name__,
)
def test_values_are_tensorflows(program: Callable[..., Any]) -> None:
    """In both libraries, and of our graph on TensorFlow's runtime."""
    found = []
    for tf, defun, ops in BOTH:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            fetches = program(tf, defun, ops)
            session.run(tf.global_variables_initializer())
            found.append(session.run(fetches))
            if tf is fleet:
                message = real.GraphDef.FromString(graph.as_graph_def().SerializeToString())
                names = [fetch.name for fetch in fetches]
                initializers = [v.initializer.name for v in tf.global_variables()]
    with real.Graph().as_default() as graph, real.Session() as session:
        real.import_graph_def(message, name="")
        session.run(initializers)
        found.append(session.run(names))
    for ours, theirs, again in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        np.testing.assert_allclose(again, theirs, rtol=1e-5)


def refusals(tf: Any, defun: Any) -> list[Any]:
    one, p, f32 = tf.constant(1.0), tf.placeholder(tf.float32), tf.float32
    v = tf.Variable(1.0, use_resource=False)

    @defun(f32, f32)
    def both(a: Any, b: Any) -> Any:
        return a + b

    def made(function: Any, **options: Any) -> Callable[[], Any]:
        return lambda: defun(f32, **options)(function)(1.0) is None or None

    cases = [
        *(lambda: both(one), lambda: both(one, 5), lambda: both(one, one, unknown=1)),
        made(lambda x: x, experimental_tag=[1]),
        made(lambda x, y: x),
        made(lambda x, y=1: x),
        made(lambda x: (x, x), out_names=["a", "a"]),
        made(lambda x: (x, x), out_names=["a"]),
        made(lambda x: x, func_name="Add"),
        made(lambda x: x * 2.0, func_name="F"),
        made(lambda x: x * 3.0, func_name="F"),
        made(lambda x: x * p, func_name="G", capture_by_value=True),
        made(lambda x: x * v, func_name="H", capture_by_value=True),
        made(lambda x: tf.assign_add(v, x), func_name="I"),
        made(lambda x: (x, None), func_name="J"),
        lambda: defun(f32)(5),
    ]
    return [outcome(case) for case in cases]


def test_what_is_refused_is_what_tensorflow_refuses() -> None:
    found = []
    for tf, defun, _ in BOTH:
        with tf.Graph().as_default():
            found.append(refusals(tf, defun))
    assert found[0] == found[1]
    assert found[0].count(None) == 1


# TensorFlow's client on our servers


def test_remote_calls_of_tensorflows_client(local: Cluster) -> None:
    with real.Graph().as_default():
        with real.device("/job:local/task:1"):
            v = real.Variable(4.0, use_resource=True)

        @real_function.Defun(real.float32)
        def added(x: Any) -> Any:
            return v.assign_add(x) * 2.0, real.string_join([real.as_string(x), "!"])

        with real.device("/job:local/task:0"):
            found = real_ops.remote_call(
                args=[real.constant(2.0), *added.captured_inputs],
                Tout=[real.float32, real.string],
                f=added,
                target="/job:local/replica:0/task:1/device:CPU:0",
            )
        with real.Session(local.target("local")) as session:
            session.run(v.initializer)
            assert session.run(found) == [12, b"2.000000!"]
            assert session.run(v) == 6


def test_traced_functions_of_tensorflows_client(local: Cluster) -> None:
    """With variables of two tasks, random numbers that are drawn once, and gradients."""
    with real.Graph().as_default():
        with real.device("/job:local/task:0"):
            a = real.get_variable("a", [3], use_resource=True, initializer=real.ones_initializer())
        with real.device("/job:local/task:1"):
            b = real.get_variable("b", [3], use_resource=True, initializer=real.ones_initializer())

        @real.function
        def model(x: Any) -> Any:
            dropped = real.nn.dropout(x, rate=0.5)
            b.assign_add(a)
            return dropped, real.reduce_sum(dropped * a * b)

        x = real.constant(np.arange(1.0, 90.0, dtype=np.float32).reshape(-1, 1))
        dropped, total = model(x)
        gradients = real.gradients(total, [x, a])
        with real.Session(local.target("local", 1)) as session:
            session.run(real.global_variables_initializer())
            found, value, by_x, by_a = session.run([dropped, total, *gradients])
    np.testing.assert_allclose(value, 6 * found.sum(), rtol=1e-5)
    np.testing.assert_allclose(by_x, np.where(found > 0, 12.0, 0.0))
    np.testing.assert_allclose(by_a, np.full(3, 2 * found.sum()), rtol=1e-5)


def test_our_traced_functions_on_tensorflows_runtime() -> None:
    with fleet.Graph().as_default() as graph:
        w = fleet.get_variable("w", [], use_resource=True, initializer=fleet.ones_initializer())

        @fleet.function
        def step(x: Any) -> Any:
            w.assign_add(x)
            return x * w * w

        x = fleet.constant(2.0)
        y = step(x)
        fetches = [y, *fleet.gradients(y, [x, w])]
        names, initializer = [fetch.name for fetch in fetches], w.initializer.name
        message = real.GraphDef.FromString(graph.as_graph_def().SerializeToString())
        with fleet.Session() as session:
            session.run(w.initializer)
            ours = session.run(fetches)
    with real.Graph().as_default(), real.Session() as session:
        real.import_graph_def(message, name="")
        session.run(initializer)
        assert session.run(names) == ours == [18, 9, 12]
