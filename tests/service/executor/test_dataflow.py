"""Partitions with conditionals and loops: what runs, what is dead, and what is left of an iteration."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tests.service.graphs import graph_def

TIMEOUT = 20.0


def run(text: str, fetches: list[str], feeds: dict[str, Any] | None = None) -> list[Any]:
    """The fetches of a graph in the notation of `graphs`, on a session in this process with two CPUs."""
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def(text), name="")
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            return [value.tolist() for value in session.run(fetches, feeds or {})]


COND = """
    x = Placeholder()
    p = Placeholder() dtype=bool
    s = Switch(x, p)
    a = Neg(s:1)
    b = Square(s)
    m = Merge(b, a) N=2
    y = AddV2(m, x)
    """


@pytest.mark.parametrize(("taken", "expected"), [(True, [0.0, 1]), (False, [12.0, 0])])
def test_a_branch_runs_and_the_other_does_not(taken: bool, expected: list[Any]) -> None:
    assert run(COND, ["y:0", "m:1"], {"x:0": 3.0, "p:0": taken}) == expected


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("device", ["", "@ /cpu:1"])
def test_a_branch_on_another_device(taken: bool, device: str) -> None:
    text = COND.replace("a = Neg(s:1)", f"a = Neg(s:1) {device}")
    assert run(text, ["m:0"], {"x:0": 3.0, "p:0": taken}) == [-3.0 if taken else 9.0]


def test_what_hangs_on_a_dead_op_by_control_edges_is_dead() -> None:
    text = """
        x = Placeholder()
        p = Placeholder() dtype=bool
        s = Switch(x, p)
        n = NoOp(^s1)
        s1 = Neg(s:1)
        c = Const(^n) value=7.0
        d = Const(^s0) value=8.0
        s0 = Neg(s)
        m = Merge(d, c) N=2
        """
    assert run(text, ["m:0"], {"x:0": 1.0, "p:0": True}) == [7.0]
    assert run(text, ["m:0"], {"x:0": 1.0, "p:0": False}) == [8.0]


def test_a_control_trigger_runs_after_dead_ops() -> None:
    text = """
        x = Placeholder()
        p = Placeholder() dtype=bool
        s = Switch(x, p)
        a = Neg(s:1)
        b = Neg(s)
        t = ControlTrigger(^a, ^b)
        c = Const(^t) value=5.0
        """
    assert run(text, ["c:0"], {"x:0": 1.0, "p:0": True}) == [5.0]


def test_a_dead_value_cannot_be_fetched() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        run(COND, ["a:0"], {"x:0": 1.0, "p:0": False})


def loop(name: str, start: str, limit: str) -> str:
    """A loop that counts from a tensor to a tensor; its result is `{name}_exit`."""
    names = {key: f"{name}_{key}" for key in ("e", "n", "m", "lt", "c", "s", "i", "one", "add", "ni", "exit")}
    lines = """
        {e} = Enter(START) T=int32 frame_name=NAME
        {n} = Enter(LIMIT) T=int32 frame_name=NAME is_constant=True
        {m} = Merge({e}, {ni}) N=2 T=int32
        {lt} = Less({m}, {n}) T=int32
        {c} = LoopCond({lt})
        {s} = Switch({m}, {c}) T=int32
        {i} = Identity({s}:1) T=int32
        {one} = Const(^{i}) dtype=int32 value=1
        {add} = AddV2({i}, {one}) T=int32
        {ni} = NextIteration({add}) T=int32
        {exit} = Exit({s}) T=int32
        """
    for key, value in names.items():
        lines = lines.replace("{" + key + "}", value)
    return lines.replace("START", start).replace("LIMIT", limit).replace("NAME", name)


ARGS = "x = Placeholder() dtype=int32\nn = Placeholder() dtype=int32\np = Placeholder() dtype=bool\n"


@pytest.mark.parametrize(("start", "limit", "end"), [(0, 10, 10), (5, 5, 5), (9, 1, 9), (0, 5000, 5000)])
def test_a_loop(start: int, limit: int, end: int) -> None:
    assert run(ARGS + loop("f", "x", "n"), ["f_exit:0"], {"x:0": start, "n:0": limit}) == [end]


@pytest.mark.parametrize(("taken", "end"), [(True, 10), (False, 3)])
def test_a_loop_on_a_branch(taken: bool, end: int) -> None:
    text = ARGS + "sw = Switch(x, p) T=int32\nsn = Switch(n, p) T=int32\n" + loop("f", "sw:1", "sn:1")
    text += "m = Merge(sw, f_exit) N=2 T=int32"
    assert run(text, ["m:0"], {"x:0": 3, "n:0": 10, "p:0": taken}) == [end]


def test_a_loop_in_a_loop() -> None:
    """The outer loop counts to n; the inner one adds n to the sum, one by one."""
    outer = (
        loop("f", "x", "n")
        + """
        sum_e = Enter(x) T=int32 frame_name=f
        sum_m = Merge(sum_e, sum_ni) N=2 T=int32
        sum_s = Switch(sum_m, f_c) T=int32
        sum_i = Identity(sum_s:1) T=int32
        goal = AddV2(sum_i, f_n) T=int32
        """
    )
    text = ARGS + outer + loop("g", "sum_i", "goal")
    text += "sum_ni = NextIteration(g_exit) T=int32\nsum_exit = Exit(sum_s) T=int32\n"
    assert run(text, ["sum_exit:0", "f_exit:0"], {"x:0": 0, "n:0": 7}) == [49, 7]


def test_an_error_in_a_loop_names_its_node() -> None:
    text = (
        ARGS
        + loop("f", "x", "n")
        + """
        zero = Const(^f_i) dtype=int32 value=0
        div = FloorDiv(f_i, zero) T=int32
        """
    )
    text = text.replace("f_ni = NextIteration(f_add)", "f_ni = NextIteration(div)")
    with pytest.raises(tf.errors.InvalidArgumentError, match="ivision by zero") as raised:
        run(text, ["f_exit:0"], {"x:0": 0, "n:0": 3})
    assert raised.value.op.name == "div"


def test_ops_that_wait_for_each_other_through_queues() -> None:
    """Whatever order the ops are in: each waits for itself."""
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = tf.FIFOQueue(1, tf.int32, shapes=[[]]), tf.FIFOQueue(1, tf.int32, shapes=[[]])
        taken = second.dequeue()
        moved = second.enqueue(first.dequeue() + 1)
        put = first.enqueue(5)
        assert session.run([taken, moved, put])[0] == 6


def test_a_step_that_fails_while_two_ops_wait_takes_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.FIFOQueue(3, tf.int32, shapes=[[]]), tf.FIFOQueue(3, tf.int32, shapes=[[]])
        both = [a.dequeue(), b.dequeue()]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(both, options=tf.RunOptions(timeout_in_ms=100))
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(session.run(both)))
        thread.start()
        session.run(a.enqueue(1))
        session.run(b.enqueue(2))
        thread.join(TIMEOUT)
        assert results == [[np.int32(1), np.int32(2)]]


def test_conditionals_are_traced() -> None:
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def(COND), name="")
        metadata = tf.RunMetadata()
        with tf.Session() as session:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run("y:0", {"x:0": 3.0, "p:0": True}, options=options, run_metadata=metadata)
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert {"a", "m", "y"} <= names
    assert "b" not in names


@pytest.mark.parametrize("parallel", [1, 3])
def test_no_more_iterations_run_at_once_than_may(parallel: int) -> None:
    ahead: list[int] = []
    done: list[int] = []
    begun = threading.Event()

    def begin(i: Any) -> Any:
        ahead.append(int(i) - len(done))
        if len(ahead) == parallel:
            begun.set()
        return i

    def end(value: Any) -> Any:
        done.append(int(value))
        return value

    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(20, tf.int32, shapes=[[]])
        put = queue.enqueue_many([list(range(20))])

        def body(i: Any, total: Any) -> Any:
            following = tf.py_func(begin, [i], tf.int32) + 1
            following.set_shape([])
            value = tf.py_func(end, [queue.dequeue()], tf.int32)
            value.set_shape([])
            return following, total + value

        total = tf.while_loop(lambda i, _: i < 20, body, [0, 0], parallel_iterations=parallel)[1]
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(session.run(total)))
        thread.start()
        assert begun.wait(TIMEOUT)
        session.run(put)
        thread.join(TIMEOUT)
    assert results == [sum(range(20))]
    assert len(ahead) == 20
    assert max(ahead) < parallel


@pytest.mark.parametrize(("taken", "expected"), [(True, 4.0), (False, 5.0)])
def test_one_branch_gives_a_reference_and_the_other_a_value(taken: bool, expected: float) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(5.0, use_resource=False)
        choice = tf.placeholder(tf.bool, [])
        changed = tf.cond(
            choice, lambda: tf.assign_sub(variable, 1.0), lambda: tf.convert_to_tensor(variable)
        )
        session.run(tf.global_variables_initializer())
        assert session.run(changed, {choice: taken}) == expected


def test_branches_in_a_loop_give_a_reference_or_a_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(5.0, use_resource=False)

        def body(i: Any, total: Any) -> Any:
            value = tf.cond(
                i > 1, lambda: tf.assign_sub(variable, 1.0), lambda: tf.convert_to_tensor(variable)
            )
            return i + 1, total + value

        total = tf.while_loop(lambda i, _: i < 4, body, [0, 0.0])[1]
        session.run(tf.global_variables_initializer())
        assert session.run([total, variable])[0] == 5.0 + 5.0 + 4.0 + 3.0
