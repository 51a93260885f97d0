"""Partitions: every device's part of a graph, and what travels between them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tensorfleet.core import dtypes, errors
from tensorfleet_service.graph.graph import Node, describe, to_graph_def
from tensorfleet_service.graph.session_graph import from_graph_def
from tensorfleet_service.master.optimize import optimize
from tensorfleet_service.master.partition import Partition, partition, task_of
from tensorfleet_service.master.place import place
from tensorfleet_service.master.prune import prune
from tensorfleet_service.master.rewrites import ALL
from tests.service.graphs import chain, const, graph

TASKS = [f"/job:worker/replica:0/task:{i}" for i in range(4)]
DEVICES = [f"{task}/device:CPU:0" for task in TASKS] + [f"{TASKS[0]}/device:CPU:1"]
INCARNATIONS = {task: 0x10 + i for i, task in enumerate(TASKS)} | {TASKS[3]: 2**64 - 1}


def placed(
    text: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str] = ()
) -> list[Node]:
    nodes = prune(graph(text), feeds, fetches, targets)
    place(nodes, DEVICES, DEVICES[0])
    return nodes


def text_of(parts: Iterable[Partition]) -> str:
    return "\n".join(f"# {part.device}\n{describe(part.nodes)}" for part in parts)


GOLDEN = {
    "one_device": ("x = Placeholder()\nn = AddV2(x, x)", ["x"], ["n"], []),
    "one_send_per_device": (
        """
        x = Placeholder()
        n = Neg(x) @ /task:0
        a = AddV2(n, n) @ /task:1
        b = AddV2(a, n) @ /task:1
        c = AddV2(n, b) @ /task:2
        d = AddV2(c, n) @ /task:0
        """,
        ["x"],
        ["d", "a"],
        [],
    ),
    "args_are_copied": (
        "x = Placeholder()\na = Neg(x) @ /task:1\nb = Neg(x) @ /task:2\nc = Neg(x) @ /task:0/cpu:1",
        ["x"],
        ["a", "b", "c"],
        [],
    ),
    "controls": (
        """
        a = NoOp() @ /task:1
        b = NoOp(^a) @ /task:1
        x = Placeholder() @ /task:1
        c = Neg(x; ^a) @ /task:2
        d = Neg(c; ^a, ^b) @ /task:2
        e = NoOp(^a, ^c) @ /task:3
        """,
        ["x"],
        [],
        ["e", "d"],
    ),
    "references_are_read": (
        """
        v = VariableV2() @ /task:1
        x = Placeholder()
        a = AssignAdd(v, x)
        n = Neg(a) @ /task:2
        m = Neg(v; ^n) @ /task:3
        """,
        ["x"],
        ["m"],
        [],
    ),
    "outputs": (
        """
        x = Placeholder() @ /task:1
        axis = Const() dtype=int32 value=0 @ /task:1
        s = Split(axis, x) num_split=3 @ /task:1
        n = AddV2(s:2, s) @ /task:2
        """,
        ["x"],
        ["n"],
        [],
    ),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    text, feeds, fetches, targets = GOLDEN[case]
    nodes = placed(text, feeds, fetches, targets)
    before = describe(nodes)
    parts = partition(nodes, INCARNATIONS)
    golden(f"partition_{case}", text_of(parts))
    assert describe(nodes) == before
    assert text_of(partition(nodes, INCARNATIONS)) == text_of(parts)
    for task in {task_of(part.device) for part in parts}:
        task_parts = [part for part in parts if task_of(part.device) == task]
        names = [node.name for part in task_parts for node in part.nodes]
        assert len(set(names)) == len(names), "a task registers all its devices under one set of names"
        for part in task_parts:
            assert describe(from_graph_def(to_graph_def(part.nodes))) == describe(part.nodes)


def test_sends_and_receives_have_tensorflows_attributes() -> None:
    nodes = placed(
        "x = Placeholder() dtype=int32\na = Neg(x) T=int32 @ /task:3\nb = Neg(a) T=int32 @ /task:1",
        ["x"],
        ["b"],
    )
    first, second = partition(nodes, INCARNATIONS)
    send = next(node for node in first.nodes if node.op == "_Send")
    recv = next(node for node in second.nodes if node.op == "_Recv")
    shared = {
        "tensor_name": b"edge_0_a",
        "send_device": DEVICES[3].encode(),
        "send_device_incarnation": -1,
        "recv_device": DEVICES[1].encode(),
        "client_terminated": False,
        "_edge": 0,
    }
    assert send.attrs == {"T": dtypes.int32, **shared}
    assert recv.attrs == {"tensor_type": dtypes.int32, **shared}


def test_a_resource_stays_on_its_device() -> None:
    nodes = placed("v = VarHandleOp() @ /task:1\nr = ReadVariableOp(v)", [], ["r"])
    for node in nodes:
        if node.name in ("r", "_retval_r_0_0"):
            node.assigned = DEVICES[2]
    with pytest.raises(errors.InvalidArgumentError) as caught:
        partition(nodes, INCARNATIONS)
    for part in ("v:0", DEVICES[1], "r,", DEVICES[2], "resource"):
        assert part in caught.value.message


LOOP = """
    zero = Const() dtype=int32 value=0
    limit = Const() dtype=int32 value=9 @ {limit}
    enter = Enter(zero) frame_name=loop T=int32 @ /task:0
    most = Enter(limit) frame_name=loop T=int32 is_constant=True @ {limit}
    merge = Merge(enter, next) N=2 T=int32
    less = Less(merge, most) T=int32
    cond = LoopCond(less)
    switch = Switch(merge, cond) T=int32
    add = AddV2(switch:1, most) T=int32 @ {inside}
    next = NextIteration(add) T=int32 @ {inside}
    exit = Exit(switch) T=int32
    out = Neg(exit) T=int32 @ /task:2
    """


def cut(inside: str, limit: str = "/task:0") -> list[Partition]:
    nodes = placed(LOOP.format(inside=inside, limit=limit), [], ["out"])
    before = describe(nodes)
    parts = partition(nodes, INCARNATIONS)
    assert describe(nodes) == before
    return parts


def test_a_loop_on_one_device_is_left_as_it_is() -> None:
    parts = cut("/task:0")
    assert [part.device for part in parts] == [DEVICES[0], DEVICES[2]]
    merge = next(node for node in parts[0].nodes if node.name == "merge")
    assert merge.inputs[1][0] in parts[0].nodes
    assert not any(node.attrs.get("_in_loop") for part in parts for node in part.nodes)


def test_a_loop_over_devices_goes_round_on_each(golden: Callable[[str, str], None]) -> None:
    golden("partition_loop", text_of(cut("/task:1")))


def test_what_all_iterations_share_enters_on_each_device() -> None:
    parts = {part.device: {node.name: node for node in part.nodes} for part in cut("/task:1", "/task:1")}
    here, there = parts[DEVICES[0]], parts[DEVICES[1]]
    enters = [node for part in (here, there) for node in part.values() if node.name.startswith("most")]
    assert [(node.op, node.assigned) for node in enters] == [("Enter", d) for d in DEVICES[:2]]
    # The limit travels once, before the loop.
    assert here[enters[0].name].inputs[0][0].op == "_Recv"
    assert not here[enters[0].name].inputs[0][0].attrs.get("_in_loop")


def test_what_begins_an_iteration_cannot_be_used_elsewhere() -> None:
    text = LOOP.replace("add = AddV2(switch:1, most)", "add = AddV2(enter, most)")
    nodes = placed(text.format(inside="/task:1", limit="/task:0"), [], ["out"])
    with pytest.raises(
        errors.InvalidArgumentError, match="enter begins an iteration of the while loop '/loop'"
    ):
        partition(nodes, INCARNATIONS)


@pytest.mark.slow
def test_a_chain_over_a_thousand_tasks() -> None:
    count, tasks = 30_000, 1_000
    devices = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(tasks)]
    nodes = prune(chain(count, tasks), ["x"], [f"s{count - 1}"], [])
    place(nodes, devices, devices[0])
    parts = partition(nodes, {f"/job:worker/replica:0/task:{i}": i for i in range(tasks)})
    assert [part.device for part in parts] == devices
    ops = [node.op for part in parts for node in part.nodes]
    assert ops.count("_Send") == ops.count("_Recv") == count - 1
    assert ops.count("_Arg") == tasks
    assert len(ops) == 3 * count - 2 + tasks + 1


# A tiny machine that runs nodes on Python's integers, to compare graphs with what is made of them.

MODULUS = 1_000_003
KERNELS: dict[str, Callable[..., int]] = {
    "AddV2": lambda a, b: (a + b) % MODULUS,
    "Mul": lambda a, b: a * b % MODULUS,
    "Neg": lambda a: -a % MODULUS,
    "Identity": lambda a: a,
    "_Recv": lambda: 0,
}


class Run:
    """Runs lists of nodes, one node at a time of any of them that can go on."""

    def __init__(self, feeds: Sequence[int]) -> None:
        self.feeds = feeds
        self.sent: dict[Any, int] = {}
        self.fetched: dict[int, int] = {}
        self.ran: list[str] = []

    def run(self, parts: Sequence[Sequence[Node]], choose: random.Random) -> dict[int, int]:
        values: list[dict[Node, int]] = [{} for _ in parts]
        at = [0] * len(parts)
        while True:
            ready = [i for i, part in enumerate(parts) if at[i] < len(part) and self.can_run(part[at[i]])]
            if not ready:
                assert at == list(map(len, parts)), "the partitions wait for each other"
                return self.fetched
            i = choose.choice(ready)
            self.step(parts[i][at[i]], values[i])
            at[i] += 1

    def key(self, node: Node) -> tuple[object, ...]:
        return tuple(node.attrs[name] for name in ("tensor_name", "send_device", "recv_device"))

    def can_run(self, node: Node) -> bool:
        return node.op != "_Recv" or self.key(node) in self.sent

    def step(self, node: Node, values: dict[Node, int]) -> None:
        assert all(control in values for control in node.controls), f"{node.name} runs too early"
        inputs = [values[source] for source, _ in node.inputs]
        values[node] = 0
        match node.op:
            case "_Arg":
                values[node] = self.feeds[node.attrs["index"]]
            case "_Retval":
                self.fetched[node.attrs["index"]] = inputs[0]
            case "_Send":
                assert self.key(node) not in self.sent
                self.sent[self.key(node)] = inputs[0]
            case "_Recv":
                values[node] = self.sent[self.key(node)]
            case "Const":
                values[node] = int(node.attrs["value"]) if node.attrs["value"].size else 0
            case "NoOp":
                self.ran.append(node.name)
            case _:
                values[node] = KERNELS[node.op](*inputs)


def evaluate(node: Node, values: list[Any]) -> Any:
    return np.int64(KERNELS[node.op](*map(int, values)))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """(text, names of placeholders, names of all values)"""
    lines, values, placeholders, all_names = [], [], [], []
    for i in range(draw(st.integers(2, 25))):
        op = draw(st.sampled_from(["Placeholder", "Const", "AddV2", "Mul", "Neg", "Identity", "NoOp"]))
        if op in ("AddV2", "Mul", "Neg", "Identity") and not values:
            op = "Const"
        arity = {"AddV2": 2, "Mul": 2, "Neg": 1, "Identity": 1}.get(op, 0)
        inputs = [draw(st.sampled_from(values)) for _ in range(arity)]
        controls = draw(st.lists(st.sampled_from(all_names), max_size=2)) if all_names else []
        use = ", ".join(inputs) + ("; " if inputs and controls else "") + ", ".join(f"^{c}" for c in controls)
        device = draw(st.sampled_from(["", *(f" @ {name}" for name in DEVICES)]))
        line = f"n{i} = {op}({use})"
        if op == "Const":
            line = f"n{i} = {const(draw(st.integers(0, 9)))}".replace("()", f"({use})")
        elif op != "NoOp":
            line += " dtype=int64" if op == "Placeholder" else " T=int64"
        if op == "Placeholder":
            placeholders.append(f"n{i}")
        if op != "NoOp":
            values.append(f"n{i}")
        all_names.append(f"n{i}")
        lines.append(line + device)
    return "\n".join(lines), placeholders, values


@settings(max_examples=150, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_partitions_compute_what_the_graph_computes(
    case: tuple[str, list[str], list[str]], choose: random.Random
) -> None:
    text, placeholders, values = case
    session = graph(text)
    inner = [name for name in values if name not in placeholders and choose.random() < 0.2]
    feeds = placeholders + inner
    fetches = [name for name in values if name not in feeds and choose.random() < 0.5]
    targets = [name for name in session.nodes if name not in feeds and choose.random() < 0.2]
    if not fetches and not targets:
        return
    fed = [choose.randrange(MODULUS) for _ in feeds]
    nodes = prune(session, feeds, fetches, targets)
    whole = Run(fed)
    expected = whole.run([nodes], choose)
    assert sorted(expected) == list(range(len(fetches)))
    place(nodes, DEVICES, DEVICES[0])
    for candidate in (nodes, optimize(nodes, evaluate, ALL), optimize(nodes, None, ALL)):
        run = Run(fed)
        parts = partition(candidate, INCARNATIONS)
        assert all(node.assigned == part.device for part in parts for node in part.nodes)
        assert run.run([part.nodes for part in parts], choose) == expected
        assert set(run.ran) <= set(whole.ran)
        if candidate is nodes:
            assert sorted(run.ran) == sorted(whole.ran)
