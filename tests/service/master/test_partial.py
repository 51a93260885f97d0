"""Sessions on one task that computes: metadata and partial runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet.proto.config_pb2 import ConfigProto, RunMetadata, RunOptions
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember
from tensorfleet_service.master.partial import PartialRuns
from tensorfleet_service.master.signature import MasterSignature
from tensorfleet_service.net import limits
from tensorfleet_service.worker.worker import Worker
from tests.service.graphs import const, graph_def

TIMEOUT = 20.0


class Local:
    """A session on one task that computes, on two devices."""

    def __init__(self, text: str) -> None:
        task = "/job:worker/replica:0/task:0"
        self.worker = Worker(task, task_devices(task, 1, 2, 0), 1)
        self.master = Master(lambda handle, config: [LocalMember(self.worker, handle, False)], lambda _: None)
        self.session = self.master.create_session(graph_def(text), ConfigProto())
        self.partial = PartialRuns(self.session)

    def run(self, feeds: dict[str, Any], fetches: Sequence[str], targets: Sequence[str] = ()) -> list[Any]:
        signature = self.session.prepare(tuple(feeds), tuple(fetches), tuple(targets))
        return self._wait(lambda done: self.session.start(signature, list(feeds.values()), done))

    def part(self, handle: str, feeds: dict[str, Any], fetches: Sequence[str]) -> list[Any]:
        return self._wait(lambda done: self.partial.run(handle, feeds, fetches, done))

    def _wait(self, start: Callable[[Any], Any]) -> list[Any]:
        ended = threading.Event()
        result: list[Any] = []

        def done(error: errors.OpError | None, values: Sequence[Any]) -> None:
            result.extend((error, list(values)))
            ended.set()

        start(done)
        assert ended.wait(TIMEOUT)
        if result[0] is not None:
            raise result[0]
        return result[1]  # type: ignore[no-any-return]


def test_metadata_of_a_step() -> None:
    local = Local("x = Placeholder()\na = Neg(x)\nb = Neg(a) @ /cpu:1")
    signature = local.session.prepare(("x",), ("b",), ())
    metadata = RunMetadata()
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)
    ended = threading.Event()
    local.master.run_step(
        local.session, signature, [np.float32(1)], lambda *_: ended.set(), options, metadata
    )
    assert ended.wait(TIMEOUT)
    assert len(metadata.partition_graphs) == 2
    assert len(metadata.step_stats.dev_stats) == 2
    local.worker.close()


PARTIAL = f"""
    x = Placeholder()
    y = Placeholder()
    z = Placeholder()
    c = {const(10, "float32")}
    v = VariableV2() shape=()
    init = Assign(v, c)
    inc = AssignAdd(v, c)
    counted = Identity(inc)
    a = AddV2(x, counted)
    b = Mul(a, y)
    late = AddV2(b, z; ^counted)
    """


@pytest.fixture
def local() -> Any:
    made = Local(PARTIAL)
    made.run({}, [], ["init"])
    yield made
    made.worker.close()


FEEDS = ["x:0", "y:0", "z:0"]
F = np.float32


def test_a_partial_run(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0", "late:0"], [])
    assert local.part(handle, {"x:0": F(1)}, ["a:0"]) == [21]
    assert local.part(handle, {"y:0": F(2)}, ["b:0"]) == [42]
    assert local.part(handle, {"z:0": F(3)}, ["late:0"]) == [45]
    assert local.run({}, ["v"]) == [20]  # what has state ran once
    with pytest.raises(errors.InvalidArgumentError, match="Must run 'setup'"):
        local.part(handle, {}, ["a:0"])


def test_several_fetches_in_one_part(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0", "late:0"], ["counted"])
    assert local.part(handle, {"y:0": F(2), "x:0": F(1)}, ["b:0", "a:0"]) == [42, 21]
    assert local.part(handle, {"z:0": F(3)}, ["late:0"]) == [45]
    assert local.run({}, ["v"]) == [20]


def test_a_reference_that_an_earlier_part_made(local: Local) -> None:
    """A part that uses the reference of an assignment does not assign again."""
    local.session.extend(graph_def_over(local, "next = AddV2(inc, x)"))
    handle = local.partial.setup(FEEDS, ["counted:0", "next:0"], [])
    assert local.part(handle, {}, ["counted:0"]) == [20]
    assert local.part(handle, {"x:0": F(1)}, ["next:0"]) == [21]
    assert local.run({}, ["v"]) == [20]


def test_the_parts_come_in_another_order_than_their_values(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0", "inc:0"], [])
    assert local.part(handle, {"y:0": F(2), "x:0": F(1)}, ["b:0"]) == [42]
    assert local.part(handle, {}, ["a:0"]) == [21]
    assert local.part(handle, {}, ["inc:0"]) == [20]
    assert local.run({}, ["v"]) == [20]


def test_an_output_of_several_is_fed_later(local: Local) -> None:
    local.session.extend(
        graph_def_over(local, "s = IdentityN(x, y) T=float32,float32\np = Neg(s:1)\nq = Neg(s)", 3)
    )
    handle = local.partial.setup(["x:0", "y:0", "s:1"], ["q:0", "p:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match="is missing"):
        local.part(handle, {}, ["p:0"])
    assert local.part(handle, {"s:1": F(5)}, ["p:0"]) == [-5]  # the refused part changed nothing
    assert local.part(handle, {"x:0": F(1), "y:0": F(2)}, ["q:0"]) == [-1]


def graph_def_over(local: Local, lines: str, count: int = 1) -> Any:
    """The message for some more nodes over those of the partial graph."""
    definition = graph_def(PARTIAL + lines)
    del definition.node[:-count]
    return definition


def test_partial_runs_do_not_meet(local: Local) -> None:
    one = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    other = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    assert local.part(one, {"x:0": F(1)}, ["a:0"]) == [21]
    assert local.part(other, {"x:0": F(2)}, ["a:0"]) == [32]
    assert local.part(one, {"y:0": F(2)}, ["b:0"]) == [42]
    assert local.part(other, {"y:0": F(2)}, ["b:0"]) == [64]


@pytest.mark.parametrize(
    ("feeds", "fetches", "message"),
    [
        ({"c:0": F(1)}, ["a:0"], r"feed c:0 was not specified in partial_run_setup\.$"),
        ({"x:0": F(1)}, ["late:0"], r"fetch late:0 was not specified in partial_run_setup\.$"),
        ({"y:0": F(1)}, ["a:0"], "x:0 is missing"),
    ],
)
def test_wrong_parts(local: Local, feeds: dict[str, Any], fetches: list[str], message: str) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    with pytest.raises(errors.InvalidArgumentError, match=message):
        local.part(handle, feeds, fetches)


def test_names_are_used_once(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    local.part(handle, {"x:0": F(1)}, ["a:0"])
    with pytest.raises(errors.InvalidArgumentError, match=r"The feed x:0 has already been fed\.$"):
        local.part(handle, {"x:0": F(1)}, ["b:0"])
    with pytest.raises(errors.InvalidArgumentError, match=r"The fetch a:0 has already been fetched\.$"):
        local.part(handle, {"y:0": F(1)}, ["a:0"])


def test_a_failed_part_ends_the_partial_run(local: Local) -> None:
    handle = local.partial.setup(FEEDS, ["a:0", "b:0"], [])
    local.part(handle, {"x:0": np.ones(3, F)}, ["a:0"])
    with pytest.raises(errors.InvalidArgumentError, match="Incompatible shapes"):
        local.part(handle, {"y:0": np.ones(2, F)}, ["b:0"])
    with pytest.raises(errors.InvalidArgumentError, match=r"Incompatible shapes|not specified|setup"):
        local.part(handle, {}, ["b:0"])


def test_an_unknown_name_in_a_setup(local: Local) -> None:
    with pytest.raises(errors.NotFoundError, match="nothing"):
        local.partial.setup([], ["nothing:0"], [])


def test_a_signature_says_what_it_is_for(local: Local) -> None:
    signature: MasterSignature = local.session.prepare(("x",), ("a", "counted"), ())
    assert (signature.feeds, signature.fetches) == (1, 2)
    assert signature.key == (("x",), ("a", "counted"), (), frozenset())


@pytest.mark.parametrize("limit", ["MAX_OPEN_RUNS", "MAX_OPEN_RUN_NODES"])
def test_open_runs_are_bounded(local: Local, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are dropped; those that have ended do not count."""

    def open_run() -> str:
        return local.partial.setup(FEEDS, ["a:0", "b:0"], [])

    def end(handle: str) -> None:
        local.part(handle, {"x:0": np.ones(3, F), "y:0": np.ones(3, F)}, ["a:0", "b:0"])

    first = open_run()
    size = local.partial._nodes
    end(first)
    assert local.partial._nodes == 0
    monkeypatch.setattr(limits, limit, 2 if limit == "MAX_OPEN_RUNS" else 2 * size)
    handles = [open_run() for _ in range(3)]
    assert local.partial._nodes == 2 * size
    with pytest.raises(errors.InvalidArgumentError, match="setup"):
        end(handles[0])
    for handle in handles[1:]:
        end(handle)
    monkeypatch.setattr(limits, limit, 0)
    end(open_run())  # the latest is always kept
    assert local.partial._nodes == 0
