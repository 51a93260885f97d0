"""Calls of functions in a signature's graph, replaced by their bodies."""

from __future__ import annotations

from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.functions import functional_ops
from tensorfleet.functions.defun import Defun
from tensorfleet_service.graph.graph import Node, describe
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master import inline as module
from tensorfleet_service.master.inline import Inliner
from tensorfleet_service.master.prune import prune
from tests.service.master.test_prune import check_order


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def inlined(fetches: list[Any], targets: tuple[str, ...] = ()) -> list[Node]:
    graph = SessionGraph()
    graph.extend(tf.get_default_graph().as_graph_def())
    nodes = prune(graph, [], [fetch.name for fetch in fetches], list(targets))
    result = Inliner(graph.functions).inline(nodes)
    check_order(result)
    assert len({node.name for node in result}) == len(result)
    return result


def ops(nodes: list[Node]) -> list[str]:
    return [node.op for node in nodes if node.op not in ("Const", "Placeholder", "_Retval")]


@Defun(tf.float32, func_name="Twice")
def twice(x: Any) -> Any:
    return x + x, tf.exp(x)


def test_only_what_is_needed_of_a_body_remains() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = twice(x, name="call")[0]
    assert describe(inlined([y])) == (
        "x = Placeholder()\ncall/add_0 = AddV2(x, x)\n_retval_call_0_0 = _Retval(call/add_0)\n"
    )


def test_names_of_the_graph_are_kept() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = twice(x, name="call")[0]
    own = tf.negative(y, name="call/add_0/")
    assert [node.name for node in inlined([own])][:3] == ["x", "call/add_0_1", "call/add_0"]


def test_calls_in_calls_and_their_gradients() -> None:
    @Defun(tf.float32)
    def outer(x: Any) -> Any:
        return twice(twice(x)[0])[1]

    x = tf.placeholder(tf.float32, [], name="x")
    assert ops(inlined([outer(x)])) == ["AddV2", "Exp"]
    nodes = inlined([tf.gradients(outer(x), x)[0]])
    assert not {"SymbolicGradient", "PartitionedCall"} & set(ops(nodes))


def test_effects_come_after_all_arguments_and_before_all_results() -> None:
    v: Any = tf.Variable(0.0, use_resource=True, name="v")
    x, y = (tf.placeholder(tf.float32, [], name=name) for name in "xy")

    @Defun(tf.float32, tf.float32)
    def changed(a: Any, b: Any) -> Any:
        v.assign_add(a)
        return b * 2.0

    nodes = {node.name: node for node in inlined([changed(x, y, name="call")])}
    [change] = [node for node in nodes.values() if node.op == "AssignAddVariableOp"]
    assert {node.name for node in nodes["call/inputs"].controls} == {"x", "y", "v"}
    assert change.controls == [nodes["call/inputs"]]
    assert nodes["_retval_call_0_0"].inputs[0][0].controls == [change]


def test_a_call_that_is_only_run_keeps_its_effects() -> None:
    v: Any = tf.Variable(0.0, use_resource=True, name="v")
    call = Defun(tf.float32)(lambda a: v.assign_add(a, read_value=False) and None)(1.0, name="call")
    assert "AssignAddVariableOp" in ops(inlined([], ("call",)))
    assert call.type != "call"


def test_devices_of_bodies_and_of_calls() -> None:
    v: Any = tf.Variable(0.0, use_resource=True, name="v")

    @Defun(tf.float32)
    def placed(x: Any) -> Any:
        with tf.device("/job:ps"):
            y = tf.exp(x)
        return tf.sin(y) + v

    with tf.device("/job:worker/task:1"):
        y = placed(tf.placeholder(tf.float32, []))
    devices = {node.op: node.device for node in inlined([y])}
    assert devices["Exp"] == "/job:ps/task:1"
    assert not any(node.assigned for node in inlined([y]))  # which is for the placer to say
    assert devices["Sin"] == "/job:worker/task:1"
    assert devices["ReadVariableOp"] == ""  # with its variable


def test_remote_calls_are_at_their_targets() -> None:
    @Defun(tf.float32)
    def placed(x: Any) -> Any:
        with tf.device("/job:ps"):
            return tf.exp(x)

    with tf.device("/job:worker/task:1"):
        [y] = functional_ops.remote_call([1.0], [tf.float32], placed, tf.identity("/job:worker/task:2"))
    assert {node.op: node.device for node in inlined([y])}["Exp"] == "/job:worker/task:2"


def test_what_has_to_stay_a_function_stays() -> None:
    x = tf.placeholder(tf.float32, [])
    assert ops(inlined([twice(x, noinline=True)[0]])) == ["PartitionedCall"]

    @Defun(tf.float32, noinline=True)
    def own(x: Any) -> Any:
        return x + 1.0

    @Defun(tf.float32)
    def with_a_queue(x: Any) -> Any:
        queue = tf.FIFOQueue(1, [tf.float32])
        with tf.control_dependencies([queue.enqueue(x)]):
            return queue.dequeue()

    assert ops(inlined([own(x)])) == ["PartitionedCall"]
    assert ops(inlined([with_a_queue(x)])) == ["StatefulPartitionedCall"]


def test_many_calls_in_calls_are_replaced_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(function: Any) -> Any:
        return Defun(tf.float32)(lambda x: function(x) + function(x + 1.0))

    function: Any = Defun(tf.float32)(lambda x: tf.exp(x))
    for _ in range(12):
        function = doubled(function)
    monkeypatch.setattr(module, "MAX_NODES", 500)
    nodes = inlined([function(tf.placeholder(tf.float32, []))])
    assert "PartitionedCall" in ops(nodes)
    assert len(nodes) < 1000


def test_nothing_is_copied_without_calls() -> None:
    y = tf.exp(tf.placeholder(tf.float32, []))
    assert ops(inlined([y])) == ["Exp"]
