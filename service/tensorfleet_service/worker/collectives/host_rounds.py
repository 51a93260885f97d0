"""HostRounds: the rounds of a task whose data goes by way of the hosts' memory, by a ring or an exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.collectives.call import Call, Place
from tensorfleet_service.collectives.exchange import Exchange, suits
from tensorfleet_service.collectives.member import Round, Running
from tensorfleet_service.collectives.ring import Ring
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.worker.collectives.sender import ChunkSender

if TYPE_CHECKING:
    from tensorfleet_service.worker.collectives.connections import Connections
    from tensorfleet_service.worker.collectives.records import Records


class HostRounds:
    """Makes and begins rounds.

    Args:
        finished: called with the data of a round that has its result.
        broken: called with the number of a round and what has ended it, under the lock of `records`.
    """

    def __init__(
        self,
        records: Records,
        connections: Connections,
        finished: Callable[[Ring | Exchange], None],
        broken: Callable[[int, errors.OpError], None],
    ) -> None:
        self._records = records
        self._connections = connections
        self._finished = finished
        self._broken = broken

    def make(
        self,
        round_id: int,
        call: Call,
        position: int,
        tasks: Sequence[Place],
        counts: Sequence[int],
        source: int,
        values: list[Any],
    ) -> tuple[Ring | Exchange, ChunkSender]:
        """This task's part in the data of a round, and what sends it; the arguments are those of `Ring`."""
        peers = self._connections.peers
        if sum(counts) == len(tasks) and suits(call, len(tasks)):
            sender = ChunkSender(peers, [task for i, task in enumerate(tasks) if i != position])
            (value,) = values
            return Exchange(round_id, call, position, len(tasks), value, sender.send, self._finished), sender
        sender = ChunkSender(peers, [tasks[(position + 1) % len(tasks)]])
        return Ring(round_id, call, position, counts, source, values, sender.send, self._finished), sender

    def open(
        self,
        data: Ring | Exchange,
        sender: ChunkSender | None,
        joins: list[int],
        tasks: list[Place],
        members: list[Place],
    ) -> Callable[[], None] | None:
        """Lets a round take chunks, under the lock.

        Args:
            sender: what has to be connected first; None where it is.
            joins, tasks, members: see `Running`.

        Returns:
            The function that sends its own ones, without the lock; None where the round has failed already.
        """
        round_id = data.round_id
        dropped = self._records.begin_round(round_id, Running(data, joins, tasks, members))
        if dropped is not None:
            self._broken(round_id, dropped)
            return None
        early = self._records.early.take(round_id)
        return partial(self._begin, data, early, sender)

    def _begin(self, data: Ring | Exchange, early: list[tuple[int, Any]], sender: ChunkSender | None) -> None:
        def begin() -> None:
            if sender is not None:
                sender.connect()
            data.begin()
            for number, array in early:
                data.receive(number, array)

        self._guarded(data, begin)

    def receive(self, data: Round, number: int, array: Any) -> None:
        """Takes a chunk, without the lock."""
        self._guarded(data, data.receive, number, array)

    def _guarded(self, data: Round, function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function of a round, whose exceptions end the collective and not the thread."""
        try:
            function(*arguments)
            return
        except Exception as e:
            error = as_op_error(e, f"a collective on {self._connections.here[0]}")
        with self._records.locked():
            self._broken(data.round_id, error)
