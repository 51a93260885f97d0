"""Rings without connections, for all shapes of groups; who leads; what members must agree on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet_service.collectives import ring
from tensorfleet_service.collectives.call import Call, Verb
from tensorfleet_service.collectives.ring import Ring
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.worker.collectives.leader import Leader, choose

COUNTS = [(1, 1), (1, 1, 1), (2, 1), (3,), (1, 2, 1, 3)]
SIZES = [0, 1, 2, 5, 7, 64]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks in each segment, the last of them shorter."""
    monkeypatch.setattr(ring, "CHUNK_BYTES", 24)


def call(kind: str, values: Sequence[Any], merge_op: str = "Add", final_op: str = "Id") -> Call:
    first = next(value for value in values if value is not None)
    return Call(
        kind,
        "CollectiveReduce",
        "node",
        "/job:worker/replica:0/task:0/device:CPU:0",
        len(values),
        1,
        2,
        first.dtype.name,
        first.shape,
        merge_op,
        final_op,
        False,
        1.0,
    )


def run(kind: str, values: Sequence[Any], counts: Sequence[int], **ops: str) -> list[Any]:
    """The result of each task; chunks arrive in any order."""
    source = next(
        task
        for task in range(len(counts))
        if any(value is not None for value in values[sum(counts[:task]) : sum(counts[: task + 1])])
    )
    under_way: list[tuple[int, int, Any]] = []
    ended: list[Ring] = []
    rings: list[Ring] = []
    for task in range(len(counts)):
        own = list(values[sum(counts[:task]) : sum(counts[: task + 1])])

        def send(round_id: int, number: int, array: Any, task: int = task) -> None:
            # As the connection does: what is sent arrives in memory of its own.
            under_way.append(((task + 1) % len(counts), number, array.copy()))

        rings.append(Ring(7, call(kind, values, **ops), task, counts, source, own, send, ended.append))
    order = random.Random(len(values))
    late = rings.pop() if len(rings) > 1 else None  # its chunks come before it begins
    for each in rings:
        each.begin()
    everyone = [*rings, late] if late is not None else rings
    begun = late is None
    while under_way or not begun:
        if not begun and (not under_way or order.random() < 0.1):
            assert late is not None
            late.begin()
            begun = True
            continue
        task, number, array = under_way.pop(order.randrange(len(under_way)))
        everyone[task].receive(number, array)
    assert sorted(map(id, ended)) == sorted(map(id, everyone))
    return [each.result for each in everyone]


def members(count: int, dims: tuple[int, ...], dtype: Any) -> list[Any]:
    source = np.random.default_rng(count)
    return [(source.standard_normal(dims) * 5).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_reduction(counts: tuple[int, ...], size: int) -> None:
    values = members(sum(counts), (size,), np.float64)
    results = run("reduce", values, counts)
    np.testing.assert_allclose(results[0], np.sum(values, 0), rtol=1e-12)
    for result in results:
        assert result.dtype == np.float64
        assert result.tobytes() == results[0].tobytes()


@pytest.mark.parametrize(
    ("merge_op", "function"),
    [("Add", np.add), ("Mul", np.multiply), ("Min", np.minimum), ("Max", np.maximum)],
)
@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int32, np.int64, ml_dtypes.bfloat16], ids=str
)
def test_merge_ops_and_dtypes(merge_op: str, function: Any, dtype: Any) -> None:
    values = members(3, (3, 5), dtype)
    results = run("reduce", values, (1, 1, 1), merge_op=merge_op)
    # Each segment is added up from its own task on, around the ring.
    flat = [value.reshape(-1) for value in values]
    expected = np.empty(15, dtype)
    for segment in range(3):
        part = slice(segment * 5, segment * 5 + 5)
        first, second, third = (flat[(segment + i) % 3][part] for i in range(3))
        expected[part] = function(function(first, second), third)
    for result in results:
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected.reshape(3, 5))


def test_integers_are_divided_towards_zero() -> None:
    values = [np.array([-7, -6, 7, 6, 0], np.int32), np.zeros(5, np.int32)]
    for result in run("reduce", values, (1, 1), final_op="Div"):
        assert result.dtype == np.int32
        assert result.tolist() == [-3, -3, 3, 3, 0]
    (result,) = run("reduce", values, (2,), final_op="Div")
    assert result.tolist() == [-3, -3, 3, 3, 0]


