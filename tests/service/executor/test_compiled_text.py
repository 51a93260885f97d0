"""Code that is cut into functions does what it does as one."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.executor import compiled_text, plan_writer
from tensorfleet_service.executor.plan import Plan
from tensorfleet_service.executor.step import _Run
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.worker.progress import _suspended_at
from tests.service.executor.test_plan import Big, Step, big, failure, lifetimes, plan, plans, with_kernel


@pytest.fixture(params=[1, 2, 5])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All code is cut after so many lines."""
    monkeypatch.setattr(compiled_text, "LARGE", 0)
    monkeypatch.setattr(compiled_text, "PART", request.param)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_writer, "find_groups", lambda *arguments: [])


def parts(made: Plan) -> int:
    return made.source.count("def part")


def random_graph(seed: int) -> tuple[str, list[str]]:
    """Ops of one and two outputs, whose values are used soon, late, or never, and some of them fetched."""
    choose = random.Random(seed)
    lines, values = ["x = Placeholder()", "y = Placeholder()", "c = Const() value=[2.0,3.0]"], ["x", "y", "c"]
    for i in range(60):
        a, b = (choose.choice(values[-choose.choice((3, 60)) :]) for _ in range(2))
        op = choose.choice((f"AddV2({a}, {b})", f"Neg({a})", f"Maximum({a}, {b})", f"IdentityN({a}, {b})"))
        pair = op.startswith("IdentityN")
        lines.append(f"n{i} = {op}" + (" T=float,float" if pair else ""))
        values += [f"n{i}:0", f"n{i}:1"] if pair else [f"n{i}"]
    fetches = choose.sample(values[2:], 12)
    return "\n".join(lines), [*fetches, fetches[0]]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_values(seed: int, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fused:
        monkeypatch.setattr(plan_writer, "find_groups", lambda *arguments: [])
    text, fetches = random_graph(seed)
    whole = plan(text, ["x", "y"], fetches)
    fed = {"x": np.array([1, -2], np.float32), "y": np.array([[3, 4]], np.float32)}
    inputs = [fed["xy"[i]] for i in whole.args]
    expected = whole.function(Step(), inputs)
    assert parts(whole) == 0
    monkeypatch.setattr(compiled_text, "LARGE", 0)
    for lines in (1, 3, 10):
        monkeypatch.setattr(compiled_text, "PART", lines)
        made = plan(text, ["x", "y"], fetches)
        assert parts(made) > 1
        assert made.rets == whole.rets
        found = made.function(Step(), inputs)
        assert isinstance(found, tuple)
        for results in (found, made.traced()[0](Step(), inputs)):
            for value, wanted in zip(results, expected, strict=True):
                np.testing.assert_array_equal(value, wanted)


def test_parts_have_so_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_writer, "find_groups", lambda *arguments: [])
    count = compiled_text.LARGE
    text = "\n".join(["n0 = Placeholder()", *(f"n{i} = Neg(n{i - 1})" for i in range(1, count))])
    made = plan(text, ["n0"], [f"n{count - 1}"])
    assert made.function(None, [np.float32(3)]) == (-3,)
    lengths = [source.count("\n") for source, _ in made._writer.write(False)[0]]
    assert max(lengths) <= compiled_text.PART + 4
    assert len(lengths) == count // compiled_text.PART + 2


def test_traced_parts_are_shorter() -> None:
    """Each op has a clock: such lines take some seven times as long to compile."""
    count = compiled_text.LARGE // compiled_text.TRACED
    text = "\n".join(["n0 = Placeholder()", *(f"n{i} = Neg(n{i - 1})" for i in range(1, count))])
    made = plan(text, ["n0"], [f"n{count - 1}"])
    assert len(made._writer.write(False)[0]) == 1
    sources = [source for source, _ in made._writer.write(True)[0]]
    assert max(source.count("\n") for source in sources) <= compiled_text.PART // compiled_text.TRACED + 4
    assert max(map(len, sources)) < 2 * compiled_text.PART_TEXT // compiled_text.TRACED
    assert made.traced()[0](Step(), [np.float32(3)]) == (-3,)


def test_few_nodes_are_one_function() -> None:
    text = "\n".join(["n0 = Placeholder()", *(f"n{i} = Sqrt(n{i - 1})" for i in range(1, 4000))])
    assert parts(plan(text, ["n0"], ["n3999"])) == 0


def test_a_node_with_many_inputs_is_in_several_lines() -> None:
    count = compiled_text.LARGE
    rows = [f"n{i} = Neg(n{i - 1})" for i in range(1, count)]
    names = ", ".join(f"n{i}" for i in range(count))
    made = plan("\n".join(["n0 = Placeholder()", *rows, f"y = AddN({names}) N={count}"]), ["n0"], ["y"])
    assert made.function(None, [np.float32(3)]) == (0.0,)
    assert made.traced()[0](Step(), [np.float32(3)]) == (0.0,)
    lengths = [len(source) for source, _ in made._writer.write(False)[0]]
    assert max(lengths) < 2 * compiled_text.PART_TEXT


