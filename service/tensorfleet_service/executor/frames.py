"""Frames: the state of a running loop and of its iterations in an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorfleet_service.executor.rendezvous import child_frame, in_frame, in_iteration

if TYPE_CHECKING:
    from tensorfleet_service.executor.dataflow import Op


class LoopFrame:
    """One run of a loop, or all that is outside of loops."""

    __slots__ = (
        "constants",
        "deferred",
        "enters_left",
        "id",
        "iterations",
        "live_exits",
        "name",
        "oldest",
        "parallel",
        "parent",
        "path",
        "tag",
    )

    def __init__(
        self,
        name: str,
        path: str,
        parent: Iteration | None,
        enters: int,
        parallel: int = 1,
        has_id: bool = False,
    ) -> None:
        self.name = name
        # The frame's number in other tasks; 0 if the iterations of the enclosing loops identify it.
        self.id: int = child_frame(parent.frame.id, parent.number, name) if has_id and parent else 0
        self.tag: int = in_frame(self.id) if self.id or parent is None else parent.tag
        # Limit on the iterations that run at once, and the inputs of those that may not begin yet.
        self.parallel = parallel
        self.deferred: dict[int, list[tuple[Op, Any]]] = {}
        self.path = path
        self.parent = parent
        self.enters_left = enters
        self.iterations: dict[int, Iteration] = {}
        self.oldest = 0
        self.constants: list[tuple[Op, Any]] = []
        self.live_exits: set[int] = set()


class Iteration:
    """The inputs that have come in one iteration, of ops that wait for further ones."""

    __slots__ = ("busy", "children", "frame", "number", "tag", "waiting")

    def __init__(self, frame: LoopFrame, number: int) -> None:
        self.frame = frame
        self.number = number
        # The number that distinguishes the tensors of one edge in different iterations.
        self.tag: int = 0 if frame.parent is None else in_iteration(frame.tag, number)
        self.busy = 0  # ops that are ready or running, and loops that were begun here
        self.waiting: dict[int, list[Any]] = {}
        self.children: dict[str, LoopFrame] = {}
