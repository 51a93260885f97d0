"""What models make of columns: one tensor of numbers, or a linear function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tensorfleet.feature_column.base import (
    CategoricalColumn,
    ColumnVariables,
    DenseColumn,
    FeatureCache,
    FeatureColumn,
    SequenceDenseColumn,
    check_batch_sizes,
    normalized,
)
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.array.sparse_parts import sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.debugging.checks import assert_equal
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.nn.activation import bias_add
from tensorfleet.ops.nn.embedding_sparse import safe_embedding_lookup_sparse
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope


def input_layer(
    features: Mapping[Any, Any],
    feature_columns: Iterable[FeatureColumn],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Any:
    """The numbers that columns make of features, side by side in the order of the columns' names
    (`tf.feature_column.input_layer`).

    Args:
        features: tensors and SparseTensors by their keys, [batch] or [batch, …].
        feature_columns: columns of numbers: numeric, bucketized, indicators, embeddings.
        weight_collections: further collections for the variables, which are in MODEL_VARIABLES.
        trainable: whether optimizers may change the variables.
        cols_to_vars: filled with the variables of each column.
        cols_to_output_tensors: filled with the tensor of each column.

    Returns:
        [batch, total width], float32.

    Raises:
        ValueError: a column of another kind, or features that do not fit their columns.
    """
    columns = dense_columns(feature_columns)
    variables = ColumnVariables(trainable, list(weight_collections or ()))
    with variable_scope(None, default_name="input_layer", values=_tensors(features)):
        cache = FeatureCache(features)
        outputs = []
        for column in columns:
            with variable_scope(None, default_name=column._scope_name) as scope:
                output = dense_rows(column, column.get_dense_tensor(cache, variables))
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = framework.get_collection(
                        GraphKeys.GLOBAL_VARIABLES, scope=f"{scope.name}/"
                    )
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        check_batch_sizes(outputs, columns)
        return concat(outputs, 1)


def _tensors(features: Mapping[Any, Any]) -> list[Any]:
    """Tensors of the features' graph."""
    values = (v.values if isinstance(v, SparseTensor) else v for v in features.values())
    return [value for value in values if hasattr(value, "graph")]


def dense_columns(feature_columns: Iterable[FeatureColumn]) -> list[DenseColumn]:
    """The columns in the order of their names.

    Raises:
        ValueError: a column that makes no numbers.
    """
    found = []
    for column in normalized(feature_columns):
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
        found.append(column)
    return found


def dense_rows(column: DenseColumn, tensor: Any) -> Any:
    """[batch, numbers]."""
    sizes: Any = shape(tensor)
    return reshape(tensor, (sizes[0], column.variable_shape.num_elements()))