@pytest.mark.usefixtures("cut", "one_by_one")
def test_many_inputs_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_writer, "MANY", 2)
    rows = [f"a{i} = Neg(x)\nb{i} = Sqrt(x)" for i in range(5)]
    names = ", ".join(f"a{i}, b{i}" for i in range(5))
    rows += [f"p = IdentityN({names}) T={','.join(['float'] * 10)}", f"s = AddN({names}) N=10"]
    rows += ["y = AddV2(p:3, s)"]
    made = plan("\n".join(["x = Placeholder()", *rows]), ["x"], ["y", "p:9", "s"])
    assert made.function(Step(), [np.float32(4)]) == (-8, 2, -10)
    assert made.traced()[0](Step(), [np.float32(4)]) == (-8, 2, -10)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("large", [0, 1 << 13])
def test_a_plan_ends_without_a_collection(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_text, "LARGE", large)
    monkeypatch.setattr(compiled_text, "PART", 2)
    gc.disable()
    try:
        made = plan("x = Placeholder()\na = Neg(x)\nb = Sqrt(a)\ny = Neg(b)", ["x"], ["y"])
        watched = weakref.ref(made.function)
        del made
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("cut", "one_by_one")
def test_a_tensor_dies_after_its_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lifetimes(monkeypatch) == [[True], [False, False], [False, False, False, True]]


@pytest.mark.usefixtures("cut", "one_by_one")
def test_an_error_names_its_node_and_inputs() -> None:
    text = "x = Placeholder()\na = Neg(x)\nb = Neg(a)\nc = Placeholder()\nz = AddV2(b, c)\ny = Neg(z)"
    error = failure(plan(text, ["x", "c"], ["y"]), [np.ones(3), np.ones(2)])
    assert error.message.startswith("Incompatible shapes: [3] vs. [2]")
    assert error.message.endswith("[[{{node z}}]]")


WAITING = """
    x = Placeholder()
    a = Square(x)
    y = Neg(x) @ /task:1
    b = Neg(a)
    z = AddV2(b, y)
    w = Exp(x) @ /task:1
    s = AddV2(z, w)
    """


def waiting() -> Plan:
    return next(made for made in plans(WAITING, ["x"], ["s"]) if made.waits)


@pytest.mark.usefixtures("cut", "one_by_one")
def test_a_part_waits() -> None:
    made = waiting()
    values = {"y": np.float32(10), "w": np.float32(100)}
    names = {n.attrs["_edge"]: n.attrs["tensor_name"].decode() for n in made.nodes if n.op == "_Recv"}
    given = []

    def drive() -> Any:
        results = yield from made.function(Step(), [np.float32(3)])
        given.append(results)

    run = drive()
    edge = next(run, None)
    while edge is not None:
        value = next(value for name, value in values.items() if name in names[edge])
        try:
            edge = run.send(value)
        except StopIteration:
            edge = None
    assert given == [(101,)]


def send_all(run: Any, value: Any) -> None:
    while True:
        run.send(value)


@pytest.mark.usefixtures("cut", "one_by_one")
def test_a_part_that_waits_is_closed_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[weakref.ref[Any]] = []

    def make(x: Any) -> Big:
        made = big()
        watched.append(weakref.ref(made))
        return made

    with_kernel(monkeypatch, "Neg", make)
    made = waiting()
    run = made.function(Step(), [np.float32(3)])
    next(run)
    run.close()
    assert all(ref() is None for ref in watched)
    run = made.function(Step(), [np.float32(3)])
    next(run)
    with pytest.raises(ValueError, match="broadcast") as caught:
        send_all(run, np.ones(7))
    assert made.explain(caught.value).message.endswith("[[{{node z}}]]")


@pytest.mark.usefixtures("cut", "one_by_one")
def test_the_node_that_waits_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    made = waiting()
    run = _Run(None, made, 0, [])  # type: ignore[arg-type]
    run.generator = made.function(Step(), [np.float32(3)])
    next(run.generator)
    node = _suspended_at(run, None)  # type: ignore[arg-type]
    assert node is not None
    assert node.op == "_Recv"


@pytest.mark.usefixtures("cut", "one_by_one")
@pytest.mark.parametrize("task", ["/job:v0/v1/v99", "/job:(yield 1)", "/job: s[0]; del v0"])
def test_names_of_tasks_are_no_code(task: str) -> None:
    sender = plans("x = Placeholder()\na = Neg(x)\nb = Neg(a)\nz = Neg(b) @ /task:1", ["x"], ["z"])[0]
    (edge,) = (int(node.attrs["_edge"]) for node in sender.nodes if node.op == "_Send")
    made = Plan(sender.device, sender.nodes, Resources(), np, {edge: task})
    step = Step()
    assert made.function(step, [np.float32(3)]) == ()
    assert step.sent == [(task, edge, np.float32(3))]


@pytest.mark.usefixtures("cut", "one_by_one")
def test_strings_and_references() -> None:
    text = """
        v = VariableV2()
        c = Const() value=[1.0,2.0]
        i = Assign(v, c)
        r = Identity(v; ^i)
        """
    (found,) = plan(text, [], ["r"]).function(Step(), [])
    np.testing.assert_array_equal(found, [1, 2])
    one = plan(
        "s = Placeholder() dtype=string\nt = Identity(s) T=string\nu = Identity(t) T=string", ["s"], ["u"]
    )
    (value,) = one.function(Step(), [np.array(b"a", object)])
    assert value[()] == b"a"


@pytest.mark.usefixtures("cut")
def test_what_is_no_ops_error_is_told() -> None:
    made = plan("x = Placeholder()\ny = Neg(x)", ["x"], ["y"])
    with pytest.raises(IndexError) as caught:
        made.function(None, [])
    assert isinstance(made.explain(caught.value), errors.OpError)
