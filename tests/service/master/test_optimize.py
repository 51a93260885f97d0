"""The optimizer: the same results with fewer nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.executor import evaluate as evaluation
from tensorfleet_service.executor.evaluate import evaluate_node
from tensorfleet_service.graph.graph import Node, describe
from tensorfleet_service.graph.session_graph import SessionGraph
from tensorfleet_service.master import folding
from tensorfleet_service.master.optimize import optimize
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.master.rewrites import ALL, NONE, Rewrites
from tests.service.graphs import graph, graph_def
from tests.service.master.test_prune import LOOP, check_order

DEVICES = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(3)]


def evaluate(node: Node, values: list[Any]) -> Any:
    match node.op:
        case "AddV2":
            return np.add(*values)
        case "Neg":
            return -values[0]
        case "Shape":
            return np.array(values[0].shape, np.int32)
        case "Fill":
            return np.full(values[0], values[1])
        case "Split":
            return tuple(np.split(values[1], node.attrs["num_split"], int(values[0])))
    raise NotImplementedError(node.op)


def optimized(
    text: str,
    feeds: list[str],
    fetches: list[str],
    targets: list[str] | None = None,
    rewrites: Rewrites = ALL,
) -> list[Node]:
    nodes = prune(graph(text), feeds, fetches, targets or [])
    place(nodes, DEVICES, DEVICES[0])
    before = describe(nodes)
    result = optimize(nodes, evaluate, rewrites)
    assert describe(nodes) == before
    check_order(result)
    assert describe(optimize(nodes, evaluate, rewrites)) == describe(result)
    return result


GOLDEN = {
    "constants": (
        """
        a = Const() value=[1.0,2.0]
        b = Const() value=3.0
        c = AddV2(a, b)
        d = Neg(c)
        s = Shape(d)
        x = Placeholder()
        n = AddV2(x, d)
        fails = Mul(a, b)
        """,
        ["x"],
        ["n", "s", "c", "fails"],
        [],
    ),
    "several_outputs": (
        """
        axis = Const() dtype=int32 value=0
        v = Const() value=[1.0,2.0]
        s = Split(axis, v) num_split=2
        x = Placeholder()
        n = AddV2(x, s:1)
        """,
        ["x"],
        ["n", "s:1"],
        [],
    ),
    "small_constants_are_copied": (
        """
        c = Const() value=1.0 @ /task:1
        x = Placeholder()
        n = AddV2(x, c) @ /task:2
        m = AddV2(n, c) @ /task:2
        k = AddV2(m, c) @ /task:1
        """,
        ["x"],
        ["k"],
        [],
    ),
    "equal_nodes": (
        """
        x = Placeholder()
        one = Const() value=1.0
        uno = Const() value=1.0
        two = Const() value=2.0
        a = AddV2(x, one)
        b = AddV2(x, uno)
        c = AddV2(x, two)
        d = AddV2(uno, x)
        e = AddV2(x, one) @ /task:1
        f = AddV2(x, one; ^c)
        """,
        ["x"],
        ["a", "b", "c", "d", "e", "f"],
        [],
    ),
    "identities": (
        """
        x = Placeholder()
        i = Identity(x)
        n = Neg(i)
        j = StopGradient(n)
        k = Identity(j)
        m = Neg(k) @ /task:1
        away = Identity(m) @ /task:2
        v = VariableV2()
        read = Identity(v)
        waited = Identity(n)
        late = Identity(n; ^init)
        init = NoOp(^waited)
        """,
        ["x"],
        ["k", "away", "read", "late"],
        [],
    ),
    "state": (
        """
        v = VariableV2()
        w = VariableV2()
        one = Const() value=1.0
        a = AssignAdd(v, one)
        b = AssignAdd(v, one)
        h = VarHandleOp()
        r = ReadVariableOp(h)
        s = ReadVariableOp(h)
        all = NoOp(^a, ^b)
        """,
        [],
        ["r", "s", "w"],
        ["all"],
    ),
    "controls": (
        """
        x = Placeholder()
        one = Const() value=1.0
        late = Const(^x) value=2.0
        sum = AddV2(one, late)
        n = Neg(x; ^one, ^sum)
        folded = AddV2(one, one)
        m = NoOp(^folded)
        """,
        ["x"],
        ["n"],
        ["m"],
    ),
    "loop": (LOOP, [], ["exit"], []),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    text, feeds, fetches, targets = GOLDEN[case]
    golden(f"optimize_{case}", describe(optimized(text, feeds, fetches, targets)))


def test_below_level_zero_nothing_changes() -> None:
    text, feeds, fetches, targets = GOLDEN["constants"]
    session = graph(text)
    nodes = prune(session, feeds, fetches, targets)
    place(nodes, DEVICES, DEVICES[0])
    assert optimize(nodes, evaluate, NONE) == nodes


def test_values_types_and_devices_of_folded_constants() -> None:
    nodes = optimized(*GOLDEN["constants"][:3])
    found = {node.name: node for node in nodes}
    assert found["c"].attrs["value"].tolist() == [4.0, 5.0]
    assert found["c"].attrs["value"].dtype == np.float32
    assert found["s"].attrs["value"].tolist() == [2]
    assert found["s"].attrs["dtype"].name == "int32"
    assert found["c"].assigned == DEVICES[0]


def test_large_results_are_not_folded() -> None:
    """Neither is their size found out by making them."""
    text = "d = Const() dtype=int32 value=[{}]\nv = Const() value=1.0\nf = Fill(d, v)"
    assert [node.op for node in optimized(text.format("10,10"), [], ["f"])] == ["Const", "_Retval"]
    asked: list[str] = []

    def record(node: Node, values: list[Any]) -> Any:
        asked.append(node.name)
        return evaluate(node, values)

    nodes = prune(graph(text.format("100000,100000")), [], ["f"], [])
    place(nodes, DEVICES, DEVICES[0])
    assert [node.op for node in optimize(nodes, record, ALL)] == ["Const", "Const", "Fill", "_Retval"]
    assert asked == []


def test_large_constants_of_other_devices_are_sent() -> None:
    text = f"c = Const() value={[1.0] * 20_000} @ /task:1\nd = Neg(c) @ /task:2".replace(", ", ",")
    assert [node.op for node in optimized(text, [], ["d"])] == ["Const", "Neg", "_Retval"]


def test_a_wrong_type_is_not_folded() -> None:
    text = "a = Const() value=1.0\nb = Neg(a)"
    nodes = prune(graph(text), [], ["b"], [])
    place(nodes, DEVICES, DEVICES[0])
    for result in (np.float64(-1.0), "no array", None):
        assert [n.op for n in optimize(nodes, lambda node, values, r=result: r, ALL)] == [
            "Const",
            "Neg",
            "_Retval",
        ]


def test_zeros_of_both_signs_stay_apart() -> None:
    text = "x = Placeholder()\na = Const() value=0.0\nb = Const() value=-0.0\nc = Mul(x, a)\nd = Mul(x, b)"
    assert [node.op for node in optimized(text, ["x"], ["c", "d"])].count("Mul") == 2


def test_many_equal_nodes() -> None:
    count = 5_000
    text = "x = Placeholder()\n" + "".join(f"n{i} = Neg(x)\n" for i in range(count))
    text += f"all = AddN({', '.join(f'n{i}' for i in range(count))}) N={count}"
    nodes = optimized(text, ["x"], ["all"])
    assert [node.op for node in nodes] == ["_Arg", "Neg", "AddN", "_Retval"]


def steps_of(fetches: list[tf.Tensor]) -> list[str]:
    """The op types of what a step computes for the fetches, constants and what is fed and fetched apart."""
    definition = SessionGraph()
    definition.extend(fetches[0].graph.as_graph_def())
    nodes = prune(definition, [], [fetch.name for fetch in fetches], [])
    place(nodes, DEVICES, DEVICES[0])
    result = optimize(nodes, evaluate_node, ALL)
    check_order(result)
    return sorted(node.op for node in result if node.op not in ("Const", "Placeholder", "_Retval"))


@pytest.fixture
def x() -> Iterator[tf.Tensor]:
    with tf.Graph().as_default():
        yield tf.placeholder(tf.float32, [None, 3], name="x")


def test_what_takes_long_is_left_to_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would end it here: a step has a limit, and a client that may cancel it."""
    with tf.Graph().as_default():
        replaced = tf.strings.regex_replace(tf.constant(["a", "b"]), "a", "b")
        assert "StaticRegexReplace" not in steps_of([replaced])
        monkeypatch.setattr(evaluation, "_SECONDS", 0.0)
        assert "StaticRegexReplace" in steps_of([replaced])


