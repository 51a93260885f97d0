"""Members: the tasks of a cluster as a master sees them, its own and the others, behind one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet_service.executor.feed_layout import Layout, layout
from tensorfleet_service.threads.run_queue import INLINE_SECONDS
from tensorfleet_service.worker.progress import activities

if TYPE_CHECKING:
    from tensorfleet.proto.device_attributes_pb2 import DeviceAttributes
    from tensorfleet.proto.function_pb2 import FunctionDef
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.tracing.trace import StepTrace
    from tensorfleet_service.worker.task_graph import TaskGraph
    from tensorfleet_service.worker.worker import Worker

Functions = Sequence["FunctionDef"]

MemberDone = Callable[["errors.OpError | None", Sequence[Any]], None]


@dataclass(slots=True)
class Registered:
    """A graph that a member has registered: its handle, and the indices of the member's feeds and fetches."""

    member: Member
    handle: int
    layout: Layout


class Member(ABC):
    """A task that takes part in a session."""

    task: str
    devices: list[DeviceAttributes]
    is_local = False
    by_grpc = False  # whether tensors come from it, and go to it, in the names of TensorFlow's protocol
    cleans_up = False  # whether it has to be told that a step is over

    @abstractmethod
    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        """Hands over the task's part of a signature, and the functions that it calls; waits until it is
        ready.
        """

    @abstractmethod
    def deregister(self, handle: int) -> None:
        """Drops a registered graph, without waiting."""

    @abstractmethod
    def run(
        self,
        handle: int,
        step_id: int,
        values: Sequence[Any],
        done: MemberDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> None:
        """Runs the task's part of a step; `done` is called once, on any thread."""

    def sends_at_once(self, handle: int) -> bool:
        """Whether a graph sends tensors soon after its start, before it waits for any."""
        return False

    @abstractmethod
    def abort(self, step_id: int, error: errors.OpError) -> None:
        """Ends a step on the task, without waiting."""

    def when_heard(self, function: Callable[[], None]) -> None:
        """Calls a function once others have heard of what has failed on the task, if that is known here."""
        function()

    def end_step(self, step_id: int) -> None:  # noqa: B027 - only some keep something of it
        """Tells the task, if it needs to know, that a step is over on all tasks."""

    def activity(self, step_id: int, timeout: float) -> Sequence[str]:
        """Descriptions of what the task's part of a step waits for and does.

        Raises:
            OpError: the task does not answer within `timeout` seconds.
        """
        return ()

    @abstractmethod
    def delete_session(self, session: str) -> None:
        """Drops the session's state on the task, without waiting."""


class LocalMember(Member):
    """The master's own task: no sockets, no messages."""

    is_local = True

    def __init__(self, worker: Worker, session: str, isolate: bool) -> None:
        self.worker = worker
        self.task = worker.task
        self.devices = [device.attributes() for device in worker.devices.values()]
        self._graphs: dict[int, TaskGraph] = {}
        worker.create_session(session, isolate)

    def register(self, session: str, nodes: Sequence[Node], functions: Functions = ()) -> Registered:
        handle, graph = self.worker.register_graph(session, nodes, functions)
        self._graphs[handle] = graph
        return Registered(self, handle, layout(nodes))

    def graph(self, handle: int) -> TaskGraph:
        return self._graphs[handle]

    def sends_at_once(self, handle: int) -> bool:
        graph = self._graphs.get(handle)
        if graph is None or not graph.sends_first:
            return False
        return all(plan.seconds < INLINE_SECONDS for plan in graph.plans)

    def deregister(self, handle: int) -> None:
        self._graphs.pop(handle, None)
        self.worker.deregister_graph(handle)

    def run(
        self,
        handle: int,
        step_id: int,
        values: Sequence[Any],
        done: MemberDone,
        trace: StepTrace | None = None,
        may_block: bool = True,
    ) -> None:
        graph = self._graphs.get(handle)
        if graph is None:
            done(errors.AbortedError(None, None, "The session was closed"), ())
            return
        self.worker.run(graph, step_id, values, done, trace, may_block)

    def abort(self, step_id: int, error: errors.OpError) -> None:
        self.worker.abort(step_id, error)

    def when_heard(self, function: Callable[[], None]) -> None:
        self.worker.collectives.when_heard(function)

    def activity(self, step_id: int, timeout: float) -> Sequence[str]:
        return [text for step in activities(self.worker, (step_id,)) for text in step.texts]

    def delete_session(self, session: str) -> None:
        self._graphs.clear()
        self.worker.delete_session(session)
