"""Graphs that variables build, node by node against TensorFlow: names, ops, inputs, devices, colocation."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

import tensorfleet as ours

real.disable_v2_behavior()


@pytest.fixture(autouse=True)
def _empty_graph() -> None:
    real.reset_default_graph()


def nodes(graph_def: Any) -> list[tuple[Any, ...]]:
    return [
        (
            node.name,
            node.op,
            list(node.input),
            node.device,
            sorted(node.attr["_class"].list.s) if "_class" in node.attr else [],
            {
                key: value.SerializeToString(deterministic=True)
                for key, value in node.attr.items()
                # What TensorFlow's functions keep for themselves; and constants, which have several forms.
                if not key.startswith("_") and key not in ("value", "allowed_devices")
            },
        )
        for node in graph_def.node
        if "/boolean_mask/" not in node.name  # An op of its own, which is not the subject here.
    ]


def reference(tf: Any) -> None:
    tf.Variable([1.0, 2.0])
    tf.Variable(3, name="v", trainable=False)


def resource(tf: Any) -> None:
    tf.Variable([1.0, 2.0], use_resource=True)
    tf.Variable(tf.constant(3), name="v", use_resource=True)


def from_functions(tf: Any) -> None:
    tf.Variable(lambda: tf.zeros([2]), name="v")
    tf.Variable(lambda: tf.zeros([2]), name="w", use_resource=True)


def on_devices(tf: Any) -> None:
    with tf.device("/job:ps/task:1"):
        tf.Variable([1.0], name="v")
        tf.Variable([1.0], name="w", use_resource=True)
        tf.Variable(lambda: tf.zeros([2]), name="x")
        tf.Variable(lambda: tf.zeros([2]), name="y", use_resource=True)
    with tf.device("/gpu:0"):
        tf.Variable([1.0], name="c", caching_device="/cpu:0")
        tf.Variable([1.0], name="d", caching_device="/cpu:0", use_resource=True)


def assignments(tf: Any) -> None:
    v = tf.Variable([1, 2], name="v")
    v.read_value()
    tf.assign(v, [3, 4])
    tf.assign_add(v, [1, 1])
    v.assign_sub([1, 1])
    tf.group(v + 1, 1 - v, -v)
    tf.is_variable_initialized(v)
    tf.scatter_add(v, [0], [1])
    tf.scatter_nd_update(v, [[0]], [1])
    tf.Variable(0, name="n").count_up_to(3)


def resource_assignments(tf: Any) -> None:
    v = tf.Variable([1, 2], name="v", use_resource=True)
    v.read_value()
    a = tf.assign(v, [3, 4], name="a")
    tf.group(a)
    a.value()
    v.assign_add([1, 1], read_value=False)
    tf.assign_sub(v, [1, 1])
    tf.group(v + 1)
    tf.is_variable_initialized(v)
    tf.scatter_add(v, [0], [1])
    tf.scatter_nd_add(v, [[0]], [1])
    v.sparse_read([0])
    v.gather_nd([[0]])
    with tf.name_scope("k"):
        v.assign([1, 2])


def initializing(tf: Any) -> None:
    v = tf.Variable([1, 2], name="v")
    with tf.device("/job:ps/task:1"):
        tf.Variable([1, 2], name="w", use_resource=True)
    tf.global_variables_initializer()
    tf.local_variables_initializer()
    tf.variables_initializer([v], name="some")
    tf.report_uninitialized_variables()


def unknown_shape(tf: Any) -> None:
    tf.Variable([1, 2], name="v", validate_shape=False)


def scopes(tf: Any) -> None:
    with tf.variable_scope("a") as a:
        tf.get_variable("v", [1])
        with tf.variable_scope("b", reuse=tf.AUTO_REUSE):
            tf.get_variable("w", [1, 2])
            tf.get_variable("w", [1, 2])
        with tf.variable_scope(a):
            tf.constant(1)
            tf.get_variable("v2", initializer=1.0)
    with tf.variable_scope(a, reuse=True):
        tf.constant(1)
        tf.get_variable("v")
    with tf.variable_scope(a, auxiliary_name_scope=False):
        tf.constant(1)
        tf.get_variable("v9", [1])
    for _ in range(2):
        with tf.variable_scope(None, default_name="d"):
            tf.get_variable("v", [1])
    with tf.variable_scope("d"):
        tf.get_variable("v7", [1])
    with tf.name_scope("ns"):
        tf.get_variable("q", [1])
        tf.Variable(1)
    with tf.name_scope("ns"), tf.variable_scope("e"):
        tf.get_variable("q", [1])
        tf.constant(1)
    tf.get_local_variable("loc", [2])


def scope_defaults(tf: Any) -> None:
    with tf.variable_scope("s", use_resource=True, initializer=tf.zeros_initializer()):
        tf.get_variable("w", [2, 3])
    with tf.variable_scope("t", regularizer=lambda v: v * 2.0, dtype=tf.float32):
        tf.get_variable("w", [2, 3])
        tf.get_variable("x", [2], regularizer=tf.no_regularizer)
        tf.get_variable("i", [2], dtype=tf.int32, regularizer=tf.no_regularizer)
        tf.get_variable("c", initializer=[1.0, 2.0], regularizer=tf.no_regularizer)
        tf.get_variable("b", [2], initializer=tf.ones_initializer, regularizer=tf.no_regularizer)


def custom_getters(tf: Any) -> None:
    def doubled(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        return getter(f"{name}_got", *args, **kwargs) * 2.0

    with tf.variable_scope("g", custom_getter=doubled):
        tf.get_variable("v", [1])
    with tf.variable_creator_scope(lambda following, **kwargs: following(**{**kwargs, "name": "made"})):
        tf.Variable(1.0)


def initializers(tf: Any) -> None:
    shape = [2, 3]
    tf.zeros_initializer()(shape)
    tf.ones_initializer()(shape)
    tf.constant_initializer([1, 2, 3, 4, 5, 6])(shape)
    tf.random_uniform_initializer(-1, 1)(shape)
    tf.random_normal_initializer()(shape)
    tf.truncated_normal_initializer(seed=4)(shape)
    tf.uniform_unit_scaling_initializer()(shape)
    tf.variance_scaling_initializer(distribution="untruncated_normal")(shape)
    tf.glorot_uniform_initializer()(shape)
    tf.glorot_normal_initializer()([3, 4, 5, 6])
    tf.initializers.he_normal()(shape)
    tf.initializers.he_uniform()(shape)
    tf.initializers.lecun_normal()(shape)
    tf.initializers.lecun_uniform()(shape)
    tf.orthogonal_initializer()([3, 2])
    tf.orthogonal_initializer(gain=2.0)([2, 3])


def randoms(tf: Any) -> None:
    tf.random_uniform([2])
    tf.random_uniform([2], maxval=4, dtype=tf.int32)
    tf.random_normal([2], seed=3)
    tf.truncated_normal([2])
    tf.random_shuffle([1, 2])
    tf.multinomial([[1.0, 2.0]], 3)
    tf.random.categorical([[1.0, 2.0]], 3)
    tf.random_gamma([2], 1.0)
    tf.set_random_seed(5)
    tf.random_uniform([2])
    tf.random_uniform([2], 0.0, 1.0, seed=3)
    tf.random_normal([2])


def crops(tf: Any) -> None:
    tf.random_crop([[1, 2], [3, 4]], [1, 1])


def groups(tf: Any) -> None:
    a, b = tf.constant(1), tf.constant(2)
    with tf.device("/cpu:0"):
        c = tf.constant(3)
    tf.group(a, b)
    tf.group(a, [b, c], name="g")
    tf.group()
    tf.group(name="x")
    tf.tuple([a, None, b])
    tf.tuple([a, c, a.op], control_inputs=[b], name="tt")
    tf.no_op()


def checks(tf: Any) -> None:
    x = tf.placeholder(tf.int32, name="x")
    tf.assert_equal(x, [1, 2])
    tf.assert_less(x, 3, message="m", data=["d", x], summarize=2, name="nm")
    tf.assert_non_negative(x)
    tf.assert_positive(x, message="mm")
    tf.Assert(tf.constant(True), [x, "s"])
    tf.Print(x, [x], "message", first_n=2)
    tf.assert_type(x, tf.int32)
    tf.py_func(lambda y: y, [x, 2.0], tf.int32)


CASES = [
    reference, resource, from_functions, on_devices, assignments, resource_assignments, initializing,
    unknown_shape, scopes, scope_defaults, custom_getters, initializers, randoms, crops, groups, checks,
]  # fmt: skip


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_graphs_are_equal(build: Callable[[Any], None]) -> None:
    build(real)
    expected = nodes(real.get_default_graph().as_graph_def())
    build(ours)
    got = nodes(ours.get_default_graph().as_graph_def())
    for ours_node, real_node in zip(got, expected, strict=False):
        if "PyFunc" not in real_node[1]:
            assert ours_node == real_node
    assert [n[0] for n in got] == [n[0] for n in expected]


def collections(tf: Any) -> list[list[str]]:
    with tf.variable_scope("s"):
        tf.get_variable("v", [1], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
        tf.get_local_variable("l", [1])
        tf.Variable(1.0, trainable=False)
        listed = [tf.get_variable_scope().global_variables(), tf.get_variable_scope().trainable_variables()]
    tf.Variable(1.0)
    listed += [
        tf.global_variables(),
        tf.trainable_variables(),
        tf.local_variables(),
        tf.get_collection("mine"),
    ]
    listed += [tf.global_variables("s/"), tf.model_variables()]
    return [[v.name for v in variables] for variables in listed]


def test_collections_are_equal() -> None:
    assert collections(ours) == collections(real)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variable_defs_are_equal(use_resource: bool) -> None:
    texts = []
    for tf in (real, ours):
        with tf.name_scope("n"):
            v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource, trainable=False)
        texts.append((v.to_proto().SerializeToString(), v.to_proto("n").SerializeToString(), repr(v), v.name))
        assert v.to_proto("other") is None
    assert texts[0] == texts[1]
    restored = ours.Variable.from_proto(v.to_proto())
    assert restored.to_proto() == v.to_proto()
    assert (restored.op, restored.initializer, restored.trainable) == (v.op, v.initializer, False)


def _twice(tf: Any) -> None:
    tf.get_variable("v", [1])
    tf.get_variable("v", [1])


def _other(**arguments: Any) -> Callable[[Any], Any]:
    def build(tf: Any) -> None:
        tf.get_variable("v", [1])
        with tf.variable_scope("", reuse=True):
            kwargs = {
                key: getattr(tf, value) if key == "dtype" else value for key, value in arguments.items()
            }
            tf.get_variable("v", **{"shape": [1], **kwargs})

    return build


ERRORS: list[Callable[[Any], Any]] = [
    _twice,
    _other(shape=[2]),
    _other(dtype="int32"),
    lambda tf: tf.get_variable("v"),
    lambda tf: tf.get_variable("v", [1], initializer=tf.constant([1.0])),
    lambda tf: tf.get_variable("v", [None]),
    lambda tf: tf.get_variable("v", initializer=tf.zeros_initializer),
    lambda tf: tf.Variable(),
    lambda tf: tf.Variable(1, collections="a"),
    lambda tf: tf.Variable(1, constraint=3),
    lambda tf: tf.Variable([1, 2], use_resource=True, name="v").assign([1, 2, 3]),
    lambda tf: tf.Variable([1, 2]).assign([1, 2, 3]),
    lambda tf: tf.Variable([1, 2]).scatter_add(3),
    lambda tf: tf.convert_to_tensor(tf.Variable(1), dtype=tf.float32),
    lambda tf: tf.tuple([]),
    lambda tf: tf.group(1),
    lambda tf: tf.assert_equal([1, 2], [1, 3]),
    lambda tf: tf.assert_positive([1, -1]),
    lambda tf: tf.assert_less([1, 3], [2, 2], message="hey"),
    lambda tf: tf.assert_rank(tf.constant([1, 2]), 3),
    lambda tf: tf.assert_type(tf.constant([1.0]), tf.int32),
    lambda tf: tf.assert_integer(tf.constant([1.0])),
    lambda tf: tf.assert_scalar([1]),
    lambda tf: tf.random_uniform([1], dtype=tf.int32),
    lambda tf: tf.orthogonal_initializer()([2]),
    lambda tf: tf.variance_scaling_initializer(distribution="x"),
]


@pytest.mark.parametrize("build", ERRORS)
def test_errors_are_equal(build: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - any, but the same from both
        build(real)
    with pytest.raises(Exception) as got:  # noqa: PT011
        build(ours)
    assert type(got.value).__name__ == type(expected.value).__name__

    def text(e: BaseException) -> str:
        # TensorFlow names only those input values that its shape function asked for.
        return (
            str(e)
            .split(" Originally")[0]
            .split(" and with computed")[0]
            .rstrip(".")
            .strip()
            .replace("tf.", "")
        )

    assert text(got.value) == text(expected.value)
