"""Small parts of tf.contrib's framework, nn, losses and data, against what TensorFlow 1.15.5 returned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

framework = tf.contrib.framework


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("use_resource", [False, True])
def test_zeros_for_a_variable_without_a_value(use_resource: bool) -> None:
    v = tf.get_variable("v", [2, 2], tf.float64, use_resource=use_resource)
    zero = framework.zero_initializer(v)
    assert zero.name == "zero_initializer:0"
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(zero), np.zeros((2, 2)))
        np.testing.assert_array_equal(session.run(v), np.zeros((2, 2)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="input is already initialized"):
            session.run(zero)


def test_a_function_of_nested_arguments() -> None:
    def both(a: Any, b: Any) -> Any:
        return a + b["k"], {"d": a * 2}

    sums, named = framework.py_func(
        both,
        args=[tf.constant([1.0, 2.0])],
        kwargs={"b": {"k": tf.constant(3.0)}},
        output_types=(tf.float32, {"d": tf.float32}),
        output_shapes=([2], {"d": [None]}),
    )
    assert sums.shape.as_list() == [2]
    assert named["d"].shape.as_list() == [None]
    same = framework.py_func(
        lambda a: a,
        args=(tf.constant(1),),
        output_types=lambda a: a.dtype,
        output_shapes=lambda a: a.shape,
    )
    assert same.shape.as_list() == []
    with tf.Session() as session:
        assert session.run(sums).tolist() == [4, 5]
        assert session.run(named)["d"].tolist() == [2, 4]
        assert session.run(same) == 1
    with pytest.raises(TypeError, match="args must be list"):
        framework.py_func(both, args=3, output_types=tf.float32)
    with pytest.raises(TypeError, match="kwargs must be dict"):
        framework.py_func(both, kwargs=[3], output_types=tf.float32)


def test_names_in_scopes() -> None:
    strip, prepend = framework.strip_name_scope, framework.prepend_name_scope
    names = [("b/a", "b/"), ("^b/a", "b"), ("loc:@b//a", "b"), ("c/b/a", "b"), ("a", None)]
    assert [strip(*given) for given in names] == ["a", "^a", "loc:@a", "c/b/a", "a"]
    names = [("a", "b/"), ("^a", "b"), ("loc:@a", "b"), ("a", None)]
    assert [prepend(*given) for given in names] == ["b/a", "^b/a", "loc:@b/a", "a"]


def nodes(*given: tuple[str, str, list[str]]) -> Any:
    graph_def = tf.GraphDef()
    for name, kind, inputs in given:
        graph_def.node.add(name=name, op=kind, input=inputs)
    return graph_def


def test_nodes_fused_to_one() -> None:
    given = nodes(
        ("A", "Placeholder", []),
        ("B", "Placeholder", []),
        ("C", "Add", ["A", "B"]),
        ("D", "Mul", ["C", "C:0"]),
        ("E", "Add", ["D", "A"]),
        ("F", "Neg", ["E"]),
        ("G", "Exp", ["E"]),
        ("H", "Add", ["F", "G"]),
    )
    types = [tf.float32.as_datatype_enum] * 2
    fused = framework.fuse_op(given, ["A", "C"], ["F", "G"], types, False, "fused", "Blob")
    assert [(node.name, node.op, list(node.input)) for node in fused.node] == [
        ("A", "Placeholder", []),
        ("B", "Placeholder", []),
        ("C", "Add", ["A", "B"]),
        ("fused", "Blob", ["A", "C"]),
        ("F", "Neg", ["fused"]),
        ("G", "Exp", ["fused:1"]),
        ("H", "Add", ["F", "G"]),
    ]
    assert list(fused.node[3].attr["_output_types"].list.type) == types
    with pytest.raises(TypeError, match="Node E uses input A not in input_nodes"):
        framework.fuse_op(given, ["C"], ["F"], types, False, "fused", "Blob")
    with pytest.raises(TypeError, match="input_nodes must be a list"):
        framework.fuse_op(given, "C", ["F"], types, False, "fused", "Blob")


PREDICTIONS = np.random.RandomState(3).randn(4, 3).astype(np.float32)
LABELS = np.random.RandomState(4).randn(4, 3).astype(np.float32)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (1.0, 10.649549),
        (2.3, 24.493963),
        (0.0, 0.0),
        ([1.0, 0.0, 2.0, 0.5], 4.950597),
        ([[1.0], [0.0], [2.0], [0.5]], 17.470135),
    ],
)
def test_the_older_mean_of_pairs(weights: Any, expected: float) -> None:
    loss = tf.contrib.losses.mean_pairwise_squared_error(PREDICTIONS, LABELS, weights)
    assert tf.get_collection(tf.GraphKeys.LOSSES) == [loss]
    with tf.Session() as session:
        assert session.run(loss) == pytest.approx(expected, rel=1e-5)


WEIGHTS = np.random.RandomState(5).randn(10, 4).astype(np.float32)
BIASES = np.random.RandomState(6).randn(10).astype(np.float32)
INPUTS = np.random.RandomState(7).randn(3, 4).astype(np.float32)
CLASSES = np.array([[2], [4], [9]])
DRAWN = (
    np.array([1, 4, 6, 8]),
    np.array([[0.5], [0.4], [0.3]], np.float32),
    np.array([0.9, 0.8, 0.7, 0.6], np.float32),
)


def test_losses_of_drawn_classes() -> None:
    nn = tf.contrib.nn
    drawn = tuple(tf.constant(each) for each in DRAWN)
    weights, inputs = tf.constant(WEIGHTS), tf.constant(INPUTS)
    sparse = nn.sampled_sparse_softmax_loss(weights, BIASES, CLASSES, inputs, 4, 10, sampled_values=drawn)
    given = (weights, BIASES, CLASSES, inputs, 4)
    ranked = nn.rank_sampled_softmax_loss(*given, 2, 10, 1, drawn, 2.0, True, "mod")
    [gradient] = tf.gradients(ranked, [inputs])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(sparse), [2.124838, 6.33918, 2.291631], rtol=1e-5)
        np.testing.assert_allclose(session.run(ranked), [1.69929, 5.889954, 2.045383], rtol=1e-5)
        expected = [0.614419, 0.897418, 0.972211, -0.141456]
        np.testing.assert_allclose(session.run(gradient)[0], expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="must be less than num_sampled"):
        nn.rank_sampled_softmax_loss(*given, 5, 10, 1, drawn, 2.0, True, "mod")
    with pytest.raises(ValueError, match="unsupported partition_strategy"):
        nn.rank_sampled_softmax_loss(*given, 2, 10, 1, drawn, 2.0, True, "rows")


def test_the_element_of_a_place() -> None:
    rows = tf.constant([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])
    with tf.Session() as session:
        assert session.run(tf.contrib.nn.nth_element(rows, 0)).tolist() == [1, 7]
        assert session.run(tf.contrib.nn.nth_element(rows, 0, reverse=True)).tolist() == [3, 9]


def test_elements_of_given_shapes() -> None:
    def hidden(a: Any, b: Any) -> Any:
        return tuple(tf.py_func(lambda x, y: (x, y), [a, b], [tf.float64, tf.float64]))

    dataset = tf.data.Dataset.from_tensor_slices((np.ones((2, 3)), np.ones((2, 4)))).map(hidden)
    for shapes, said in (
        (([3], [None]), None),
        (([2], [None]), "Wrong shape"),
        (([3, 1], [None]), "Wrong rank"),
    ):
        expected = tuple(tf.TensorShape(each) for each in shapes)
        checked = dataset.apply(tf.contrib.data.assert_element_shape(expected))
        assert [each.as_list() for each in checked.output_shapes] == list(shapes)
        iterator = tf.data.make_initializable_iterator(checked)
        element = iterator.get_next()
        with tf.Session() as session:
            session.run(iterator.initializer)
            if said is None:
                assert [each.tolist() for each in session.run(element)] == [[1] * 3, [1] * 4]
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match=said):
                    session.run(element)
    known = tf.data.Dataset.from_tensor_slices(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not compatible"):
        known.apply(tf.contrib.data.assert_element_shape(tf.TensorShape([2])))
