"""Branches and loops in MetaGraphDefs: as TensorFlow writes them, and back, so that gradients go through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as real
from tensorflow.core.protobuf import control_flow_pb2 as their_messages

import tensorfleet as ours
from tensorfleet.proto import control_flow_pb2 as our_messages
from tests.gradients.control_flow_cases import CASES, FEEDS

real.disable_v2_behavior()
real.disable_control_flow_v2()

NAMES = [
    *(
        "cond",
        "cond_in_cond",
        "cond_of_several",
        "loop_with_invariants",
        "loop_with_a_maximum",
        "loop_in_loop",
    ),
    *("cond_in_loop", "loop_in_cond_in_loop", "cond_in_loop_in_loop", "map_fn", "scan"),
]


def build(tf: Any, name: str) -> Any:
    x, c = (tf.placeholder(tf.float64, [], name=n) for n in "xc")
    m, p = tf.placeholder(tf.float64, [None, 2], name="m"), tf.placeholder(tf.bool, [], name="p")
    return tf.identity(CASES[name](tf, x, c, m, p), name="y")


def exported(tf: Any, name: str, **options: Any) -> Any:
    with tf.Graph().as_default():
        build(tf, name)
        return tf.train.export_meta_graph(**options)


def contexts(definition: Any, messages: Any) -> list[Any]:
    found = []
    for key, kind in (("cond_context", messages.CondContextDef), ("while_context", messages.WhileContextDef)):
        if key in definition.collection_def:
            found += [kind.FromString(value) for value in definition.collection_def[key].bytes_list.value]
    return found


def plain(message: Any) -> Any:
    """A message without the order of what has none."""
    result = {}
    for field, value in message.ListFields():
        if field.name in ("values_def", "cond_ctxt", "while_ctxt"):
            result[field.name] = plain(value)
        elif field.name == "nested_contexts":
            result[field.name] = [plain(item) for item in value]
        elif field.name == "values":
            result[field.name] = sorted(value)
        elif field.name == "external_values":
            result[field.name] = dict(value)
        else:
            result[field.name] = list(value) if field.is_repeated else value
    return result


@pytest.mark.parametrize("name", NAMES)
def test_messages_are_tensorflows(name: str) -> None:
    own = contexts(exported(ours, name), our_messages)
    their = contexts(exported(real, name), their_messages)
    assert [plain(message) for message in own] == [plain(message) for message in their]
    assert own


def gradients(tf: Any, definition: Any, scope: str | None) -> list[Any]:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(definition, import_scope=scope)
        prefix = f"{scope}/" if scope else ""
        x, c, m, p, y = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in "xcmpy")
        grads = [grad for grad in tf.gradients(y, [x, c, m]) if grad is not None]
        return [session.run(grads, dict(zip([x, c, m, p], feeds, strict=True))) for feeds in FEEDS]


@pytest.mark.parametrize("scope", [None, "again"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_go_through_imported_graphs(name: str, scope: str | None) -> None:
    theirs = exported(real, name)
    expected = gradients(real, theirs, scope)
    for definition in (exported(ours, name), ours.MetaGraphDef.FromString(theirs.SerializeToString())):
        got = gradients(ours, definition, scope)
        for own, their in zip(got, expected, strict=True):
            for a, b in zip(own, their, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9)


def test_two_imports_are_two_loops() -> None:
    definition = exported(ours, "loop_with_invariants")
    with ours.Graph().as_default() as graph:
        for scope in ("a", "b"):
            ours.train.import_meta_graph(definition, import_scope=scope)
        frames = {op.get_attr("frame_name") for op in graph.get_operations() if op.type == "Enter"}
        names = {context.name for context in graph.get_collection("while_context")}
    assert {frame.decode() for frame in frames} == names == {f"{s}/while/while_context" for s in "ab"}
