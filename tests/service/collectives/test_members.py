"""Members of collectives whose leader is another task, which a connection stands for that sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors
from tensorfleet.wire.frames import Frame, Kind
from tensorfleet_service.collectives.call import Call, Verb, pack
from tensorfleet_service.collectives.standing import Standing
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.pool import Pool
from tensorfleet_service.worker.collectives.service import Collectives
from tests.cluster.together import soon
from tests.service.collectives.test_collectives import call

HERE, LEADER = (f"/job:worker/replica:0/task:{i}" for i in (0, 1))
X = np.ones(2, np.float32)


class SilentPeer(Peer):
    """Keeps what it is told, or has no memory to send it."""

    def __init__(self, error: errors.OpError | None) -> None:
        self.told: list[tuple[int, int]] = []
        self.error = error
        self.task, self.incarnation = LEADER, 1

    def tell(self, kind: Kind, number: int, detail: int, *rest: Any) -> None:
        if self.error is not None:
            raise self.error
        self.told.append((detail, number))


class OneConnection:
    """The way to the leader, whose connection has to be made first, or is there."""

    silence = 0.0
    addresses = (HERE, LEADER)

    def __init__(self, peer: Peer, is_there: bool) -> None:
        self.peer, self.is_there = peer, is_there

    def existing(self, task: str) -> Peer | None:
        return self.peer if self.is_there else None

    def get(self, task: str, seconds: float) -> Peer:
        return self.peer


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool("test")
    yield made
    made.close()


def begun(
    pool: Pool, request: Call, is_there: bool, error: errors.OpError | None = None
) -> tuple[Collectives, SilentPeer, Future]:
    peer = SilentPeer(error)
    collectives = Collectives(HERE, 1, pool)
    peers: Any = OneConnection(peer, is_there)
    collectives.connect(peers, LEADER)
    group = collectives.group(request.device, request.group_key)
    return collectives, peer, collectives.join(request, X, group)


def outcome(future: Future) -> Any:
    done = Event()
    if future.start(lambda _: done.set()):
        assert done.wait(10)
    return future.result()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_member_whose_tensor_cannot_be_sent_does_not_wait_for_the_others(
    pool: Pool, is_there: bool
) -> None:
    error = errors.ResourceExhaustedError(None, None, "Out of memory while a tensor is sent")
    request = call("reduce", [X, X])
    collectives, _, future = begun(pool, request, is_there, error)
    try:
        with pytest.raises(errors.ResourceExhaustedError, match="Out of memory"):
            outcome(future)
        assert not len(collectives)
    finally:
        collectives.close()


@pytest.mark.parametrize("kind", ["reduce", "gather"])
@pytest.mark.parametrize(
    "result", [np.ones(3, np.float32), np.ones((2, 2), np.float32), np.ones(2), np.ones(4)]
)
def test_a_result_that_is_none_of_the_collective_is_not_handed_on(pool: Pool, kind: str, result: Any) -> None:
    """The step's plan was made for tensors of the collective's dtype and shape."""
    collectives, peer, future = begun(pool, call(kind, [X, X]), is_there=True)
    fields = {"joins": [1], "members": [[f"{task}/device:CPU:0", 1] for task in (HERE, LEADER)]}
    try:
        collectives.receive(peer, Frame(Kind.COLLECTIVE, 0, 7, Verb.RESULT, pack(fields), (result,)))
        with pytest.raises(errors.InternalError, match="has a result float"):
            outcome(future)
    finally:
        collectives.close()


@pytest.mark.parametrize("kind", ["reduce", "gather"])
def test_a_result_reaches_the_member(pool: Pool, kind: str) -> None:
    collectives, peer, future = begun(pool, call(kind, [X, X]), is_there=True)
    fields = {"joins": [1], "members": [[f"{task}/device:CPU:0", 1] for task in (HERE, LEADER)]}
    result = np.ones(2 if kind == "reduce" else 4, np.float32)
    try:
        collectives.receive(peer, Frame(Kind.COLLECTIVE, 0, 7, Verb.RESULT, pack(fields), (result,)))
        assert outcome(future) is result
    finally:
        collectives.close()


class LateConnection(OneConnection):
    """The way to a leader that is not there until `comes` is set; then its connection is lost, or is not."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer, is_there=False)
        self.comes = Event()

    def get(self, task: str, seconds: float) -> Peer:
        if not self.comes.wait(min(seconds, 0.05)):
            raise errors.UnavailableError(None, None, "nobody is there yet")
        return self.peer


