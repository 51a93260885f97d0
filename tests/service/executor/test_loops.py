"""Loops that are compiled: their code, and that they do what the ops one by one do."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.executor import dataflow, loops
from tensorfleet_service.executor.dataflow import DataflowPlan
from tensorfleet_service.executor.loops import CompiledLoop
from tests.service.executor.test_dataflow import ARGS, loop
from tests.service.graphs import graph_def

TIMEOUT = 20.0
COUNT = loop("f", "x", "n")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[CompiledLoop]:
    """The loops that are compiled during the test."""
    found: list[CompiledLoop] = []
    original = loops.compile_loops

    def note(*args: Any) -> list[CompiledLoop]:
        made = original(*args)
        found.extend(made)
        return made

    monkeypatch.setattr(dataflow, "compile_loops", note)
    return found


def run(text: str, fetches: list[str], feeds: dict[str, Any]) -> list[Any]:
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def(text), name="")
        with tf.Session() as session:
            return [value.tolist() for value in session.run(fetches, feeds)]


# ------------------------------------------------------------------------------------------------ the code


@pytest.mark.parametrize("limit", ["MAX_LINES", "MAX_TEXT"])
def test_a_long_loop_runs_op_by_op(
    compiled: list[CompiledLoop], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Its code would be compiled by one call."""
    monkeypatch.setattr(loops, limit, 10)
    assert run(ARGS + COUNT, ["f_exit:0"], {"x:0": 2, "n:0": 7}) == [7]
    assert not compiled


def test_the_code_of_a_loop(compiled: list[CompiledLoop]) -> None:
    assert run(ARGS + COUNT, ["f_exit:0"], {"x:0": 2, "n:0": 7}) == [7]
    (made,) = compiled
    assert made.source == (
        "def run(t, a):\n"
        " v0, v1, = a; a.clear()\n"
        " N[0] += 1\n"
        " v2 = v0\n"
        " v0 = None\n"
        " while True:\n"
        "  if t.error is not None: raise t.error\n"
        "  N[1] += 1\n"
        "  v0 = v2 < v1\n"
        "  if not v0: break\n"
        "  N[2] += 1\n"
        "  v0 = None\n"
        "  v0 = v2 + c1\n"
        "  v2 = None\n"
        "  v2 = v0\n"
        "  v0 = None\n"
        " v0 = None\n"
        " v1 = None\n"
        " return v2\n"
    )


def test_a_conditional_in_a_loop_is_an_if(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        def body(i: Any, x: Any) -> Any:
            return i + 1, tf.cond(x > 4.0, lambda: x * 0.5, lambda: x + 3.0)

        x = tf.while_loop(lambda i, _: i < 5, body, [0, 1.0])[1]
        assert session.run(x) == 3.25
    (made,) = compiled
    lines = made.source.splitlines()
    first = next(
        i for i, line in enumerate(lines) if line.startswith(("  if v", "  if not v")) and "break" not in line
    )
    second = lines.index("  else:")
    branches = ["\n".join(lines[first:second]), "\n".join(lines[second:])]
    assert [" * " in branch for branch in branches] in ([True, False], [False, True])
    assert [" + " in branch for branch in branches] in ([True, False], [False, True])


def test_loops_and_conditionals_are_in_each_other(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        def inner(x: Any) -> Any:
            return tf.while_loop(lambda j, _: j < 3, lambda j, y: (j + 1, y * 2.0), [0, x])[1]

        def body(i: Any, x: Any) -> Any:
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(x), lambda: x - 1.0)

        x = tf.while_loop(lambda i, _: i < 4, body, [0, 1.0])[1]
        assert session.run(x) == ((1.0 * 8 - 1) * 8) - 1
    (made,) = compiled
    assert made.source.count("while True:") == 2


def test_what_is_not_like_a_while_loop_is_left_to_the_executor(compiled: list[CompiledLoop]) -> None:
    """The loop's condition and its variables are all right, but a branch in it has no end."""
    text = ARGS + COUNT
    text += """
        odd = Less(f_i, f_n) T=int32
        sw = Switch(f_add, odd) T=int32
        merged = Merge(sw, sw:1, f_add) N=3 T=int32
        """
    text = text.replace("f_ni = NextIteration(f_add)", "f_ni = NextIteration(merged)")
    assert run(text, ["f_exit:0"], {"x:0": 0, "n:0": 9}) == [9]
    assert not compiled


def test_a_loop_in_one_that_waits_is_compiled(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(9, tf.int32, shapes=[[]])

        def body(i: Any, total: Any) -> Any:
            count = queue.dequeue()
            return i + 1, total + tf.while_loop(lambda j: j * j < count, lambda j: j + 1, [0])

        total = tf.while_loop(lambda i, _: i < 3, body, [0, 0])[1]
        session.run(queue.enqueue_many([[16, 100, 0]]))
        assert session.run(total) == 4 + 10
    (made,) = compiled
    assert made.source.count("while True:") == 1


# ------------------------------------------------------------------------------------------------- results

Program = Callable[[], list[Any]]


def accumulate() -> list[Any]:
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    w = tf.constant(np.linspace(0.1, 0.4, 16, dtype=np.float32).reshape(4, 4))
    y = tf.while_loop(lambda i, _: i < 6, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, w))), [0, x])[1]
    return [y, *tf.gradients(y, [x, w])]


