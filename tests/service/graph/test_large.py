"""Large graphs end without a collection, and in pieces."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors, gc_pause
from tensorfleet_service.graph import large
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.graph.session_graph import SessionGraph
from tests.service.graphs import graph, graph_def
from tests.until import until

SECONDS = 30.0


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LARGE", 1)


CYCLE = """
    x = Placeholder()
    e = Enter(x) frame_name=b"f"
    m = Merge(e, n) N=2
    s = Neg(m)
    n = NextIteration(s)
    """


def test_nodes_lose_their_edges_and_end() -> None:
    nodes = list(graph("a = Placeholder()\nb = Neg(a)\nc = Neg(b; ^a)").nodes.values())
    first, last = nodes[0], nodes[-1]
    large.take_apart(nodes)
    assert not nodes
    assert not last.inputs
    assert not last.controls
    assert not first.inputs


def living(*ops: str) -> list[Node]:
    """The nodes of these ops in this process. Held, those that others have left stay to be counted."""
    return [each for each in gc.get_objects() if type(each) is Node and each.op in ops]


@pytest.mark.usefixtures("without_collections", "small")
def test_a_graph_with_a_loop_is_discarded() -> None:
    others = living("NextIteration")
    made = graph(CYCLE)
    assert len(living("NextIteration")) == len(others) + 1
    large.discard(made, (made.nodes,))
    until(lambda: len(living("NextIteration")) == len(others), SECONDS)


@pytest.mark.usefixtures("without_collections")
def test_loops_of_small_graphs_end_too() -> None:
    others = living("NextIteration")
    made = graph(CYCLE)
    large.discard(made, (made.nodes,))
    del made
    assert len(living("NextIteration")) == len(others)


@pytest.mark.usefixtures("without_collections")
def test_what_is_refused_ends() -> None:
    others = living("Neg")
    made = SessionGraph()
    rows = "\n".join(f"n{i} = Neg(n{i - 1})" for i in range(1, 50))
    with pytest.raises(errors.InvalidArgumentError):
        made.extend(graph_def(f"n0 = Placeholder()\n{rows}\nn7 = Neg(n6)"))
    assert not made.nodes
    assert len(living("Neg")) == len(others)


def test_it_is_done_on_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LARGE", 10)
    threads: list[int] = []
    take_apart = large.take_apart

    def noted(*nodes: Any) -> None:
        threads.append(threading.get_ident())
        take_apart(*nodes)

    monkeypatch.setattr(large, "take_apart", noted)
    for _ in range(3):
        nodes = list(graph("a = Placeholder()\nb = Neg(a)").nodes.values()) * 10
        large.discard(None, (nodes,))
        until(lambda left=nodes: not left, SECONDS)  # type: ignore[misc]
    assert len(threads) == 3
    assert threading.get_ident() not in threads
    few = list(graph("a = Placeholder()").nodes.values())
    large.discard(None, (few,))
    assert few


@pytest.mark.usefixtures("without_collections", "small")
@pytest.mark.parametrize("loops", [False, True])
def test_sessions_end_without_a_collection(loops: bool) -> None:
    """Their nodes, plans and kernels: what is left out of collections must not be kept by a cycle."""
    others = living("Square", "Less")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.square(x)
        if loops:
            y = tf.while_loop(lambda i: i < 100.0, tf.square, [y])
            y = tf.cond(y > 3.0, lambda: tf.square(y), lambda: y)
        session = tf.Session()
        assert session.run(y, {x: np.float32(2)}) > 3
        assert session.run(y, {x: np.float32(3)}) > 3
        session.close()
        del session
    until(lambda: len(living("Square", "Less")) == len(others), SECONDS)


@pytest.fixture
def leaving_out() -> Iterator[None]:
    gc_pause.leave_out()
    yield
    gc_pause.leave_out(False)


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("leaving_out", "small")
def test_what_is_left_out_is_looked_at_once_graphs_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_alive", {})  # without what other tests have left
    monkeypatch.setattr(large, "_ended", 0)
    collected: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == 2:
            collected.append(1)

    with gc_pause.paused():
        kept: list[Any] = [[i] for i in range(2 * gc_pause.MANY)]
        cycle = Cycle()
        found = weakref.ref(cycle)
    assert gc.get_freeze_count() > len(kept)
    del cycle
    gc.collect()
    assert found() is not None
    alive = SessionGraph()
    large.keep(alive, large.FEW + 1)
    gc.callbacks.append(note)
    try:
        other = graph("a = Placeholder()\nb = Neg(a)")
        large.discard(other, (other.nodes,))
        until(lambda: not other.nodes and not large._at_work.locked(), SECONDS)
        assert found() is not None
        large.discard(alive)
        until(lambda: found() is None, SECONDS)
        until(lambda: not large._at_work.locked(), SECONDS)
    finally:
        gc.callbacks.remove(note)
    assert collected
    assert gc.get_freeze_count() > len(kept)


@pytest.mark.usefixtures("leaving_out")
def test_what_is_left_out_is_looked_at_once_many_small_graphs_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large, "_alive", {})
    monkeypatch.setattr(large, "_ended", 0)
    with gc_pause.paused():
        kept: list[Any] = [[i] for i in range(2 * gc_pause.MANY)]
        cycle = Cycle()
        found = weakref.ref(cycle)
    del cycle

    def end_some() -> None:
        for _ in range(large.MANY_ENDED // 1000):
            made = SessionGraph()
            large.keep(made, 1000)
            large.discard(made)

    others = SessionGraph()
    large.keep(others, large.MANY_ENDED)
    end_some()
    end_some()
    until(lambda: not large._at_work.locked(), SECONDS)
    assert found() is not None  # what is alive is much beside what has ended
    end_some()
    end_some()
    end_some()
    until(lambda: found() is None, SECONDS)
    until(lambda: not large._at_work.locked(), SECONDS)
    assert large._ended < large.MANY_ENDED
    assert kept
