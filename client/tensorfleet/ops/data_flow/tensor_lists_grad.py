"""Gradient rules of lists of tensors: the gradient of a list is a list of the gradients of its elements."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

not_differentiable(
    *("EmptyTensorList", "TensorListReserve", "TensorListPushBackBatch", "TensorListConcatLists"),
    *("TensorListLength", "TensorListElementShape"),
)


def _shape(tensor: Tensor) -> Tensor:
    return apply_one("Shape", tensor)


def _row_shape(tensor: Tensor) -> Tensor:
    return _shape(tensor)[1:]


def _length(handle: Tensor) -> Tensor:
    return apply_one("TensorListLength", handle)


def _element_shape(handle: Tensor) -> Tensor:
    return apply_one("TensorListElementShape", handle, shape_type="int32")


@gradient("TensorListPushBack")
def _push_back(op: Operation, grad: Tensor) -> list[Any]:
    rest, item = apply_op(
        "TensorListPopBack", grad, _shape(op.inputs[1]), element_dtype=op.attrs["element_dtype"]
    )
    return [rest, item]


@gradient("TensorListPopBack")
def _pop_back(op: Operation, list_grad: Tensor | None, item_grad: Tensor | None) -> list[Any]:
    dtype = op.attrs["element_dtype"]
    if list_grad is None:
        list_grad = apply_one("EmptyTensorList", _element_shape(op.outputs[0]), -1, element_dtype=dtype)
    if item_grad is None:
        item_grad = apply_one("ZerosLike", op.outputs[1])
    return [apply_one("TensorListPushBack", list_grad, item_grad), None]


@gradient("TensorListStack")
def _stack(op: Operation, grad: Tensor) -> list[Any]:
    return [apply_one("TensorListFromTensor", grad, _row_shape(grad)), None]


@gradient("TensorListFromTensor")
def _from_tensor(op: Operation, grad: Tensor) -> list[Any]:
    tensor = op.inputs[0]
    dims = tensor.dims
    count = -1 if dims is None or dims[0] is None else dims[0]
    dtype = op.attrs["element_dtype"]
    return [
        apply_one("TensorListStack", grad, _row_shape(tensor), element_dtype=dtype, num_elements=count),
        None,
    ]


@gradient("TensorListConcat", "TensorListConcatV2")
def _concat(op: Operation, grad: Tensor, unused: Any) -> list[Any]:
    made = apply_one("TensorListSplit", grad, _element_shape(op.inputs[0]), op.outputs[1])
    return [made, *[None] * (len(op.inputs) - 1)]


@gradient("TensorListSplit")
def _split(op: Operation, grad: Tensor) -> list[Any]:
    tensor, element_shape, lengths = op.inputs
    made, _ = apply_op(
        "TensorListConcatV2", grad, element_shape, lengths, element_dtype=op.attrs["element_dtype"]
    )
    if tensor.dims is not None:
        made.set_shape(tensor.dims)
    return [made, None, None]


@gradient("TensorListGetItem")
def _get_item(op: Operation, grad: Tensor) -> list[Any]:
    handle, index, _ = op.inputs
    dtype = op.attrs["element_dtype"]
    empty = apply_one("TensorListReserve", _shape(grad), _length(handle), element_dtype=dtype)
    return [apply_one("TensorListSetItem", empty, index, grad), None, None]


@gradient("TensorListSetItem")
def _set_item(op: Operation, grad: Tensor) -> list[Any]:
    handle, index, item = op.inputs
    dtype = op.attrs["element_dtype"]
    rest = apply_one("TensorListSetItem", grad, index, apply_one("ZerosLike", item))
    if op.attrs["resize_if_index_out_of_bounds"]:
        rest = apply_one("TensorListResize", rest, _length(handle))
    return [rest, None, apply_one("TensorListGetItem", grad, index, _shape(item), element_dtype=dtype)]


@gradient("TensorListResize")
def _resize(op: Operation, grad: Tensor) -> list[Any]:
    return [apply_one("TensorListResize", grad, _length(op.inputs[0])), None]


@gradient("TensorListGather")
def _gather(op: Operation, grad: Tensor) -> list[Any]:
    handle, indices, _ = op.inputs
    made = apply_one("TensorListScatterV2", grad, indices, _element_shape(handle), _length(handle))
    return [made, None, None]


@gradient("TensorListScatter", "TensorListScatterV2")
def _scatter(op: Operation, grad: Tensor) -> list[Any]:
    tensor, indices = op.inputs[:2]
    dtype = op.attrs["element_dtype"]
    made = apply_one("TensorListGather", grad, indices, _row_shape(tensor), element_dtype=dtype)
    return [made, *[None] * (len(op.inputs) - 1)]


@gradient("TensorListScatterIntoExistingList")
def _scatter_into(op: Operation, grad: Tensor) -> list[Any]:
    _, tensor, indices = op.inputs
    dtype = op.attrs["element_dtype"]
    rest = apply_one("TensorListScatterIntoExistingList", grad, apply_one("ZerosLike", tensor), indices)
    made = apply_one("TensorListGather", grad, indices, _row_shape(tensor), element_dtype=dtype)
    return [rest, made, None]
