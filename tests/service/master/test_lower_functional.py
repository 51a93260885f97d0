"""If, Case and While that become Switch and Merge: what they compute, and when they act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensorfleet as tf
from tensorfleet.functions import functional_ops
from tensorfleet.functions.control_flow_v2 import cond
from tensorfleet.functions.defun import Defun
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master import inline as module
from tensorfleet_service.master.asked_devices import AskedDevices
from tensorfleet_service.master.inline import Inliner
from tensorfleet_service.master.lower_functional import is_functional
from tensorfleet_service.master.prune import prune
from tests.service.master.test_prune import check_order

A, B = "/job:ps/task:0", "/job:ps/task:1"


@pytest.fixture(autouse=True)
def _functional() -> Iterator[None]:
    tf.enable_control_flow_v2()
    with tf.Graph().as_default():
        yield
    tf.disable_control_flow_v2()


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has all be lowered, in sessions of one device, too. Returns the ops of the nodes that were."""
    found: list[str] = []

    def is_split(inliner: Inliner, node: Node, asked: AskedDevices) -> bool:
        if not is_functional(node):
            return False
        found.append(node.op)
        return True

    monkeypatch.setattr(Inliner, "is_split", is_split)
    return found


def lowered(fetches: list[Any], targets: tuple[str, ...] = ()) -> list[Node]:
    graph = SessionGraph()
    graph.extend(tf.get_default_graph().as_graph_def())
    nodes = prune(graph, [], [fetch.name for fetch in fetches], list(targets))
    result = Inliner(graph.functions).inline(nodes)
    check_order(result)
    assert len({node.name for node in result}) == len(result)
    return result


def count(nodes: list[Node]) -> Counter[str]:
    return Counter(node.op for node in nodes)


def variable(name: str, device: str = "", value: float = 1.0) -> Any:
    with tf.device(device or None):
        return tf.get_variable(name, initializer=value, use_resource=True)


# What is lowered


def test_one_device_keeps_them_whole() -> None:
    v = variable("v", A)
    x = tf.placeholder(tf.float32, [])
    assert count(lowered([tf.cond(x > 0.0, lambda: x * v, lambda: x)]))["If"] == 1
    with tf.device(B):
        y = tf.while_loop(lambda x: x < 1.0, lambda x: x * 2.0, [x])
    assert count(lowered([y]))["StatelessWhile"] == 1


@pytest.mark.parametrize(("first", "second"), [(A, B), ("", B), (A, ""), ("/job:ps", A)])
def test_variables_of_two_devices(first: str, second: str) -> None:
    a, b = variable("a", first), variable("b", second)
    x = tf.placeholder(tf.float32, [])
    nodes = lowered([tf.cond(x > 0.0, lambda: x * a, lambda: b + 0.0)])
    assert not any(map(is_functional, nodes))
    assert count(nodes)["ReadVariableOp"] == 2


def test_devices_that_bodies_name() -> None:
    x = tf.placeholder(tf.float32, [])

    def inner() -> Any:
        with tf.device(B):
            return tf.exp(x)

    y = tf.cond(x > 0.0, lambda: tf.cond(x > 1.0, inner, lambda: x), lambda: x)
    nodes = lowered([y])
    assert not any(map(is_functional, nodes))
    assert [node.device for node in nodes if node.op == "Exp"] == [B]


def test_lists_tie_their_users_together(always: list[str]) -> None:
    """The gradient's loop takes the lists that the first loop fills, and its variables."""
    a, b = variable("a", A), variable("b", B)
    y = tf.while_loop(lambda x: x < 9.0, lambda x: x * a * b, [tf.placeholder(tf.float32, [])])
    nodes = lowered(tf.gradients(y, [a, b]))
    assert not any(map(is_functional, nodes))
    assert count(nodes)["TensorListPushBack"] == count(nodes)["TensorListPopBack"] > 0


def test_sessions_with_one_device_keep_all() -> None:
    a, b = variable("a", A), variable("b", B)
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0.0, lambda: x * a, lambda: b + 0.0)
    graph = SessionGraph()
    graph.extend(tf.get_default_graph().as_graph_def())
    nodes = Inliner(graph.functions, spread=False).inline(prune(graph, [], [y.name], []))
    assert count(nodes)["If"] == 1


