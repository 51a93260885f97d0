"""The functions of a session as kernels and datasets see them; `executor/functions.py` compiles them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from tensorfleet.proto.attr_value_pb2 import NameAttrList

if TYPE_CHECKING:
    from tensorfleet.core.dtypes import DType
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.session_tensors import SessionTensors
    from tensorfleet_service.threads.future import Future
    from tensorfleet_service.threads.pool import Pool


class Function(Protocol):
    """A function that can be called.

    Attributes:
        name: in the session's library.
        waits: whether a call may have to wait for other steps.
        lasts: whether it may compute for long, or for ever.
        is_stateful: whether two compilations of it may give different results.
    """

    name: str
    waits: bool
    lasts: bool
    is_stateful: bool

    def check(self, given: Sequence[DType], results: Sequence[DType] | None) -> None:
        """Raises InvalidArgumentError if calls with such inputs, and outputs where known, are wrong."""
        ...

    def __call__(self, *arguments: Any) -> tuple[Any, ...] | Future:
        """The results, or a Future for them; raises OpError if an op of the body fails."""
        ...


class Library(Protocol):
    """The functions of a session on a task, and the session's work in the background."""

    @property
    def pool(self) -> Pool: ...

    @property
    def tensors(self) -> SessionTensors:
        """The tensors that the session keeps on the task."""
        ...

    def instantiate(
        self, func: NameAttrList, device: str, xp: ModuleType, gradient: bool = False
    ) -> Function:
        """The function, or its gradient, compiled for a device; raises OpError if it is unknown or cannot be
        run."""
        ...

    def stateful_op(self, func: NameAttrList) -> str | None:
        """An op type with state in a function or in those that it calls, other than datasets and checks."""
        ...

    def lasts(self, nodes: Sequence[Node]) -> bool:
        """Whether functions that nodes call have ops that may compute for long, or loops."""
        ...

    def on_close(self, closer: Callable[[], None]) -> None:
        """Has `closer` called when the session ends; at once if it has ended."""
        ...
