"""Feature columns as a layer: `DenseFeatures`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.feature_column.base import (
    ColumnVariables,
    FeatureCache,
    FeatureColumn,
    check_batch_sizes,
)
from tensorfleet.feature_column.layers import dense_columns, dense_rows
from tensorfleet.keras import ops
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of


class _LayerVariables(ColumnVariables):
    """Makes the variables of columns as weights of a layer, each once, in the name scope of the column."""

    def __init__(self, layer: Layer) -> None:
        super().__init__(layer.trainable)
        self._layer = layer
        self._made: dict[Any, Any] = {}

    def create_variable(
        self,
        feature_column: FeatureColumn,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool | None = None,
        initializer: Any = None,
    ) -> Any:
        place = (type(feature_column), feature_column, name)
        if place not in self._made:
            self._made[place] = self._layer.add_weight(
                name,
                shape,
                dtype or dtypes.float32,
                initializer,
                trainable=self._trainable and trainable,
            )
        return self._made[place]


class DenseFeatures(Layer):
    """The numbers that columns make of features, side by side in the order of the columns' names
    (`tf.keras.layers.DenseFeatures`).

    The layer is called on a dict of tensors and SparseTensors by their keys.

    Args:
        feature_columns: columns of numbers: numeric, bucketized, indicators, embeddings.
        trainable: whether optimizers may change the embeddings.

    Raises:
        ValueError: a column of another kind.
    """

    def __init__(
        self,
        feature_columns: Iterable[FeatureColumn],
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._columns = dense_columns(feature_columns)
        self._variables = _LayerVariables(self)

    def build(self, input_shape: Any) -> None:
        self.built = True

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:
        """[batch, total width], float32.

        Args:
            cols_to_output_tensors: filled with the tensor of each column.

        Raises:
            ValueError: the features are no dict, or do not fit their columns.
        """
        if not isinstance(features, Mapping):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
        cache = FeatureCache(features)
        outputs = []
        for column in self._columns:
            with ops.name_scope(column._scope_name):
                output = dense_rows(column, column.get_dense_tensor(cache, self._variables))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = output
            outputs.append(output)
        check_batch_sizes(outputs, self._columns)
        return ops.concat(outputs, 1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        width = sum(int(column.variable_shape.num_elements() or 0) for column in self._columns)
        first = next(iter(input_shape.values())) if isinstance(input_shape, Mapping) else input_shape
        return TensorShape([dims_of(first)[0], width])

    def get_config(self) -> dict[str, Any]:
        """With the columns themselves: models with such a layer can be cloned, not written to JSON."""
        return {**super().get_config(), "feature_columns": list(self._columns)}
