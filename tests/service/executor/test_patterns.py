"""Nodes that are computed together with those before them, beside the same nodes one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tensorfleet as tf
from tensorfleet.core import errors
from tensorfleet.proto import config_pb2
from tensorfleet.proto.rewriter_config_pb2 import RewriterConfig
from tensorfleet_service.executor import patterns
from tensorfleet_service.executor.patterns import FUSES, find_patterns
from tensorfleet_service.executor.statements import dereferences
from tests.service.graphs import const, graph

MATRICES = "a = Placeholder()\nb = Placeholder()\nc = Placeholder()\nd = Placeholder()\n"
PRODUCTS = "x = MatMul(a, b) transpose_a=True\ny = MatMul(c, d) transpose_a=True\n"
SUM = "z = AddN(x, y) N=2"


def found(text: str, marked: bool = True, waiting: tuple[str, ...] = ()) -> list[str]:
    """The names of the nodes of each group."""
    nodes = list(graph(text).nodes.values())
    for node in nodes:
        if node.op in patterns.PATTERNS and marked:
            node.attrs = {**node.attrs, FUSES: True}
    groups = find_patterns(nodes, lambda position: nodes[position].op in waiting, dereferences)
    return [" ".join(nodes[position].name for position in group.positions) for group in groups]


def test_a_sum_of_products() -> None:
    assert found(MATRICES + PRODUCTS + SUM) == ["x y z"]
    assert found(MATRICES + PRODUCTS + SUM, marked=False) == []


@pytest.mark.parametrize(
    "text",
    [
        PRODUCTS + "r = Neg(x)\n" + SUM,  # another node takes a product
        PRODUCTS + "n = NoOp(^x)\n" + SUM,  # or waits for it
        PRODUCTS + "z = AddN(x, x) N=2",
        PRODUCTS.replace("True", "False", 1) + SUM,
        "x = MatMul(a, b)\n" + "z = AddN(x, a) N=2",
        "x = MatMul(a, b)\n" + "z = AddN(x) N=1",
        "v = VariableV2()\nx = MatMul(v, b)\ny = MatMul(c, d)\n" + SUM,  # read when the product runs
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert found(MATRICES + text) == []


def test_what_may_wait_and_changes_of_variables_are_not_crossed() -> None:
    first, second = PRODUCTS.splitlines(keepends=True)
    waiting = "i = IdentityN(a) T=float32\n"
    assert found(MATRICES + first + waiting + second + SUM) == ["x y z"]
    assert found(MATRICES + first + waiting + second + SUM, waiting=("IdentityN",)) == []
    change = "v = VariableV2()\nu = AssignAdd(v, a)\n"
    assert found(MATRICES + first + change + second + SUM) == []
    assert found(MATRICES + change + PRODUCTS + SUM) == ["x y z"]


def config(fuses: bool) -> config_pb2.ConfigProto:
    made = tf.ConfigProto()
    if not fuses:
        made.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    return made


def results(fetches: list[tf.Tensor], feed: dict[tf.Tensor, np.ndarray], fuses: bool) -> list[np.ndarray]:
    with tf.Session(config=config(fuses), graph=fetches[0].graph) as session:
        return session.run(fetches, feed)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_sums_of_products_are_those_of_the_products(data: st.DataObject) -> None:
    sizes = st.integers(0, 5)
    rows, columns = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    transposes = data.draw(st.tuples(st.booleans(), st.booleans()))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    with tf.Graph().as_default():
        feed, products = {}, []
        for inner in data.draw(st.lists(sizes, min_size=2, max_size=5)):
            pair = []
            for shape, turned in zip(((rows, inner), (inner, columns)), transposes, strict=True):
                value = generator.standard_normal(shape[::-1] if turned else shape).astype(dtype)
                pair.append(tf.placeholder(value.dtype, [None, None]))
                feed[pair[-1]] = value
            products.append(tf.matmul(*pair, transpose_a=transposes[0], transpose_b=transposes[1]))
        total = tf.add_n(products)
        fetches = [total, tf.reduce_sum(total, 0), *products[: data.draw(st.integers(0, 1))]]
        for one, other in zip(results(fetches, feed, True), results(fetches, feed, False), strict=True):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_sums_of_gradients_of_slices_have_the_same_bits(data: st.DataObject) -> None:
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 200)))
    bound = st.none() | st.integers(-7, 7)
    part = st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1]))
    with tf.Graph().as_default():
        x = tf.placeholder(dtype, [None, None, None])
        losses = []
        for _ in range(data.draw(st.integers(2, 4))):
            index = (data.draw(part), data.draw(st.integers(0, shape[1] - 1) | part))
            losses.append(tf.reduce_sum(tf.square(x[index])))
        gradient = tf.gradients(tf.add_n(losses), x)[0]
        feed = {x: generator.standard_normal(shape).astype(dtype)}
        one, other = (results([gradient], feed, fuses)[0] for fuses in (True, False))
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        assert one.tobytes() == other.tobytes()


def test_they_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = patterns._Together.__call__

    def call(self: patterns._Together, *values: np.ndarray) -> tuple[np.ndarray, ...] | None:
        result = original(self, *values)
        calls.append(result is not None)
        return result

    monkeypatch.setattr(patterns._Together, "__call__", call)
    with tf.Graph().as_default():
        a, b = (tf.placeholder(tf.float32, [None, None]) for _ in range(2))
        w = tf.ones([30, 40])
        x, y = tf.matmul(a, w), tf.matmul(b, w)
        gradient = tf.gradients([x, y], w)[0]
        few = {a: np.ones((2, 30), np.float32), b: np.ones((3, 30), np.float32)}
        expected = np.full((30, 40), 5.0, np.float32)
        np.testing.assert_array_equal(results([gradient], few, True)[0], expected)
        assert calls == [True]
        np.testing.assert_array_equal(results([gradient], few, False)[0], expected)
        assert calls == [True]
        many = {a: np.ones((300, 30), np.float32), b: np.ones((3, 30), np.float32)}
        assert results([gradient], many, True)[0][0, 0] == 303.0
        assert calls == [True, False]  # joining would copy more than it saves


def test_a_trace_has_the_products_and_errors_name_them() -> None:
    with tf.Graph().as_default():
        a, b, c, d = (tf.placeholder(tf.float32, [None, None], name=name) for name in "abcd")
        total = tf.add_n([tf.matmul(a, b, name="one"), tf.matmul(c, d, name="two")], name="total")
        ones = np.ones((30, 2), np.float32)
        feed = {a: ones, b: ones.T, c: ones, d: ones.T}
        with tf.Session() as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(total, feed, options=options, run_metadata=metadata)
            names = {
                stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats
            }
            assert {"one", "two", "total"} <= names
            with pytest.raises(errors.InvalidArgumentError, match=r"node two\b"):
                session.run(total, feed | {d: ones})
            with pytest.raises(errors.InvalidArgumentError, match=r"node total\b"):
                session.run(total, feed | {d: ones.T[:, :1]})
            assert (session.run(total, feed) == 4.0).all()


def test_slices_of_shapes_that_differ_are_refused_by_their_op() -> None:
    of = f"one = {const([1], 'int32')}\nbegin = {const([0], 'int32')}\n"
    text = of + "s = Placeholder() dtype=int32\nt = Placeholder() dtype=int32\ng = Placeholder()\n"
    text += "x = StridedSliceGrad(s, begin, one, one, g) Index=int32\n"
    text += "y = StridedSliceGrad(t, begin, one, one, g) Index=int32\n" + SUM
    assert found(text) == ["x y z"]
    nodes = list(graph(text).nodes.values())
    for node in nodes:
        if node.op == "AddN":
            node.attrs = {**node.attrs, FUSES: True}
    (group,) = find_patterns(nodes, lambda position: False, dereferences)
    value = {"one": np.array([1], np.int32), "begin": np.array([0], np.int32), "g": np.ones(1, np.float32)}
    for s, t, fits in (
        ([3], [3], True),
        ([3], [4], False),
        ([3], [3, 3], False),
        ([0], [0], False),
        ([-1], [-1], False),
        ([2**31 - 1, 2**20], [2**31 - 1, 2**20], False),  # more than any memory
    ):
        value |= {"s": np.array(s, np.int32), "t": np.array(t, np.int32)}
        found_values = group.function(*(value[source.name] for source, _ in group.inputs))
        assert (found_values is not None) == fits


def test_gradients_of_slices_that_cannot_be_are_refused_by_their_op() -> None:
    with tf.Graph().as_default():
        shape = tf.placeholder(tf.int32)
        gradients = [
            tf.raw_ops.StridedSliceGrad(
                shape=shape, begin=[0], end=[1], strides=[1], dy=np.ones((1, 3), np.float32), name=name
            )
            for name in ("first", "second")
        ]
        total = tf.add_n(gradients, name="total")
        for dims, error in (
            ([-4, 3], errors.InvalidArgumentError),
            ([2**31 - 1, 2**20], errors.ResourceExhaustedError),
        ):
            for fuses in (True, False):
                with pytest.raises(error, match=r"node (first|second)\b"):
                    results([total], {shape: np.array(dims, np.int32)}, fuses)
