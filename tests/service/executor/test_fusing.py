"""Which nodes become one function over blocks, and that nothing but the time shows it."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.executor import fusing, plan_writer
from tensorfleet_service.executor.fusing import find_groups
from tensorfleet_service.executor.statements import dereferences
from tensorfleet_service.kernels.math import compiled, fusion
from tests.service.executor.test_plan import Big, Step, failure, plan, plans, with_kernel
from tests.service.graphs import const, graph

LARGE = (1000, 900)


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bits of compiled exponentials are not NumPy's: tests/kernels/math has them."""
    monkeypatch.setattr(compiled, "native", None)


def groups(text: str, waiting: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    """The names of the nodes, the inputs and the outputs of all groups."""
    nodes = list(graph(text).nodes.values())
    found = find_groups(nodes, lambda position: nodes[position].op in waiting, dereferences)
    return [
        (
            " ".join(nodes[position].name for position in group.positions),
            " ".join(node.name for node, _ in group.inputs),
            " ".join(node.name for node in group.outputs),
        )
        for group in found
    ]


def test_a_row_of_ops() -> None:
    text = f"c = {const(2.0, 'float32')}\nx = Placeholder()\ny = Mul(x, c)\nz = Tanh(y)\nw = Mul(z, x)"
    assert groups(text) == [("y z w", "x c", "w")]


def test_a_result_that_others_need_is_an_output() -> None:
    text = "x = Placeholder()\na = Neg(x)\nb = Exp(a)\nr = Reshape(a, s)"
    assert groups("s = Placeholder() dtype=int32\n" + text) == [("a b", "x", "a b")]


def test_nothing_joins_a_group_once_others_need_it() -> None:
    text = "s = Placeholder() dtype=int32\nx = Placeholder()\na = Neg(x)\nr = Reshape(a, s)\nb = Mul(a, r)"
    assert groups(text) == [("a", "x", "a"), ("b", "a r", "b")]


def test_two_groups_become_one() -> None:
    text = "x = Placeholder()\ny = Placeholder()\na = Neg(x)\nb = Exp(y)\nc = Log(b)\nd = Mul(a, c)"
    assert groups(text) == [("a b c d", "x y", "d")]


def test_a_group_has_so_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusing, "MAX_MEMBERS", 3)
    text = "\n".join(
        ["x = Placeholder()", "a = Neg(x)", "b = Exp(a)", "c = Log(b)", "d = Neg(c)", "e = Exp(d)"]
    )
    assert groups(text) == [("a b c", "x", "c"), ("d e", "c", "e")]
    text = "x = Placeholder()\na = Neg(x)\nb = Exp(a)\nc = Log(x)\nd = Neg(c)\ny = Mul(b, d)"
    assert groups(text) == [("a b y", "x d", "y"), ("c d", "x", "d")]


def test_what_may_wait_divides_groups() -> None:
    text = "x = Placeholder()\na = Neg(x)\ni = IdentityN(x) T=float32\nb = Exp(a)"
    assert groups(text) == [("a b", "x", "b")]
    assert groups(text, waiting=("IdentityN",)) == [("a", "x", "a"), ("b", "a", "b")]


def test_a_change_of_a_variable_divides_groups() -> None:
    text = "v = VariableV2()\nr = Identity(v)\na = Neg(r)\nu = AssignAdd(v, r)\nb = Exp(a)"
    assert groups(text) == [("a", "r", "a"), ("b", "a", "b")]


def test_a_control_edge_divides_groups() -> None:
    assert groups("x = Placeholder()\na = Neg(x)\nn = NoOp(^a)\nb = Exp(a)") == [
        ("a", "x", "a"),
        ("b", "a", "b"),
    ]


def test_variables_that_are_read_in_passing_stay_outside() -> None:
    assert groups("v = VariableV2()\na = Neg(v)\nb = Exp(a)") == [("b", "a", "b")]


def test_other_dtypes_stay_outside() -> None:
    text = "x = Placeholder() dtype=int32\na = Neg(x) T=int32\nd = Placeholder() dtype=float64\n"
    assert groups(text + "b = Exp(d) T=float64\nc = Cast(b) SrcT=float64 DstT=float32\ne = Exp(c)") == [
        ("b", "d", "b"),
        ("e", "c", "e"),
    ]


