"""What `Session.run` gives for a fetched handle of a tensor that stays in the session."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_none, apply_one
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.session import unclosed_sessions

_Readers = dict[tuple[str, DType | None], tuple[str, str]]

# By their names: the elements themselves would keep their graph alive.
_readers: weakref.WeakKeyDictionary[Graph, _Readers] = weakref.WeakKeyDictionary()


class RunsSteps(Protocol):
    """A session."""

    @property
    def graph(self) -> Graph: ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any: ...


SessionRef = Callable[[], RunsSteps | None]


def device_of(handle: Any) -> str:
    """The device that the text of a handle names, after the last semicolon.

    Raises:
        ValueError: the text is no handle.
    """
    text = handle.decode() if isinstance(handle, bytes) else str(handle)
    _, separator, device = text.rpartition(";")
    if not separator:
        raise ValueError(f"{handle!r} is not the handle of a tensor in a session.")
    return device


class TensorHandle:
    """A tensor that is kept in a session, on the device that computed it.

    The tensor is forgotten when the handle is deleted, when nothing refers to the handle any more, or with
    the session. A handle can be fed for the placeholder of `tf.get_session_tensor`, and for
    any other tensor in place of its value.
    """

    def __init__(self, handle: bytes, dtype: DType, session: SessionRef) -> None:
        self._handle, self._dtype, self._session = handle, dtype, session
        self._drop: weakref.finalize[Any, Any] | None = None
        owner = session()
        # The operation that forgets it is made now: the handle may end on any thread.
        if owner is not None and not owner.graph.finalized:
            deleter = _reader(owner.graph, device_of(handle), None)
            self._drop = unclosed_sessions.watch(self, partial(_forget, session, deleter, handle))

    @property
    def handle(self) -> str:
        """The text that names the tensor in its session."""
        return self._handle.decode()

    @property
    def dtype(self) -> DType:
        """The dtype of the tensor."""
        return self._dtype

    def eval(self) -> Any:
        """The value of the tensor.

        Raises:
            InvalidArgumentError: it was forgotten.
            RuntimeError: the session has ended.
        """
        session = self._open()
        holder, tensor = _reader(session.graph, device_of(self._handle), self._dtype)
        return session.run(tensor, {holder: self._handle})

    def delete(self) -> None:
        """Forgets the tensor.

        Raises:
            RuntimeError: the session has ended.
        """
        session = self._open()
        if self._drop is not None:
            self._drop.detach()
        holder, operation = _reader(session.graph, device_of(self._handle), None)
        session.run(operation, {holder: self._handle})

    def get_raw_handle(self) -> str:
        """The text of the handle; from now on its end does not forget the tensor."""
        if self._drop is not None:
            self._drop.detach()
        return self.handle

    def fed_to(self, tensor: Tensor) -> Any:
        """What is fed where the handle is: its text to operations that look the tensor up, to all others the
        value.

        Raises:
            InvalidArgumentError: the value has another dtype, or was forgotten.
            RuntimeError: the session has ended.
        """
        if any(op.type in ("GetSessionTensor", "DeleteSessionTensor") for op in tensor.consumers()):
            return self._handle
        if self._dtype is not tensor.dtype.base:
            raise errors.InvalidArgumentError(
                None,
                tensor.op,
                f"The handle {self} of a {self._dtype.name} tensor was fed for {tensor.name}, whose dtype is "
                f"{tensor.dtype.base.name}.",
            )
        return self.eval()

    def _open(self) -> RunsSteps:
        session = self._session()
        if session is None:
            raise RuntimeError(f"The session of {self} has ended, and the tensor with it.")
        return session

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """What is fed: the text."""
        return np.array(self._handle, object)

    def __str__(self) -> str:
        return self.handle


def _reader(graph: Graph, device: str, dtype: DType | None) -> tuple[Tensor, Tensor | Operation]:
    """A placeholder for a handle, and the operation that reads its tensor, or forgets it (dtype None)."""
    known = _readers.setdefault(graph, {})
    names = known.get((device, dtype))
    if names is None:
        with graph.as_default(), graph.device(None), graph.device(device), graph.control_dependencies(None):
            holder = apply_one("Placeholder", dtype=dtypes.string, shape=())
            made: Tensor | Operation
            if dtype is None:
                made = apply_none("DeleteSessionTensor", holder)
            else:
                made = apply_one("GetSessionTensor", holder, dtype=dtype)
        names = known[device, dtype] = holder.name, made.name
    return graph.get_tensor_by_name(names[0]), graph.as_graph_element(names[1])


def _forget(session: SessionRef, deleter: tuple[Tensor, Any], handle: bytes) -> None:
    owner = session()
    if owner is None:
        return
    try:
        owner.run(deleter[1], {deleter[0]: handle})
    except (errors.OpError, RuntimeError):
        # The session is closed, or its task gone, and the tensor with it.
        return