def linear_model(
    features: Mapping[Any, Any],
    feature_columns: Iterable[FeatureColumn],
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Any:
    """A linear function of all columns, with weights of its own for each and a bias
    (`tf.feature_column.linear_model`).

    Args:
        features: tensors and SparseTensors by their keys, [batch] or [batch, …].
        feature_columns: columns of numbers, or of categories, each of which has a weight.
        units: the number of outputs.
        sparse_combiner: how the weights of an example's categories become one: "sum", "mean" or "sqrtn".
        weight_collections: further collections for the variables, which are in MODEL_VARIABLES.
        trainable: whether optimizers may change the variables.
        cols_to_vars: filled with the variables of each column, and with those of "bias".

    Returns:
        [batch, units], float32.

    Raises:
        ValueError: a column of another kind, or features that do not fit their columns.

    Example:
        >>> price = tf.feature_column.numeric_column("price")
        >>> prediction = tf.feature_column.linear_model({"price": [[1.0], [2.0]]}, [price])
        >>> [v.name for v in tf.trainable_variables()]
        ['linear_model/price/weights:0', 'linear_model/bias_weights:0']
    """
    columns = normalized(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(
                f"Items of feature_columns must be either a DenseColumn or CategoricalColumn. Given: {column}"
            )
    variables = ColumnVariables(trainable, list(weight_collections or ()))
    with variable_scope(None, "linear_model", values=_tensors(features)) as scope:
        pass
    # Columns have the names that are free beside the model, as layers made before it is called.
    names = [_free_scope(column) for column in columns]
    # The operations have a scope below that of the model, as those of a layer.
    inner = scope.name.rsplit("/", 1)[-1]
    with variable_scope(scope), framework.name_scope(inner):
        cache = FeatureCache(features)
        sums = []
        for column, name in zip(columns, names, strict=True):
            with variable_scope(name):
                weighted, held = _weighted_sum(column, cache, variables, units, sparse_combiner)
                sums.append(weighted)
                if cols_to_vars is not None:
                    cols_to_vars[column] = held
        check_batch_sizes(sums, columns)
        total = add_n(sums, name="weighted_sum_no_bias")
        bias = variables.create_variable(columns[0], "bias_weights", [units], initializer=zeros_initializer())
        if cols_to_vars is not None:
            cols_to_vars["bias"] = _parts(bias)
        return bias_add(total, bias, name="weighted_sum")


def _free_scope(column: FeatureColumn) -> str:
    """A name for a column's variable scope that no other scope has beside it."""
    outer = get_variable_scope().name
    with variable_scope(None, default_name=column._scope_name) as scope:
        return scope.name.removeprefix(f"{outer}/")


def _weighted_sum(
    column: FeatureColumn, cache: FeatureCache, variables: ColumnVariables, units: int, combiner: str
) -> tuple[Any, list[Any]]:
    """A column's part of a linear function, [batch, units], and its variables."""
    if isinstance(column, CategoricalColumn):
        weights = variables.create_variable(
            column, "weights", (column.num_buckets, units), initializer=zeros_initializer()
        )
        ids, ids_weights = column.get_sparse_tensors(cache, variables)
        total = safe_embedding_lookup_sparse(
            weights,
            _flat(ids),
            sparse_weights=None if ids_weights is None else _flat(ids_weights),
            combiner=combiner,
            name="weighted_sum",
        )
        return total, _parts(weights)
    assert isinstance(column, DenseColumn)
    width = column.variable_shape.num_elements()
    scope = get_variable_scope().name
    weights = variables.create_variable(column, "weights", [width, units], initializer=zeros_initializer())
    numbers = dense_rows(column, column.get_dense_tensor(cache, variables))
    held = framework.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=f"{scope}/")
    return matmul(numbers, weights, name="weighted_sum"), held


def _flat(sparse: SparseTensor) -> SparseTensor:
    """[batch, any]."""
    sizes: Any = shape(sparse)
    return sparse_reshape(sparse, [sizes[0], -1])


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def sequence_input_layer(
    features: Mapping[Any, Any],
    feature_columns: Iterable[FeatureColumn],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
) -> tuple[Any, Any]:
    """The sequences that columns make of features, side by side
    (`tf.contrib.feature_column.sequence_input_layer`).

    Args:
        features: SparseTensors by their keys, [batch, time] or [batch, time, …].
        feature_columns: sequence columns of numbers, indicators and embeddings of sequence columns.
        weight_collections, trainable: as for `tf.feature_column.input_layer`.

    Returns:
        The sequences, [batch, longest, total width], float32; and their lengths, [batch], int64. A step fails
        where the lengths of columns differ.

    Raises:
        ValueError: a column of another kind.
    """
    columns = normalized(feature_columns)
    for column in columns:
        if not isinstance(column, SequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be of type SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. "
                f"Given (type {type(column)}): {column}"
            )
    variables = ColumnVariables(trainable, list(weight_collections or ()))
    with variable_scope(None, default_name="sequence_input_layer", values=_tensors(features)):
        cache = FeatureCache(features)
        outputs, lengths = [], []
        for column in columns:
            assert isinstance(column, SequenceDenseColumn)
            with variable_scope(None, default_name=column._scope_name):
                dense, length = column.get_sequence_dense_tensor(cache, variables)
                sizes: Any = shape(dense)
                width = column.variable_shape.num_elements()
                outputs.append(reshape(dense, [sizes[0], sizes[1], width]))
                lengths.append(length)
        checks = [assert_equal(length, lengths[0]) for length in lengths[1:]]
        return concat(outputs, -1), with_dependencies(checks, lengths[0])
