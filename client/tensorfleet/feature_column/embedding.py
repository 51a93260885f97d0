"""Columns that make numbers of categories: indicators, and embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorfleet.core.shapes import TensorShape
from tensorfleet.feature_column.base import (
    CategoricalColumn,
    ColumnVariables,
    DenseColumn,
    FeatureCache,
    IdWeightPair,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
)
from tensorfleet.feature_column.categorical import WeightedCategoricalColumn
from tensorfleet.feature_column.sequences import SequenceCategoricalColumn, sequence_lengths
from tensorfleet.graph import framework
from tensorfleet.ops.array.indexing import one_hot, scatter_nd
from tensorfleet.ops.array.sparse_parts import sparse_slice
from tensorfleet.ops.array.sparse_tensor import sparse_tensor_to_dense
from tensorfleet.ops.io.parsing import sparse_merge
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.embedding_sparse import embedding_lookup_sparse, safe_embedding_lookup_sparse
from tensorfleet.ops.state.initializers import truncated_normal_initializer
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.train.initializing import init_from_checkpoint


class _CategoriesColumn(DenseColumn, SequenceDenseColumn):
    """A column of numbers made of one categorical column, which may be one of sequences."""

    __slots__ = ()
    _kind = ""

    @property
    def _categories(self) -> CategoricalColumn:
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self._categories.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        return [self._categories]

    def _tensor(self, ids: IdWeightPair, variables: ColumnVariables, cache: FeatureCache) -> Any:
        raise NotImplementedError

    def get_dense_tensor(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        if isinstance(self._categories, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._kind}: {self.name}. categorical_column must not be of type "
                "SequenceCategoricalColumn. Suggested fix A: If you wish to use input_layer, use a "
                "non-sequence categorical_column_with_*. Suggested fix B: If you wish to create sequence "
                f"input, use sequence_input_layer instead. Given (type {type(self._categories)}): "
                f"{self._categories}"
            )
        ids = self._categories.get_sparse_tensors(transformation_cache, state_manager)
        return self._tensor(ids, state_manager, transformation_cache)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> TensorSequenceLengthPair:
        if not isinstance(self._categories, SequenceCategoricalColumn):
            raise ValueError(
                f"In {self._kind}: {self.name}. categorical_column must be of type "
                "SequenceCategoricalColumn to use sequence_input_layer. Suggested fix: Use one of "
                f"sequence_categorical_column_with_*. Given (type {type(self._categories)}): "
                f"{self._categories}"
            )
        ids = self._categories.get_sparse_tensors(transformation_cache, state_manager)
        tensor = self._tensor(ids, state_manager, transformation_cache)
        return TensorSequenceLengthPair(tensor, sequence_lengths(ids.id_tensor))


class _Indicator(NamedTuple):
    categorical_column: CategoricalColumn


class IndicatorColumn(_Indicator, _CategoriesColumn):
    """What `tf.feature_column.indicator_column` makes."""

    __slots__ = ()
    _kind = "indicator_column"

    @property
    def _categories(self) -> CategoricalColumn:
        return self.categorical_column

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            return TensorShape([self.categorical_column.num_buckets])
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        ids, weights = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        count = self.categorical_column.num_buckets
        if weights is not None:
            weighted = sparse_merge(ids, weights, vocab_size=count)
            # Ids of -1 stand for nothing; those that are there twice add up.
            weighted = sparse_slice(weighted, [0, 0], weighted.dense_shape)
            return scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        return reduce_sum(one_hot(dense, depth=count, on_value=1.0, off_value=0.0), axis=[-2])

    def _tensor(self, ids: IdWeightPair, variables: ColumnVariables, cache: FeatureCache) -> Any:
        return cache.get(self, variables)


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """How often each category is there, or the sum of its weights (`tf.feature_column.indicator_column`).

    Raises:
        ValueError: it is no categorical column.

    Example:
        >>> kind = tf.feature_column.categorical_column_with_identity("kind", 3)
        >>> column = tf.feature_column.indicator_column(kind)
        >>> tf.Session().run(tf.feature_column.input_layer({"kind": [[2, 2], [0, 1]]}, [column]))
        array([[0., 0., 2.],
               [1., 1., 0.]], dtype=float32)
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"Unsupported input type. Input must be a CategoricalColumn. Given: {categorical_column}"
        )
    return IndicatorColumn(categorical_column)


class _Embedding(NamedTuple):
    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: float | None
    trainable: bool
    use_safe_embedding_lookup: bool = True


class EmbeddingColumn(_Embedding, _CategoriesColumn):
    """What `tf.feature_column.embedding_column` makes."""

    __slots__ = ()
    _kind = "embedding_column"

    @property
    def _categories(self) -> CategoricalColumn:
        return self.categorical_column

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([self.dimension])

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        return self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)

    def _tensor(self, ids: IdWeightPair, variables: ColumnVariables, cache: FeatureCache) -> Any:
        table = _table(self, variables)
        _restore(self, table)
        return _looked_up(self, table, ids)


class _SharedEmbedding(NamedTuple):
    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Any
    shared_embedding_collection_name: str
    ckpt_to_load_from: Any
    tensor_name_in_ckpt: Any
    max_norm: float | None
    trainable: bool
    use_safe_embedding_lookup: bool = True