def joined(collectives: Collectives, request: Call, device: int, seconds: float) -> Future:
    name = f"{HERE}/device:CPU:{device}"
    group = collectives.group(name, request.group_key)
    return collectives.join(replace(request, device=name, seconds=seconds), X, group)


def test_a_leader_that_comes_late_is_told_of_members_that_have_left_before(pool: Pool) -> None:
    """Else it would begin a round with them, for which the others wait."""
    peer = SilentPeer(None)
    collectives = Collectives(HERE, 1, pool)
    peers: Any = LateConnection(peer)
    collectives.connect(peers, LEADER)
    try:
        first, _ = (joined(collectives, call("reduce", [X, X, X]), i, (0.1, 60.0)[i]) for i in range(2))
        with pytest.raises(errors.DeadlineExceededError, match="leader was not reached"):
            outcome(first)
        peers.comes.set()
        soon(lambda: (Verb.JOIN, 2) in peer.told, "the leader hears of the other one", 10.0)
        soon(lambda: len(peer.told) == 3, "the leader has heard all", 10.0)
        assert peer.told.index((Verb.LEAVE, 1)) > peer.told.index((Verb.JOIN, 1))
    finally:
        collectives.close()


def test_who_joins_while_the_leaders_connection_ends_waits_for_the_next_one(pool: Pool) -> None:
    peer = SilentPeer(None)
    peer.lost = errors.UnavailableError(None, None, "the leader is gone")
    collectives = Collectives(HERE, 1, pool)
    peers: Any = LateConnection(peer)
    collectives.connect(peers, LEADER)
    try:
        joined(collectives, call("reduce", [X, X]), 0, 60.0)
        collectives.lost(peer)
        assert len(collectives) == 1
        peers.comes.set()
        soon(lambda: peer.told == [(Verb.JOIN, 1)], "the leader hears of it", 10.0)
    finally:
        collectives.close()


def test_a_round_that_has_begun_goes_on_without_the_leader(pool: Pool) -> None:
    peer = SilentPeer(errors.UnavailableError(None, None, "the leader is gone again"))
    collectives = Collectives(HERE, 1, pool)
    peers: Any = LateConnection(peer)
    collectives.connect(peers, LEADER)
    try:
        joined(collectives, call("reduce", [X, X]), 0, 60.0)
        collectives._records.members[1].round_id = 9  # as if the leader had begun it
        second = joined(collectives, replace(call("reduce", [X, X]), instance_key=8), 0, 60.0)
        peers.comes.set()
        with pytest.raises(errors.UnavailableError, match="gone again"):
            outcome(second)
        assert list(collectives._records.members) == [1]
    finally:
        collectives.close()


