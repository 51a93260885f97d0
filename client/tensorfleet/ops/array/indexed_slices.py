"""IndexedSlices: some rows of a tensor, the form of the gradient of a gather."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorfleet.core.composite_specs import IndexedSlicesSpec
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.core.structures import register_composite
from tensorfleet.core.type_specs import serve_value_type
from tensorfleet.graph.convert import convert_to_tensor, register_tensor_conversion_function
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.session.fetches import register_session_run_conversion_functions


class IndexedSlices:
    """The rows `indices` of a tensor, with repetition: those of equal index add up (`tf.IndexedSlices`).

    Attributes:
        values: [n, …], the rows.
        indices: [n], int32 or int64: where they belong along the first dimension.
        dense_shape: the shape of the whole tensor as an integer vector, or None.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The slices; as many along the first axis as there are indices."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The indices of the slices along the first axis; one-dimensional."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the tensor that the slices are of, as a tensor; None if it is not known."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        return TensorShape(None if self._dense_shape is None else static_dims(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """The static shape of the whole tensor, as `shape`."""
        return self.shape

    @property
    def name(self) -> str:
        """The name of the values."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device requested for the values."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph that the values are in."""
        return self._values.graph

    def with_values(self, values: Tensor) -> IndexedSlices:
        """The same rows with other values."""
        return IndexedSlices(values, self._indices, self._dense_shape)

    def consumers(self) -> list[Operation]:
        """The operations that take one of the parts as an input."""
        return list(dict.fromkeys(op for part in _components(self) for op in part.consumers()))

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self._values)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"


def _components(slices: IndexedSlices) -> list[Tensor]:
    return [t for t in (slices.values, slices.indices, slices.dense_shape) if t is not None]


register_composite(IndexedSlices, _components)


class IndexedSlicesValue(NamedTuple):
    """The value of a fetched IndexedSlices, which may also be fed for one (`tf.IndexedSlicesValue`)."""

    values: Any
    indices: Any
    dense_shape: Any


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """`value` itself if it is an IndexedSlices, else the tensor made from it
    (`tf.convert_to_tensor_or_indexed_slices`).

    Raises:
        ValueError: an IndexedSlices of another dtype.
    """
    if isinstance(value, IndexedSlices):
        if dtype is not None and value.dtype.base != dtype:
            raise ValueError(
                f"Incompatible tensor conversion requested to `dtype` {dtype} for `IndexedSlices` with "
                f"`dtype` {value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name)


LARGE = 100_000_000
"""Number of elements from which the conversion of an IndexedSlices to a tensor gives a warning."""


def _to_tensor(
    value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible tensor conversion requested to `dtype` {dtype.name} for `IndexedSlices` "
            f"({value}) with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            f"IndexedSlices conversion requires a dense_shape, but this one has none: {value}. "
            "Give one to the IndexedSlices."
        )
    dims = value.shape.as_list() if value.shape.rank is not None else [None]
    if None in dims:
        warnings.warn(
            "Converting sparse IndexedSlices to a dense Tensor of unknown shape. "
            "This may consume a large amount of memory.",
            stacklevel=2,
        )
    elif math.prod(d for d in dims if d is not None) >= LARGE:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {math.prod(d or 0 for d in dims)} "
            "elements. This may consume a large amount of memory.",
            stacklevel=2,
        )
    rows = value.dense_shape[0]
    return apply_one("UnsortedSegmentSum", value.values, value.indices, rows, name=name)


def _parts(value: IndexedSlices) -> list[Tensor]:
    parts = [value.values, value.indices]
    return parts if value.dense_shape is None else [*parts, value.dense_shape]


def _fetch(value: IndexedSlices) -> tuple[list[Tensor], Any]:
    return _parts(value), lambda results: IndexedSlicesValue(*results, *([None] * (3 - len(results))))


def _feed(key: IndexedSlices, value: Sequence[Any]) -> list[tuple[Tensor, Any]]:
    return list(zip(_parts(key), value, strict=False))


register_tensor_conversion_function(IndexedSlices, _to_tensor)
register_session_run_conversion_functions(IndexedSlices, _fetch, _feed, _parts)


def concatenated(slices: Sequence[IndexedSlices]) -> IndexedSlices:
    """All rows of several IndexedSlices of one tensor."""
    indices = [s.indices for s in slices]
    if len({t.dtype.base for t in indices}) > 1:
        indices = [t if t.dtype.base.name == "int64" else apply_one("Cast", t, DstT="int64") for t in indices]
    return IndexedSlices(
        apply_one("ConcatV2", [s.values for s in slices], 0, name="concat"),
        apply_one("ConcatV2", indices, 0, name="concat"),
        next((s.dense_shape for s in slices if s.dense_shape is not None), None),
    )


serve_value_type(IndexedSlicesSpec, IndexedSlices)
