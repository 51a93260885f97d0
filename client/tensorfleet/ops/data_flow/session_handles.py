"""Tensors that stay in a session between its steps: `tf.get_session_handle`, `tf.get_session_tensor`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_none, apply_one
from tensorfleet.graph.framework import device
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import nothing, scalar
from tensorfleet.session.tensor_handles import device_of


def _unknown(op: RuleNode) -> list[Dims]:
    return [None]


op("GetSessionHandle(value: T) -> (handle: string)", "T: type", shape=scalar, stateful=True)
op("GetSessionTensor(handle: string) -> (value: dtype)", "dtype: type", shape=_unknown, stateful=True)
op("DeleteSessionTensor(handle: string) -> ()", shape=nothing, stateful=True)


def get_session_handle(data: Any, name: str | None = None) -> Tensor:
    """Keeps a tensor in the session, on the device that computes it (`tf.get_session_handle`).

    Returns:
        A tensor; where it is fetched, `Session.run` gives a TensorHandle. The kept tensor goes with
        the handle, or with the session.

    Raises:
        TypeError: `data` is no tensor.

    Example:
        >>> x = tf.placeholder(tf.float32)
        >>> with tf.Session() as session:
        ...     handle = session.run(tf.get_session_handle(x * 2.0), {x: 3.0})
        ...     holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
        ...     session.run(kept + 1.0, {holder: handle.handle})
        np.float32(7.0)
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with device(data.op.device or None):
        return apply_one("GetSessionHandle", data, name=name)


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The tensor that a session keeps (`tf.get_session_tensor`).

    Args:
        handle: the text of a handle, which says on which device the tensor is.
        dtype: the tensor's dtype.

    Returns:
        A placeholder for the text of a handle, to be fed in each step, and the tensor.
    """
    with device(device_of(handle)):
        holder = apply_one("Placeholder", dtype=dtypes.string, shape=())
        return holder, apply_one("GetSessionTensor", holder, dtype=dtypes.as_dtype(dtype), name=name)


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """Forgets a tensor that a session keeps (`tf.delete_session_tensor`).

    Args:
        handle: the text of a handle.

    Returns:
        A placeholder for the text of a handle, to be fed, and the operation.
    """
    with device(device_of(handle)):
        holder = apply_one("Placeholder", dtype=dtypes.string, shape=())
        return holder, apply_none("DeleteSessionTensor", holder, name=name)
