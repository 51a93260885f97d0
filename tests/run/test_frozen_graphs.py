"""Frozen graphs cut down for prediction, as programs do it by TensorFlow's tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.run.paths import module

RNG = np.random.default_rng(5)
FLOAT = tf.float32.as_datatype_enum


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def tool(name: str) -> Any:
    return module(f"python.tools.{name}")


def values(graph_def: GraphDef, fetch: str, feeds: dict[str, Any] | None = None) -> Any:
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session:
            return session.run(fetch, feeds)


def numbers(*shape: int) -> Any:
    return RNG.uniform(0.5, 2.0, shape).astype(np.float32)


def normalized(kind: str, bias: bool, both: bool = False) -> None:
    x = tf.placeholder(tf.float32, [2, 5, 5, 3], name="x")
    filters = tf.constant(numbers(3, 3, 3, 4 if kind != "depthwise" else 2), name="filters")
    if kind == "depthwise":
        y = tf.nn.depthwise_conv2d_native(x, filters, [1, 1, 1, 1], "SAME", name="conv")
    else:
        y = tf.nn.conv2d(x, filters, [1, 1, 1, 1], "SAME", name="conv")
    depth = int(y.shape[3])
    if bias:
        y = tf.nn.bias_add(y, tf.constant(numbers(depth)), name="biased")
    gamma, beta, mean, variance = (tf.constant(numbers(depth)) for _ in range(4))
    if kind == "global":
        out = tf.nn.batch_norm_with_global_normalization(
            y, mean, variance, beta, gamma, 1e-3, True, name="norm"
        )
    else:
        out, _, _ = tf.nn.fused_batch_norm(
            y, gamma, beta, mean, variance, epsilon=1e-3, is_training=False, name="norm"
        )
    tf.identity(tf.check_numerics(out + (tf.reduce_sum(y) if both else 0.0), "no number"), name="out")


def ops(graph_def: GraphDef) -> set[str]:
    return {node.op for node in graph_def.node}


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_normalization_goes_into_filters(kind: str, bias: bool) -> None:
    normalized(kind, bias)
    tf.no_op(name="unused")
    before = tf.get_default_graph().as_graph_def()
    after = tool("optimize_for_inference_lib").optimize_for_inference(before, ["x"], ["out"], FLOAT)
    assert not ops(after) & {"FusedBatchNorm", "FusedBatchNormV3", "CheckNumerics", "NoOp"}
    feeds = {"x:0": numbers(2, 5, 5, 3)}
    np.testing.assert_allclose(
        values(after, "out:0", feeds), values(before, "out:0", feeds), rtol=1e-4, atol=1e-5
    )


def test_filters_that_others_use_stay_for_them() -> None:
    normalized("conv", bias=False)
    filters = tf.get_default_graph().get_tensor_by_name("filters:0")
    tf.reduce_sum(filters, name="sum")
    before = tf.get_default_graph().as_graph_def()
    after = tool("optimize_for_inference_lib").optimize_for_inference(before, ["x"], ["out", "sum"], FLOAT)
    assert not ops(after) & {"FusedBatchNorm", "FusedBatchNormV3"}
    feeds = {"x:0": numbers(2, 5, 5, 3)}
    for name in ("out:0", "sum:0"):
        np.testing.assert_allclose(values(after, name, feeds), values(before, name, feeds), rtol=1e-4)


def test_normalization_stays_where_others_use_the_convolution() -> None:
    normalized("conv", bias=False, both=True)
    before = tf.get_default_graph().as_graph_def()
    after = tool("optimize_for_inference_lib").optimize_for_inference(before, ["x"], ["out"], FLOAT)
    feeds = {"x:0": numbers(2, 5, 5, 3)}
    assert ops(after) & {"FusedBatchNorm", "FusedBatchNormV3"}
    np.testing.assert_allclose(values(after, "out:0", feeds), values(before, "out:0", feeds), rtol=1e-4)


def test_unused_nodes_are_stripped() -> None:
    a = tf.constant([1.0], name="a")
    b = tf.add(a, 1.0, name="b")
    tf.multiply(b, 3.0, name="c")
    tf.negative(b, name="other")
    whole = tf.get_default_graph().as_graph_def()
    strip = tool("strip_unused_lib").strip_unused
    cut = strip(whole, ["b"], ["c"], FLOAT)
    assert {node.name: node.op for node in cut.node if node.op != "Const"} == {
        "b": "Placeholder",
        "c": "Mul",
    }
    assert values(cut, "c:0", {"b:0": [5.0]}) == [15.0]
    assert strip(whole, ["b"], ["c"], [tf.float64.as_datatype_enum]).node[0].attr["dtype"].type == 2
    with pytest.raises(ValueError, match="appears to refer to a Tensor"):
        strip(whole, ["b:0"], ["c"], FLOAT)
    with pytest.raises(KeyError, match="input nodes were not found"):
        strip(whole, ["nope"], ["c"], FLOAT)


def test_a_broken_graph_is_refused() -> None:
    library = tool("optimize_for_inference_lib")
    tf.constant(1.0, name="a")
    graph_def = tf.get_default_graph().as_graph_def()
    library.ensure_graph_is_valid(graph_def)
    graph_def.node.add(name="b", op="Neg").input.append("gone:0")
    with pytest.raises(ValueError, match="Input for b not found"):
        library.ensure_graph_is_valid(graph_def)
    graph_def.node[1].CopyFrom(graph_def.node[0])
    with pytest.raises(ValueError, match="Duplicate node names"):
        library.ensure_graph_is_valid(graph_def)
    assert library.node_name_from_input("^a") == "a" == library.node_name_from_input("a:1")
