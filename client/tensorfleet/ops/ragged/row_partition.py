"""RowPartition: where the rows of a ragged dimension begin and end, in any of the forms that say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range, zeros
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.math.scan import cumsum

INDEX_DTYPES = (dtypes.int32, dtypes.int64)


def as_partition_tensor(value: Any, name: str, dtype: Any = None, hint: DType = dtypes.int64) -> Tensor:
    """A tensor of row splits, lengths or the like: int32 or int64."""
    if dtype is None and isinstance(value, np.ndarray) and value.dtype == np.int32:
        tensor = convert_to_tensor(value, name=name)
    else:
        tensor = convert_to_tensor(value, dtype, name, dtype_hint=hint)
    if tensor.dtype.base not in INDEX_DTYPES:
        raise ValueError(f"{name} must have dtype int32 or int64")
    return tensor


def checked(tensor: Tensor, *assertions: Any) -> Tensor:
    """The tensor, in steps in which the assertions hold."""
    with framework.control_dependencies(list(assertions)):
        return identity(tensor)


def row_count(tensor: Any, dtype: DType) -> Tensor:
    """The size of the outermost dimension of a tensor, as a scalar tensor."""
    dims = tensor.dims
    if dims and dims[0] is not None:
        return convert_to_tensor(dims[0], dtype)
    return shape(tensor, out_type=dtype)[0]


class RowPartition:
    """A partition of a number of values into rows that follow each other.

    Attributes:
        row_splits: [rows + 1], int32 or int64: row i has the values from `row_splits[i]` to
            `row_splits[i + 1]`.
    """

    __slots__ = ("_lengths", "_nrows", "_uniform", "_value_rowids", "row_splits")

    def __init__(
        self,
        row_splits: Tensor,
        lengths: Tensor | None = None,
        value_rowids: Tensor | None = None,
        nrows: Tensor | None = None,
        uniform: Tensor | None = None,
    ) -> None:
        """Makes a partition of its row splits, with other forms of it that are known."""
        self.row_splits = row_splits
        self._lengths = lengths
        self._value_rowids = value_rowids
        self._nrows = nrows
        self._uniform = uniform

    @property
    def dtype(self) -> DType:
        """int32 or int64."""
        return self.row_splits.dtype.base

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, where the partition was made by it."""
        return self._uniform

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows, as far as it is known before a step."""
        value = None if self._uniform is None else static_value(self._uniform)
        return None if value is None else int(value)

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, as far as it is known before a step."""
        dims = self.row_splits.dims
        if dims and dims[0] is not None:
            return dims[0] - 1
        value = None if self._nrows is None else static_value(self._nrows)
        return None if value is None else int(value)

    def nrows(self) -> Tensor:
        """The number of rows."""
        if self._nrows is not None:
            return self._nrows
        if self.static_nrows is not None:
            return convert_to_tensor(self.static_nrows, self.dtype)
        return shape(self.row_splits, out_type=self.dtype)[0] - 1

    def nvals(self) -> Tensor:
        """The number of values."""
        return self.row_splits[-1]

    def lengths(self) -> Tensor:
        """The length of each row."""
        if self._lengths is not None:
            return self._lengths
        return self.row_splits[1:] - self.row_splits[:-1]

    def value_rowids(self) -> Tensor:
        """The number of its row, for each value."""
        if self._value_rowids is not None:
            return self._value_rowids
        return rowids_of_splits(self.row_splits)

    def with_dtype(self, dtype: Any) -> RowPartition:
        """The partition in another dtype of its numbers."""
        dtype = dtypes.as_dtype(dtype)
        if dtype not in INDEX_DTYPES:
            raise ValueError(f"Argument `row_splits` dtype must be int32 or int64. Received {dtype}.")
        if dtype is self.dtype:
            return self

        def converted(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else cast(tensor, dtype)

        return RowPartition(
            cast(self.row_splits, dtype),
            *map(converted, (self._lengths, self._value_rowids, self._nrows, self._uniform)),
        )


def rowids_of_splits(splits: Tensor) -> Tensor:
    """The number of its row, for each value, of row splits."""
    numbers = range(splits[-1])
    # The number of rows that end at or before a value: those before its own, empty ones included.
    ids = apply_one("UpperBound", splits[None, 1:], numbers[None], out_type=splits.dtype.base)
    return reshape(ids, [-1])


def splits_of_rowids(rowids: Tensor, nrows: Tensor, dtype: DType) -> Tensor:
    """The row splits of rows with these numbers, in order."""
    counted = apply_one(
        "UnsortedSegmentSum",
        apply_one("Cast", apply_one("OnesLike", rowids), DstT=dtype),
        rowids,
        nrows,
    )
    return splits_of_lengths(counted)


def splits_of_lengths(lengths: Tensor) -> Tensor:
    """The row splits of rows of these lengths."""
    return concat([zeros([1], lengths.dtype.base), cumsum(lengths)], 0)


_INVALID = "Arguments to {} do not form a valid RaggedTensor:{}"


def from_splits(row_splits: Any, validate: bool, hint: DType = dtypes.int64) -> RowPartition:
    """A partition by row splits, which are checked in each step where `validate` is set."""
    if isinstance(row_splits, (list, tuple)) and not row_splits:
        raise ValueError("row_splits tensor may not be empty.")
    splits = as_partition_tensor(row_splits, "row_splits", hint=hint)
    splits.shape.assert_has_rank(1)
    if validate:
        splits = checked(
            splits,
            checks.assert_equal(
                splits[0], splits.dtype.as_numpy_dtype(0), message=_invalid("splits", "zero")
            ),
            _monotonic(splits, "splits"),
        )
    return RowPartition(splits)


def from_lengths(row_lengths: Any, validate: bool, hint: DType = dtypes.int64) -> RowPartition:
    """A partition by the lengths of rows."""
    lengths = as_partition_tensor(row_lengths, "row_lengths", hint=hint)
    lengths.shape.assert_has_rank(1)
    if validate:
        lengths = checked(
            lengths, checks.assert_non_negative(lengths, message=_invalid("lengths", "negative"))
        )
    return RowPartition(splits_of_lengths(lengths), lengths=lengths)


def from_starts(row_starts: Any, nvals: Tensor, validate: bool, hint: DType = dtypes.int64) -> RowPartition:
    """A partition of `nvals` values by where rows begin."""
    starts = as_partition_tensor(row_starts, "row_starts", hint=hint)
    starts.shape.assert_has_rank(1)
    count = cast(nvals, starts.dtype.base)
    if validate:
        zero = starts.dtype.as_numpy_dtype(0)
        starts = checked(
            starts,
            checks.assert_equal(starts[:1], zero, message=_invalid("starts", "zero")),
            _monotonic(starts, "starts"),
            checks.assert_less_equal(starts[-1:], count, message=_invalid("starts", "starts[-1] > nvals")),
        )
    return RowPartition(concat([starts, count[None]], 0))


def from_limits(row_limits: Any, validate: bool, hint: DType = dtypes.int64) -> RowPartition:
    """A partition by where rows end."""
    limits = as_partition_tensor(row_limits, "row_limits", hint=hint)
    limits.shape.assert_has_rank(1)
    if validate:
        limits = checked(
            limits,
            checks.assert_non_negative(limits[:1], message=_invalid("limits", "negative")),
            _monotonic(limits, "limits"),
        )
    return RowPartition(concat([zeros([1], limits.dtype.base), limits], 0))


def from_rowids(
    value_rowids: Any, nrows: Any, nvals: Tensor, validate: bool, hint: DType = dtypes.int64
) -> RowPartition:
    """A partition by the row of each value, in order; `nrows` counts rows without values, too."""
    rowids = as_partition_tensor(value_rowids, "value_rowids", hint=hint)
    rowids.shape.assert_has_rank(1)
    dtype = rowids.dtype.base
    size = static_value(nvals)
    if size is not None and rowids.dims and rowids.dims[0] not in (None, int(size)):
        raise ValueError(f"There are {int(size)} values, and {rowids.dims[0]} value_rowids")
    if nrows is None:
        # The last number, and 0 where there is none.
        count = concat([zeros([1], dtype), rowids[-1:] + 1], 0)[-1]
        known = static_value(rowids)
        if known is not None:
            count = convert_to_tensor(int(known[-1]) + 1 if known.size else 0, dtype)
        given = None
    else:
        given = count = as_partition_tensor(nrows, "nrows", dtype=dtype)
        fixed = static_value(count)
        if fixed is not None and fixed < 0:
            raise ValueError(f"Expected nrows >= 0; got {int(fixed)}")
        known = static_value(rowids)
        if fixed is not None and known is not None and known.size and known[-1] >= fixed:
            raise ValueError(
                f"Expected nrows >= value_rowids[-1] + 1; got nrows={int(fixed)}, "
                f"value_rowids[-1]={int(known[-1])}"
            )
    if validate:
        assertions = [
            checks.assert_non_negative(rowids[:1], message=_invalid("value_rowids", "negative")),
            _monotonic(rowids, "value_rowids"),
        ]
        if given is not None:
            assertions += [
                checks.assert_non_negative(given, message=_invalid("value_rowids", "nrows")),
                checks.assert_less(rowids[-1:], given, message=_invalid("value_rowids", "nrows")),
            ]
        rowids = checked(rowids, *assertions)
    return RowPartition(splits_of_rowids(rowids, count, dtype), value_rowids=rowids, nrows=count)


def from_uniform_length(
    length: Any, nvals: Tensor, nrows: Any, validate: bool, hint: DType = dtypes.int64
) -> RowPartition:
    """A partition of `nvals` values into rows of one length; `nrows` is needed where that is 0."""
    size = as_partition_tensor(length, "uniform_row_length", hint=hint)
    size.shape.assert_has_rank(0)
    dtype = size.dtype.base
    known = static_value(size)
    if known is not None and known < 0:
        raise ValueError(f"uniform_row_length must be nonnegative; got {int(known)}")
    count = cast(nvals, dtype)
    if nrows is None:
        if known is not None and known == 0:
            raise ValueError("nrows must be specified if uniform_row_length is 0")
        values = static_value(count)
        if known is not None and values is not None:
            rows = convert_to_tensor(int(values) // int(known), dtype)
        else:
            rows = apply_one("FloorDiv", count, apply_one("Maximum", size, dtype.as_numpy_dtype(1)))
    else:
        rows = as_partition_tensor(nrows, "nrows", dtype=dtype)
    splits = range(rows + 1) * size
    if validate:
        splits = checked(
            splits,
            checks.assert_equal(rows * size, count, message=_invalid("uniform_row_length", "nvals")),
        )
    return RowPartition(splits, nrows=rows, uniform=size)


def _invalid(form: str, what: str) -> str:
    return _INVALID.format("from_row_" + form if form in _ROW_FORMS else "from_" + form, what)


_ROW_FORMS = ("splits", "lengths", "starts", "limits")


def _monotonic(values: Tensor, form: str) -> Any:
    return checks.assert_non_negative(values[1:] - values[:-1], message=_invalid(form, "monotonic"))


def check_same(partitions: Sequence[RowPartition], message: str) -> Callable[[Tensor], Tensor]:
    """A function that lets a tensor through in steps in which the partitions are one."""
    first, *others = partitions
    unlike = [other for other in others if other.row_splits is not first.row_splits]
    if not unlike:
        return lambda tensor: tensor
    assertions = []
    for other in unlike:
        a, b = static_value(first.row_splits), static_value(other.row_splits)
        if a is not None and b is not None:
            if not np.array_equal(a, b):
                raise ValueError(message)
            continue
        assertions.append(
            checks.assert_equal(first.row_splits, cast(other.row_splits, first.dtype), message=message)
        )
    if not assertions:
        return lambda tensor: tensor
    return lambda tensor: checked(tensor, *assertions)
