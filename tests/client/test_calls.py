"""Calls of the API: what they accept, refuse and leave behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


def test_every_iterable_names_variables() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        named = {"a": tf.Variable(1.0), "b": tf.Variable(2.0)}
        loss = tf.square(named["a"]) + tf.square(named["b"])
        optimizer = tf.train.GradientDescentOptimizer(0.25)
        choices: list[Any] = [
            named.values(),
            (v for v in named.values()),
            set(named.values()),
            map(lambda v: v, named.values()),
            {"x": [named["a"]], "y": (named["b"],)},
        ]
        trains = [optimizer.minimize(loss, var_list=choice) for choice in choices]
        session.run(tf.global_variables_initializer())
        for i, train in enumerate(trains, 1):
            session.run(train)
            assert session.run([named["a"], named["b"]]) == [0.5**i, 2 * 0.5**i]


def test_what_is_no_variable_is_not_updated() -> None:
    with tf.Graph().as_default():
        x = tf.constant(3.0)
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(x * x, [x])
        assert pairs[0][1] is x
        with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
            optimizer.apply_gradients(pairs)
        with pytest.raises(NotImplementedError, match="unsupported type"):
            optimizer.compute_gradients(x * x, ["x"])


@pytest.mark.parametrize("value", [None, [None], 3, "x"])
def test_groups_are_of_tensors_and_operations(value: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="zero or more"):
        tf.group(value)


def test_a_step_is_looked_at_again_when_less_is_allowed() -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = x + 1.0
        for _ in range(2):
            assert session.run(y, {x: 1.0}) == 2.0
        graph.prevent_fetching(y.op)
        with pytest.raises(ValueError, match="not fetchable"):
            session.run(y, {x: 1.0})
        z = x * 2.0
        assert session.run(z, {x: 1.0}) == 2.0
        graph.prevent_feeding(x)
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(z, {x: 1.0})


def test_a_failed_import_leaves_nothing_behind() -> None:
    definition = tf.GraphDef()
    with tf.Graph().as_default() as source:
        tf.negative(tf.constant(1.0, name="a"), name="b")
        definition.CopyFrom(source.as_graph_def())
    definition.node[1].attr["T"].type = tf.int32.as_datatype_enum
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant(2.0, name="x")
        session.run(x)
        with tf.control_dependencies([x]), pytest.raises(ValueError, match="incompatible"):
            tf.import_graph_def(definition, name="")
        assert [op.name for op in graph.get_operations()] == ["x"]
        assert not x.op.control_outputs
        y = tf.add(x, tf.constant(3.0, name="a"), name="b")
        assert y.name == "b:0"
        assert session.run(y) == 5.0


@pytest.mark.parametrize("name", ["fill", "reshape", "tile", "broadcast_to", "random_uniform", "pad", "eye"])
def test_sizes_of_more_than_32_bits(name: str) -> None:
    big = 1 << 40
    with tf.Graph().as_default():
        makers: dict[str, Any] = {
            "fill": lambda: tf.fill([big], 1.0),
            "reshape": lambda: tf.reshape(tf.placeholder(tf.float32, [None]), [big]),
            "tile": lambda: tf.tile([1.0], np.array([big])),
            "broadcast_to": lambda: tf.broadcast_to(1.0, [big]),
            "random_uniform": lambda: tf.random_uniform([big]),
            "pad": lambda: tf.pad([1.0], [[0, big - 1]]),
            "eye": lambda: tf.eye(big, 1)[:, 0],
        }
        assert makers[name]().shape.as_list() == [big]


def test_sizes_have_the_dtype_of_their_array_and_else_32_bits() -> None:
    with tf.Graph().as_default():
        assert tf.fill([2], 1.0).op.inputs[0].dtype is tf.int32
        assert tf.fill(np.array([2], np.int64), 1.0).op.inputs[0].dtype is tf.int64


def test_a_python_function_without_results_is_an_operation() -> None:
    calls: list[float] = []
    with tf.Graph().as_default(), tf.Session() as session:
        run = tf.py_func(lambda x: calls.append(float(x)), [tf.constant(2.0)], [])
        assert isinstance(run, tf.Operation)
        assert session.run(run) is None
    assert calls == [2.0]


def test_what_a_scope_waits_for_holds_beside_inputs_and_is_named_once() -> None:
    with tf.Graph().as_default():
        x, up = tf.constant(1.0), tf.no_op()
        with tf.control_dependencies([x, up]):
            assert tf.identity(x).op.control_inputs == [up]
            inner = tf.identity(x)
            with tf.control_dependencies([up, inner]):
                assert tf.identity(inner).op.control_inputs == []


@pytest.mark.parametrize("reuse", ["x", "", 0, 1, []])
def test_reuse_is_true_false_none_or_auto(reuse: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="reuse parameter"):
        tf.variable_scope("s", reuse=reuse).__enter__()


def test_a_python_function_without_a_return_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    nothing = tf.py_func(lambda: None, [], tf.float32)
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError, match="NoneType, and should be float: does the function"
        ),
    ):
        session.run(nothing)
    assert not caplog.records  # no traceback of the kernel: it is the user's function