def arrays() -> list[Any]:
    x = tf.constant(np.arange(20, dtype=np.float32))
    mapped = tf.map_fn(lambda v: tf.cond(v > 7.0, lambda: v * v, lambda: -v), x)
    scanned = tf.scan(lambda a, v: a * 0.5 + v, x)
    return [mapped, scanned, *tf.gradients(mapped, [x]), *tf.gradients(scanned, [x])]


def nested() -> list[Any]:
    x = tf.constant(1.5)

    def body(i: Any, a: Any) -> Any:
        inner = tf.while_loop(lambda j, _: j < i, lambda j, b: (j + 1, b * x), [0, a])[1]
        return i + 1, tf.cond(inner > 3.0, lambda: inner / x, lambda: inner + a)

    y = tf.while_loop(lambda i, _: i < 5, body, [0, x])[1]
    return [y, *tf.gradients(y, [x])]


def on_a_branch() -> list[Any]:
    x = tf.constant([1.0, 2.0])

    def doubled() -> Any:
        return tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a * x), [0, x])[1]

    results = [tf.cond(tf.reduce_sum(x) > limit, doubled, lambda: x + 1.0) for limit in (1.0, 9.0)]
    return [*results, *tf.gradients(results[0], [x]), *tf.gradients(results[1], [x])]


def swapped() -> list[Any]:
    return tf.while_loop(  # type: ignore[no-any-return]
        lambda i, *_: i < 7,
        lambda i, a, b, c: (i + 1, b, c, a),
        [0, tf.constant(1), tf.constant(2), tf.constant(3)],
    )


def texts() -> list[Any]:
    return tf.while_loop(  # type: ignore[no-any-return]
        lambda i, _: i < 3,
        lambda i, t: (i + 1, tf.string_join([t, tf.as_string(i)])),
        [0, tf.constant("n")],
    )


def never() -> list[Any]:
    return tf.while_loop(lambda i, _: i < 0, lambda i, a: (i + 1, a / 0.0), [0, 1.0])  # type: ignore[no-any-return]


PROGRAMS: list[Program] = [accumulate, arrays, nested, on_a_branch, swapped, texts, never]


