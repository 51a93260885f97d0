"""Sums of many tensors of one shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.core import dtypes, shapes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one


def _merged_shape(operation: RuleNode) -> list[Dims]:
    dims: Dims = None
    for tensor in reversed(operation.inputs):
        dims = shapes.merge(tensor.dims, dims)
    return [dims]


op(
    "AddN(inputs: N * T) -> (sum: T)",
    "N: int >= 1",
    "T: {number, variant}",
    shape=_merged_shape,
    commutative=True,
    aggregate=True,
)
op(
    "AccumulateNV2(inputs: N * T) -> (sum: T)",
    "N: int >= 1",
    "T: {number}",
    "shape: shape",
    shape=lambda operation: [operation.attrs["shape"]],
    commutative=True,
    aggregate=True,
)


def _tensors(inputs: Any, message: str) -> list[Tensor]:
    if not isinstance(inputs, (list, tuple)):
        several = isinstance(inputs, Iterable) and not isinstance(inputs, (Tensor, str))
        inputs = list(inputs) if several and not hasattr(inputs, "op") else [inputs]
    if not inputs:
        raise ValueError(message)
    first = next((t.dtype.base for t in inputs if isinstance(t, Tensor)), None)
    return [convert_to_tensor(t, dtype=None if isinstance(t, Tensor) else first) for t in inputs]


@takes_composites
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype (`tf.add_n`). The sum of one tensor is the tensor.

    Args:
        inputs: tensors, or what converts to them, in any iterable.

    Raises:
        TypeError: inputs of different dtypes.
        ValueError: no inputs, or inputs of different shapes.

    Example:
        >>> tf.Session().run(tf.add_n([tf.constant([1, 2]), tf.constant([3, 4])]))
        array([4, 6], dtype=int32)
    """
    tensors = _tensors(
        inputs,
        "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.",
    )
    if len(tensors) == 1:
        return apply_one("Identity", tensors[0], name=name) if name else tensors[0]
    return apply_one("AddN", tensors, name=name)


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype (`tf.accumulate_n`).

    Args:
        shape: the common shape, if it does not follow from the inputs.
        tensor_dtype: the common dtype; only checked.

    Raises:
        TypeError: `tensor_dtype` is another dtype.
        ValueError: no inputs, or inputs that do not fit each other.
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    tensors = _tensors(inputs, message)
    if any(t.dtype.base is not tensors[0].dtype.base for t in tensors):
        raise ValueError(message)
    if tensor_dtype is not None and dtypes.as_dtype(tensor_dtype) is not tensors[0].dtype.base:
        raise TypeError(
            f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type {tensors[0].dtype.base}. "
            "These must be equal. Try casting the input to the desired type."
        )
    dims = shapes.as_dims(shape)
    for tensor in tensors:
        dims = shapes.merge(dims, tensor.dims)
    if len(tensors) == 1:
        return apply_one("Identity", tensors[0], name=name) if name else tensors[0]
    result = apply_one("AddN", tensors, name=name)
    result.set_shape(dims)
    return result
