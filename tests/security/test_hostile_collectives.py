"""Collectives: clients whose times no clock takes, and tasks that send what no task sends."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core import dtypes
from tensorfleet.security.settings import Security
from tensorfleet.wire.frames import Kind, encode
from tensorfleet.wire.hello import say_hello
from tensorfleet.wire.reader import Reader
from tensorfleet_service.collectives.call import Call, Verb
from tensorfleet_service.net import limits
from tensorfleet_service.server import TaskServer
from tests.ports import free_ports
from tests.security.conftest import MakeTasks
from tests.security.test_between_tasks import addresses, open_socket
from tests.security.test_hostile_functions import Hostile, Stranger
from tests.until import until

SECONDS = 20.0
PS = "/job:ps/replica:0/task:0"
DEVICE = f"{PS}/device:CPU:0"


@pytest.fixture
def leader() -> Iterator[TaskServer]:
    """A worker, which leads its cluster's collectives; the ps beside it is whoever says so."""
    ports = iter(free_ports(2))
    spec = ClusterSpec({job: [f"127.0.0.1:{next(ports)}"] for job in ("ps", "worker")})
    server = TaskServer(spec, "worker", 0)
    server.start()
    yield server
    server.stop(1)


def collective(key: int, seconds: float) -> Hostile:
    """A graph whose `y` waits for a member that does not come."""
    made = Hostile()
    made.node(
        "y",
        "CollectiveReduce",
        ["x"],
        {
            **{"T": dtypes.float32, "group_size": 2, "group_key": key, "instance_key": key},
            **{"merge_op": b"Add", "final_op": b"Id", "subdiv_offsets": [0], "wait_for": []},
            **{"communication_hint": b"auto", "timeout_seconds": seconds},
        },
    )
    return made


@pytest.mark.parametrize("seconds", [float("inf"), 1e30, float("nan")])
def test_a_member_that_waits_for_ever_keeps_no_other_from_giving_up(tasks: MakeTasks, seconds: float) -> None:
    stranger = Stranger(tasks({"worker:0": Security()})["worker:0"].address)
    try:
        with pytest.raises(grpc.RpcError):
            stranger.run(collective(1, seconds).graph, seconds=1.0)
        with pytest.raises(grpc.RpcError, match="has waited") as late:
            stranger.run(collective(2, 0.5).graph, seconds=SECONDS)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    finally:
        stranger.channel.close()


def call(**other: Any) -> dict[str, Any]:
    made = Call("reduce", "CollectiveReduce", "c", DEVICE, 2, 1, 1, "float32", (1,), "Add", "Id", False, 5.0)
    return made.to_dict() | other


def join(**other: Any) -> dict[str, Any]:
    return {"call": call(), "known": [], "after": None, "record": 1, "step": 1} | other