class SharedEmbeddingColumn(_SharedEmbedding, _CategoriesColumn):
    """One of what `tf.feature_column.shared_embedding_columns` makes."""

    __slots__ = ()
    _kind = "shared_embedding_column"

    @property
    def _categories(self) -> CategoricalColumn:
        return self.categorical_column

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _scope_name(self) -> str:
        return self.shared_embedding_collection_name

    @property
    def _shared_collection(self) -> str | None:
        return self.shared_embedding_collection_name

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([self.dimension])

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        return self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)

    def _tensor(self, ids: IdWeightPair, variables: ColumnVariables, cache: FeatureCache) -> Any:
        # The collection has the table that the first of the columns made, whatever its scope was.
        with framework.name_scope(None, default_name=self.name):
            name = self.shared_embedding_collection_name
            if held := framework.get_collection(name):
                table = _found(held, name, [self.categorical_column.num_buckets, self.dimension])
            else:
                table = _table(self, variables)
                framework.add_to_collection(name, table)
            _restore(self, table)
            return _looked_up(self, table, ids)


def _found(held: Sequence[Any], name: str, shape: list[int]) -> Any:
    """The table in a collection."""
    if len(held) > 1:
        raise ValueError(
            f"Collection {held} can only contain one variable. Suggested fix A: Choose a unique name for "
            "this collection. Suggested fix B: Do not add any variables to this collection. The "
            "feature_column library already adds a variable under the hood."
        )
    table = held[0]
    if table.shape.as_list() != shape:
        raise ValueError(
            f"Shared embedding collection {name} contains variable {table.name} of unexpected shape "
            f"{table.shape}. Expected shape is {tuple(shape)}. Suggested fix A: Choose a unique name for "
            "this collection. Suggested fix B: Do not add any variables to this collection. The "
            "feature_column library already adds a variable under the hood."
        )
    return table


def _table(column: Any, variables: ColumnVariables) -> Any:
    return variables.create_variable(
        column,
        "embedding_weights",
        (column.categorical_column.num_buckets, column.dimension),
        trainable=column.trainable,
        initializer=column.initializer,
    )


def _restore(column: Any, table: Any) -> None:
    """Has the table initialized from a checkpoint, if the column names one."""
    if column.ckpt_to_load_from is None:
        return
    parts = list(table) if isinstance(table, PartitionedVariable) else table
    init_from_checkpoint(column.ckpt_to_load_from, {column.tensor_name_in_ckpt: parts})


def _looked_up(column: Any, table: Any, ids: IdWeightPair) -> Any:
    lookup: Any = safe_embedding_lookup_sparse
    if not column.use_safe_embedding_lookup:
        if not ids.id_tensor.shape.is_compatible_with([None, None]):
            raise ValueError("use_safe_embedding_lookup=False takes ids of rank 2 only.")
        lookup = embedding_lookup_sparse
    return lookup(
        table,
        ids.id_tensor,
        ids.weight_tensor,
        combiner=column.combiner,
        name=f"{column.name}_weights",
        max_norm=column.max_norm,
    )


def _check_embedding(dimension: Any, ckpt: Any, tensor_name: Any, initializer: Any, of: str) -> Any:
    """The initializer of a table. Raises ValueError: arguments that do not go together."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt is None) != (tensor_name is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. {of}".rstrip())
    if initializer is None:
        return truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))
    return initializer


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """The rows of a table that training learns, one for each category
    (`tf.feature_column.embedding_column`).

    Args:
        categorical_column: gives the ids.
        dimension: the width of the table.
        combiner: how the rows of an example's ids become one: "mean", "sqrtn" or "sum".
        initializer: of the table; by default truncated_normal with a deviation of 1/sqrt(dimension).
        ckpt_to_load_from, tensor_name_in_ckpt: the checkpoint, and the tensor in it, that initialize the
            table in place of `initializer`.
        max_norm: rows that are longer (L2) are scaled down to this.
        trainable: whether optimizers may change the table.
        use_safe_embedding_lookup: False: each example has an id, and none is negative.
    """
    at = f"Embedding of column_name: {getattr(categorical_column, 'name', categorical_column)}"
    made = _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer, at)
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        made,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
        use_safe_embedding_lookup,
    )


def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Embeddings of several columns in one table (`tf.feature_column.shared_embedding_columns`).

    Args:
        categorical_columns: of one kind, with as many ids.
        shared_embedding_collection_name: the table's scope, and the collection that it is in; by default the
            names of the columns.

    The other arguments are those of `embedding_column`.
    """
    made = _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer, "")
    columns = sorted(categorical_columns, key=lambda column: column.name)
    first = columns[0]
    for column in columns[1:]:
        if _kind_of(column) is not _kind_of(first):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                "weighted_categorical_column or sequence column of the same type. "
                f"Given column: {first} of type: {type(first)} does not match given column: {column} of "
                f"type: {type(column)}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of "
                f"buckets. Given column: {first} with buckets: {first.num_buckets} does not match column: "
                f"{column} with buckets: {column.num_buckets}"
            )
    name = shared_embedding_collection_name
    if not name:
        name = "_".join(column.name for column in columns) + "_shared_embedding"
    return [
        SharedEmbeddingColumn(
            column,
            dimension,
            combiner,
            made,
            name,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            use_safe_embedding_lookup,
        )
        for column in categorical_columns
    ]


def _kind_of(column: Any) -> type:
    """The kind of the column that ids come from, whether or not they are weighted or in sequences."""
    while isinstance(column, (WeightedCategoricalColumn, SequenceCategoricalColumn)):
        column = column.categorical_column
    return type(column)