def test_who_cannot_look_for_the_leader_lets_the_next_one_look(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = SilentPeer(None)
    collectives = Collectives(HERE, 1, pool)
    peers: Any = OneConnection(peer, is_there=False)
    collectives.connect(peers, LEADER)

    def refuse(*work: Any) -> None:
        raise RuntimeError("can't start new thread")

    def damaged(task: str, seconds: float) -> Peer:
        raise ValueError("what the leader says is no message")

    request = call("reduce", [X, X])
    try:
        with monkeypatch.context() as patch:
            patch.setattr(pool, "submit", refuse)
            with pytest.raises(errors.OpError, match="new thread"):
                outcome(joined(collectives, request, 0, 60.0))
        with monkeypatch.context() as patch:
            patch.setattr(peers, "get", damaged)
            with pytest.raises(errors.OpError, match="no message"):
                outcome(joined(collectives, request, 0, 60.0))
        assert not len(collectives)
        joined(collectives, request, 0, 60.0)
        soon(lambda: (Verb.JOIN, 3) in peer.told, "the leader hears of it", 10.0)
    finally:
        collectives.close()


def test_the_leader_is_looked_for_until_it_knows_who_waits_in_a_round_without_it(pool: Pool) -> None:
    request = call("reduce", [X, X])
    collectives, peer, future = begun(pool, request, is_there=True)
    peers: Any = collectives._connections.peers
    attempts = iter([errors.UnavailableError(None, None, "not yet")] * 2)

    def get(task: str, seconds: float) -> Peer:
        for error in attempts:
            raise error
        return peer

    peers.is_there, peers.get = False, get
    with collectives._records.locked():
        ((number, member),) = collectives._records.members.items()
        places = [(HERE, 1), (LEADER, 1)]
        member.standing = Standing(
            40, request, [(f"{task}/device:CPU:0", 1) for task, _ in places], places, 0
        )
        member.round_id = member.standing.round_id()
        collectives._standing._tell_late(number, member)
    try:
        soon(lambda: (Verb.LATE, number) in peer.told, "the leader knows", 10.0)
        future.cancel()
    finally:
        collectives.close()


def test_without_members_that_wait_nobody_looks_for_the_leader(pool: Pool) -> None:
    looked: list[str] = []

    class Elsewhere(OneConnection):
        def get(self, task: str, seconds: float) -> Peer:
            looked.append(task)
            raise errors.InvalidArgumentError(None, None, "it is another task")

    collectives = Collectives(HERE, 1, pool)
    peers: Any = Elsewhere(SilentPeer(None), is_there=False)
    collectives.connect(peers, LEADER)
    try:
        with collectives._records.locked():
            begun = joined(collectives, call("reduce", [X, X]), 0, 60.0)
            collectives._records.members[1].round_id = 9  # as if the leader had begun it
        soon(lambda: collectives._link._outbox is None, "it is given up", 10.0)
        assert looked == [LEADER]
        begun.cancel()
    finally:
        collectives.close()


def counted(collectives: Collectives, peer: Peer, round_id: int, number: int = 1) -> None:
    """The leader's answer to a member, and then the end of another member's step."""
    fields = {"joins": [number], "members": [[f"{task}/device:CPU:0", 1] for task in (HERE, LEADER)]}
    collectives.receive(peer, Frame(Kind.COLLECTIVE, 0, round_id, Verb.RESULT, pack(fields), (X,)))


def test_a_failed_step_is_reported_when_its_task_ends_and_others_have_not_answered(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "HEARD_SECONDS", 1000.0)
    collectives, _, future = begun(pool, call("reduce", [X, X]), is_there=True)
    early, late = Event(), Event()
    try:
        future.cancel()
        collectives.when_heard(early.set)
        assert not early.is_set(), "the leader has not answered"
    finally:
        collectives.close()
    assert early.is_set()
    future = joined(collectives, call("reduce", [X, X]), 0, 60.0)
    future.cancel()
    collectives.when_heard(late.set)
    assert late.is_set()


def test_what_a_function_has_counted_is_told_to_its_own_group_alone(pool: Pool) -> None:
    """Of what its body calls, the step is not known: all of these have the number 0."""
    request = call("reduce", [X, X])
    other = replace(request, group_key=request.group_key + 1)
    collectives, peer, future = begun(pool, request, is_there=True)
    group = collectives.group(request.device, request.group_key)
    try:
        unrelated = collectives.join(other, X, collectives.group(other.device, other.group_key))
        counted(collectives, peer, 7)
        assert outcome(future) is X
        fields = {"key": request.key, "step": 5, "code": errors.ABORTED, "text": "it has ended"}
        collectives.receive(peer, Frame(Kind.COLLECTIVE, 0, 7, Verb.UNDONE, pack(fields), ()))
        counted(collectives, peer, 8, 2)
        assert outcome(unrelated) is X
        with pytest.raises(errors.AbortedError, match="does not count: it has ended"):
            outcome(collectives.join(request, X, group))
    finally:
        collectives.close()


@pytest.mark.parametrize("shape", [[-1], ["x", 3], [2.0], [[0], 3], None, [True]])
def test_a_shape_is_of_whole_numbers(shape: Any) -> None:
    fields = call("reduce", [X, X]).to_dict() | {"shape": shape}
    with pytest.raises((ValueError, TypeError)):
        Call.from_dict(fields)
