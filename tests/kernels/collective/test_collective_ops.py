"""Collectives' kernels on the devices of one task, in the host's memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.registry import AsyncKernel, make_kernel
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.pool import Pool
from tensorfleet_service.worker.collectives.service import Collectives
from tests.kernels.harness import make_node

TASK = "/job:localhost/replica:0/task:0"
KEYS: dict[str, Any] = {"group_size": 2, "group_key": 1, "instance_key": 2}
REDUCED: dict[str, Any] = {"merge_op": "Add", "final_op": "Id", "subdiv_offsets": [0]}


@pytest.fixture
def resources() -> Iterator[Resources]:
    pool = Pool("test")
    collectives = Collectives(TASK, 1, pool)
    yield Resources(collectives)
    assert not len(collectives)
    collectives.close()
    pool.close()


def member(rank: int, resources: Resources, op: str, *inputs: Any, **attrs: Any) -> Any:
    """The result of one device's kernel."""
    node, values = make_node(op, *inputs, resources=resources, **attrs)
    kernel = make_kernel(replace(node, device=f"{TASK}/device:CPU:{rank}"))
    assert isinstance(kernel, AsyncKernel)
    return kernel.function(*values)


def result(future: Future) -> Any:
    done = Event()
    if future.start(lambda _: done.set()):
        assert done.wait(10)
    return future.result()


def test_a_sum_is_that_of_both_members(resources: Resources) -> None:
    x = np.array([1.0, 2.0], np.float32)
    futures = [
        member(i, resources, "CollectiveReduce", x, T=dtypes.float32, **KEYS, **REDUCED) for i in range(2)
    ]
    for future in futures:
        assert result(future).tolist() == [2.0, 4.0]


def test_a_group_of_one_gets_its_own_value(resources: Resources) -> None:
    keys = {**KEYS, "group_size": 1}
    x = np.array([[1, -2]], np.int32)
    divided = {**REDUCED, "final_op": "Div"}
    assert member(0, resources, "CollectiveReduce", x, **keys, **divided).tolist() == x.tolist()
    assert member(0, resources, "CollectiveGather", x, **keys, shape=[0]).tolist() == x.tolist()
    assert member(0, resources, "CollectiveBcastSendV2", x, 1, 1, 1).tolist() == x.tolist()


def test_a_member_that_leaves_is_forgotten(resources: Resources) -> None:
    x = np.zeros(2, np.float32)
    first = member(0, resources, "CollectiveReduce", x, **KEYS, **REDUCED)
    first.cancel()
    collectives = resources.collectives
    assert collectives is not None
    assert not len(collectives)
    # Nobody meets it any more.
    second, third = (member(i, resources, "CollectiveReduce", x + i, **KEYS, **REDUCED) for i in range(2))
    assert result(second).tolist() == result(third).tolist() == [1.0, 1.0]


def test_a_member_that_leaves_lets_the_others_go(resources: Resources) -> None:
    keys, x = {**KEYS, "group_size": 3}, np.zeros(2, np.float32)
    first, second = (member(i, resources, "CollectiveReduce", x, **keys, **REDUCED) for i in range(2))
    first.cancel()
    with pytest.raises(errors.AbortedError, match="device:CPU:0 has ended before"):
        result(second)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        ("CollectiveReduceV2", ([1.0], 0, 1, 1), {"merge_op": "Add", "final_op": "Id"}, "must be positive"),
        (
            "CollectiveReduceV2",
            ([1.0], [2], 1, 1),
            {"merge_op": "Add", "final_op": "Id"},
            "group_size must be",
        ),
        ("CollectiveGatherV2", (1.0, 2, 1, 1), {}, "rank 0 cannot be gathered"),
        ("CollectiveBcastSend", ([1.0],), {**KEYS, "shape": [2]}, "was declared"),
        ("CollectiveBcastRecvV2", (2, 1, 1, [-1]), {"T": dtypes.float32}, "must be fully known"),
    ],
)
def test_what_is_refused(
    resources: Resources, op: str, inputs: Any, attrs: dict[str, Any], message: str
) -> None:
    lists: list[Any] = [[]] if op in ("CollectiveReduceV2", "CollectiveGatherV2") else []
    with pytest.raises(errors.InvalidArgumentError, match=message):
        member(0, resources, op, *inputs, *lists, **attrs)


def test_a_receiver_whose_shape_is_unknown_is_refused(resources: Resources) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="must be fully known"):
        member(0, resources, "CollectiveBcastRecv", T=dtypes.float32, shape=[None], **KEYS)
