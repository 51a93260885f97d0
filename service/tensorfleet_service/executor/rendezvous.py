"""Rendezvous: tensors that stay on their producer until the task that needs them asks for them by gRPC.

On the stream transport a producer pushes tensors, and none is kept here. A tensor is removed when it is
taken. Those of a failed step are dropped when its master says so; those that nobody ever asks for, because
the master is gone, are dropped when they are old.
"""

from __future__ import annotations

import copy
import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

Taken = Callable[["errors.OpError | None", Any], None]

KEEP_SECONDS = 600.0
REMEMBERED_STEPS = 10_000  # number of failed steps that are remembered, to drop their late tensors


class _Step:
    __slots__ = ("started", "takers", "values")

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.values: dict[int, Any] = {}
        self.takers: dict[int, Taken] = {}


class Rendezvous:
    """The tensors of all steps of a task, each under its step and edge."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[int, _Step] = {}
        self._failed: OrderedDict[int, errors.OpError] = OrderedDict()

    def __len__(self) -> int:
        """The number of tensors that are kept."""
        with self._lock:
            return sum(len(step.values) for step in self._steps.values())

    def put(self, step_id: int, edge: int, value: Any) -> None:
        """Hands a tensor to the task that asks for it, now or later."""
        with self._lock:
            if step_id in self._failed:
                return
            self._drop_old()
            step = self._steps.get(step_id) or self._steps.setdefault(step_id, _Step())
            taken = step.takers.pop(edge, None)
            if taken is None:
                step.values[edge] = value
            else:
                self._drop_empty(step_id, step)
        if taken is not None:
            taken(None, value)

    def take(self, step_id: int, edge: int, taken: Taken) -> Callable[[], None]:
        """Asks for a tensor: calls `taken` once, on any thread, with the tensor or an error.

        Returns a function that withdraws the request.
        """
        with self._lock:
            error = self._failed.get(step_id)
            found = False
            value = None
            if error is None:
                step = self._steps.get(step_id) or self._steps.setdefault(step_id, _Step())
                found = edge in step.values
                if found:
                    value = step.values.pop(edge)
                    self._drop_empty(step_id, step)
                else:
                    step.takers[edge] = taken
        if error is not None or found:
            taken(error, value)
        return lambda: self._withdraw(step_id, edge, taken)

    def fail(self, step_id: int, error: errors.OpError) -> None:
        """Drops all tensors of a step, also later ones, and answers requests for them with the error."""
        # An error that was raised, or will be, keeps the frames of its traceback alive, with their arrays.
        kept = copy.copy(error)
        with self._lock:
            step = self._steps.pop(step_id, None)
            self._failed[step_id] = kept
            if len(self._failed) > REMEMBERED_STEPS:
                self._failed.popitem(last=False)
        if step is not None:
            for taken in step.takers.values():
                taken(error, None)

    def _withdraw(self, step_id: int, edge: int, taken: Taken) -> None:
        with self._lock:
            step = self._steps.get(step_id)
            if step is not None and step.takers.get(edge) is taken:
                del step.takers[edge]
                self._drop_empty(step_id, step)

    def _drop_empty(self, step_id: int, step: _Step) -> None:
        if not step.values and not step.takers:
            del self._steps[step_id]

    def _drop_old(self) -> None:
        limit = time.monotonic() - KEEP_SECONDS
        while self._steps:
            step_id, step = next(iter(self._steps.items()))
            if step.started > limit or step.takers:
                return
            del self._steps[step_id]


# A tensor that is sent in a loop is identified by its edge and the iterations of the loops around it: the
# edge's number in the lowest bits, then the number of the innermost iteration, and so on outwards. If a task
# that is reached by gRPC takes part, TensorFlow's number of the frame stands for the outer loops.
_EDGE_BITS = 32
_ITERATION_BITS = 64
_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def in_iteration(outer: int, number: int) -> int:
    """The number to add to an edge in an iteration, given that of the iteration around the loop."""
    return outer << _ITERATION_BITS | number << _EDGE_BITS


def in_frame(number: int) -> int:
    """The number that stands for the iterations around a loop if its frame has TensorFlow's number."""
    return number << _EDGE_BITS