ONE = [np.float32([1])]
MESSAGES: list[tuple[int, Any, list[Any]]] = [
    *((verb, {}, []) for verb in (*Verb, 0, 99, 1 << 31)),
    *(
        (verb, raw, [])
        for verb in Verb
        for raw in (b"[]", b"{", b"[" * 100_000, b"1", b"\xff", b'{"a":' * 5000)
    ),
    *(
        (Verb.JOIN, join(call=call(seconds=s)), ONE)
        for s in (1e308, float("nan"), float("inf"), -1, "x", None)
    ),
    *((Verb.JOIN, join(call=call(group_size=n)), ONE) for n in (0, -1, 1, 1 << 70, "2", 1.5, None, [])),
    *(
        (Verb.JOIN, join(call=call(shape=s)), ONE)
        for s in ([1 << 62, 1 << 62], [-1], ["1"], [0], [[1]], None)
    ),
    *(
        (Verb.JOIN, join(call=call(dtype=d)), ONE)
        for d in ("O", "f8," * 1000, "nothing", 7, None, "V4000000000")
    ),
    *((Verb.JOIN, join(call=call(merge_op=o, group_size=1)), ONE) for o in ("Sub", "", None, 1)),
    *((Verb.JOIN, join(call=call(kind=k, group_size=1)), ONE) for k in ("", "broadcast", "other", None)),
    *(
        (Verb.JOIN, join(call=call(device=d, group_size=1)), ONE)
        for d in ("", "x", None, [], "/job:ps" * 1000)
    ),
    *((Verb.JOIN, join(call=call(group_key=k)), ONE) for k in ([], {}, None, "1", 1 << 100)),
    (Verb.JOIN, join(call=call(other=1)), ONE),
    (Verb.JOIN, join(call={}), ONE),
    (Verb.JOIN, join(), []),
    (Verb.JOIN, join(), [np.zeros(1 << 20, np.float32)]),
    (Verb.JOIN, join(known=[["x", 1]] * 10_000), ONE),
    (Verb.JOIN, join(known="x"), ONE),
    (Verb.JOIN, join(known=[[1]]), ONE),
    (Verb.JOIN, join(after=[1]), ONE),
    (Verb.JOIN, join(step="x", record=[]), ONE),
    *(
        (Verb.LATE, join(base=b, rounds=1, age=a), ONE)
        for b in (0, 1, "x", 1 << 80)
        for a in (0, -1, 1e308, "x")
    ),
    (Verb.LEAVE, {"code": 99, "text": "x"}, []),
    (Verb.LEAVE, {"code": "x", "text": [1], "ask": "x"}, []),
    (Verb.LEAVE, {"ask": 1 << 70}, []),
    (Verb.START, {"joins": [1], "tasks": [], "members": [], "position": 5, "counts": [], "source": 9}, []),
    (Verb.START, {"joins": [], "tasks": [[PS, 1]], "members": [], "position": -1, "counts": [1 << 60]}, []),
    (Verb.RESULT, {"joins": [1, 2, "3"], "members": [[PS, 1]]}, ONE),
    (Verb.RESULT, {"joins": list(range(10_000)), "members": []}, ONE),
    (Verb.FAIL, {"joins": [1], "code": 1 << 40, "text": "x"}, []),
    (Verb.FAIL, {"joins": [[]], "code": 1, "text": "x"}, []),
    (Verb.STOPPED, {"group_key": [], "instance_key": {}, "device": 1, "text": 2}, []),
    (Verb.STOPPED, {"group_key": 1, "instance_key": 1, "device": "x", "text": "y" * 1_000_000}, []),
    (Verb.VOID, {"base": "x"}, []),
    (
        Verb.UNDONE,
        {"key": [1, 1], "step": 0, "code": 10, "text": "x", "ask": 1, "tasks": [[PS, 1]] * 1000},
        [],
    ),
    (Verb.UNDONE, {"key": [1], "step": "x", "code": None, "text": 1}, []),
    (Verb.UNDONE, {"key": [1, 2, 3], "step": 1 << 100, "code": -5, "text": "x", "ask": -1}, []),
]


class Ps:
    """A connection that says to be the ps."""

    incarnation = 0

    def __init__(self, leader: TaskServer) -> None:
        Ps.incarnation += 1
        self.sock = open_socket([addresses(leader)[-1]], 5).__enter__()
        self.sock.settimeout(SECONDS)
        say_hello(self.sock, Reader(self.sock), {"task": PS, "incarnation": Ps.incarnation})

    def says(
        self, verb: int, number: int, meta: bytes, tensors: list[Any], kind: Kind = Kind.COLLECTIVE
    ) -> None:
        parts = encode(kind, number, verb, meta, tensors)
        with contextlib.suppress(OSError):  # it has been given up already
            for part in parts:
                self.sock.sendall(part)


def test_messages_that_no_task_sends(leader: TaskServer, caplog: pytest.LogCaptureFixture) -> None:
    """They end their connection, if anything; what they have begun ends with it."""
    collectives = leader._worker.collectives
    for verb, fields, tensors in MESSAGES:
        meta = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        ps = Ps(leader)
        ps.says(verb, 1, meta, tensors)
        ps.says(verb, 1, meta, tensors)  # and once more
        ps.sock.close()
    began = time.monotonic()
    until(lambda: leader._peers.existing(PS) is None, SECONDS)
    until(lambda: len(collectives) == 0, SECONDS)
    assert time.monotonic() - began < SECONDS
    assert collectives._records._lock.acquire(timeout=SECONDS)
    collectives._records._lock.release()
    unexpected = {repr(record.exc_info[1]) for record in caplog.records if record.exc_info}
    assert not unexpected
    expired: list[int] = []
    collectives._deadlines.after(0.05, lambda: expired.append(1))
    until(lambda: expired, SECONDS)


def test_chunks_of_rounds_that_there_are_not(leader: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many are kept up to a limit, and go with their number."""
    monkeypatch.setattr(limits, "MAX_EARLY_BYTES", 1 << 20)
    early = leader._worker.collectives._records.early
    ps = Ps(leader)
    for number in range(3000):
        ps.says(number, number, b"", [np.zeros(256, np.float32)], Kind.CHUNK)
    until(lambda: len(early) > 0, SECONDS)
    until(lambda: leader._peers.existing(PS) is not None, SECONDS)
    with leader._worker.collectives._records.locked():  # a chunk counts before another makes room for it
        assert early._bytes <= 1 << 20
    ps.sock.close()
