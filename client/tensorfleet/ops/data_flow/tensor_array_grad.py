"""Gradient rules of tensor arrays: that of a read writes to the array of gradients, and vice versa."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow.tensor_array import TensorArray

not_differentiable("TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape")
not_differentiable("TensorArraySizeV3", "TensorArrayCloseV3")


def _source(grad: Tensor) -> str:
    """The name of the call of `tf.gradients` that a gradient belongs to; each call has its own arrays.

    Raises:
        ValueError: the call's name does not begin with "gradients".
    """
    parts = grad.name.split("/")
    found = [i for i, part in enumerate(parts) if part.startswith("gradients")]
    if not found:
        raise ValueError(
            f"Expected op/tensor name to start with gradients (excluding scope), got: {grad.name}. Tensor "
            "arrays tell the calls of tf.gradients from each other by the name: give this call one that "
            "starts with 'gradients'."
        )
    return "/".join(parts[: found[-1] + 1])


def _gradients(op: Operation, dtype: Any, flow: Tensor, source: Tensor) -> TensorArray:
    """The gradients of the array that an op uses."""
    array = TensorArray(dtype, handle=op.inputs[0], flow=flow, colocate_with_first_write_call=False)
    return array.grad(source=_source(source), flow=flow)


@gradient("TensorArrayReadV3")
def _read(op: Operation, grad: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["dtype"], op.inputs[2], grad)
    return [None, None, array.write(op.inputs[1], grad).flow]


@gradient("TensorArrayWriteV3")
def _write(op: Operation, flow: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["T"], flow, flow)
    return [None, None, array.read(op.inputs[1]), flow]


@gradient("TensorArrayGatherV3")
def _gather(op: Operation, grad: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["dtype"], op.inputs[2], grad)
    return [None, None, array.scatter(op.inputs[1], grad).flow]


@gradient("TensorArrayScatterV3")
def _scatter(op: Operation, flow: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["T"], flow, flow)
    return [None, None, array.gather(op.inputs[1]), flow]


@gradient("TensorArrayConcatV3")
def _concat(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    array = _gradients(op, op.attrs["dtype"], op.inputs[1], grad)
    return [None, array.split(grad, lengths=op.outputs[1]).flow]


@gradient("TensorArraySplitV3")
def _split(op: Operation, flow: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["T"], flow, flow)
    return [None, array.concat(), None, flow]
