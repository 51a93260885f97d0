"""Columns of sequences: of numbers, and of categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.feature_column.base import (
    CategoricalColumn,
    ColumnVariables,
    FeatureCache,
    IdWeightPair,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    check_key,
)
from tensorfleet.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from tensorfleet.feature_column.numeric import check_normalizer, checked_number_type, checked_shape
from tensorfleet.graph.framework import name_scope
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.array.sparse_parts import sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor, sparse_tensor_to_dense
from tensorfleet.ops.io.features import VarLenFeature
from tensorfleet.ops.math.elementwise import ceil
from tensorfleet.ops.math.segment import segment_max


def sequence_lengths(sequences: SparseTensor, num_elements: int = 1) -> Any:
    """The lengths of the rows of a SparseTensor, [batch], int64; 0 of a row without elements.

    Args:
        sequences: [batch, time, …].
        num_elements: so many elements along the second dimension make one time.
    """
    with name_scope(None, "sequence_length"):
        indices: Any = sequences.indices
        rows = indices[:, 0]
        ends = indices[:, 1] + 1
        if num_elements > 1:
            # Each time is counted that has any of its elements.
            ends = cast(ceil(ends / num_elements), dtypes.int64)
        lengths: Any = segment_max(ends, rows)
        sizes: Any = sequences.dense_shape
        # The last rows may be without elements.
        further = sizes[0] - shape(lengths, out_type=dtypes.int64)[0]
        return concat([lengths, zeros(expand_dims(further, 0), dtypes.int64)], axis=0)


class _SequenceCategorical(NamedTuple):
    categorical_column: CategoricalColumn


class SequenceCategoricalColumn(_SequenceCategorical, CategoricalColumn):
    """What `tf.feature_column.sequence_categorical_column_with_identity` and its kin make."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        return [self.categorical_column]

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> IdWeightPair:
        """The ids, [batch, time, any]."""
        ids, weights = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return IdWeightPair(_with_time(ids), None if weights is None else _with_time(weights))


def _with_time(ids: SparseTensor) -> SparseTensor:
    """[batch, time, any] of [batch, time], which has one id at each time."""
    rank = ids.shape.ndims
    sizes: Any = ids.dense_shape
    wanted = [sizes[0], sizes[1], 1 if rank == 2 else -1]
    return sparse_reshape(ids, wanted)


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Sequences of ids (`tf.feature_column.sequence_categorical_column_with_identity`); the arguments are
    those of `categorical_column_with_identity`."""
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> SequenceCategoricalColumn:
    """Sequences of values, whose hashes are the ids
    (`tf.feature_column.sequence_categorical_column_with_hash_bucket`)."""
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Sequences of values, whose ids are their places in a list
    (`tf.feature_column.sequence_categorical_column_with_vocabulary_list`)."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> SequenceCategoricalColumn:
    """Sequences of values, whose ids are the numbers of the lines of a file
    (`tf.feature_column.sequence_categorical_column_with_vocabulary_file`)."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


class _SequenceNumeric(NamedTuple):
    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None


class SequenceNumericColumn(_SequenceNumeric, SequenceDenseColumn):
    """What `tf.feature_column.sequence_numeric_column` makes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        value = transformation_cache.get(self.key, state_manager)
        return value if self.normalizer_fn is None else self.normalizer_fn(value)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> TensorSequenceLengthPair:
        """The sequences, [batch, time, *shape]."""
        sparse = transformation_cache.get(self, state_manager)
        dense = sparse_tensor_to_dense(sparse, default_value=self.default_value)
        batch: Any = shape(dense)
        dense = reshape(dense, concat([[batch[0]], [-1], list(self.shape)], axis=0))
        # In a feature of rank 2 the elements of one time follow each other.
        count = self.variable_shape.num_elements() if sparse.shape.ndims == 2 else 1
        return TensorSequenceLengthPair(dense, sequence_lengths(sparse, count or 1))


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Sequences of numbers (`tf.feature_column.sequence_numeric_column`).

    Args:
        key: of the feature, a SparseTensor.
        shape: of the numbers at one time.
        default_value: what shorter sequences are filled up with.
        dtype: of the feature.
        normalizer_fn: a function from the feature to what the model takes.
    """
    dims = checked_shape(shape, key)
    as_dtype = checked_number_type(dtype, key)
    check_normalizer(normalizer_fn)
    check_key(key)
    return SequenceNumericColumn(key, dims, default_value, as_dtype, normalizer_fn)
