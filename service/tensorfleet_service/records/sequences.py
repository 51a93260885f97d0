"""Arrays of the features of serialized SequenceExamples: of whole sequences, and of their steps."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import excerpt
from tensorfleet.proto.example_pb2 import SequenceExample
from tensorfleet_service.records.columns import Array, fill_places, object_array
from tensorfleet_service.records.examples import invalid
from tensorfleet_service.threads import unlocked

_FIELDS = {dtypes.string: "bytes_list", dtypes.float32: "float_list", dtypes.int64: "int64_list"}
_UNKNOWN = "<unknown>"


class Sparse(NamedTuple):
    """A feature that becomes a SparseTensor."""

    key: str
    dtype: DType


class Fixed(NamedTuple):
    """A feature of the sequence, or of each of its steps, that is an array of one shape.

    Attributes:
        default: the value for sequences that lack it; without elements: it is required. For steps, None.
        may_lack: whether sequences may lack it, which then have no steps.
    """

    key: str
    dtype: DType
    dims: tuple[int, ...]
    default: Any = None
    may_lack: bool = False


class Sequences(ABC):
    """The features of several SequenceExamples, or of one alone.

    The methods give arrays, which have their values once `fill` has been called.
    """

    @abstractmethod
    def context_sparse(self, feature: Sparse) -> tuple[Any, Any, Any]:
        """The indices, values and shape of a SparseTensor."""

    @abstractmethod
    def context_dense(self, feature: Fixed) -> Any:
        """[Sequences, …], or […] for a single one."""

    @abstractmethod
    def steps_sparse(self, feature: Sparse) -> tuple[Any, Any, Any]:
        """The indices, values and shape of a SparseTensor: [(sequences,) steps, values of a step]."""

    @abstractmethod
    def steps_dense(self, feature: Fixed) -> tuple[Any, Any]:
        """[Sequences, steps, …] and the number of steps of each; for a single one [steps, …] and a number."""

    def fill(self) -> None:  # noqa: B027 - only some have them later
        """Writes the values of all arrays that were given, where that is not done yet."""


class SequenceBatch(Sequences):
    """SequenceExamples that protobuf reads, in any form.

    Raises:
        InvalidArgumentError: one is no SequenceExample.
    """

    def __init__(self, items: Sequence[bytes], names: Sequence[bytes], single: bool) -> None:
        self._names = names
        self._single = single
        self._messages = []
        for number, item in enumerate(items):
            try:
                self._messages.append(SequenceExample.FromString(item))
            except DecodeError:
                text = f"Invalid protocol message input, example id: {self._name(number)}"
                raise invalid(text) from None

    def _name(self, number: int) -> str:
        return excerpt(self._names[number]) if self._names else _UNKNOWN

    def _values(self, feature: Any, dtype: DType, number: int, what: str) -> Any:
        """The values of a feature, if it is set. Raises InvalidArgumentError if they are of another type."""
        kind = feature.WhichOneof("kind")
        if kind is None:
            return ()
        if kind != _FIELDS[dtype]:
            name = {dtypes.float32: "float"}.get(dtype, dtype.name)
            text = f"Name: {self._name(number)}, {what}.  Data types don't match. Expected type: {name}"
            raise invalid(text)
        return getattr(feature, kind).value

    def _context(self, key: str, dtype: DType) -> list[Any]:
        """The values of a feature of each whole sequence; None for those that lack it."""
        found = []
        for number, message in enumerate(self._messages):
            features = message.context.feature
            given = key in features and features[key].WhichOneof("kind") is not None
            what = f"Context feature: {key}"
            found.append(self._values(features[key], dtype, number, what) if given else None)
        return found

    def context_sparse(self, feature: Sparse) -> tuple[Any, Any, Any]:
        lists = [values or () for values in self._context(feature.key, feature.dtype)]
        counts = list(map(len, lists))
        values = _array(lists, feature.dtype)
        if self._single:
            return np.arange(len(values), dtype=np.int64)[:, None], values, np.array(counts, np.int64)
        indices = np.empty((len(values), 2), np.int64)
        fill_places(indices, counts)
        return indices, values, np.array([len(counts), max(counts, default=0)], np.int64)

    def context_dense(self, feature: Fixed) -> Any:
        size = math.prod(feature.dims)
        lists = self._context(feature.key, feature.dtype)
        for number, values in enumerate(lists):
            if values is None and feature.default.size:
                lists[number] = feature.default.reshape(-1).tolist()
            elif len(values or ()) != size:
                text = (
                    f"Inconsistent max number of elements for feature {feature.key}: expected {size}, but "
                    f"found {len(values or ())}"
                )
                raise invalid(text)
        made = _array([values or () for values in lists], feature.dtype).reshape(len(lists), *feature.dims)
        return made[0] if self._single else made

    def _steps(self, feature: Sparse | Fixed) -> list[list[Any]]:
        """The values of each step of each sequence."""
        found = []
        for number, message in enumerate(self._messages):
            lists = message.feature_lists.feature_list
            if feature.key not in lists and isinstance(feature, Fixed) and not feature.may_lack:
                raise invalid(
                    f"Name: {self._name(number)}, Feature list '{feature.key}' is required but could not be "
                    "found.  Did you mean to include it in feature_list_dense_missing_assumed_empty or "
                    "feature_list_dense_defaults?"
                )
            steps = lists[feature.key].feature if feature.key in lists else ()
            what = f"Feature list: {feature.key}, Index: "
            found.append(
                [
                    self._values(step, feature.dtype, number, f"{what}{place}")
                    for place, step in enumerate(steps)
                ]
            )
        return found

    def steps_sparse(self, feature: Sparse) -> tuple[Any, Any, Any]:
        sequences = self._steps(feature)
        lists = [values for steps in sequences for values in steps]
        counts = list(map(len, lists))
        values = _array(lists, feature.dtype)
        rows_and_columns = np.empty((len(values), 2), np.int64)
        fill_places(rows_and_columns, counts)
        lengths = np.array(list(map(len, sequences)), np.int64)
        indices, shape = index_steps(rows_and_columns, lengths, max(counts, default=0), self._single)
        return indices, values, shape

    def steps_dense(self, feature: Fixed) -> tuple[Any, Any]:
        size = math.prod(feature.dims)
        sequences = self._steps(feature)
        for steps in sequences:
            for values in steps:
                if len(values) != size:
                    text = (
                        f"Feature list '{feature.key}' has an unexpected number of values.  Total values "
                        f"size: {sum(map(len, steps))} is not consistent with output shape: "
                        f"[{','.join(['?', *map(str, feature.dims)])}]"
                    )
                    raise invalid(text)
        lengths = np.array(list(map(len, sequences)), np.int64)
        values = _array([values for steps in sequences for values in steps], feature.dtype)
        result = pad_steps(
            values.reshape(len(values) // size if size else int(lengths.sum()), *feature.dims), lengths
        )
        return (result[0], lengths[0]) if self._single else (result, lengths)


def index_steps(rows_and_columns: Array, lengths: Array, most: int, single: bool) -> tuple[Array, Array]:
    """The indices and the shape of a SparseTensor of steps' values.

    Args:
        rows_and_columns: the step of each value, counted over all sequences, and its place there: int64
            [values, 2].
        lengths: the number of steps of each sequence: int64 [sequences].
        most: the greatest number of values of a step.
        single: whether there is one sequence, whose index is left out.
    """
    shape = np.array([len(lengths), lengths.max(initial=0), most], np.int64)
    if single:
        return rows_and_columns, shape[1:]
    rows = rows_and_columns[:, 0]
    indices = np.empty((len(rows), 3), np.int64)
    indices[:, 0] = unlocked.repeat(np.arange(len(lengths)), lengths)[rows]
    indices[:, 1] = rows - (np.cumsum(lengths) - lengths)[indices[:, 0]]
    indices[:, 2] = rows_and_columns[:, 1]
    return indices, shape


def pad_steps(values: Array, lengths: Array) -> Array:
    """[Sequences, steps, …], with zeros or empty strings after the steps of shorter ones.

    Args:
        values: of the steps of all sequences: [steps, …].
        lengths: the number of steps of each sequence: int64 [sequences].
    """
    longest = int(lengths.max(initial=0))
    if len(values) == longest * len(lengths):
        return values.reshape(len(lengths), longest, *values.shape[1:])
    zero: Any = b"" if values.dtype == object else 0
    result = np.full((len(lengths), longest, *values.shape[1:]), zero, values.dtype)
    result[np.arange(longest) < lengths[:, None]] = values
    return result


def _array(lists: Sequence[Any], dtype: DType) -> Any:
    flat = [value for values in lists for value in values]
    return object_array(flat) if dtype is dtypes.string else np.array(flat, dtype.np)