@pytest.mark.parametrize(
    ("op", "build"),
    [
        ("DecodeCSV", lambda: tf.io.decode_csv(tf.constant("1," * 40_000 + "1"), [[0]] * 40_001)[0]),
        (
            "StringSplit",
            lambda: tf.string_split(["a " * 40_000]).values,
        ),
        ("StringLength", lambda: tf.strings.length(tf.constant(["a"] * 5_000))),
        ("MaxPool", lambda: tf.nn.max_pool(tf.ones([1, 80, 80, 1]), [1, 80, 80, 1], [1, 1, 1, 1], "SAME")),
        ("RaggedRange", lambda: tf.ragged.range(0.0, 1e5, 0.1).flat_values),
        (
            "ExtractImagePatches",
            lambda: tf.extract_image_patches(
                tf.ones([1, 60, 60, 1]), [1, 90, 90, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"
            ),
        ),
        ("MatrixInverse", lambda: tf.linalg.inv(tf.eye(80) * 2.0)),
        ("DecodePng", lambda: tf.image.decode_png(tf.constant(b"no image"))),
    ],
)
def test_inputs_bound_what_folding_takes(op: str, build: Callable[[], tf.Tensor]) -> None:
    """Whether or not the kernel looks how long it has computed: it is not called."""
    asked: list[str] = []

    def record(node: Node, values: list[Any]) -> Any:
        asked.append(node.op)
        return evaluate_node(node, values)

    with tf.Graph().as_default() as built:
        fetch = build()
    definition = SessionGraph()
    definition.extend(built.as_graph_def())
    nodes = prune(definition, [], [fetch.name], [])
    place(nodes, DEVICES, DEVICES[0])
    assert op in [node.op for node in optimize(nodes, record, ALL)]
    assert op not in asked


def test_a_signature_folds_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "TOTAL_SECONDS", 10.0)
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(folding, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    text = "n0 = Const() value=1.0\n" + "".join(f"n{i + 1} = Neg(n{i})\n" for i in range(6))
    assert [node.op for node in optimized(text, [], ["n6"])] == ["Const", "Neg", "Neg", "_Retval"]


def test_gradients_of_a_broadcast_need_one_sum(x: tf.Tensor) -> None:
    b = tf.constant([1.0, 2.0, 3.0])
    y = tf.exp(x + b)
    assert steps_of(tf.gradients(y, [x, b], grad_ys=[x])) == ["AddV2", "Exp", "Mul", "Sum"]


def test_gradients_that_wait_for_each_other_need_no_more(x: tf.Tensor) -> None:
    b = tf.constant([1.0, 2.0, 3.0])
    grads = tf.gradients(tf.exp(x + b), [x, b], grad_ys=[x], gate_gradients=True)
    assert steps_of(grads) == ["AddV2", "Exp", "Mul", "Sum"]


def test_a_mean_is_divided_before_it_is_repeated(x: tf.Tensor) -> None:
    assert steps_of(tf.gradients(tf.reduce_mean(x), [x])) == ["Cast", "RealDiv", "Shape", "Size", "Tile"]


def test_cross_entropy_of_matrices_is_not_reshaped(x: tf.Tensor) -> None:
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x)
    assert steps_of([loss]) == ["SoftmaxCrossEntropyWithLogits"]


