"""What the scopes of a graph give new operations: containers, attributes, names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.proto.attr_value_pb2 import AttrValue

RESOURCES: dict[str, Callable[[], Any]] = {
    "FIFOQueueV2": lambda: tf.FIFOQueue(3, tf.int32),
    "RandomShuffleQueueV2": lambda: tf.RandomShuffleQueue(3, 1, tf.int32),
    "MutableHashTableV2": lambda: tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1),
    "IteratorV2": lambda: tf.data.make_initializable_iterator(tf.data.Dataset.range(3)),
    "VariableV2": lambda: tf.Variable(1.0),
    "VarHandleOp": lambda: tf.Variable(1.0, use_resource=True),
    "Stage": lambda: tf.contrib.staging.StagingArea([tf.float32]).put([tf.constant(1.0)]),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("kind", RESOURCES)
def test_every_stateful_operation_is_in_the_container(graph: tf.Graph, kind: str) -> None:
    with graph.container("outer"):
        with graph.container("inner"):
            RESOURCES[kind]()
        with graph.container(""):
            RESOURCES[kind]()
        RESOURCES[kind]()
    found = [op.get_attr("container") for op in graph.get_operations() if op.type == kind]
    assert found == [b"inner", b"", b"outer"]


def test_an_imported_operation_keeps_its_container(graph: tf.Graph) -> None:
    with graph.container("first"):
        tf.FIFOQueue(3, tf.int32, name="a")
    tf.FIFOQueue(3, tf.int32, name="b")
    message = graph.as_graph_def()
    with tf.Graph().as_default() as other, other.container("other"):
        tf.import_graph_def(message, name="")
    assert [op.get_attr("container") for op in other.get_operations()] == [b"first", b""]


def test_a_reset_of_a_container_clears_its_queues() -> None:
    server = tf.train.Server.create_local_server()
    try:
        with tf.container("experiment"):
            queue = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="shared")
        put, size = queue.enqueue(1), queue.size()
        with tf.Session(server.target) as session:
            session.run(put)
            assert session.run(size) == 1
        tf.Session.reset(server.target, ["experiment"])
        with tf.Session(server.target) as session:
            assert session.run(size) == 0
    finally:
        server.stop(1.0)


def test_attributes_of_a_scope_may_be_messages_and_be_taken_away(graph: tf.Graph) -> None:
    def attrs() -> list[Any]:
        op = tf.no_op()
        return [op.attrs.get("_A"), op.attrs.get("_B")]

    with graph._attr_scope({"_A": AttrValue(s=b"foo")}):
        assert attrs() == [b"foo", None]
        with graph._attr_scope({"_A": None, "_B": AttrValue(i=3)}):
            assert attrs() == [None, 3]
        assert attrs() == [b"foo", None]
    assert attrs() == [None, None]


def test_names_may_be_bytes() -> None:
    name: Any = b"outer"
    with tf.name_scope(name) as scope:
        inner: Any = b"inner"
        assert (scope, tf.constant(1, name=inner).name) == ("outer/", "outer/inner:0")


def test_a_scope_that_is_a_slash_is_its_own_prefix() -> None:
    with tf.name_scope("/") as scope:
        assert scope == "/"
        assert tf.constant(1, name="c").name == "c:0"