def test_scalars_stay_scalars() -> None:
    for result in run("reduce", [np.float32(1.5), np.float32(2.5)], (1, 1), final_op="Div"):
        assert isinstance(result, np.float32)
        assert result == 2.0


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("dims", [(0,), (1,), (4, 3), (2, 0)], ids=str)
def test_gathering(counts: tuple[int, ...], dims: tuple[int, ...]) -> None:
    values = members(sum(counts), dims, np.float32)
    for result in run("gather", values, counts):
        np.testing.assert_array_equal(result, np.concatenate(values))


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_broadcast(counts: tuple[int, ...], size: int) -> None:
    value = np.arange(size, dtype=np.int64)
    for sender in range(sum(counts)):
        values: list[Any] = [None] * sum(counts)
        values[sender] = value
        for result in run("broadcast", values, counts):
            np.testing.assert_array_equal(result, value)


def test_inputs_do_not_change() -> None:
    values = members(4, (9,), np.float32)
    before = [value.copy() for value in values]
    run("reduce", values, (2, 2))
    for value, old in zip(values, before, strict=True):
        np.testing.assert_array_equal(value, old)


@pytest.mark.parametrize(
    ("number", "array"),
    [(1 << 20, np.zeros(3)), (0, np.zeros(2)), (0, np.zeros(3, np.float32))],
    ids=["no such chunk", "wrong size", "wrong dtype"],
)
def test_a_wrong_chunk_is_refused(number: int, array: Any) -> None:
    each = Ring(7, call("reduce", [np.zeros(12)] * 2), 0, (1, 1), 0, [np.zeros(12)], lambda *_: None, print)
    each.begin()
    with pytest.raises(errors.InternalError, match="group_key 1 and instance_key 2"):
        each.receive(number, array)


def test_an_ended_ring_takes_no_more() -> None:
    ended: list[Ring] = []
    each = Ring(
        7, call("reduce", [np.zeros(1)] * 2), 0, (1, 1), 0, [np.zeros(1)], lambda *_: None, ended.append
    )
    each.begin()
    each.end()
    each.receive(1, np.zeros(1))
    assert not ended


def test_members_are_told_what_they_do_not_agree_on() -> None:
    first = call("reduce", [np.zeros((2, 3), np.float32)] * 2)
    other = call("reduce", [np.zeros((2, 4), np.float32)] * 2)
    text = first.difference(other)
    assert "shape [2, 3]" in text
    assert "[2, 4]" in text
    assert not first.difference(first)
    assert Call.from_dict(first.to_dict()) == first


TASKS = ["/job:ps/replica:0/task:0", *(f"/job:worker/replica:0/task:{i}" for i in (10, 2))]


@pytest.mark.parametrize(
    ("tasks", "configured", "chosen"),
    [
        (TASKS, "", TASKS[2]),
        (TASKS, "/job:worker/task:10", TASKS[1]),
        ([*TASKS, "/job:chief/replica:0/task:0"], "", "/job:chief/replica:0/task:0"),
        (["/job:b/replica:0/task:0", "/job:a/replica:0/task:1"], "", "/job:a/replica:0/task:1"),
    ],
)
def test_leader(tasks: list[str], configured: str, chosen: str) -> None:
    assert choose(tasks, configured) == chosen


def test_leader_that_is_no_task() -> None:
    with pytest.raises(
        errors.InvalidArgumentError, match="collective_group_leader /job:x/task:0 is not a task"
    ):
        choose(TASKS, "/job:x/task:0")


@pytest.mark.parametrize(
    "tensors",
    [(), (np.ones(3, np.float32),), (np.ones(2),), (np.ones(2, np.float32),) * 2],
    ids=["none", "shape", "dtype", "two"],
)
def test_what_comes_with_a_request_to_join_must_be_what_it_says(tensors: tuple[Any, ...]) -> None:
    """The shape and dtype of the request are those that the members have been compared by."""
    deadlines = Deadlines()
    leader = Leader(
        lambda *_: None, ("/job:worker/task:0", 1), deadlines, lambda *_: None, lambda _: True, lambda: []
    )
    request = call("reduce", [np.ones(2, np.float32)] * 2).to_dict()
    try:
        with pytest.raises(ValueError, match="a request to join a collective came with"):
            leader.receive(None, Verb.JOIN, 1, {"call": request, "known": [], "after": None}, tensors)
        assert len(leader) == 0
        fields = {"call": request, "known": [], "after": None}
        leader.receive(None, Verb.JOIN, 1, fields, (np.ones(2, np.float32),))
        assert len(leader) > 0
    finally:
        deadlines.close()