def test_what_has_a_queue_stays_whole(always: list[str]) -> None:
    @Defun(tf.float32)
    def queued(x: Any) -> Any:
        queue = tf.FIFOQueue(1, [tf.float32])
        with tf.control_dependencies([queue.enqueue(x)]):
            return queue.dequeue()

    x = tf.placeholder_with_default(2.0, [])
    [y] = functional_ops.If(x > 0.0, [x], queued, queued)
    assert count(lowered([y]))["If"] == 1
    with tf.Session() as session:
        assert session.run(y) == 2


def test_only_what_is_needed_remains() -> None:
    a, b = variable("a", A), variable("b", B)
    x = tf.placeholder(tf.float32, [])
    y, _ = tf.cond(x > 0.0, lambda: (x * a, tf.exp(b)), lambda: (x, tf.sin(b)))
    assert not {"Exp", "Sin"} & set(count(lowered([y])))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = variable("a", A), variable("b", B)
    x = y = tf.placeholder(tf.float32, [])
    for _ in range(40):
        y = tf.cond(x > 0.0, lambda y=y: y * a * b, lambda y=y: y)
    monkeypatch.setattr(module, "MAX_NODES", 300)
    nodes = lowered([y])
    assert 20 < count(nodes)["If"] < 40
    assert len(nodes) < 600


# What they compute


def results(build: Callable[[Any], Any], values: tuple[float, ...]) -> list[Any]:
    x = tf.placeholder(tf.float32, [])
    y = build(x)
    [slope] = tf.gradients(y, x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([y, slope], {x: value}) for value in values]


def _if_in_while_in_if(x: Any) -> Any:
    v = variable("v", value=3.0)

    def turn(i: Any, y: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * v, lambda: tf.sin(y) * x)

    return tf.cond(x > 0.0, lambda: tf.while_loop(lambda i, y: i < 3, turn, [0, x])[1], lambda: x * x)


def _while_in_while(x: Any) -> Any:
    def inner(j: Any, y: Any) -> Any:
        return j + 1, y * x + 1.0

    def outer(i: Any, y: Any) -> Any:
        return i + 1, tf.while_loop(lambda j, y: j < i, inner, [0, y])[1] * x

    return tf.while_loop(lambda i, y: i < 3, outer, [0, x])[1]


def _case(x: Any) -> Any:
    return tf.switch_case(
        tf.cast(x, tf.int32), [lambda: x * 2.0, lambda: tf.square(x), lambda: tf.constant(5.0)]
    )


def _constants_only(x: Any) -> Any:
    return (
        x * tf.cond(x > 0.0, lambda: 2.0, lambda: 3.0)
        + tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, 7.0), [0, 1.0])[1]
    )


def _in_a_loop_of_switches(x: Any) -> Any:
    tf.disable_control_flow_v2()
    try:
        return tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (
                i + 1,
                tf.stop_gradient(cond(y > 4.0, lambda: y + 10.0, lambda: y * 3.0, f"own{i.name[:1]}")) + x,
            ),
            [0, x],
        )[1]
    finally:
        tf.enable_control_flow_v2()