def both(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a program with its loops compiled and op by op: values and the counts of ops are the same."""
    values: list[list[Any]] = []
    counts: list[dict[str, int]] = []
    plans: list[DataflowPlan] = []
    made: list[CompiledLoop] = []
    original_init, original_compile = DataflowPlan.__init__, loops.compile_loops

    def init(self: DataflowPlan, *args: Any) -> None:
        original_init(self, *args)
        plans.append(self)

    def compile_loops(*args: Any) -> list[CompiledLoop]:
        found = original_compile(*args) if not values else []
        made.extend(found)
        return found

    monkeypatch.setattr(DataflowPlan, "__init__", init)
    monkeypatch.setattr(dataflow, "compile_loops", compile_loops)
    for _ in range(2):
        plans.clear()
        with tf.Graph().as_default(), tf.Session() as session:
            fetches = program()
            session.run(fetches)
            values.append(session.run(fetches))
            (plan,) = plans
            counts.append(plan.ops_run())
    assert made
    for one, other in zip(*values, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes() or one == other
    # A compiled loop does not count what computes nothing where nothing else is on that branch, nor what
    # enters a loop that does not run.
    ordering = ("ControlTrigger", "Enter", "Identity", "Merge", "NoOp", "Switch")
    first, second = ({op: n for op, n in c.items() if op not in ordering} for c in counts)
    assert first == second


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_values_are_those_of_the_ops_one_by_one(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    both(program, monkeypatch)


def random_program(seed: int) -> Program:
    """A loop of random parts: arithmetic, conditionals, loops, and arrays, with its gradients."""

    def program() -> list[Any]:
        choose = random.Random(seed)

        def expression(values: Sequence[Any], depth: int) -> Any:
            a, b = choose.choice(values), choose.choice(values)
            match choose.randrange(7 if depth else 4):
                case 0:
                    return tf.tanh(a + b)
                case 1:
                    return a * 0.5 - b
                case 2:
                    return tf.sin(a)
                case 3:
                    return tf.maximum(a, b) * tf.constant(0.75)
                case 4 | 5:
                    left, right = choose.random(), choose.random()
                    state = choose.getstate()

                    def branch(scale: float) -> Any:
                        return expression([*values, a * scale], depth - 1)

                    choose.setstate(state)
                    return tf.cond(tf.reduce_sum(a) > left - 0.5, lambda: branch(left), lambda: branch(right))
                case _:
                    times = choose.randrange(4)
                    return tf.while_loop(
                        lambda j, _: j < times, lambda j, c: (j + 1, expression([c, b], depth - 1)), [0, a]
                    )[1]

        x = tf.constant(np.array([0.3, -0.7, 1.1], np.float32))

        def body(i: Any, *values: Any) -> Any:
            return [i + 1, *(expression(values, 2) for _ in values)]

        count = choose.randrange(1, 4)
        results = tf.while_loop(lambda i, *_: i < 4, body, [0, *[x * (k + 1.0) for k in range(count)]])[1:]
        total = tf.add_n([tf.reduce_sum(r) for r in results])
        return [*results, *(g for g in tf.gradients(total, [x]) if g is not None)]

    return program


@pytest.mark.parametrize("seed", [*range(12), 155])  # 155: a branch is entered again after the other
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    both(random_program(seed), monkeypatch)


def test_variables_and_stateful_ops_in_a_loop(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        plain = tf.Variable(1.0, use_resource=False)
        resource = tf.Variable(1.0, use_resource=True)

        def body(i: Any) -> Any:
            with tf.control_dependencies([tf.assign_add(plain, 1.0), tf.assign_add(resource, 2.0)]):
                return i + 1

        end = tf.while_loop(lambda i: i < 4, body, [0])
        session.run(tf.global_variables_initializer())
        compiled.clear()
        session.run(end)
        assert session.run([plain, resource]) == [5.0, 9.0]
    assert compiled


@pytest.mark.parametrize("one_by_one", [False, True])
def test_references_that_go_round_a_loop_are_read(
    one_by_one: bool, compiled: list[CompiledLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An assignment in a body gives a reference, which the next iteration and the result read."""
    if one_by_one:
        monkeypatch.setattr(dataflow, "compile_loops", lambda *args: [])
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = (tf.Variable(start, use_resource=False) for start in (1.0, 5.0))

        def steps() -> Any:
            return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, v.assign_add(2.0)), [0, v])[1]

        def body(i: Any, y: Any) -> Any:
            done = steps()
            chosen = tf.cond(i < 1, lambda: done, lambda: done * 2, strict=True)
            with tf.control_dependencies([w.assign(chosen)]):
                return i + 1, w + y

        alone, nested = steps(), tf.while_loop(lambda i, y: i < 2, body, [0, 1.0])[1]
        assigned = w.assign(steps())
        session.run(tf.global_variables_initializer())
        compiled.clear()
        assert session.run(alone) == 7.0
        assert session.run(assigned) == 13.0
        assert session.run(nested) == 1.0 + 19.0 + 50.0
        assert session.run([v, w]) == [25.0, 50.0]
    assert bool(compiled) is not one_by_one


