"""Columns of crossed features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.feature_column.base import (
    CategoricalColumn,
    ColumnVariables,
    FeatureCache,
    FeatureColumn,
    IdWeightPair,
)
from tensorfleet.feature_column.categorical import HashedCategoricalColumn
from tensorfleet.ops.io.features import VarLenFeature
from tensorfleet.ops.text.sparse_cross import sparse_cross_hashed


class _Crossed(NamedTuple):
    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None


class CrossedColumn(_Crossed, CategoricalColumn):
    """What `tf.feature_column.crossed_column` makes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        names = [key.name if isinstance(key, FeatureColumn) else key for key in _leaves(self)]
        return "_X_".join(sorted(names))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        config: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, FeatureColumn):
                config.update(key.parse_example_spec)
            else:
                config[key] = VarLenFeature(dtypes.string)
        return config

    @property
    def parents(self) -> list[Any]:
        return list(self.keys)

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        inputs = []
        for key in _leaves(self):
            if isinstance(key, str):
                inputs.append(transformation_cache.get(key, state_manager))
                continue
            ids, weights = key.get_sparse_tensors(transformation_cache, state_manager)
            if weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates "
                    f"weight_tensor. Given column: {key.name}"
                )
            inputs.append(ids)
        return sparse_cross_hashed(inputs, num_buckets=self.hash_bucket_size, hash_key=self.hash_key)

    def get_sparse_tensors(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> IdWeightPair:
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


def _leaves(column: CrossedColumn) -> list[Any]:
    """The keys and columns that are crossed, those of crossed columns among them."""
    found = []
    for key in column.keys:
        found += _leaves(key) if isinstance(key, CrossedColumn) else [key]
    return found


def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Each combination of the values of several features, by its hash (`tf.feature_column.crossed_column`).

    Args:
        keys: of features of strings or integers; or categorical columns, but for those of hashes.
        hash_bucket_size: the number of ids.
        hash_key: mixed into the hashes.

    Raises:
        ValueError: less than two keys, or others.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing "
                "will increase probability of collision. Instead, use the feature name as a string. "
                f"Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
