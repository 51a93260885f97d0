"""The columns of `tf.contrib.layers`, which came before `tf.feature_column` and are made by it here."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.feature_column import (
    bucketized_column as new_bucketized_column,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    crossed_column as new_crossed_column,
    embedding_column as new_embedding_column,
    indicator_column,
    linear_model,
    make_parse_example_spec,
    numeric_column,
    shared_embedding_columns as new_shared_embedding_columns,
    weighted_categorical_column,
)
from tensorfleet.feature_column.categorical import HashedCategoricalColumn
from tensorfleet.feature_column.layers import input_layer
from tensorfleet.ops.state.variable_scope import variable_scope

# The name of the only feature, where it is given without one.
UNNAMED = "x"


def real_valued_column(
    column_name: str,
    dimension: int | None = 1,
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer: Any = None,
) -> Any:
    """Numbers (`tf.contrib.layers.real_valued_column`); `dimension` of each example.

    The name "" means the only feature of an estimator that is fitted with an array.
    """
    if dimension is None:
        raise NotImplementedError("real_valued_column without a dimension is not part of TensorFleet.")
    given = None if default_value is None else default_value
    return numeric_column(column_name or UNNAMED, (dimension,), given, dtype, normalizer)


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.string
) -> Any:
    """Values by their hashes (`tf.contrib.layers.sparse_column_with_hash_bucket`)."""
    return categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_keys(
    column_name: str, keys: Any, default_value: int = -1, combiner: str = "sum", dtype: Any = dtypes.string
) -> Any:
    """Values of a list (`tf.contrib.layers.sparse_column_with_keys`)."""
    return categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value)


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = dtypes.string,
) -> Any:
    """Values of a file's lines (`tf.contrib.layers.sparse_column_with_vocabulary_file`)."""
    return categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default_value, dtype
    )


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.int64
) -> Any:
    """Integers below a bound (`tf.contrib.layers.sparse_column_with_integerized_feature`)."""
    return categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = dtypes.float32
) -> Any:
    """Values with weights (`tf.contrib.layers.weighted_sparse_column`)."""
    return weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """Numbers by the bucket that they are in (`tf.contrib.layers.bucketized_column`)."""
    return new_bucketized_column(source_column, list(boundaries))


def crossed_column(columns: Any, hash_bucket_size: int, combiner: str = "sum", hash_key: Any = None) -> Any:
    """Combinations of values (`tf.contrib.layers.crossed_column`)."""
    # Hashed columns are crossed by their values, which the key stands for.
    keys = [column.key if isinstance(column, HashedCategoricalColumn) else column for column in columns]
    return new_crossed_column(keys, hash_bucket_size, hash_key)


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Vectors of values (`tf.contrib.layers.embedding_column`)."""
    return new_embedding_column(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def shared_embedding_columns(
    sparse_id_columns: Any, dimension: int, combiner: str = "mean", initializer: Any = None, **kwargs: Any
) -> Any:
    """Vectors of the values of several columns, from one table
    (`tf.contrib.layers.shared_embedding_columns`)."""
    return new_shared_embedding_columns(sparse_id_columns, dimension, combiner, initializer)


def one_hot_column(sparse_id_column: Any) -> Any:
    """Values as vectors with ones (`tf.contrib.layers.one_hot_column`)."""
    return indicator_column(sparse_id_column)


def input_from_feature_columns(
    columns_to_tensors: dict[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: Any = None,
) -> Any:
    """The input of a model, `[batch, …]` (`tf.contrib.layers.input_from_feature_columns`)."""
    with variable_scope(scope, "input_from_feature_columns", list(columns_to_tensors.values())):
        return input_layer(
            columns_to_tensors,
            list(feature_columns),
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=cols_to_outs,
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors: dict[str, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A linear model (`tf.contrib.layers.weighted_sum_from_feature_columns`).

    Returns:
        The outputs `[batch, num_outputs]`, the variables by their columns, and the biases.
    """
    found: dict[Any, Any] = {}
    with variable_scope(scope, "weighted_sum_from_feature_columns", list(columns_to_tensors.values())):
        outputs = linear_model(
            columns_to_tensors,
            list(feature_columns),
            units=num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=found,
        )
    return outputs, found, found.pop("bias", None)


def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """How the columns' features are parsed (`tf.contrib.layers.create_feature_spec_for_parsing`)."""
    return make_parse_example_spec(list(feature_columns))
