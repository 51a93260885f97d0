"""Parsing of serialized Examples and SequenceExamples into tensors: `tf.parse_example`, …"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, shape
from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor,
    as_sparse,
    sparse_reorder,
    sparse_tensor_to_dense,
)
from tensorfleet.ops.io import parsing_ops  # noqa: F401  the ops register themselves
from tensorfleet.ops.io.features import (
    ComposedFeature,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Parameters,
    SparseFeature,
    VarLenFeature,
    index_keys,
    sizes,
)

_IN_EXAMPLES = (VarLenFeature, SparseFeature, ComposedFeature, FixedLenFeature, FixedLenSequenceFeature)
_IN_CONTEXTS = (VarLenFeature, FixedLenFeature)
_IN_SEQUENCES = (VarLenFeature, FixedLenSequenceFeature)


def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """The features of serialized Examples, as tensors and SparseTensors (`tf.io.parse_example`).

    Args:
        serialized: a vector of strings, or one string.
        features: from names of features to FixedLenFeature, VarLenFeature, ….
        example_names: the names of the Examples, for error messages.

    Raises:
        ValueError: the description of a feature is incomplete.
        InvalidArgumentError: in a run: an Example lacks a feature, or has it with another type or size.

    Example:
        >>> label = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
        >>> example = tf.train.Example(features=tf.train.Features(feature={"label": label}))
        >>> features = {"label": tf.FixedLenFeature([], tf.int64), "words": tf.VarLenFeature(tf.string)}
        >>> parsed = tf.parse_example([example.SerializeToString()], features)
        >>> tf.Session().run(parsed["label"])
        array([7])
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        del key
    parameters = Parameters(features, _IN_EXAMPLES)
    with framework.name_scope(name, "ParseExample", [serialized, example_names]):
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")
        names = [] if example_names is None else example_names
        parsed = apply_op(
            "ParseExampleV2",
            serialized,
            convert_to_tensor(names, dtypes.string, "ParseExampleV2/names"),
            convert_to_tensor(parameters.sparse_keys, dtypes.string, "ParseExampleV2/sparse_keys"),
            convert_to_tensor(parameters.dense_keys, dtypes.string, "ParseExampleV2/dense_keys"),
            convert_to_tensor([], dtypes.string, "ParseExampleV2/ragged_keys"),
            parameters.defaults(),
            num_sparse=len(parameters.sparse_keys),
            sparse_types=parameters.sparse_types,
            ragged_value_types=[],
            ragged_split_types=[],
            dense_shapes=parameters.dense_shapes,
        )
        flat = _flat(parsed)
        return _with_sparse_features(features, _by_key(parameters, flat), serialized.dims == ())


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """The features of one serialized Example (`tf.io.parse_single_example`).

    Args:
        serialized: one string.
        features: as for `parse_example`.
        example_names: the name of the Example, for error messages.

    Raises:
        ValueError: `serialized` is not a scalar; and as `parse_example`.
    """
    if not features:
        raise ValueError("Invalid argument: features cannot be None.")
    with framework.name_scope(name, "ParseSingleExample", [serialized, example_names]):
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")
        _check_scalar(serialized, "serialized")
        return parse_example(serialized, features, example_names=example_names)


def _check_scalar(tensor: Tensor, what: str) -> None:
    if tensor.dims not in ((), None):
        raise ValueError(f"Input {what} must be a scalar")


def _flat(parsed: Any) -> list[Tensor]:
    """The outputs of an op with list outputs, as one flat list."""
    flat: list[Tensor] = []
    for part in parsed if isinstance(parsed, (tuple, list)) else [parsed]:
        flat += part if isinstance(part, (tuple, list)) else [part]
    return flat


def _by_key(parameters: Parameters, flat: list[Tensor]) -> dict[str, Any]:
    count = len(parameters.sparse_keys)
    indices, values, shapes = (flat[i * count : (i + 1) * count] for i in range(3))
    found: dict[str, Any] = {
        key: SparseTensor(*parts)
        for key, *parts in zip(parameters.sparse_keys, indices, values, shapes, strict=True)
    }
    found.update(zip(parameters.dense_keys, flat[3 * count :], strict=False))
    return found


def _with_sparse_features(
    features: Mapping[str, Any], found: dict[str, Any], is_single: bool
) -> dict[str, Any]:
    """The parsed features, with those that are made of others, such as a SparseFeature, in place of these."""
    taken = {
        key
        for feature in features.values()
        if isinstance(feature, SparseFeature)
        for key in (*index_keys(feature), feature.value_key)
    }
    made: dict[str, Any] = {
        key: _merged(
            [found[index_key] for index_key in index_keys(feature)],
            found[feature.value_key],
            sizes(feature),
            feature.already_sorted,
        )
        for key, feature in features.items()
        if isinstance(feature, SparseFeature)
    }
    for key, feature in features.items():
        if isinstance(feature, ComposedFeature):
            taken |= {part for part, _ in feature.parts(key)}
            made[key] = feature.compose(key, found, is_single)
    kept = {key: value for key, value in found.items() if key not in taken or key in features}
    return {**kept, **made}


