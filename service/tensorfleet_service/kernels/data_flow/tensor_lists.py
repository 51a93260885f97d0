"""Kernels of lists of tensors, which are values: an op that changes a list gives a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors, string_arrays
from tensorfleet.core.dims import Dims, compatible, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.data_flow.tensor_list_value import TensorList, checked, dims_of, merged
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    boxed,
    invalid,
    partial_shape_text,
    shape_text,
)
from tensorfleet_service.threads import unlocked

MAX_LENGTH = 1 << 24
"""Limit on the elements of a new list, as its size comes from a tensor."""


def _count(value: Any, name: str) -> int:
    count = int(value)
    if count > MAX_LENGTH:
        raise errors.ResourceExhaustedError(None, None, f"{name} is {count}, more than {MAX_LENGTH}")
    return count


def _zeros(node: KernelNode, dtype: DType, dims: Dims, what: str) -> Any:
    """Zeros of a shape; `what` begins the error for a shape that is not fully known."""
    if dims is None or None in dims:
        raise invalid(f"{what}{partial_shape_text(dims)} and no list element is set.")
    if dtype is dtypes.variant:
        raise invalid("A variant that was not set has no value")
    if dtype is dtypes.string:
        return string_arrays.filled([int(size or 0) for size in dims], b"")
    return node.xp.zeros(dims, dtype.np)[()]


_UNSET = "Trying to read an uninitialized tensor but element_shape is not fully defined: "
_STACKED = (
    "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
    "element_shape: "
)
_GATHERED = "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: "


def _all_set(node: KernelNode, found: TensorList, dims: Dims, items: list[Any], what: str) -> list[Any]:
    """The elements, with zeros in place of those that are not set."""
    zeros = None
    if any(item is None for item in items):
        zeros = _zeros(node, found.dtype, dims, what)
    values: list[Any] = [zeros if item is None else item for item in items]
    for value in values:
        if value.shape != values[0].shape or not compatible(dims, value.shape):
            raise invalid(
                f"Tried to stack list which only contains uninitialized tensors or tensors of different "
                f"shapes: {format_dims(value.shape)} vs. {format_dims(dims)}"
            )
    return values


def stacked(node: KernelNode, values: Sequence[Any]) -> Any:
    if values[0].dtype == object:
        result = np.empty((len(values), *values[0].shape), object)
        for index, value in enumerate(values):
            result[index] = value[()] if not value.shape else value
        return result
    # Memory that there is not is refused before millions of elements are looked at.
    node.xp.empty((len(values), *values[0].shape), values[0].dtype)
    return unlocked.stack(values, node.xp)


def _vector(tensor: Any) -> None:
    if not tensor.ndim:
        raise invalid(f"Tensor must be at least a vector, but saw shape: {format_dims(tensor.shape)}")


@kernel("EmptyTensorList")
def empty(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(dims: Any, limit: Any) -> TensorList:
        if limit.ndim:
            raise invalid(
                f"max_num_elements expected to be a scalar but got shape: {shape_text(limit.shape)}"
            )
        return TensorList(dtype, dims_of(dims), unlocked.Listed(), int(limit))

    return run


@kernel("TensorListReserve")
def reserve(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(dims: Any, count: Any) -> TensorList:
        if count.size != 1:
            raise invalid(
                "The num_elements to reserve must be a tensor size 1, but got " + shape_text(count.shape)
            )
        count = count.reshape(())
        if count < 0:
            raise invalid(f"The num_elements to reserve must be a non negative number, but got {int(count)}")
        return TensorList(dtype, dims_of(dims), [None] * _count(count, "num_elements"))

    return run


@kernel("TensorListPushBack")
def push_back(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]
    return lambda handle, value: push(checked(handle, dtype), boxed(value))


def push(found: TensorList, value: Any) -> TensorList:
    if not compatible(found.dims, value.shape):
        raise invalid(
            "Tried to append a tensor with incompatible shape to a list. Op element shape: "
            f"{format_dims(value.shape)} list shape: {format_dims(found.dims)}"
        )
    if 0 <= found.limit <= found.length:
        raise invalid(
            f"Tried to push item into a full list list size: {found.length} max_num_elements: {found.limit}"
        )
    return found.pushed(value)


@kernel("TensorListPushBackBatch")
def push_back_batch(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(handles: Any, values: Any) -> Any:
        if not values.ndim or values.shape[: handles.ndim] != handles.shape:
            rows = values.shape[0] if values.ndim else 0
            raise invalid(
                f"Expected tensor.shape[0] == input_handles.size, but saw {rows} vs. {handles.size}"
            )
        result = np.empty(handles.shape, object)
        for index in np.ndindex(handles.shape):
            result[index] = push(checked(handles[index], dtype), values[index])
        return result

    return run


@kernel("TensorListPopBack")
def pop_back(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(handle: Any, dims: Any) -> Any:
        found = checked(handle, dtype)
        if not found.length:
            raise invalid("Trying to pop from an empty list.")
        value = found.item(found.length - 1)
        if value is None:
            value = _zeros(node, dtype, found.element_dims(dims_of(dims)), _UNSET)
        return found.popped(), value

    return run


@kernel("TensorListGetItem")
def get_item(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(handle: Any, index: Any, dims: Any) -> Any:
        found, number = checked(handle, dtype), int(index)
        if not 0 <= number < found.length:
            raise invalid(f"Trying to access element {number} in a list with {found.length} elements.")
        value = found.item(number)
        return _zeros(node, dtype, found.element_dims(dims_of(dims)), _UNSET) if value is None else value

    return run


@kernel("TensorListSetItem")
def set_item(node: KernelNode) -> Kernel:
    dtype, grows = node.attrs["element_dtype"], node.attrs["resize_if_index_out_of_bounds"]

    def run(handle: Any, index: Any, value: Any) -> TensorList:
        found, number, value = checked(handle, dtype), int(index), boxed(value)
        if number < 0 or (number >= found.length and not grows):
            raise invalid(f"Trying to modify element {number} in a list with {found.length} elements.")
        if not compatible(found.dims, value.shape):
            raise invalid(
                "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
                f"{format_dims(value.shape)} list shape: {format_dims(found.dims)}"
            )
        items = found.items()
        items += [None] * (_count(number, "index") + 1 - len(items))
        items[number] = value
        return found.with_items(items)

    return run


@kernel("TensorListLength")
def length(node: KernelNode) -> Kernel:
    return lambda handle: np.int32(checked(handle).length)


@kernel("TensorListResize")
def resize(node: KernelNode) -> Kernel:
    def run(handle: Any, size: Any) -> TensorList:
        found = checked(handle)
        if size < 0:
            raise invalid("TensorListSlice expects size to be non-negative. Got: " + str(int(size)))
        items = found.items()[: int(size)]
        return found.with_items(items + [None] * (_count(size, "size") - len(items)))

    return run


@kernel("TensorListElementShape")
def element_shape(node: KernelNode) -> Kernel:
    dtype = node.attrs["shape_type"].np

    def run(handle: Any) -> Any:
        dims = checked(handle).dims
        return dtype.type(-1) if dims is None else np.array([-1 if d is None else d for d in dims], dtype)

    return run


@kernel("TensorListStack")
def stack(node: KernelNode) -> Kernel:
    dtype, count = node.attrs["element_dtype"], node.attrs["num_elements"]

    def run(handle: Any, dims: Any) -> Any:
        found = checked(handle, dtype)
        if count not in (-1, found.length):
            raise invalid(
                f"Operation expected a list with {count} elements but got a list with {found.length} "
                "elements."
            )
        known = found.element_dims(dims_of(dims))
        return _joined(node, found, known, found.items(), _STACKED)

    return run


def _joined(node: KernelNode, found: TensorList, dims: Dims, items: list[Any], unset: str) -> Any:
    if not items:
        what = "Tried to stack elements of an empty list with non-fully-defined element_shape: "
        zeros = _zeros(node, found.dtype, dims, what)
        return node.xp.zeros((0, *zeros.shape), zeros.dtype)
    return stacked(node, _all_set(node, found, dims, items, unset))


@kernel("TensorListGather")
def gather(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(handle: Any, indices: Any, dims: Any) -> Any:
        found, items = checked(handle, dtype), unlocked.Listed()
        for index in unlocked.listed(np.asarray(indices)):
            if not 0 <= index < found.length:
                raise invalid(f"Index {index} out of range; list only has {found.length} elements.")
            items.append(found.item(index))
        return _joined(node, found, found.element_dims(dims_of(dims)), items, _GATHERED)

    return run


@kernel("TensorListFromTensor")
def from_tensor(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(tensor: Any, dims: Any) -> TensorList:
        _vector(tensor)
        known = dims_of(dims)
        if not compatible(known, tensor.shape[1:]):
            raise invalid(
                "Specified a list with shape "
                f"{format_dims(known)} from a tensor with shape {format_dims(tensor.shape[1:])}"
            )
        return TensorList(dtype, known, unlocked.rows(tensor))

    return run


def _scattered(found: TensorList, tensor: Any, indices: Any) -> TensorList:
    """A list with the tensor's rows at indices, extended if necessary."""
    numbers = unlocked.listed(indices)
    if tensor.ndim and tensor.shape[0] != len(numbers):
        raise invalid(
            f"Invalid number of rows in input tensor. Expected: {len(numbers)} Actual: {tensor.shape[0]}"
        )
    if not compatible(found.dims, tensor.shape[1:]):
        raise invalid(
            "Specified a list with shape "
            f"{format_dims(found.dims)} from a tensor with shape {format_dims(tensor.shape[1:])}"
        )
    if any(number < 0 for number in numbers):
        raise invalid("Indices in TensorListScatter must all be non-negative.")
    items = found.items()
    items += [None] * (_count(max(numbers, default=-1), "an index") + 1 - len(items))
    for number, row in zip(numbers, unlocked.rows(tensor), strict=True):
        items[number] = row
    return found.with_items(items)