def test_where_branches_are_the_axes_are_found_in_the_run(x: tf.Tensor) -> None:
    b = tf.constant([[1.0, 2.0, 3.0]])
    predicate = tf.placeholder(tf.bool, [])
    chosen = tf.cond(predicate, lambda: x + b, lambda: x)
    found = tf.gradients(chosen, [x, b], grad_ys=[x])
    assert {"BroadcastGradientArgs", "Reshape", "Switch"} <= set(steps_of(found))
    with tf.Session(graph=x.graph) as session:
        rows = np.array([[1.0, 2.0, 3.0]], np.float32)
        for value in session.run(found, {x: rows, predicate: True}):
            np.testing.assert_array_equal(value, rows)


def test_a_wrong_hint_of_an_unknown_kind_is_passed_over() -> None:
    definition = graph_def(
        "x = Placeholder() dtype=int32\ny = Placeholder() dtype=int32\ng = BroadcastGradientArgs(x, y)"
    )
    definition.node[2].attr["_known_0"].s = b"0"
    definition.node[2].attr["_known_1"].list.i.append(1 << 40)
    session_graph = SessionGraph()
    session_graph.extend(definition)
    nodes = prune(session_graph, [], ["g:0", "g:1"], [])
    place(nodes, DEVICES, DEVICES[0])
    assert "BroadcastGradientArgs" in [node.op for node in optimize(nodes, None, ALL)]
