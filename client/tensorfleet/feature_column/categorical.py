"""Columns of categories: by number, by hash, and by vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes, file_io
from tensorfleet.core.dtypes import DType
from tensorfleet.feature_column.base import (
    CategoricalColumn,
    ColumnVariables,
    FeatureCache,
    IdWeightPair,
    check_key,
    to_sparse,
)
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.lookup.vocabularies import index_table_from_file, index_table_from_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.debugging.checks import assert_greater_equal, assert_less
from tensorfleet.ops.io.features import VarLenFeature
from tensorfleet.ops.math.comparison import logical_or
from tensorfleet.ops.text.hashing import string_to_hash_bucket_fast
from tensorfleet.ops.text.strings import as_string


class KeyedColumn(CategoricalColumn):
    """A categorical column of one feature."""

    __slots__ = ()

    @property
    def _feature(self) -> tuple[str, DType]:
        """The feature's key, and its dtype in Examples."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        return self._feature[0]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        key, dtype = self._feature
        return {key: VarLenFeature(dtype)}

    @property
    def parents(self) -> list[Any]:
        return [self._feature[0]]

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        return self._ids(to_sparse(transformation_cache.get(self._feature[0], state_manager)))

    def _ids(self, values: SparseTensor) -> SparseTensor:
        raise NotImplementedError

    def get_sparse_tensors(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> IdWeightPair:
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


class _Identity(NamedTuple):
    key: str
    number_buckets: int
    default_value: int | None


class IdentityCategoricalColumn(_Identity, KeyedColumn):
    """What `tf.feature_column.categorical_column_with_identity` makes."""

    __slots__ = ()

    @property
    def _feature(self) -> tuple[str, DType]:
        return self.key, dtypes.int64

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def _ids(self, values: SparseTensor) -> SparseTensor:
        if not values.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {values.dtype}")
        ids = cast(values.values, dtypes.int64)
        count = cast(self.num_buckets, dtypes.int64, name="num_buckets")
        zero = cast(0, dtypes.int64, name="zero")
        if self.default_value is None:
            checks = [
                assert_less(
                    ids,
                    count,
                    data=(ids, count),
                    message=f'Bucket index for categorical column "{self.key}" exceeds number of buckets',
                    name="assert_less_than_num_buckets",
                ),
                assert_greater_equal(
                    ids,
                    zero,
                    data=(ids,),
                    message=f'Negative bucket index for categorical column "{self.key}"',
                    name="assert_greater_or_equal_0",
                ),
            ]
            with control_dependencies(checks):
                ids = identity(ids)
        else:
            default = cast(self.default_value, dtypes.int64, name="default_value")
            ids = where(
                logical_or(ids < zero, ids >= count, name="out_of_range"),
                fill(shape(ids), default, name="default_values"),
                ids,
            )
        return SparseTensor(values.indices, ids, values.dense_shape)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """A feature whose values are the ids, in [0, num_buckets)
    (`tf.feature_column.categorical_column_with_identity`).

    Args:
        default_value: the id of values that are out of range; None: such a value is an error. Values of -1
            in a dense feature stand for nothing.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


class _Hashed(NamedTuple):
    key: str
    hash_bucket_size: int
    dtype: DType


class HashedCategoricalColumn(_Hashed, KeyedColumn):
    """What `tf.feature_column.categorical_column_with_hash_bucket` makes."""

    __slots__ = ()

    @property
    def _feature(self) -> tuple[str, DType]:
        return self.key, self.dtype

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def _ids(self, values: SparseTensor) -> SparseTensor:
        _check_values(values, self.key, self.dtype)
        texts = values.values if self.dtype is dtypes.string else as_string(values.values)
        ids = string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")
        return SparseTensor(values.indices, ids, values.dense_shape)


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = dtypes.string
) -> HashedCategoricalColumn:
    """A feature of strings or integers, whose hashes are the ids
    (`tf.feature_column.categorical_column_with_hash_bucket`).

    Args:
        hash_bucket_size: the number of ids.
        dtype: of the feature, string or an integer.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    check_key(key)
    as_dtype = check_string_or_integer(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, as_dtype)


class _VocabularyList(NamedTuple):
    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int


class VocabularyListCategoricalColumn(_VocabularyList, KeyedColumn):
    """What `tf.feature_column.categorical_column_with_vocabulary_list` makes."""

    __slots__ = ()

    @property
    def _feature(self) -> tuple[str, DType]:
        return self.key, self.dtype

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _ids(self, values: SparseTensor) -> SparseTensor:
        _check_values(values, self.key, self.dtype)
        key_dtype, values = _as_keys(self.dtype, values)
        table = index_table_from_tensor(
            list(self.vocabulary_list),
            default_value=self.default_value,
            num_oov_buckets=self.num_oov_buckets,
            dtype=key_dtype,
            name=f"{self.key}_lookup",
        )
        found: SparseTensor = table.lookup(values)
        return found


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """A feature whose ids are the places of its values in a list
    (`tf.feature_column.categorical_column_with_vocabulary_list`).

    Args:
        vocabulary_list: strings or integers, each once.
        dtype: of the feature; by default that of the vocabulary.
        default_value: the id of other values.
        num_oov_buckets: ids after those of the vocabulary for other values, by their hashes; not with
            `default_value`.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_oov(num_oov_buckets, default_value != -1, key)
    check_string_or_integer(own, f"column_name: {key} vocabulary")
    as_dtype = own if dtype is None else check_string_or_integer(dtype, f"column_name: {key}")
    if as_dtype.is_integer != own.is_integer:
        raise ValueError(f"dtype {as_dtype} and vocabulary dtype {own} do not match, column_name: {key}")
    check_key(key)
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), as_dtype, default_value, num_oov_buckets
    )


class _VocabularyFile(NamedTuple):
    key: str
    vocabulary_file: Any
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int


class VocabularyFileCategoricalColumn(_VocabularyFile, KeyedColumn):
    """What `tf.feature_column.categorical_column_with_vocabulary_file` makes."""

    __slots__ = ()

    @property
    def _feature(self) -> tuple[str, DType]:
        return self.key, self.dtype

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def _ids(self, values: SparseTensor) -> SparseTensor:
        _check_values(values, self.key, self.dtype)
        key_dtype, values = _as_keys(self.dtype, values)
        table = index_table_from_file(
            self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=key_dtype,
            name=f"{self.key}_lookup",
        )
        found: SparseTensor = table.lookup(values)
        return found


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = dtypes.string,
) -> VocabularyFileCategoricalColumn:
    """A feature whose ids are the numbers of the lines of a file
    (`tf.feature_column.categorical_column_with_vocabulary_file`).

    Args:
        vocabulary_file: a word in each line. It is read where the table is; here, too, if its size is not
            given.
        vocabulary_size: how many lines count, from the first on; by default all.
        num_oov_buckets, default_value: as for `categorical_column_with_vocabulary_list`.
        dtype: of the feature, string or an integer.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not file_io.exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        vocabulary_size = _count_lines(vocabulary_file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_oov(num_oov_buckets, default_value is not None, key)
    as_dtype = check_string_or_integer(dtype, f"column_name: {key}")
    check_key(key)
    return VocabularyFileCategoricalColumn(
        key,
        vocabulary_file,
        vocabulary_size,
        num_oov_buckets,
        as_dtype,
        -1 if default_value is None else default_value,
    )


def _count_lines(path: Any) -> int:
    with file_io.GFile(path, "rb") as lines:
        return sum(1 for _ in lines)


def _check_oov(count: int, has_default: bool, key: Any) -> None:
    """Raises ValueError: less than no buckets, or a default beside them."""
    if not count:
        return
    if has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if count < 0:
        raise ValueError(f"Invalid num_oov_buckets {count} in {key}.")


def check_string_or_integer(dtype: Any, prefix: str) -> DType:
    """The dtype of categories. Raises ValueError: values of it are no categories."""
    as_dtype = dtypes.as_dtype(dtype)
    if as_dtype.base is not dtypes.string and not as_dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {as_dtype}.")
    return as_dtype


def _check_values(values: SparseTensor, key: str, dtype: DType) -> None:
    """Raises ValueError: a feature whose dtype does not fit its column."""
    check_string_or_integer(values.dtype, f"column_name: {key} input_tensor")
    if values.dtype.is_integer != dtype.is_integer:
        raise ValueError(
            "Column dtype and SparseTensors dtype must be compatible. "
            f"key: {key}, column dtype: {dtype}, tensor dtype: {values.dtype}"
        )


def _as_keys(dtype: DType, values: SparseTensor) -> tuple[DType, SparseTensor]:
    """The dtype of a table's keys, and the values in it."""
    if not dtype.is_integer:
        return dtype, values
    return dtypes.int64, values.with_values(cast(values.values, dtypes.int64))


class _Weighted(NamedTuple):
    categorical_column: CategoricalColumn
    weight_feature_key: Any
    dtype: DType


class WeightedCategoricalColumn(_Weighted, CategoricalColumn):
    """What `tf.feature_column.weighted_categorical_column` makes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        config = dict(self.categorical_column.parse_example_spec)
        if (key := self.weight_feature_key) in config:
            raise ValueError(f"Parse config {config[key]} already exists for {key}.")
        config[key] = VarLenFeature(self.dtype)
        return config

    @property
    def parents(self) -> list[Any]:
        return [self.categorical_column, self.weight_feature_key]

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        if self.dtype is not weights.dtype.base:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        if not isinstance(weights, SparseTensor):
            # As the ids of -1 are left out, so are their weights, which are to be 0.
            weights = to_sparse(weights, cast(0, weights.dtype.base))
        if not weights.dtype.is_floating:
            weights = weights.with_values(cast(weights.values, dtypes.float32))
        ids = transformation_cache.get(self.categorical_column, state_manager)
        return ids, weights

    def get_sparse_tensors(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> IdWeightPair:
        return IdWeightPair(*transformation_cache.get(self, state_manager))


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = dtypes.float32
) -> WeightedCategoricalColumn:
    """The ids of a column, with weights from another feature
    (`tf.feature_column.weighted_categorical_column`).

    Args:
        categorical_column: gives the ids.
        weight_feature_key: the feature with a weight for each id, at the same places.
        dtype: of the weights, a number's.
    """
    as_dtype = dtypes.as_dtype(dtype)
    if not (as_dtype.is_integer or as_dtype.is_floating):
        raise ValueError(f"dtype {as_dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, as_dtype)
