"""`tensorflow.python.feature_column.feature_column`: the base classes of columns before 1.13."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorfleet.feature_column import base


class LazyBuilder(base.FeatureCache):
    """Features by their keys, and what columns made of them (`_LazyBuilder`)."""


class FeatureColumn(base.FeatureColumn):
    """A column whose methods have an underscore (`_FeatureColumn`): those without it call them."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What `_parse_example_spec` says."""
        spec: dict[str, Any] = self._parse_example_spec  # type: ignore[attr-defined]
        return spec

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """What `_transform_feature` makes of the features."""
        return self._transform_feature(transformation_cache)  # type: ignore[attr-defined]


class DenseColumn(FeatureColumn, base.DenseColumn):
    """A column of numbers (`_DenseColumn`)."""

    @property
    def variable_shape(self) -> Any:
        """What `_variable_shape` says."""
        return self._variable_shape  # type: ignore[attr-defined]

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """What `_get_dense_tensor` makes of the features."""
        return self._get_dense_tensor(transformation_cache)  # type: ignore[attr-defined]


class CategoricalColumn(FeatureColumn, base.CategoricalColumn):
    """A column of ids (`_CategoricalColumn`)."""

    @property
    def num_buckets(self) -> int:
        """What `_num_buckets` says."""
        count: int = self._num_buckets  # type: ignore[attr-defined]
        return count

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> base.IdWeightPair:
        """What `_get_sparse_tensors` makes of the features."""
        return base.IdWeightPair(*self._get_sparse_tensors(transformation_cache))  # type: ignore[attr-defined]


class StateManager(base.ColumnVariables):
    """Variables, and other objects, of the columns of one layer (`_StateManagerImpl`)."""

    def __init__(self, layer: Any, trainable: bool) -> None:
        super().__init__(trainable)
        self._layer = layer
        self._resources: dict[tuple[Any, str], Any] = {}

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keeps an object of a column by its name.

        Raises:
            ValueError: the column has one of that name.
        """
        if self.has_resource(feature_column, name):
            raise ValueError("Resource already exists.")
        self._resources[feature_column, name] = resource

    def has_resource(self, feature_column: Any, name: str) -> bool:
        """Whether the column has an object of that name."""
        return (feature_column, name) in self._resources

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """The object of a column.

        Raises:
            ValueError: there is none.
        """
        if not self.has_resource(feature_column, name):
            raise ValueError("Resource does not exist.")
        return self._resources[feature_column, name]


def transform_features(features: Mapping[Any, Any], feature_columns: Any) -> dict[Any, Any]:
    """What each column makes of the features (`_transform_features`)."""
    cache = LazyBuilder(features)
    return {column: cache.get(column) for column in base.normalized(feature_columns)}


def is_feature_column_v2(feature_columns: Any) -> bool:
    """Whether all columns are of the second interface, which those of this library have."""
    return all(isinstance(column, base.FeatureColumn) for column in feature_columns)
