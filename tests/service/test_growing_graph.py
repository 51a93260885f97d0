"""A graph that grows between steps: what is new is sent and added, what was prepared stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.graph import node_maker
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master import graph_work


def test_only_what_is_new_is_sent_and_no_signature_is_prepared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[str]] = []
    prepared: list[Any] = []
    encoded: list[Any] = []
    extend, prune, encode = SessionGraph.extend, graph_work.prune, node_maker.encode_attributes

    def counted_extend(graph: SessionGraph, graph_def: Any) -> None:
        sent.append([op.name for op in graph_def.operations])
        extend(graph, graph_def)

    def counted_prune(*arguments: Any) -> Any:
        prepared.append(arguments)
        return prune(*arguments)

    def counted_encode(attributes: Any) -> bytes | None:
        encoded.append(attributes)
        return encode(attributes)

    monkeypatch.setattr(SessionGraph, "extend", counted_extend)
    monkeypatch.setattr(graph_work, "prune", counted_prune)
    monkeypatch.setattr(node_maker, "encode_attributes", counted_encode)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        y = x
        for _ in range(100):
            y = y + 1.0
        with tf.Session() as session:
            assert session.run(y, {x: 0.0}) == 100.0
            assert (len(sent), len(prepared)) == (1, 1)
            encoded.clear()
            z = tf.exp(x, name="z")
            assert session.run(y, {x: 1.0}) == 101.0
            assert sent[1:] == [["z"]]
            assert encoded == [z.op.attrs]
            assert len(prepared) == 1
            assert session.run(z, {x: 0.0}) == 1.0
            assert (len(sent), len(prepared)) == (2, 2)
            with tf.device("/cpu:0"):
                late = tf.add(y, z, name="late")
            assert session.run(late, {x: 0.0}) == 101.0
            assert sent[2:] == [["late"]]


def test_nodes_with_equal_attributes_share_them_and_others_do_not() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        tf.matmul(x, x, transpose_a=True, name="a")
        tf.matmul(x, x, transpose_a=True, name="b")
        tf.matmul(x, x, transpose_b=True, name="c")
        with tf.device("/device:CPU:0"):
            tf.matmul(x, x, transpose_a=True, name="d")
        tf.constant(0.0, name="zero")
        tf.constant(-0.0, name="minus")
        tf.constant("é" * 40, name="text")
    found = SessionGraph()
    found.extend(graph.as_graph_def())
    nodes = found.nodes
    assert nodes["a"].attrs is nodes["b"].attrs is nodes["d"].attrs
    assert (nodes["a"].device, nodes["d"].device) == ("", "/device:CPU:0")
    assert [nodes["a"].attrs[key] for key in ("transpose_a", "transpose_b")] == [True, False]
    assert [nodes["c"].attrs[key] for key in ("transpose_a", "transpose_b")] == [False, True]
    assert [bool(np.signbit(nodes[name].attrs["value"])) for name in ("zero", "minus")] == [False, True]
    assert nodes["text"].attrs["value"][()] == ("é" * 40).encode()
