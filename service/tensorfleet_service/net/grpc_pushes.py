"""Tensors that tasks push to each other by gRPC, where both are TensorFleet's.

TensorFlow's workers ask for each tensor by a call of its own. Between our tasks the one that makes a tensor
sends it as soon as it is there, as on the stream: what a thread sends of a step while it is corked goes out
together, and with the request to run the step, or with the answer to that, where there is one at that time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tensorfleet.core import errors, tensor_util
from tensorfleet.proto.named_tensor_pb2 import NamedTensorProto
from tensorfleet.wire.connection import at_uncork
from tensorfleet_service.devices import memory
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.net.tensor_protos import proto_of

if TYPE_CHECKING:
    from tensorfleet.proto.tensor_pb2 import TensorProto

HELD_BYTES = 65_536
"""A tensor of more is sent at once, by a call of its own."""

_MARK = "#"  # no rendezvous key begins so
_MAX_DIGITS = 100  # of an edge with its iterations


class Sends(Protocol):
    """A peer that takes tensors."""

    def send_tensors(self, step_id: int, tensors: Sequence[NamedTensorProto]) -> None: ...


class _Held:
    """The tensors that a thread holds back for one peer of one step, and perhaps the request to run it."""

    __slots__ = ("run", "tensors")

    def __init__(self) -> None:
        self.tensors: list[NamedTensorProto] = []
        self.run: Callable[[Sequence[NamedTensorProto]], None] | None = None


class _Thread(threading.local):
    held: dict[tuple[Sends, int], _Held] | None = None


_thread = _Thread()


def _held(peer: Sends, step_id: int) -> _Held | None:
    """The place to hold something back; None if the thread is not corked."""
    if _thread.held is None:
        if not at_uncork(_flush):
            return None
        _thread.held = {}
    return _thread.held.setdefault((peer, step_id), _Held())


def _flush() -> None:
    waiting, _thread.held = _thread.held, None
    assert waiting is not None
    for (peer, step_id), held in waiting.items():
        if held.run is not None:
            held.run(held.tensors)
        elif held.tensors:
            peer.send_tensors(step_id, held.tensors)


def push(peer: Sends, step_id: int, edge: int, value: Any) -> None:
    """Sends a tensor of a step, or holds it back while the thread is corked.

    Raises:
        InvalidArgumentError, ResourceExhaustedError: it cannot be sent.
    """
    name = f"{_MARK}{edge}"
    tensor = (
        NamedTensorProto(name=name) if value is DEAD else NamedTensorProto(name=name, tensor=proto_of(value))
    )
    held = None if getattr(value, "nbytes", 0) > HELD_BYTES else _held(peer, step_id)
    if held is None:
        peer.send_tensors(step_id, (tensor,))
    else:
        held.tensors.append(tensor)


def with_tensors(peer: Sends, step_id: int, run: Callable[[Sequence[NamedTensorProto]], None]) -> None:
    """Calls `run`, which asks a peer to run a step, with the tensors that are to go with the request."""
    held = _held(peer, step_id)
    if held is None:
        run(())
    else:
        held.run = run


def take(peer: Sends, step_id: int) -> Sequence[NamedTensorProto]:
    """The tensors that this thread holds back for a peer's step, which go out in another way now."""
    if _thread.held is None:
        return ()
    held = _thread.held.get((peer, step_id))
    if held is None:
        return ()
    tensors, held.tensors = held.tensors, []
    return tensors


def pushed(named: Iterable[NamedTensorProto]) -> tuple[list[int], list[Any]]:
    """The edges, and the values, of those tensors of a message that were pushed.

    Raises:
        InvalidArgumentError: a name or a tensor cannot be read.
        ResourceExhaustedError: there is no memory for them.
    """
    edges: list[int] = []
    values: list[Any] = []
    for each in named:
        if each.name.startswith(_MARK):
            digits = each.name[len(_MARK) :]
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
                raise errors.InvalidArgumentError(
                    None, None, f"No tensor can be pushed by the name {each.name!r}"
                )
            edges.append(int(digits))
            values.append(value_of(each.tensor) if each.HasField("tensor") else DEAD)
    return edges, values


def value_of(tensor: TensorProto) -> Any:
    """The runtime's form of a tensor in a message: a NumPy scalar for rank 0, but an array for strings.

    Raises:
        InvalidArgumentError: the message contradicts itself.
        ResourceExhaustedError: there is no memory for it.
    """
    try:
        array = tensor_util.make_ndarray(tensor)
    except MemoryError as e:
        raise memory.exhausted(f"Out of memory for a received tensor: {e}") from None
    except (ValueError, TypeError) as e:
        raise errors.InvalidArgumentError(None, None, f"A tensor cannot be read: {e}") from None
    return array[()] if array.ndim == 0 and array.dtype != object else array
