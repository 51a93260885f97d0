"""`tensorflow.python.framework.composite_tensor`: values that stand for several tensors."""

from __future__ import annotations

from abc import ABC
from typing import Any

from tensorfleet.core import nest
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor


class CompositeTensor(ABC):  # noqa: B024 - for isinstance alone
    """The base of sparse and ragged tensors and of IndexedSlices, in the eyes of `isinstance`."""


for _kind in (SparseTensor, IndexedSlices, RaggedTensor):
    CompositeTensor.register(_kind)


def is_composite_or_composite_value(tensor: Any) -> bool:
    """Whether a value is a composite tensor."""
    return isinstance(tensor, CompositeTensor)


def replace_composites_with_components(structure: Any) -> Any:
    """The structure with a list of the components in place of each composite tensor."""
    return nest.map_structure(_components, structure)


def _components(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, IndexedSlices):
        return [value.values, value.indices, *([] if value.dense_shape is None else [value.dense_shape])]
    if isinstance(value, RaggedTensor):
        return [_components(value.values), value.row_splits]
    return value