FRAME_IDS = "_frame_ids"
"""The attribute of a _Send or _Recv in a loop whose iterations have TensorFlow's names."""


def child_frame(frame: int, iteration: int, name: str) -> int:
    """TensorFlow's number for a loop that begins in an iteration of a frame; the outermost frame is 0."""
    return _combined(frame, _combined(iteration, _hash(name.encode())))


def _combined(a: int, b: int) -> int:
    return a ^ (b + 0x9E3779B97F4A7800 + (a << 10) + (a >> 4)) & _MASK


@functools.lru_cache(1024)
def _hash(data: bytes) -> int:
    """MurmurHash64A with TensorFlow's seed."""
    value = 0xDECAFCAFFE ^ (len(data) * _MULTIPLIER & _MASK)
    whole = len(data) & ~7
    for i in range(0, whole, 8):
        part = int.from_bytes(data[i : i + 8], "little") * _MULTIPLIER & _MASK
        part = (part ^ part >> 47) * _MULTIPLIER & _MASK
        value = (value ^ part) * _MULTIPLIER & _MASK
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 47) * _MULTIPLIER & _MASK
    return value ^ value >> 47


def edge_number(edge: int) -> int:
    """The edge's own number."""
    return edge & ((1 << _EDGE_BITS) - 1)


def iteration_of(edge: int) -> int:
    """The number of the innermost loop's iteration in which a tensor is sent; 0 outside of loops."""
    return edge >> _EDGE_BITS & ((1 << _ITERATION_BITS) - 1)


def key_of(node: Node, edge: int = 0) -> str:
    """The key of the tensor of a _Send or _Recv node, in TensorFlow's form.

    Args:
        edge: with the iterations in which it is sent.
    """
    attrs = node.attrs
    incarnation = attrs["send_device_incarnation"] & 0xFFFFFFFFFFFFFFFF
    texts = (attrs[name].decode() for name in ("send_device", "recv_device", "tensor_name"))
    source, target, tensor = texts
    iterations = edge >> _EDGE_BITS
    frame, iteration = iterations >> _ITERATION_BITS, iterations & ((1 << _ITERATION_BITS) - 1)
    return f"{source};{incarnation:016x};{target};{tensor};{frame}:{iteration}"


def edge_of(key: str, incarnations: Mapping[str, int]) -> int:
    """The edge of a key, with its iterations.

    Args:
        incarnations: of this task's devices.

    Raises:
        InvalidArgumentError: the key is invalid, or belongs to another task.
        AbortedError: the key belongs to the task's process before a restart.
    """
    parts = key.split(";")
    try:
        source, meant, _, tensor, place = parts
        expected = int(meant, 16)
        frame, iteration = (int(text) for text in place.split(":"))
        number = edge_of_name(tensor)
    except ValueError:
        raise errors.InvalidArgumentError(None, None, f"Invalid rendezvous key: {key}") from None
    incarnation = incarnations.get(source)
    if incarnation is None:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{source} is asked for a tensor of this task, which has {', '.join(incarnations)}: {key}",
        )
    if expected != incarnation:
        raise errors.AbortedError(
            None,
            None,
            f"RecvTensor expects a different device incarnation: {expected} vs. {incarnation}. "
            "The task was restarted: make a new session.",
        )
    return number | (frame << _ITERATION_BITS | iteration) << _EDGE_BITS


def edge_of_name(tensor: str) -> int:
    """The number of the edge whose tensor has this name. All masters give names `edge_NUMBER_NODE`.

    Raises:
        InvalidArgumentError: the name has another form.
    """
    kind, _, rest = tensor.partition("_")
    text = rest.partition("_")[0]
    if kind != "edge" or not (text.isascii() and text.isdigit() and len(text) < 10):
        raise errors.InvalidArgumentError(None, None, f"Invalid name of a sent tensor: {tensor}")
    return int(text)