def test_golden() -> None:
    c = const(2.0, "float32")
    made = plan(f"c = {c}\nx = Placeholder()\ny = Mul(x, c)\nz = Tanh(y)\nw = Mul(z, x)", ["x"], ["w"])
    least = fusion.WORTH // 7
    assert made.source == (
        "def run(t, a):\n"
        " v0 = a[0]\n"
        f" if v0.size < {least} or (q := f4(v0, c0)) is None:\n"
        "  v2 = v0 * c0\n"
        "  v2 = tanh(v2)\n"
        "  v1 = v2 * v0; del v2\n"
        " else:\n"
        "  v1, = q; del q\n"
        " del v0\n"
        " return (v1,)\n"
    )


PROGRAM = f"""
    c = {const(0.5, "float32")}
    x = Placeholder()
    y = Placeholder()
    a = Mul(x, c)
    b = AddV2(a, y)
    d = Sigmoid(b)
    e = Sub(d, x)
    axis = {const(0, "int32")}
    s = Sum(b, axis)
    f = TanhGrad(e, d)
    g = AddV2(f, s)
    """


@pytest.mark.parametrize(
    ("x", "y"), [(LARGE, LARGE), (LARGE, (900,)), (LARGE, ()), ((1000, 1), LARGE), ((3, 4), (3, 4))]
)
def test_values_are_those_of_the_ops(
    x: tuple[int, ...], y: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(1)
    feeds = [np.asarray(generator.standard_normal(shape), np.float32)[()] for shape in (x, y)]
    fetches = ["a", "d", "e", "f", "g"]
    together = plan(PROGRAM, ["x", "y"], fetches)
    monkeypatch.setattr(plan_writer, "find_groups", lambda *arguments: [])
    alone = plan(PROGRAM, ["x", "y"], fetches)
    assert "q" in together.source
    assert "q" not in alone.source
    for found, expected in zip(together.function(None, feeds), alone.function(None, feeds), strict=True):
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()


def test_each_op_is_traced() -> None:
    made = plan(PROGRAM, ["x", "y"], ["g"])
    step = Step()
    function, _ = made.traced()
    function(step, [np.ones(LARGE, np.float32), np.float32(1)])
    (device,) = step.recorder.step_stats().dev_stats
    assert {"a", "b", "d", "e", "f", "g"} <= {stats.node_name for stats in device.node_stats}


def test_errors_name_the_op_that_failed() -> None:
    made = plan(PROGRAM, ["x", "y"], ["g"])
    error = failure(made, [np.ones(LARGE, np.float32), np.ones(3, np.float32)])
    assert type(error) is errors.InvalidArgumentError
    assert error.message == "Incompatible shapes: [1000,900] vs. [3]\n\t [[{{node b}}]]"


def test_a_target_that_nobody_needs_is_computed() -> None:
    made = plan("x = Placeholder()\na = Neg(x)\nb = Mul(a, x)", ["x"], targets=["b"])
    assert made.function(None, [np.ones(LARGE, np.float32)]) == ()
    assert failure(made, [np.array(["no number"])]).message.endswith("[[{{node a}}]]")


def test_a_tensor_is_sent_before_more_is_received() -> None:
    text = """
        x = Placeholder()
        a = Neg(x)
        b = Exp(a) @ /task:1
        c = Mul(a, b)
        """
    first, second = plans(text, ["x"], ["c"])
    step = Step()
    run = first.function(step, [np.ones(LARGE, np.float32)])
    assert next(run) is not None
    assert len(step.sent) == 1
    run.close()
    assert second.waits


def test_inputs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[weakref.ref[Any]] = []
    alive: list[bool] = []

    def make(x: Any) -> Any:
        made = np.ones(LARGE, np.float32).view(Big)
        watched.append(weakref.ref(made))
        return made

    def look(x: Any) -> Any:
        alive.append(watched[0]() is not None)
        return x

    with_kernel(monkeypatch, "Elu", make)
    with_kernel(monkeypatch, "Identity", look)
    text = "x = Placeholder()\nb = Elu(x)\na = Neg(b)\nc = Exp(a)\ni = Identity(c)"
    plan(text, ["x"], ["i"]).function(None, [np.float32(1)])
    assert alive == [False]
