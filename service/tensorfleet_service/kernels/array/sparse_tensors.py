"""SparseTensors: their order, and their form as strings and as the values of datasets."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet_service.graph import tensor_pieces
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import check_ranks
from tensorfleet_service.kernels.values import array_kernel, host_array, invalid, own, shape_text
from tensorfleet_service.threads import unlocked


def _check(indices: Any, values: Any, shape: Any) -> None:
    check_ranks(indices, values, shape)
    if len(indices) != len(values):
        raise invalid(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not match"
        )
    if indices.shape[1] != len(shape):
        raise invalid(f"Index rank ({indices.shape[1]}) and shape rank ({len(shape)}) do not match")


@array_kernel("SparseReorder")
def sparse_reorder(node: KernelNode) -> Kernel:
    def run(indices: Any, values: Any, shape: Any) -> Any:
        _check(indices, values, shape)
        if len(values) < 2:
            return indices, values
        # The last key sorts first.
        order = np.lexsort(host_array(indices).T[::-1])
        return indices[order], values[order]

    return run


def _packed(node: KernelNode) -> Any:
    """The function from an array to one of the three values of a serialized SparseTensor."""
    if node.attrs["out_type"] is dtypes.variant:
        return host_array
    return lambda array: tensor_util.to_proto(host_array(array)).SerializeToString()


@array_kernel("SerializeSparse")
def serialize_sparse(node: KernelNode) -> Kernel:
    pack = _packed(node)

    def run(indices: Any, values: Any, shape: Any) -> Any:
        _check(indices, values, shape)
        result = np.empty(3, object)
        for i, part in enumerate((indices, values, shape)):
            result[i] = pack(part)
        return result

    return run


def _rows(indices: Any, values: Any, shape: Any) -> Iterator[tuple[Any, Any]]:
    """The indices and values of each row of a SparseTensor."""
    rows = int(shape[0])
    first = indices[:, 0]
    if len(first) and (np.any(first[1:] < first[:-1]) or first[0] < 0 or first[-1] >= rows):
        raise invalid("The indices of a SparseTensor must be in order, and inside of its shape")
    ends = np.searchsorted(first, np.arange(rows + 1))
    for row in range(rows):
        part = slice(ends[row], ends[row + 1])
        yield np.ascontiguousarray(indices[part, 1:]), values[part]


@array_kernel("SerializeManySparse")
def serialize_many_sparse(node: KernelNode) -> Kernel:
    pack = _packed(node)

    def run(indices: Any, values: Any, shape: Any) -> Any:
        _check(indices, values, shape)
        if len(shape) < 2:
            raise invalid("Rank of input SparseTensor should be > 1, but saw rank: " + str(len(shape)))
        rest = pack(shape[1:])
        result = np.empty((int(shape[0]), 3), object)
        for row, (places, items) in enumerate(_rows(indices, values, shape)):
            result[row, 0] = pack(places)
            result[row, 1] = pack(items)
            result[row, 2] = rest
        return result

    return run


@array_kernel("DeserializeSparse", "DeserializeManySparse")
def deserialize_sparse(node: KernelNode) -> Kernel:
    dtype = node.attrs["dtype"]
    many = node.op == "DeserializeManySparse"

    def run(serialized: Any) -> Any:
        if many and serialized.ndim != 2:
            text = f"Serialized sparse should be a matrix but received shape {shape_text(serialized.shape)}"
            raise invalid(text)
        if not serialized.ndim or serialized.shape[-1] != 3:
            shape = shape_text(serialized.shape)
            raise invalid(f"Serialized sparse should have 3 as the last dimension but has shape {shape}")
        rows = [tuple(map(_unpacked, row)) for row in serialized.reshape(-1, 3).tolist()]
        for indices, values, shape in rows:
            _check(indices, values, shape)
            _check_dtype(values, dtype)
        outer = serialized.shape[:-1]
        if not outer:
            return rows[0]
        if not rows:
            raise invalid("Serialized sparse must have at least one element")
        return _stacked(rows, outer)

    return run


def _check_dtype(values: Any, dtype: DType) -> None:
    if values.dtype != dtype.np:
        raise invalid(f"Requested SparseTensor of type {dtype.name} but a part has {values.dtype}")


def _stacked(rows: list[Any], outer: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """One SparseTensor of several, in the order of the outer dimensions that they get."""
    if len({len(shape) for _, _, shape in rows}) > 1:
        raise invalid("Inconsistent rank across SparseTensors")
    places = np.stack(np.unravel_index(np.arange(len(rows)), outer), 1)
    counts = [len(values) for _, values, _ in rows]
    indices = np.concatenate([indices for indices, _, _ in rows])
    before = places[unlocked.repeat(np.arange(len(places)), counts)]
    shape = np.max([shape for _, _, shape in rows], 0)
    return (
        np.concatenate([before, indices], 1).astype(np.int64),
        np.concatenate([values for _, values, _ in rows]),
        np.concatenate([np.array(outer, np.int64), shape.astype(np.int64)]),
    )


class _Kept:
    """SparseTensors on their way from one op to another (`AddSparseToTensorsMap`), by number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._items: dict[int, Any] = {}

    def add(self, items: list[Any]) -> list[int]:
        with self._lock:
            numbers = list(itertools.islice(self._numbers, len(items)))
            self._items.update(zip(numbers, items, strict=True))
        return numbers

    def take(self, numbers: list[int]) -> list[Any]:
        """Removes and returns them. Raises InvalidArgumentError if one is not there."""
        with self._lock:
            taken = []
            for number in numbers:
                if number not in self._items:
                    raise invalid(f"Unable to find SparseTensor: {number} in map")
                taken.append(self._items.pop(number))
        return taken


def _kept(node: KernelNode) -> _Kept:
    container, name = node.attrs["container"].decode(), node.attrs["shared_name"].decode()
    return node.resources.get_or_create(container, "sparse tensors", name or node.name, _Kept)


@array_kernel("AddSparseToTensorsMap", "AddManySparseToTensorsMap")
def add_to_map(node: KernelNode) -> Kernel:
    many = node.op.startswith("AddMany")

    def run(indices: Any, values: Any, shape: Any) -> Any:
        _check(indices, values, shape)
        kept = _kept(node)
        if not many:
            return np.int64(kept.add([(indices, values, shape)])[0])
        if len(shape) < 2:
            raise invalid("Rank of input SparseTensor should be > 1, but saw rank: " + str(len(shape)))
        rows = [(places, own(items), shape[1:]) for places, items in _rows(indices, own(values), shape)]
        return np.array(kept.add(rows), np.int64)

    return run


@array_kernel("TakeManySparseFromTensorsMap")
def take_from_map(node: KernelNode) -> Kernel:
    dtype = node.attrs["dtype"]

    def run(handles: Any) -> Any:
        if handles.ndim != 1:
            raise invalid(f"sparse_handles should be a vector but received shape {shape_text(handles.shape)}")
        if not handles.size:
            raise invalid("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
        rows = _kept(node).take(handles.tolist())
        for _, values, _ in rows:
            _check_dtype(values, dtype)
        return _stacked(rows, (len(rows),))

    return run


def _unpacked(part: Any) -> Any:
    if not isinstance(part, bytes):
        return part
    try:
        return tensor_pieces.array(part)
    except DecodeError:
        raise invalid("Could not parse a part of a serialized SparseTensor") from None
    except (TypeError, ValueError) as e:
        raise invalid(f"Could not parse a part of a serialized SparseTensor: {e}") from None
