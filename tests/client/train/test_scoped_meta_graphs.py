"""Scopes of a graph as MetaGraphDefs: what is outside of them, other savers, and scopes that are taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

import tensorfleet as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def doubled(scope: str = "part") -> tf.Tensor:
    x = tf.constant(3.0, name="x")
    with tf.name_scope(scope):
        return tf.multiply(x, tf.Variable(2.0, name="w"), name="y")


def test_inputs_from_outside_of_a_scope_are_given_when_it_is_imported() -> None:
    y = doubled()
    with tf.colocate_with(y):
        pass
    definition = tf.train.export_meta_graph(export_scope="part")
    product = next(node for node in definition.graph_def.node if node.name == "y")
    assert list(product.input) == ["$unbound_inputs_x", "w/read"]
    assert list(definition.collection_def["unbound_inputs"].bytes_list.value) == [b"$unbound_inputs_x"]
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match=r"unbound inputs: \$unbound_inputs_x\. Must provide"):
            tf.train.import_meta_graph(definition, import_scope="new")
        given = tf.constant(5.0)
        tf.train.import_meta_graph(definition, import_scope="new", input_map={"$unbound_inputs_x": given})
        session.run(tf.global_variables_initializer())
        assert session.run("new/y:0") == 10.0
        assert not tf.get_collection("unbound_inputs")


def test_a_colocation_with_what_is_outside_is_left_out() -> None:
    a = tf.constant(1.0, name="a")
    with tf.name_scope("part"), tf.colocate_with(a):
        tf.constant(2.0, name="b")
    definition = tf.train.export_meta_graph(export_scope="part")
    [b] = definition.graph_def.node
    assert not b.attr["_class"].list.s


def test_text_in_collections_counts_as_a_name() -> None:
    doubled()
    tf.add_to_collection("names", "part/w")
    tf.add_to_collection("names", "elsewhere")
    definition = tf.train.export_meta_graph(export_scope="part")
    assert list(definition.collection_def["names"].bytes_list.value) == [b"part/w"]


def test_other_savers_are_left_out_with_their_nodes() -> None:
    tf.Variable(1.0, name="v")
    savers = [tf.train.Saver(name=name) for name in ("first", "second")]
    for saver in savers:
        tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    both = savers[1].export_meta_graph()
    one = savers[1].export_meta_graph(clear_extraneous_savers=True)
    assert any(node.name.startswith("first/") for node in both.graph_def.node)
    assert not any(node.name.startswith("first/") for node in one.graph_def.node)
    assert any(node.name.startswith("second/") for node in one.graph_def.node)
    [kept] = one.collection_def[tf.GraphKeys.SAVERS].bytes_list.value
    assert tf.train.SaverDef.FromString(kept) == savers[1].saver_def


def test_a_second_import_has_variables_and_a_saver_of_its_own(tmp_path: Path) -> None:
    tf.Variable(1.5, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        found = [tf.train.import_meta_graph(f"{path}.meta", import_scope="same") for _ in range(2)]
        assert [v.name for v in tf.global_variables()] == ["same/v:0", "same_1/v:0"]
        second = found[1]
        assert second is not None
        second.restore(session, path)
        assert session.run("same_1/v:0") == 1.5
        assert list(session.run(tf.report_uninitialized_variables())) == [b"same/v"]


def test_collected_messages_come_back() -> None:
    note = AnyMessage(type_url="type.googleapis.com/notes.Note", value=b"text")
    with tf.Graph().as_default():
        tf.constant(1.0)
        tf.add_to_collection("any_messages", note)
        meta_graph = tf.train.export_meta_graph()
    for scope in (None, "inner"):
        with tf.Graph().as_default():
            tf.train.import_meta_graph(meta_graph, import_scope=scope)
            assert tf.get_collection("any_messages") == [note]


def test_meta_graphs_have_no_attribute_that_tensorflow_1_refuses() -> None:
    # It drops unknown attributes with their default values, which the message's op definitions tell.
    with tf.Graph().as_default():
        tf.get_variable("v", [2], use_resource=True)
        meta_graph = tf.train.export_meta_graph()
    [handle] = [node for node in meta_graph.graph_def.node if node.op == "VarHandleOp"]
    assert "debug_name" not in handle.attr
    [found] = [op for op in meta_graph.meta_info_def.stripped_op_list.op if op.name == "VarHandleOp"]
    assert [attr.name for attr in found.attr if attr.HasField("default_value")] == [
        "container",
        "shared_name",
        "debug_name",
        "allowed_devices",
    ]
