"""Conditionals and loops, as backpropagation sees them.

`ControlFlow` is the answer for graphs without them. Who implements control flow registers a subclass by
`set_control_flow` in a module `ops/…_grad.py`; the rules of Switch, Merge, Enter, Exit and NextIteration are
ordinary gradient rules.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.common import apply_one

Gradient = Tensor | IndexedSlices

_TRAINABLE = frozenset(
    (
        *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64),
        *(dtypes.complex64, dtypes.complex128, dtypes.resource, dtypes.variant),
    )
)


def is_trainable(tensor: Tensor) -> bool:
    """Whether gradients flow through a tensor of this dtype."""
    return tensor.dtype.base in _TRAINABLE


class Received:
    """The gradients that each operation has received at each of its outputs.

    They are lists while gradients still arrive, and one gradient or None once they were added up.
    """

    def __init__(self) -> None:
        self._lists: dict[Operation, list[list[Gradient]]] = {}
        self.sums: dict[Operation, list[Gradient | None]] = {}

    def add(self, tensor: Tensor, grad: Gradient) -> None:
        """Adds a gradient of a tensor."""
        op = tensor.op
        if op in self.sums:
            # Around a loop one more gradient arrives after the operation had its turn.
            self.sums[op][tensor.value_index] = grad
            return
        if op not in self._lists:
            self._lists[op] = [[] for _ in op.outputs]
        self._lists[op][tensor.value_index].append(grad)

    def any(self, op: Operation) -> bool:
        """Whether any gradient arrived at the operation."""
        return any(self._lists.get(op, ())) or any(g is not None for g in self.sums.get(op, ()))

    def lists(self, op: Operation) -> list[list[Gradient]]:
        """The gradients that arrived, for each output."""
        return self._lists.get(op) or [[] for _ in op.outputs]


class ControlFlow:
    """One call of `tf.gradients`, as conditionals and loops take part in it.

    Args:
        between: the operations on paths from xs to ys, those nearest to ys first.
        received: the gradients that operations have received so far.
        colocate: whether each gradient op goes where its forward op is.
    """

    def __init__(self, between: list[Operation], received: Received, colocate: bool) -> None:
        self.between = between
        self.received = received
        self.colocate = colocate

    def start(self, pending: dict[Operation, int], ready: set[Operation]) -> Iterable[Operation]:
        """Further operations to begin with, such as the exits of loops that nothing after them uses.

        Args:
            pending: for each operation, how many of its consumers' gradients are still to come.
            ready: the operations of ys that backpropagation begins with.
        """
        return ()

    def gathering(self, op: Operation) -> AbstractContextManager[Any]:
        """Held while the gradients that arrived at the operation are added up."""
        return contextlib.nullcontext()

    def differentiating(self, op: Operation) -> AbstractContextManager[Any]:
        """Held while the operation's rule builds its ops: the context that these belong to."""
        return contextlib.nullcontext()

    def zeros_like(self, op: Operation, index: int) -> Tensor | None:
        """The gradient of an output that ys do not depend on, while they do depend on another one."""
        return zeros_like(op.outputs[index])

    def next(self, tensor: Tensor, pending: int) -> Iterable[Operation]:
        """The operations to differentiate now that a consumer of the tensor has been.

        Args:
            pending: how many gradients the operation that makes the tensor still waits for.
        """
        return () if pending else (tensor.op,)

    def finish(self) -> None:
        """Called once everything has been differentiated."""


def zeros_like(tensor: Tensor) -> Tensor | None:
    """Zeros of the shape of a tensor; None for a handle."""
    return None if tensor.dtype.base.name in ("resource", "variant") else apply_one("ZerosLike", tensor)


_factory: Callable[[list[Operation], Received, bool], ControlFlow] = ControlFlow


def set_control_flow(factory: Callable[[list[Operation], Received, bool], ControlFlow]) -> None:
    """Sets what is made, with the arguments of `ControlFlow`, for each call of `tf.gradients`."""
    global _factory
    _factory = factory


def make_control_flow(between: list[Operation], received: Received, colocate: bool) -> ControlFlow:
    return _factory(between, received, colocate)
