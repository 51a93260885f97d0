"""Which reads a step gets beside those of its graph, where variables change in it."""

from __future__ import annotations

import pytest

from tensorfleet_service.graph.graph import Node, describe
from tensorfleet_service.master.late_reads import read_late
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tests.service.graphs import graph

PS, WORKER = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"

SOURCES = """
    v = VariableV2() @ /job:ps
    w = VariableV2() @ /job:ps
    one = Const() value=1.0
    shape = Const() dtype=int32 value=[1]
    p = Placeholder() dtype=bool
    r = Identity(v) @ /job:ps
"""


def late(text: str, fetches: list[str], targets: tuple[str, ...] = ()) -> list[Node]:
    nodes = prune(graph(SOURCES + text), [], fetches, targets)
    place(nodes, [WORKER, PS], WORKER)
    return read_late(nodes)


def inputs(nodes: list[Node], name: str) -> str:
    """The inputs of a node, written as in `SOURCES`."""
    node = next(node for node in nodes if node.name == name)
    data = [source.name + f":{index}" * (index > 0) for source, index in node.inputs]
    return ", ".join(data + sorted(f"^{control.name}" for control in node.controls))


@pytest.mark.parametrize(
    "text",
    [
        "y = Neg(r)",
        # What changes last, as in training, changes nothing that is read.
        "y = Neg(r)\na = AssignAdd(v, y)\nz = Identity(y; ^a)",
        # Another variable changes.
        "a = AssignAdd(w, one)\ny = Neg(r; ^a)",
        # A reference on the same device is read when its user has its turn.
        "a = AssignAdd(v, one)\ny = Neg(v; ^a) @ /job:ps",
        # Before the change.
        "y = Neg(r)\na = AssignAdd(v, one; ^y)\nb = Neg(a) @ /job:ps",
        # What is no longer the variable's memory.
        "k = Neg(r)\na = AssignAdd(v, one; ^k)\ny = Neg(k; ^a)",
        # What gives the variable other memory.
        "a = Assign(v, one; ^r) validate_shape=False\ny = Neg(r; ^a)",
    ],
)
def test_steps_that_stay_as_they_are(text: str) -> None:
    last = text.splitlines()[-1].split(" ")[0]
    whole = graph(SOURCES + text)
    nodes = prune(whole, [], [last], [])
    place(nodes, [WORKER, PS], WORKER)
    before = describe(nodes)
    assert describe(read_late(nodes)) == before


def test_a_read_after_the_change_is_made_beside_the_variable() -> None:
    nodes = late("a = AssignAdd(v, one)\ny = Neg(r; ^a)\nz = Exp(r; ^a)", ["y", "z"])
    assert inputs(nodes, "y") == inputs(nodes, "z") == "_late_0_v, ^a"  # one for both
    assert inputs(nodes, "_late_0_v") == "v, ^a"
    (read,) = (node for node in nodes if node.name == "_late_0_v")
    assert (read.op, read.assigned, read.why) == ("Identity", PS, "read after a")
    assert inputs(nodes, "r") == "v"  # it may still fail, where the variable is not initialized


def test_each_state_has_its_read() -> None:
    text = """
        b = Neg(r)
        a = AssignAdd(v, one; ^b)
        m = Neg(r; ^a)
        c = AssignAdd(v, one; ^m)
        y = Neg(r; ^c)
    """
    nodes = late(text, ["b", "m", "y"])
    assert inputs(nodes, "b") == "r"
    assert inputs(nodes, "_late_0_v") == "v, ^a"
    assert inputs(nodes, "m") == "_late_0_v, ^a"
    assert inputs(nodes, "_late_1_v") == "v, ^c"  # which comes after a
    assert inputs(nodes, "y") == "_late_1_v, ^c"


def test_a_read_waits_for_the_last_changes_alone() -> None:
    count = 300
    lines = ["a0 = AssignAdd(v, one)", "y0 = Neg(r; ^a0)"]
    for i in range(1, count):
        lines += [f"a{i} = AssignAdd(v, one; ^y{i - 1})", f"y{i} = Neg(r; ^a{i})"]
    nodes = late("\n".join(lines), [f"y{i}" for i in range(count)])
    made = [node for node in nodes if node.name.startswith("_late_")]
    assert len(made) == count
    assert sum(len(node.controls) for node in made) == count


def test_changes_without_an_order_are_all_waited_for() -> None:
    nodes = late("a = AssignAdd(v, one)\nb = AssignAdd(v, one)\ny = Neg(r; ^a, ^b)", ["y"])
    assert inputs(nodes, "_late_0_v") == "v, ^a, ^b"


@pytest.mark.parametrize("op", ["Identity({})", "Reshape({}, shape)"])
def test_long_chains_are_made_again(op: str) -> None:
    count = 2000  # deeper than Python calls
    lines = [f"k{i} = {op.format(f'k{i - 1}' if i else 'r')}" for i in range(count)]
    nodes = late("\n".join([*lines, "a = AssignAdd(v, one)", f"y = Neg(k{count - 1}; ^a)"]), ["y"])
    read = next(node for node in nodes if node.name == "_late_0_v")
    assert inputs(nodes, "_late_0_v") == "v, ^a"
    (y,) = (node for node in nodes if node.name == "y")
    assert y.inputs[0][0] is read or y.inputs[0][0].name == f"_late_0_k{count - 1}"


def test_what_shares_the_memory_is_made_again() -> None:
    text = "f = Reshape(r, shape)\ng = StopGradient(f)\na = AssignAdd(v, one)\ny = Neg(g; ^a)"
    nodes = late(text, ["y"])
    assert inputs(nodes, "y") == "_late_0_f, ^a"
    assert inputs(nodes, "_late_0_f") == "_late_0_v, shape"
    assert inputs(nodes, "_late_0_v") == "v, ^a"


def test_a_reference_of_another_task_is_read_after_the_change() -> None:
    nodes = late("a = AssignAdd(v, one)\ny = Identity(v; ^a) @ /job:worker", ["y"])
    # The fetch, in turn, gives the value that is there in the end.
    assert inputs(nodes, "y") == "_late_0_v, ^a"
    assert inputs(nodes, "_retval_y_0_0") == "v"


def test_fetches_come_last() -> None:
    nodes = late("a = AssignAdd(v, one)", ["r", "a"])
    assert [node.op for node in nodes[-2:]] == ["_Retval", "_Retval"]
    assert inputs(nodes, "_retval_r_0_0") == "v"
    nodes = late("f = Reshape(r, shape)\na = AssignAdd(v, one)", ["f"], ("a",))
    assert inputs(nodes, "_retval_f_0_0") == "_late_0_f"


def test_on_a_branch_the_reference_comes_to_the_branch() -> None:
    text = """
        s = Switch(r, p)
        x = RefSwitch(v, p)
        a = AssignAdd(x:1, one)
        y = Neg(s:1; ^a)
    """
    nodes = late(text, ["y"])
    assert inputs(nodes, "y") == "_late_0__late_0_s, ^a"
    assert inputs(nodes, "_late_0__late_0_s") == "_late_0_s:1, ^a"
    assert inputs(nodes, "_late_0_s") == "v, p"
    (made,) = (node for node in nodes if node.name == "_late_0_s")
    assert (made.op, made.assigned) == ("RefSwitch", PS)