@pytest.mark.parametrize(
    "build", [_if_in_while_in_if, _while_in_while, _case, _constants_only, _in_a_loop_of_switches]
)
def test_values_and_gradients_are_those_of_whole_ones(
    build: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = (-2.0, 0.5, 1.0, 2.0, 7.0)
    with tf.Graph().as_default():
        whole = results(build, values)
    lowered_ones: list[str] = []

    def is_split(inliner: Inliner, node: Node, asked: AskedDevices) -> bool:
        lowered_ones.extend([node.op] * is_functional(node))
        return is_functional(node)

    monkeypatch.setattr(Inliner, "is_split", is_split)
    with tf.Graph().as_default():
        assert results(build, values) == whole
    assert lowered_ones


@pytest.mark.parametrize("value", [0, 3])
def test_conditions_that_are_numbers(always: list[str], value: int) -> None:
    n = tf.placeholder_with_default(value, [])
    negative, same = Defun(tf.int32)(lambda x: -x), Defun(tf.int32)(lambda x: tf.identity(x))
    [y] = functional_ops.If(n, [n + 1], negative, same)
    [left] = functional_ops.While([n], Defun(tf.int32)(lambda n: n), Defun(tf.int32)(lambda n: n - 1))
    with tf.Session() as session:
        assert session.run([y, left]) == [-4 if value else 1, 0]
    assert {"If", "While"} <= {op.removeprefix("Stateless") for op in always}


# When they act


@pytest.fixture
def log() -> Any:
    return variable("log", value=0.0)


def digit(log: Any, number: int) -> Any:
    """Appends a digit to the log."""
    return log.assign(log * 10.0 + float(number), read_value=False)


def run(log: Any, fetches: Any, feeds: Any = None) -> tuple[Any, float]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(fetches, feeds)
        return found, session.run(log)


@pytest.mark.parametrize(("value", "logged"), [(1.0, 19), (-1.0, 29)])
def test_a_conditional_without_results_acts_as_taken(
    always: list[str], log: Any, value: float, logged: int
) -> None:
    x = tf.placeholder_with_default(value, [])

    def branch(number: int) -> Any:
        def act(handle: Any) -> None:

            read = apply_one("ReadVariableOp", handle, dtype=tf.float32)
            apply_op("AssignVariableOp", handle, read * 10.0 + float(number))

        return Defun(tf.resource)(act)

    op: Any = functional_ops.If(x > 0.0, [log.handle], branch(1), branch(2))
    op = op if isinstance(op, tf.Operation) else op[0].op
    with tf.control_dependencies([op]):
        after = digit(log, 9)
    assert run(log, after)[1] == logged
    assert run(log, op)[1] == logged // 10


def test_effects_of_turns_come_one_after_the_other(always: list[str], log: Any) -> None:
    @tf.function
    def program(x: Any) -> Any:
        digit(log, 1)

        def turn(i: Any) -> Any:
            digit(log, 2)
            tf.cond(i > 0, lambda: _then(log, 3), lambda: _then(log, 4))
            return i + 1

        turns = tf.while_loop(lambda i: i < 2, turn, [0])
        digit(log, 5)
        return turns + tf.cast(x, tf.int32)

    y = program(tf.placeholder_with_default(1.0, []))
    assert run(log, y) == (3, 124235)
    assert "While" in always
    assert "If" in always


def _then(log: Any, number: int) -> Any:
    digit(log, number)
    return tf.constant(0)


def test_an_unused_result_does_not_end_the_effects(always: list[str], log: Any) -> None:
    """Nor does a turn act that is not taken, though all that it takes never changes."""
    n = tf.placeholder_with_default(3, [])

    @tf.function
    def program() -> Any:
        def turn(i: Any) -> Any:
            digit(log, 1)
            return i + 1

        tf.while_loop(lambda i: i < n, turn, [0])
        return tf.constant(8.0)

    assert run(log, program()) == (8, 111)
    assert run(log, program(), {n: 0}) == (8, 0)


def test_all_inside_waits_for_control_inputs_and_none_is_dead_after(always: list[str], log: Any) -> None:
    x = tf.placeholder_with_default(1.0, [])
    with tf.control_dependencies([digit(log, 1)]):
        y = tf.cond(x > 0.0, lambda: log + 0.0, lambda: tf.constant(-1.0))
    with tf.control_dependencies([y.op.inputs[0].op]):
        after = digit(log, 2)
    with tf.control_dependencies([after]):
        z = tf.identity(y)
    assert run(log, z) == (1, 12)
    assert run(log, z, {x: -1.0}) == (-1, 12)


def test_a_loop_whose_values_never_change(always: list[str], log: Any) -> None:
    """It turns by a variable that its condition reads."""

    @Defun(tf.resource)
    def condition(handle: Any) -> Any:
        return apply_one("ReadVariableOp", handle, dtype=tf.float32) < 3.0

    @Defun(tf.resource)
    def body(handle: Any) -> Any:
        with tf.control_dependencies([apply_op("AssignAddVariableOp", handle, tf.constant(1.0))]):
            return tf.identity(handle)

    @Defun(tf.resource, tf.float32)
    def both(handle: Any, x: Any) -> Any:
        return apply_one("ReadVariableOp", handle, dtype=tf.float32) < x

    @Defun(tf.resource, tf.float32)
    def add(handle: Any, x: Any) -> Any:
        apply_op("AssignAddVariableOp", handle, tf.constant(1.0))
        return handle, x

    out: Any = functional_ops.While([log.handle], condition, body)
    out = out[0] if isinstance(out, list) else out
    assert run(log, out.op)[1] == 3
    [_, x] = functional_ops.While([log.handle, tf.constant(5.0)], both, add)
    assert run(log, x) == (5, 5)