def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """A SparseTensor whose indices in its last dimensions are the values of others (`tf.sparse_merge`).

    Args:
        sp_ids: a SparseTensor of indices in the last dimension, or a list of them for several dimensions.
        sp_values: a SparseTensor of the values.
        vocab_size: the size of the dimension, or a list of sizes.
        already_sorted: whether the indices are in order.
    """
    ids = (
        list(sp_ids) if isinstance(sp_ids, (list, tuple)) and not hasattr(sp_ids, "dense_shape") else [sp_ids]
    )
    counts = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(ids) != len(counts):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with framework.name_scope(name, "SparseMerge", [*ids, sp_values]):
        return _merge([as_sparse(each) for each in ids], as_sparse(sp_values), counts, already_sorted)


def _merged(
    ids: list[SparseTensor], values: SparseTensor, counts: list[Any], is_sorted: bool
) -> SparseTensor:
    with framework.name_scope(None, "SparseMerge", [*(each.values for each in ids), values.values]):
        return _merge(ids, values, counts, is_sorted)


def _merge(ids: list[SparseTensor], values: SparseTensor, counts: list[Any], is_sorted: bool) -> SparseTensor:
    columns = []
    for each in ids:
        column = each.values
        if column.dtype is not dtypes.int64:
            column = cast(column, dtypes.int64)
        columns.append(expand_dims(column, 1))
    sizes = [cast(count, dtypes.int64) for count in counts]
    indices = concat([ids[0].indices[:, :-1], *columns], 1)
    shape = concat([ids[0].dense_shape[:-1], sizes], 0)
    merged = SparseTensor(indices, values.values, shape)
    return merged if is_sorted else sparse_reorder(merged)


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """A bool tensor with True at the indices, in its last dimension, that the integers of a SparseTensor
    give (`tf.sparse.to_indicator`).

    Args:
        sp_input: integers in [0, vocab_size).
        vocab_size: the size of the last dimension of the result.
    """
    sparse = as_sparse(sp_input)
    with framework.name_scope(name, "SparseToIndicator", [sparse]) as scope:
        ones = fill(expand_dims(shape(sparse.indices)[0], 0), True)
        merged = _merge([sparse], sparse.with_values(ones), [vocab_size], False)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False, name=scope)


# Sequences


def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The features of serialized SequenceExamples (`tf.io.parse_sequence_example`).

    Args:
        serialized: a vector of strings.
        context_features: the features of whole sequences, FixedLenFeature and VarLenFeature.
        sequence_features: the features of each step, FixedLenSequenceFeature and VarLenFeature.
        example_names: the names of the messages, for errors.

    Returns:
        The features of the whole sequences; those of the steps, padded to the longest sequence; the number
        of steps of the dense ones of each message.
    """
    with framework.name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        return _parse_sequences(serialized, context_features, sequence_features, example_names)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of one serialized SequenceExample (`tf.io.parse_single_sequence_example`).

    Args:
        serialized: one string.
        context_features, sequence_features: as for `parse_sequence_example`.
        example_name: the name of the message, for errors.

    Returns:
        The features of the whole sequence, and those of the steps.
    """
    with framework.name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")
        _check_scalar(serialized, "serialized")
        return _parse_sequences(serialized, context_features, sequence_features, example_name)[:2]


def _parse_sequences(
    serialized: Any, context: Mapping[str, Any] | None, sequence: Mapping[str, Any] | None, names: Any
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    if not (context or sequence):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one "
            "should have values."
        )
    of_context = Parameters(context or {}, _IN_CONTEXTS)
    of_steps = Parameters(sequence or {}, _IN_SEQUENCES)
    with framework.name_scope(None, "ParseSequenceExample", [serialized, names]):
        serialized = convert_to_tensor(serialized, dtypes.string, "serialized")

        def strings(values: Any, part: str) -> Tensor:
            made: Tensor = convert_to_tensor(values, dtypes.string, f"ParseSequenceExampleV2/{part}")
            return made

        parsed = apply_op(
            "ParseSequenceExampleV2",
            serialized,
            strings([] if names is None else names, "debug_name"),
            strings(of_context.sparse_keys, "context_sparse_keys"),
            strings(of_context.dense_keys, "context_dense_keys"),
            strings([], "context_ragged_keys"),
            strings(of_steps.sparse_keys, "feature_list_sparse_keys"),
            strings(of_steps.dense_keys, "feature_list_dense_keys"),
            strings([], "feature_list_ragged_keys"),
            convert_to_tensor(
                [key in of_steps.dense_defaults for key in of_steps.dense_keys],
                dtypes.bool,
                "ParseSequenceExampleV2/feature_list_dense_missing_assumed_empty",
            ),
            of_context.defaults(),
            Ncontext_sparse=len(of_context.sparse_keys),
            Nfeature_list_sparse=len(of_steps.sparse_keys),
            Nfeature_list_dense=len(of_steps.dense_keys),
            context_sparse_types=of_context.sparse_types,
            context_ragged_value_types=[],
            context_ragged_split_types=[],
            context_dense_shapes=of_context.dense_shapes,
            feature_list_dense_types=of_steps.dense_types,
            feature_list_sparse_types=of_steps.sparse_types,
            feature_list_ragged_value_types=[],
            feature_list_ragged_split_types=[],
            feature_list_dense_shapes=[dims and dims[1:] for dims in of_steps.dense_shapes],
        )
        flat = _flat(parsed)
    end = 3 * len(of_context.sparse_keys) + len(of_context.dense_keys)
    steps = flat[end:]
    lengths = steps[3 * len(of_steps.sparse_keys) + len(of_steps.dense_keys) :]
    return (
        _by_key(of_context, flat[:end]),
        _by_key(of_steps, steps),
        dict(zip(of_steps.dense_keys, lengths, strict=False)),
    )