# --------------------------------------------------------------------------------------- the life of a step


def test_an_error_in_a_branch_of_a_loop_names_its_node(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        def body(i: Any) -> Any:
            return tf.cond(i > 2, lambda: tf.floordiv(i, i - i, name="bad"), lambda: i + 1)

        end = tf.while_loop(lambda i: i < 9, body, [0])
        with pytest.raises(tf.errors.InvalidArgumentError, match="ivision by zero") as raised:
            session.run(end)
        assert raised.value.op.name.endswith("bad")
    assert compiled


def endless() -> Any:
    return tf.while_loop(lambda i: i >= 0, lambda i: i + 0, [0])


def test_a_loop_without_an_end_is_stopped_by_its_limit(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        end = endless()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(end, options=tf.RunOptions(timeout_in_ms=100))
    assert compiled


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("server", [True, False])
def test_a_loop_without_an_end_is_stopped_with_its_session(
    server: bool, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(dataflow, "compile_loops", lambda *_: [])
    with tf.Graph().as_default():
        end = endless()
        target = tf.train.Server.create_local_server().target if server else ""
        session = tf.Session(target)
        session.run(tf.constant(1))
        timer = threading.Timer(0.2, session.close)
        timer.start()
        with pytest.raises(tf.errors.CancelledError):
            session.run(end)
        timer.join(TIMEOUT)


CLIENT = """
import sys
import tensorfleet as tf
count = tf.get_variable("count", [], tf.int64, use_resource=True)
with tf.Session(sys.argv[1]) as session:
    session.run(tf.assign(count, 0))
    def body(i):
        with tf.control_dependencies([tf.assign_add(count, 1)]):
            return i + 0
    session.run(tf.while_loop(lambda i: i >= 0, body, [0]))
"""


def test_a_loop_without_an_end_is_stopped_when_its_client_has_gone() -> None:
    server = tf.train.Server.create_local_server()
    client = subprocess.Popen([sys.executable, "-c", CLIENT, server.target])
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        count = tf.get_variable("count", [], tf.int64, use_resource=True)
        begun = tf.is_variable_initialized(count)

        def rises() -> bool:
            if not session.run(begun):
                return False
            before = session.run(count)
            time.sleep(0.05)  # far longer than an iteration takes
            return bool(session.run(count) > before)

        try:
            end = time.monotonic() + TIMEOUT
            while not rises():
                assert time.monotonic() < end
        finally:
            client.kill()
            client.wait()
        end = time.monotonic() + TIMEOUT
        while rises():
            assert time.monotonic() < end


def test_values_of_an_iteration_are_freed_in_it(compiled: list[CompiledLoop]) -> None:
    size = 1 << 20
    with tf.Graph().as_default(), tf.Session() as session:

        def body(i: Any, x: Any) -> Any:
            y = tf.exp(tf.sin(x * 2.0)) + 1.0
            return i + 1, tf.cond(i % 2 < 1, lambda: tf.sqrt(y), lambda: y - 1.0)

        total = tf.reduce_sum(
            tf.while_loop(lambda i, _: i < 10, body, [0, tf.ones([size // 4]) * tf.random_uniform([])])[1]
        )
        session.run(total)
        tracemalloc.start()
        session.run(total)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert compiled
    assert peak < 5 * size


def test_a_compiled_loop_is_traced_op_by_op(compiled: list[CompiledLoop]) -> None:
    with tf.Graph().as_default():
        end = tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="more"), [0], name="loop")
        metadata = tf.RunMetadata()
        with tf.Session() as session:
            session.run(end)
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(end, options=options, run_metadata=metadata)
    assert compiled
    names = [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    assert names.count("loop/more") == 3
