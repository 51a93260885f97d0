"""The interface between backpropagation and conditionals and loops.

`ControlFlow` is the implementation for graphs without them. `set_control_flow` registers the subclass for
graphs with them; the rules of Switch, Merge, Enter, Exit and NextIteration are ordinary gradient rules.
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

    They are lists while gradients still arrive, then one gradient or None, their sum.
    """

    def __init__(self) -> None:
        self._lists: dict[Operation, list[list[Gradient]]] = {}
        self.sums: dict[Operation, list[Gradient | None]] = {}

    def add(self, tensor: Tensor, grad: Gradient) -> None:
        """Adds a gradient of a tensor."""
        op = tensor.op
        if op in self.sums:
            # In a loop one more gradient arrives after the operation was differentiated.
            self.sums[op][tensor.value_index] = grad
            return
        if op not in self._lists:
            self._lists[op] = [[] for _ in op.outputs]
        self._lists[op][tensor.value_index].append(grad)

    def any(self, op: Operation) -> bool:
        """Whether any gradient arrived at the operation."""
        return any(self._lists.get(op, ())) or any(g is not None for g in self.sums.get(op, ()))

    def lists(self, op: Operation) -> list[list[Gradient]]:
        """The gradients that have arrived, for each output."""
        return self._lists.get(op) or [[] for _ in op.outputs]


class ControlFlow:
    """The part of conditionals and loops in one call of `tf.gradients`.

    Args:
        between: the operations on paths from xs to ys, those nearest to ys first.
        received: the gradients that operations have received so far.
        colocate: whether gradient ops are colocated with their forward ops.
    """

    def __init__(self, between: list[Operation], received: Received, colocate: bool) -> None:
        self.between = between
        self.received = received
        self.colocate = colocate

    def start(self, pending: dict[Operation, int], ready: set[Operation]) -> Iterable[Operation]:
        """Further operations to start from, such as the exits of loops that no other op uses.

        Args:
            pending: for each operation, the number of gradients still expected from its consumers.
            ready: the operations of ys, from which backpropagation starts.
        """
        return ()

    def gathering(self, op: Operation) -> AbstractContextManager[Any]:
        """The context in which the gradients that arrived at the operation are added up."""
        return contextlib.nullcontext()

    def differentiating(self, op: Operation) -> AbstractContextManager[Any]:
        """The context in which the operation's gradient rule builds its ops."""
        return contextlib.nullcontext()

    def zeros_like(self, op: Operation, index: int) -> Tensor | None:
        """The gradient of an output that ys do not depend on, if they depend on another output."""
        return zeros_like(op.outputs[index])

    def next(self, tensor: Tensor, pending: int) -> Iterable[Operation]:
        """The operations that are ready after a consumer of the tensor was differentiated.

        Args:
            pending: the number of gradients for which the tensor's operation still waits.
        """
        return () if pending else (tensor.op,)

    def finish(self) -> None:
        """Called after everything has been differentiated."""


def zeros_like(tensor: Tensor) -> Tensor | None:
    """Zeros of the shape of a tensor; None for a handle."""
    return None if tensor.dtype.base.name in ("resource", "variant") else apply_one("ZerosLike", tensor)


_factory: Callable[[list[Operation], Received, bool], ControlFlow] = ControlFlow


def set_control_flow(factory: Callable[[list[Operation], Received, bool], ControlFlow]) -> None:
    """Sets the factory that makes the ControlFlow of each call of `tf.gradients`."""
    global _factory
    _factory = factory


def make_control_flow(between: list[Operation], received: Received, colocate: bool) -> ControlFlow:
    return _factory(between, received, colocate)
