"""TensorList: the value of a list of tensors, and the checks of lists and of their shapes."""

from __future__ import annotations

import threading
from typing import Any

from tensorfleet.checkpoint import varint
from tensorfleet.core import shapes
from tensorfleet.core.dims import Dims, format_dims, merge
from tensorfleet.core.dtypes import DType, from_enum
from tensorfleet.proto.tensor_shape_pb2 import TensorShapeProto
from tensorfleet_service.kernels.values import (
    ints,
    invalid,
)
from tensorfleet_service.kernels.variant_messages import decoder, dtype_of
from tensorfleet_service.kernels.variants import Variant, plus, unboxed, zeros_like
from tensorfleet_service.threads import unlocked

_NAME = "tensorflow::TensorList"
_sharing = threading.Lock()


class TensorList(Variant):
    """The elements of a list; None for those that were reserved but not set.

    Lists that grow from each other share memory: `_items` may be longer than this list, which has the first
    `length` of it. Of two that grow from the same list, the second one copies.
    """

    __slots__ = ("_items", "dims", "dtype", "length", "limit")

    def __init__(
        self, dtype: DType, dims: Dims, items: list[Any], limit: int = -1, length: int | None = None
    ) -> None:
        self.dtype = dtype
        self.dims = dims
        self.limit = limit
        self.length = len(items) if length is None else length
        self._items = items

    def items(self) -> list[Any]:
        """A copy of the list of elements."""
        return unlocked.copied(self._items, self.length)

    def with_items(self, items: list[Any]) -> TensorList:
        return TensorList(self.dtype, self.dims, items, self.limit)

    def pushed(self, value: Any) -> TensorList:
        items = self._items
        with _sharing:
            shared = len(items) == self.length
            if shared:
                items.append(value)
        if not shared:
            items = [*self.items(), value]
        return TensorList(self.dtype, self.dims, items, self.limit, self.length + 1)

    def popped(self) -> TensorList:
        return TensorList(self.dtype, self.dims, self._items, self.limit, self.length - 1)

    def item(self, index: int) -> Any:
        return self._items[index]

    def zeros_like(self, xp: Any) -> TensorList:
        return self.with_items([None if item is None else zeros_like(item, xp) for item in self.items()])

    def plus(self, other: Any) -> TensorList:
        """A list of the sums of elements; an element that only one of the lists has stays as it is."""
        second = checked(other, self.dtype)
        if self.length != second.length:
            raise invalid(
                f"Trying to add two lists of tensors with different lengths. One is {self.length} and the "
                f"other is {second.length}"
            )
        sums = [
            b if a is None else a if b is None else plus(a, b)
            for a, b in zip(self.items(), second.items(), strict=True)
        ]
        made = self.with_items(sums)
        made.dims = merged(self.dims, second.dims)
        return made

    def parts(self) -> tuple[str, bytes, list[Any]]:
        """Which elements are not set, the dtype, the limit and the shape; and the elements that are set."""
        items = self.items()
        missing = [index for index, item in enumerate(items) if item is None]
        numbers = [len(missing), *missing, self.dtype.enum, self.limit % 2**64]
        shape = shapes.to_proto(self.dims).SerializeToString()
        metadata = b"".join(map(varint.encode, numbers)) + shape
        return _NAME, metadata, [item for item in items if item is not None]

    def element_dims(self, dims: Dims) -> Dims:
        """The known shape of all elements: that of the list, of the caller, and of the elements.

        Raises InvalidArgumentError if these contradict each other.
        """
        found = merged(self.dims, dims)
        if found is not None and None not in found:
            return found
        for item in self.items():
            if item is not None:
                found = merged(found, item.shape)
        return found


def merged(a: Dims, b: Dims) -> Dims:
    try:
        return merge(a, b)
    except ValueError:
        text = f"PartialTensorShape: Incompatible shapes during merge: {format_dims(a)} vs. {format_dims(b)}"
        raise invalid(text) from None


def dims_of(value: Any) -> Dims:
    """The shape in a tensor; the scalar -1 is an unknown rank."""
    if not value.shape:
        if value != -1:
            raise invalid(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1. "
                f"It is {value}"
            )
        return None
    if value.ndim != 1:
        raise invalid(f"Shape must be at most rank 1 but is rank {value.ndim}")
    sizes = ints(value)
    if any(size < -1 for size in sizes):
        raise invalid(f"Dimension {min(sizes)} must be >= -1")
    return tuple(None if size < 0 else size for size in sizes)


def checked(found: Any, dtype: DType | None = None) -> TensorList:
    """The list on an edge.

    Raises InvalidArgumentError if it is not a list, or has another dtype.
    """
    found = unboxed(found)
    if not isinstance(found, TensorList):
        raise invalid(f"Input handle is not a list. Saw: '{type(found).__name__}'")
    if dtype is not None and found.dtype is not dtype:
        raise invalid(f"Invalid data types; op elements {dtype.name} but list elements {found.dtype.name}")
    return found


@decoder(_NAME)
def _decode(metadata: bytes, tensors: list[Any]) -> TensorList:
    count, position = varint.decode(metadata, 0)
    if count > len(metadata):
        raise ValueError("a list says to lack more elements than its message has bytes")
    missing = []
    for _ in range(count):
        index, position = varint.decode(metadata, position)
        missing.append(index)
    enum, position = varint.decode(metadata, position)
    limit, position = varint.decode(metadata, position)
    dims = shapes.from_proto(TensorShapeProto.FromString(metadata[position:]))
    length, absent = len(missing) + len(tensors), set(missing)
    if len(absent) != count or (missing and max(missing) >= length):
        raise ValueError("the elements that a list lacks are not in it")
    dtype = from_enum(enum)
    if any(dtype_of(tensor) is not dtype for tensor in tensors):
        raise ValueError(f"an element of a list of {dtype.name} is of another type")
    rest = iter(tensors)
    items = [None if index in absent else next(rest) for index in range(length)]
    return TensorList(dtype, dims, items, limit - 2**64 if limit >= 2**63 else limit)
