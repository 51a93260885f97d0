"""TensorArrayV3 and its ops: the array itself travels on the resource edges, and ends with its step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    ints,
    invalid,
    partial_shape_text,
    shape_text,
    type_text,
)
from tensorfleet_service.threads import unlocked

_FLOW = np.float32(0)
_MISSING = object()
_MAX_ELEMENTS = 1 << 24
"""Limit on the elements of an array, as its size comes from a tensor."""


class Array:
    """The elements of one TensorArray in one step."""

    __slots__ = (
        "adds",
        "alike",
        "clears",
        "dims",
        "dtype",
        "elements",
        "gradients",
        "grows",
        "name",
        "prepended",
        "read_ones",
        "shapes",
    )

    def __init__(
        self,
        name: str,
        size: int,
        dtype: DType,
        dims: Dims,
        grows: bool,
        clears: bool,
        adds: bool = False,
        alike: bool = False,
    ) -> None:
        self.name = name
        self.elements: list[Any] = [_MISSING] * size
        self.dtype = dtype
        self.dims = dims
        self.grows = grows
        self.clears = clears
        self.adds = adds
        self.alike = alike
        # The shapes of all elements, also of those that were read and dropped: their gradients need them.
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.read_ones: set[int] = set()
        self.gradients: dict[bytes, Array] = {}
        self.prepended: tuple[int, ...] = ()

    def gradient(self, source: bytes, prepended: tuple[int, ...]) -> Array:
        """The array of the gradients of one source.

        It grows with this one, as it may be made before a loop has written its last element.

        Args:
            prepended: further dimensions that a gradient has, before those of its element.
        """
        found = self.gradients.get(source)
        if found is None:
            dims = None if self.dims is None else prepended + self.dims
            name = f"{self.name}@{source.decode(errors='replace')}"
            found = Array(name, len(self.elements), self.dtype, dims, False, True, True)
            found.shapes = {index: prepended + shape for index, shape in self.shapes.items()}
            found.prepended = prepended
            self.gradients[source] = found
        return found

    def _grow(self, size: int) -> None:
        self.elements += [_MISSING] * (size - len(self.elements))
        for gradient in self.gradients.values():
            gradient._grow(size)

    def _note_shape(self, index: int, shape: tuple[int, ...]) -> None:
        self.shapes[index] = shape
        for gradient in self.gradients.values():
            gradient._note_shape(index, gradient.prepended + shape)

    def write(self, index: int, value: Any) -> None:
        """Sets an element, which must not have been set before; in an array of gradients, adds to it.

        Raises:
            InvalidArgumentError: there is no such element, it is set or was read, or the value has another
                shape.
        """
        size = len(self.elements)
        if index < 0 or (index >= size and not self.grows):
            raise self._error(
                f"Tried to write to index {index} but array is not resizeable and size is: {size}"
            )
        if not compatible(self.dims, value.shape):
            raise self._error(
                f"Could not write to TensorArray index {index} because the value shape is "
                f"{format_dims(value.shape)} which is incompatible with the TensorArray's inferred element "
                f"shape: {format_dims(self.dims)} (consider setting infer_shape=False)."
            )
        if index >= size:
            _check_size(index + 1)
            self._grow(index + 1)
        if index in self.read_ones:
            raise self._error(
                f"Could not write to TensorArray index {index} because it has already been read."
            )
        present = self.elements[index]
        if present is not _MISSING:
            if not self.adds:
                raise self._error(
                    f"Could not write to TensorArray index {index} because it has already been written to."
                )
            if present.shape != value.shape:
                raise self._error(
                    f"Could not aggregate to TensorArray index {index} because the existing shape is "
                    f"{format_dims(present.shape)} but the new input shape is {format_dims(value.shape)}."
                )
            value = present + value
        if self.alike:
            self.dims = value.shape  # from now on also that of elements that nobody writes
        self._note_shape(index, value.shape)
        self.elements[index] = value

    def read(self, index: int, xp: Any) -> Any:
        """An element; one that was not written is zero if its shape is known.

        Raises:
            InvalidArgumentError: there is no such element, or it was not written, or is read for the second
                time.
        """
        size = len(self.elements)
        if not 0 <= index < size:
            raise invalid(f"Tried to read from index {index} but array size is: {size}")
        value = self.elements[index]
        if value is None:
            raise self._error(
                f"Could not read index {index} twice because it was cleared after a previous read (perhaps "
                "try setting clear_after_read = false?)."
            )
        if value is _MISSING:
            dims = self.shapes.get(index, self.dims)
            if dims is None or None in dims:
                raise self._error(
                    f"Could not read from TensorArray index {index}.  Furthermore, the element shape is not "
                    f"fully defined: {partial_shape_text(self.dims)}.  It is possible you are working with a "
                    "resizeable TensorArray and stop_gradients is not allowing the gradients to be written.  "
                    "If you set the full element_shape property on the forward TensorArray, the proper "
                    "all-zeros tensor will be returned instead of incurring this error."
                )
            value = xp.zeros(dims, self.dtype.np)
        self.read_ones.add(index)
        if self.clears:
            self.elements[index] = None
        return value

    def check_written(self, dtype: DType) -> None:
        """Raises InvalidArgumentError where values of another dtype are to be written."""
        if dtype is not self.dtype:
            raise invalid(
                f"TensorArray dtype is {type_text(self.dtype)} but Op is trying to write dtype "
                f"{type_text(dtype)}."
            )

    def check_read(self, dtype: DType) -> None:
        """Raises InvalidArgumentError where values of another dtype are asked for."""
        if dtype is not self.dtype:
            raise invalid(
                f"TensorArray dtype is {type_text(self.dtype)} but Op requested dtype {type_text(dtype)}."
            )

    def check_room(self, indices: list[int]) -> None:
        """Raises InvalidArgumentError before anything is written to an array that is too short."""
        size = len(self.elements)
        if not self.grows and max(indices, default=-1) >= size:
            raise invalid(f"Max scatter index must be < array size ({max(indices)} vs. {size})")

    def _error(self, text: str) -> errors.OpError:
        return errors.InvalidArgumentError(None, None, f"TensorArray {self.name}: {text}")


@kernel("TensorArrayV3")
def tensor_array(node: KernelNode) -> Kernel:
    attrs = node.attrs
    name = (attrs["tensor_array_name"] or node.name.encode()).decode()
    dtype, dims = attrs["dtype"], attrs["element_shape"]
    grows, clears = attrs["dynamic_size"], attrs["clear_after_read"]
    alike = attrs["identical_element_shapes"]
    flow = _FLOW if node.xp is np else node.xp.zeros((), np.float32)

    def run(size: Any) -> Any:
        count = _scalar(size, "size")
        if count < 0:
            raise invalid(f"Size should be >= 0. It is {count}")
        _check_size(count)
        return Array(name, count, dtype, dims, grows, clears, alike=alike), flow

    return run


def _check_size(size: int) -> None:
    if size > _MAX_ELEMENTS:
        text = f"A TensorArray of {size} elements is longer than the {_MAX_ELEMENTS} allowed"
        raise errors.ResourceExhaustedError(None, None, text)


def _scalar(value: Any, what: str) -> int:
    if value.ndim:
        raise invalid(f"TensorArray {what} must be scalar, but had shape: {shape_text(value.shape)}")
    return int(value)


@kernel("TensorArrayGradV3", "TensorArrayGradWithShape")
def gradient(node: KernelNode) -> Kernel:
    source = node.attrs["source"]

    def run(array: Array, flow: Any, prepended: Any = ()) -> Any:
        return array.gradient(source, tuple(ints(np.asarray(prepended)))), flow

    return run


@kernel("TensorArrayWriteV3")
def write(node: KernelNode) -> Kernel:
    dtype = node.attrs["T"]

    def run(array: Array, index: Any, value: Any, flow: Any) -> Any:
        array.check_written(dtype)
        array.write(_scalar(index, "index"), value)
        return flow

    return run


@kernel("TensorArrayReadV3")
def read(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.attrs["dtype"]

    def run(array: Array, index: Any, flow: Any) -> Any:
        array.check_read(dtype)
        return array.read(_scalar(index, "index"), xp)

    return run


@kernel("TensorArraySizeV3")
def size(node: KernelNode) -> Kernel:
    return lambda array, flow: np.int32(len(array.elements))


@kernel("TensorArrayCloseV3")
def close(node: KernelNode) -> Kernel:
    return lambda array: array.elements.clear()


@kernel("TensorArrayGatherV3")
def gather(node: KernelNode) -> Kernel:
    xp, dtype, dims = node.xp, node.attrs["dtype"], node.attrs["element_shape"]

    def run(array: Array, indices: Any, flow: Any) -> Any:
        array.check_read(dtype)
        if indices.ndim != 1:
            raise invalid(f"Expected indices to be a vector, but received shape: {shape_text(indices.shape)}")
        values = [array.read(index, xp) for index in unlocked.listed(np.asarray(indices))]
        if not values:
            return _empty(xp, dtype, dims if dims is not None else array.dims)
        for value in values:
            if value.shape != values[0].shape:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "TensorArray has inconsistent shapes.  Index 0 has shape: "
                    f"{format_dims(values[0].shape)} but another has shape: {format_dims(value.shape)}",
                )
        return xp.stack(values)

    return run


def _empty(xp: Any, dtype: DType, dims: Dims) -> Any:
    """What an array without elements gives: its shape must be known, but for the number of elements."""
    if dims is None or None in dims:
        raise errors.UnimplementedError(
            None,
            None,
            f"TensorArray has size zero, but element shape {partial_shape_text(dims)} is not fully defined. "
            "Currently only static shapes are supported when packing zero-size TensorArrays.",
        )
    return xp.zeros((0, *dims), dtype.np)


@kernel("TensorArrayScatterV3")
def scatter(node: KernelNode) -> Kernel:
    dtype = node.attrs["T"]

    def run(array: Array, indices: Any, value: Any, flow: Any) -> Any:
        array.check_written(dtype)
        if indices.ndim != 1:
            raise invalid(f"Expected indices to be a vector, but received shape: {shape_text(indices.shape)}")
        if not value.ndim:
            raise invalid("Input value for unpack must be at least a vector but received shape: []")
        if len(indices) != len(value):
            raise invalid(
                f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {len(value)}"
            )
        array.check_room(unlocked.listed(np.asarray(indices)))
        for index, row in zip(unlocked.listed(np.asarray(indices)), _rows(value), strict=True):
            array.write(index, row)
        return flow

    return run


def _rows(value: Any) -> list[Any]:
    if value.ndim == 1 and value.dtype == object:
        return [value[i : i + 1].reshape(()) for i in range(len(value))]
    return list(value)


@kernel("TensorArrayConcatV3")
def concat(node: KernelNode) -> Kernel:
    xp, dtype, dims = node.xp, node.attrs["dtype"], node.attrs["element_shape_except0"]

    def run(array: Array, flow: Any) -> Any:
        array.check_read(dtype)
        values = [array.read(index, xp) for index in range(len(array.elements))]
        if not values:
            return _empty(xp, dtype, dims), np.zeros(0, np.int64)
        for index, value in enumerate(values):
            if not value.ndim:
                raise invalid(
                    f"Concat saw a scalar shape at index {index} but requires at least vectors.  Did you "
                    "mean to call pack?"
                )
            if value.shape[1:] != values[0].shape[1:]:
                raise invalid(
                    "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                    f"{shape_text(values[0].shape[1:])} but index {index} has (excepting dimension 0) shape: "
                    f"{shape_text(value.shape[1:])}"
                )
        return xp.concatenate(values), np.array([len(value) for value in values], np.int64)

    return run


@kernel("TensorArraySplitV3")
def split(node: KernelNode) -> Kernel:
    dtype = node.attrs["T"]

    def run(array: Array, value: Any, lengths: Any, flow: Any) -> Any:
        array.check_written(dtype)
        if lengths.ndim != 1:
            raise invalid(f"Expected lengths to be a vector, received shape: {shape_text(lengths.shape)}")
        if not value.ndim:
            raise invalid("Expected value to be at least a vector, but received shape: []")
        sizes = unlocked.listed(np.asarray(lengths))
        if sum(sizes) != len(value) or min(sizes, default=0) < 0:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(sizes)} and value's shape is: {format_dims(value.shape)}",
            )
        size = len(array.elements)
        if len(sizes) != size and (not array.grows or len(sizes) < size):
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({size} vs. {len(sizes)}), and the "
                "TensorArray is not marked as dynamically resizeable"
            )
        start = 0
        for index, length in enumerate(sizes):
            array.write(index, value[start : start + length])
            start += length
        return flow

    return run
