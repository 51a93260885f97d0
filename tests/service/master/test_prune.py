"""Pruning: which nodes a step runs, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tensorfleet.core import errors
from tensorfleet_service.graph.graph import Node, describe, is_back_edge
from tensorfleet_service.master.prune import prune
from tests.service.graphs import chain, graph

SMALL = """
    x = Placeholder()
    c = Const() value=1.0
    n = AddV2(x, c)
    init = NoOp()
    m = Mul(n, c; ^init)
    unused = Neg(m)
    axis = Const() dtype=int32 value=0
    s = Split(axis, m) num_split=2
    t = AddV2(s:1, s)
    after = NoOp(^x, ^t)
"""

LOOP = """
    zero = Const() dtype=int32 value=0
    ten = Const() dtype=int32 value=10
    enter = Enter(zero) frame_name=loop T=int32
    limit = Enter(ten) frame_name=loop is_constant=True T=int32
    merge = Merge(enter, next) N=2 T=int32
    less = Less(merge, limit) T=int32
    cond = LoopCond(less)
    switch = Switch(merge, cond) T=int32
    body = Identity(switch:1) T=int32
    one = Const(^body) dtype=int32 value=1
    add = AddV2(body, one) T=int32
    next = NextIteration(add) T=int32
    exit = Exit(switch) T=int32
"""


def check_order(nodes: list[Node]) -> None:
    """Everything that a node needs comes before it, and is among the nodes."""
    position = {node: i for i, node in enumerate(nodes)}
    assert len(position) == len(nodes)
    assert len({node.name for node in nodes}) == len(nodes)
    for node in nodes:
        assert len(node.inputs) == len(node.input_types)
        for source in [source for source, _ in node.inputs] + node.controls:
            assert is_back_edge(source, node) or position[source] < position[node], (source, node)


GOLDEN = {
    "fetch": (SMALL, ["x"], ["n:0"], []),
    "two_fetches": (SMALL, ["x:0"], ["m:0", "n", "m"], []),
    "feed_inside": (SMALL, ["n:0"], ["m"], []),
    "feed_one_output": (SMALL, ["n", "s:1"], ["t"], []),
    "fed_placeholder_runs_as_its_arg": (SMALL, ["x", "t"], [], ["after"]),
    "fed_constant_still_runs_for_controls": (SMALL, ["t", "x"], [], ["after", "x"]),
    "not_fed": (SMALL, [], ["n"], []),
    "loop": (LOOP, [], ["exit"], []),
    "loop_fed": (LOOP, ["ten"], [], ["exit", "less"]),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    text, feeds, fetches, targets = GOLDEN[case]
    session = graph(text)
    before = describe(session.nodes.values())
    nodes = prune(session, feeds, fetches, targets)
    check_order(nodes)
    golden(f"prune_{case}", describe(nodes))
    assert describe(session.nodes.values()) == before
    assert not set(nodes) & set(session.nodes.values())
    assert describe(prune(session, feeds, fetches, targets)) == describe(nodes)


BAD = {
    "feed": (["nope:0"], ["n"], [], errors.NotFoundError, "FeedInputs: unable to find feed output nope:0"),
    "feed no number": (
        ["x:a"],
        ["n"],
        [],
        errors.NotFoundError,
        "FeedInputs: unable to find feed output x:a",
    ),
    "feed output": (
        ["x:3"],
        ["n"],
        [],
        errors.InvalidArgumentError,
        "FeedInputs: x:3 should have output index < 1",
    ),
    "feed twice": (
        ["x:0", "x:0"],
        ["n"],
        [],
        errors.InvalidArgumentError,
        'Endpoint "x:0" fed more than once.',
    ),
    "fetch": ([], ["nope"], [], errors.NotFoundError, "FetchOutputs node nope: not found"),
    "fetch output": (
        [],
        ["n:4"],
        [],
        errors.InvalidArgumentError,
        "FetchOutputs n:4: output index too large, must be < 1",
    ),
    "fetch no output": (
        [],
        ["init:0"],
        [],
        errors.InvalidArgumentError,
        "Tried to fetch data for 'init:0', which produces no output.",
    ),
    "fetch fed": (["x:0"], ["x:0"], [], errors.InvalidArgumentError, "x:0 is both fed and fetched."),
    "target": (
        [],
        [],
        ["nope", "n", "no"],
        errors.NotFoundError,
        "PruneForTargets: Some target nodes not found: nope no",
    ),
    "nothing": (["x"], [], [], errors.InvalidArgumentError, "Must specify at least one target"),
}


@pytest.mark.parametrize("case", BAD)
def test_unknown_names_are_refused_with_tensorflows_words(case: str) -> None:
    feeds, fetches, targets, error, message = BAD[case]
    with pytest.raises(error) as caught:
        prune(graph(SMALL), feeds, fetches, targets)
    assert caught.value.message.startswith(message)


def test_a_fed_value_is_no_reference() -> None:
    session = graph("v = VariableV2()\nc = Const() value=1.0\na = Assign(v, c)\nr = Identity(v)")
    assert describe(prune(session, ["v"], ["r"], [])).startswith(
        "_arg_v_0_0 = _Arg()\nr = Identity(_arg_v_0_0)\n"
    )
    with pytest.raises(errors.InvalidArgumentError, match="incompatible with expected float_ref"):
        prune(session, ["v"], ["a"], [])


def test_feeds_and_fetches_carry_position_and_type() -> None:
    session = graph("v = VariableV2() dtype=int32\nx = Placeholder() dtype=int32\nn = AddV2(v, x) T=int32")
    nodes = {
        node.op: node
        for node in prune(session, ["n", "x"], ["v", "v"], []) + prune(session, ["v", "x"], ["n"], [])
    }
    assert nodes["_Arg"].attrs["T"].name == "int32"
    assert nodes["_Arg"].attrs["index"] == 1
    assert nodes["_Retval"].attrs["T"].name == "int32"
    positions = [n.attrs["index"] for n in prune(session, [], ["v", "n", "v"], []) if n.op == "_Retval"]
    assert positions == [0, 1, 2]


def test_sources_come_late() -> None:
    """Each constant comes next to its use, so that few values live at a time."""
    text = "s0 = Const() value=0.0\n"
    text += "".join(f"c{i} = Const() value=1.0\n" for i in range(1, 50))
    text += "".join(f"s{i} = AddV2(s{i - 1}, c{i})\n" for i in range(1, 50))
    names = [node.name for node in prune(graph(text), [], ["s49"], [])]
    assert names[:5] == ["s0", "c1", "s1", "c2", "s2"]


def test_a_chain_of_a_hundred_thousand_ops() -> None:
    count = 100_000
    session = chain(count)
    nodes = prune(session, ["x"], [f"s{count - 1}"], [])
    assert [node.name for node in nodes] == [
        "_arg_x_0_0",
        *(f"s{i}" for i in range(count)),
        f"_retval_s{count - 1}_0_0",
    ]
    assert len(prune(session, [f"s{count - 2}", "x"], [f"s{count - 1}"], [])) == 4
