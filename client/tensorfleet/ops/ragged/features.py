"""`tf.io.RaggedFeature`: features of Examples that become RaggedTensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, range as range_of, zeros, zeros_like
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import boolean_mask, where
from tensorfleet.ops.array.shaping import reshape, shape as shape_of, size
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.io.features import ComposedFeature
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.comparison import equal, logical_not
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.scan import cumsum
from tensorfleet.ops.math.segment import unsorted_segment_max, unsorted_segment_sum
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor


class _RowSplits(NamedTuple):
    """The partition whose row splits a feature has (`tf.io.RaggedFeature.RowSplits`)."""

    key: str


class _RowLengths(NamedTuple):
    """The partition whose lengths of rows a feature has (`tf.io.RaggedFeature.RowLengths`)."""

    key: str


class _RowStarts(NamedTuple):
    """The partition whose beginnings of rows a feature has (`tf.io.RaggedFeature.RowStarts`)."""

    key: str


class _RowLimits(NamedTuple):
    """The partition whose ends of rows a feature has (`tf.io.RaggedFeature.RowLimits`)."""

    key: str


class _ValueRowIds(NamedTuple):
    """The partition of which a feature has the row of each value (`tf.io.RaggedFeature.ValueRowIds`)."""

    key: str


class _UniformRowLength(NamedTuple):
    """The partition into rows of one length (`tf.io.RaggedFeature.UniformRowLength`)."""

    length: int


class _RaggedFeature(NamedTuple):
    dtype: Any
    value_key: str | None
    partitions: tuple[Any, ...]
    row_splits_dtype: Any
    validate: bool


class RaggedFeature(_RaggedFeature, ComposedFeature):
    """A feature with any number of values, in rows and rows of rows (`tf.io.RaggedFeature`).

    Attributes:
        dtype: of the values.
        value_key: the feature with the values; the key in the dict of features by default.
        partitions: how the values of an Example are divided into rows, from the outermost dimension on:
            RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, each with the key of a feature, or
            UniformRowLength with a number.
        row_splits_dtype: int32 or int64: the dtype of the row splits.
        validate: whether steps check that the partitions fit the values.
    """

    __slots__ = ()

    RowSplits = _RowSplits
    RowLengths = _RowLengths
    RowStarts = _RowStarts
    RowLimits = _RowLimits
    ValueRowIds = _ValueRowIds
    UniformRowLength = _UniformRowLength

    def __new__(
        cls,
        dtype: Any,
        value_key: str | None = None,
        partitions: Sequence[Any] = (),
        row_splits_dtype: Any = dtypes.int32,
        validate: bool = False,
    ) -> RaggedFeature:
        """Raises ValueError or TypeError for a partition or a dtype of another kind."""
        if value_key is not None and not isinstance(value_key, str):
            raise ValueError(f"Argument `value_key` must be a string; got {value_key!r}")
        kinds = _RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength
        for partition in partitions:
            if not isinstance(partition, kinds):
                raise TypeError(
                    f"Argument `partitions` must be a list of partition objects. Received {partitions}"
                )
        splits = dtypes.as_dtype(row_splits_dtype)
        if splits not in (dtypes.int32, dtypes.int64):
            raise ValueError(
                f"Argument `row_splits_dtype` must be int32 or int64. Received: {row_splits_dtype}"
            )
        dtype = dtypes.as_dtype(dtype)
        return super().__new__(cls, dtype, value_key, tuple(partitions), splits, bool(validate))

    def parts(self, key: str) -> list[tuple[str, Any]]:
        keys = [one.key for one in self.partitions if not isinstance(one, _UniformRowLength)]
        return [(self.value_key or key, self.dtype), *((one, dtypes.int64) for one in keys)]

    def compose(self, key: str, found: Mapping[str, SparseTensor], is_single: bool) -> Any:
        splits_type: DType = self.row_splits_dtype
        flat: Any = found[self.value_key or key]
        if is_single and not self.partitions:
            return flat.values
        ragged = _rows(flat, splits_type, is_single)
        values, counts = ragged.values, ragged.row_lengths()
        for partition in reversed(self.partitions):
            if isinstance(partition, _UniformRowLength):
                length, counts = partition.length, counts // partition.length
                if isinstance(values, RaggedTensor):
                    values = RaggedTensor.from_uniform_row_length(values, length, validate=self.validate)
                else:
                    values = reshape(values, concat([[-1, length], shape_of(values)[1:]], 0))
                continue
            given = _rows(found[partition.key], splits_type, is_single)
            lengths, counts = _lengths(partition, given, counts, splits_type)
            values = RaggedTensor.from_row_lengths(values, lengths, validate=self.validate)
        if is_single:
            return values
        return RaggedTensor.from_row_lengths(values, counts, validate=self.validate)


def _rows(flat: SparseTensor, dtype: DType, is_single: bool) -> RaggedTensor:
    """The values of each Example as a row, of whole numbers in the dtype of splits where they are int64."""
    if is_single:
        return RaggedTensor.from_row_lengths(flat.values, cast(shape_of(flat.values), dtype), validate=False)
    made = RaggedTensor.from_value_rowids(
        flat.values, flat.indices[:, 0], nrows=flat.dense_shape[0], validate=False
    )
    return made.with_row_splits_dtype(dtype)


def _lengths(partition: Any, given: RaggedTensor, counts: Tensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """The lengths of all rows, and the number of rows of each Example with `counts` values."""
    numbers, ids = cast(given.values, dtype), given.value_rowids()
    rows = given.row_lengths()
    if isinstance(partition, _RowLengths):
        return numbers, rows
    if isinstance(partition, _ValueRowIds):
        rows = maximum(unsorted_segment_max(numbers, ids, given.nrows()), -1) + 1
        ids = numbers + gather(cumsum(rows, exclusive=True), ids)
        return unsorted_segment_sum(ones_like(ids), ids, reduce_sum(rows)), rows
    places = cast(range_of(size(numbers)), dtype)
    if isinstance(partition, _RowStarts):
        is_last = equal(places, gather(given.row_limits(), ids) - 1)
        shifted = concat([numbers[1:], zeros([1], dtype)], 0)[: size(numbers)]
        after = where(is_last, gather(counts, ids), shifted)
        return after - numbers, rows
    is_first = equal(places, gather(given.row_starts(), ids))
    shifted = concat([zeros([1], dtype), numbers[:-1]], 0)[: size(numbers)]
    before = where(is_first, zeros_like(numbers), shifted)
    if isinstance(partition, _RowLimits):
        return numbers - before, rows
    return boolean_mask(numbers - before, logical_not(is_first)), maximum(rows - 1, 0)