@kernel("TensorListScatter", "TensorListScatterV2")
def scatter(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(tensor: Any, indices: Any, dims: Any, count: Any = -1) -> TensorList:
        _vector(tensor)
        if count < -1:
            raise invalid("TensorListScatter expects num_elements >= -1, found: " + str(int(count)))
        numbers = unlocked.listed(indices)
        if count >= 0 and any(number >= count for number in numbers):
            raise invalid(
                f"TensorListScatter: Trying to scatter at index {max(numbers)} in list with size {int(count)}"
            )
        reserved = [None] * max(0, _count(count, "num_elements"))
        return _scattered(TensorList(dtype, dims_of(dims), reserved), tensor, indices)

    return run


@kernel("TensorListScatterIntoExistingList")
def scatter_into(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(handle: Any, tensor: Any, indices: Any) -> TensorList:
        _vector(tensor)
        return _scattered(checked(handle, dtype), tensor, indices)

    return run


@kernel("TensorListSplit")
def split(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def run(tensor: Any, dims: Any, lengths: Any) -> TensorList:
        _vector(tensor)
        known, sizes = dims_of(dims), unlocked.listed(lengths)
        if lengths.ndim != 1:
            raise invalid(f"Expected lengths to be a vector, received shape: {format_dims(lengths.shape)}")
        if any(size < 0 for size in sizes):
            raise invalid(f"Invalid value in lengths: {min(sizes)}")
        end = 0
        for size in sizes:
            end += size
            if end > tensor.shape[0]:
                raise invalid(
                    f"Attempting to slice [{end - size}, {end}] from tensor with length {tensor.shape[0]}"
                )
        if sum(sizes) != tensor.shape[0]:
            raise invalid(
                f"Unused values in tensor. Length of tensor: {tensor.shape[0]} Values used: {sum(sizes)}"
            )
        rest = None if known is None else known[1:]
        if not compatible(rest, tensor.shape[1:]) or (known is not None and not known):
            raise invalid(
                f"tensor shape {format_dims(tensor.shape)} is not compatible with element_shape "
                f"{format_dims(known)}"
            )
        items, start = unlocked.Listed(), 0
        for size in sizes:
            items.append(tensor[start : start + size])
            start += size
        return TensorList(dtype, known, items)

    return run


@kernel("TensorListConcat", "TensorListConcatV2")
def concat(node: KernelNode) -> Kernel:
    dtype, xp = node.attrs["element_dtype"], node.xp
    fixed = node.attrs.get("element_shape")

    def run(handle: Any, dims: Any = None, leading: Any = ()) -> Any:
        found = checked(handle, dtype)
        asked = fixed if dims is None else dims_of(dims)
        # The first dimension may differ from element to element.
        known = merged(_rest(found.dims), _rest(asked))
        for index, item in enumerate(found.items()):
            if item is not None:
                if not item.ndim:
                    raise invalid(
                        f"Concat saw a scalar shape at index {index} but requires at least vectors."
                    )
                known = merged(known, item.shape[1:])
        if known is None or None in known:
            raise invalid(
                "All except the first dimension must be fully defined when concating an empty tensor list. "
                f"element_shape: {partial_shape_text(asked)}"
            )
        own = found.dims[0] if found.dims else None
        first = own if own is not None else asked[0] if asked else None
        values, sizes = [], unlocked.listed(np.asarray(leading))
        for index, item in enumerate(found.items()):
            if item is None:
                size = first if first is not None else sizes[index] if index < len(sizes) else None
                if size is None:
                    raise invalid(
                        f"List contains uninitialized tensor at index {index} but leading_dims has only "
                        f"{len(sizes)} elements."
                    )
                item = _zeros(node, dtype, (int(size), *known), _UNSET)
            values.append(item)
        lengths = np.array([len(value) for value in values], np.int64)
        if not values:
            joined = _zeros(node, dtype, (0, *known), _UNSET)
        else:
            joined = unlocked.concatenate(values, np if dtype is dtypes.string else xp)
        return joined, lengths

    return run


def _rest(dims: Dims) -> Dims:
    if dims is not None and not dims:
        raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
    return None if dims is None else dims[1:]


@kernel("TensorListConcatLists")
def concat_lists(node: KernelNode) -> Kernel:
    dtype = node.attrs["element_dtype"]

    def join(a: Any, b: Any) -> TensorList:
        first, second = checked(a, dtype), checked(b, dtype)
        dims = first.dims if first.dims == second.dims else None
        if not compatible(first.dims, second.dims):
            raise invalid("input_a and input_b TensorList element shapes are not identical")
        made = first.with_items(first.items() + second.items())
        made.dims = first.dims if dims is None else dims
        return made

    def run(a: Any, b: Any) -> Any:
        if not (getattr(a, "shape", ()) or getattr(b, "shape", ())):
            return join(a, b)
        if a.shape != b.shape:
            raise invalid("Requires input_a and input_b to have the same shape")
        result = np.empty(a.shape, object)
        for index in np.ndindex(a.shape):
            result[index] = join(a[index], b[index])
        return result

    return run
