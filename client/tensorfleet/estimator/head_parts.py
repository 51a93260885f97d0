"""Labels, weights and metrics of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.feature_column.numeric import NumericColumn
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.lookup.vocabularies import index_table_from_tensor, index_to_string_table_from_tensor
from tensorfleet.metrics.confusion import precision, recall
from tensorfleet.metrics.means import accuracy, mean
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import expand_dims, shape as shape_of
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.debugging.checks import assert_equal, assert_less, assert_non_negative
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.comparison import greater
from tensorfleet.ops.text.strings import as_string


def dense_labels(labels: Any, logits: Any, dimension: int) -> Any:
    """The labels as a tensor [..., dimension], beside logits [..., n].

    Raises:
        ValueError: they are missing, sparse, a dict, or of another static shape.
    """
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your "
            "data contain your label feature. Check that your input_fn properly parses and returns labels."
        )
    if isinstance(labels, Mapping):
        raise ValueError(f"labels must be a Tensor, and no dict of several. Given: {dict(labels)}")
    if isinstance(labels, SparseTensor):
        raise ValueError(
            "SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, "
            f"{dimension}], e.g. [batch_size, {dimension}]. Suggested Fix (1): Check the label feature in "
            "your data. Each example must contain the same number of labels."
        )
    labels = convert_to_tensor(labels)
    rank, logits_rank = labels.ndim, logits.ndim
    if rank is not None and logits_rank is not None and rank == logits_rank - 1:
        labels = expand_dims(labels, -1)
    dims = labels.dims
    if dims is not None:
        if logits_rank is not None and len(dims) != logits_rank:
            raise ValueError(
                f"labels must have the rank of logits, {logits_rank}: [batch_size, {dimension}]. Got the "
                f"shape {labels.shape}."
            )
        if dims and dims[-1] not in (None, dimension):
            raise ValueError(
                f"labels shape must be [D0, D1, ... DN, {dimension}]. Got {labels.shape}: the number of "
                "labels per example does not match the model."
            )
        for own, other in zip(dims[:-1], (logits.dims or ())[:-1], strict=False):
            if None not in (own, other) and own != other:
                raise ValueError(
                    f"labels {labels.shape} and logits {logits.shape} have different batch sizes."
                )
    same = assert_equal(
        shape_of(logits)[:-1], shape_of(labels)[:-1], message="labels and logits have different batch sizes"
    )
    with framework.control_dependencies([same]):
        return identity(labels)


def class_ids(labels: Any, n_classes: int, vocabulary: Sequence[Any] | None) -> Any:
    """The numbers of classes, int64, of labels that are such numbers, or words of a vocabulary.

    Raises:
        ValueError: the labels are of another dtype.
    """
    if vocabulary:
        if labels.dtype.base is not dtypes.string:
            raise ValueError(
                f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}"
            )
        return index_table_from_tensor(
            tuple(vocabulary), default_value=n_classes, name="class_id_lookup"
        ).lookup(labels)
    if not labels.dtype.base.is_integer:
        raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
    return cast(labels, dtypes.int64)


def checked_class_ids(labels: Any, n_classes: int) -> Any:
    """The same ids, whose use fails where one is outside of [0, n_classes)."""
    checks = [
        assert_less(
            labels,
            convert_to_tensor(n_classes, labels.dtype.base),
            message=f"Labels must be <= {n_classes} - 1",
        ),
        assert_non_negative(labels, message="Labels must be >= 0"),
    ]
    with framework.control_dependencies(checks):
        return identity(labels)


def class_strings(ids: Any, vocabulary: Sequence[Any] | None, name: str = "str_classes") -> Any:
    """The names of classes: the words of the vocabulary, or their numbers."""
    if not vocabulary:
        return as_string(ids, name=name)
    return index_to_string_table_from_tensor(tuple(vocabulary), name="class_string_lookup").lookup(
        cast(ids, dtypes.int64)
    )


def weights_of(features: Any, weight_column: Any, logits: Any) -> Any:
    """The weights of the examples, float32 [..., 1] or as the logits; 1.0 without a column.

    Raises:
        TypeError: the column is neither a name nor a numeric column.
        ValueError: there is no such feature, or it has another shape or dtype.
    """
    if weight_column is None:
        return 1.0
    if isinstance(weight_column, str):
        key, normalize = weight_column, None
    elif isinstance(weight_column, NumericColumn):
        key, normalize = weight_column.key, weight_column.normalizer_fn
    else:
        raise TypeError(f"Weight column must be either a string or NumericColumn. Given: {weight_column}")
    if key not in features:
        raise ValueError(f"Weights {key} should exist in features. It has {', '.join(map(str, features))}.")
    weights = convert_to_tensor(features[key])
    if normalize is not None:
        weights = normalize(weights)
    if not (weights.dtype.is_floating or weights.dtype.is_integer):
        raise ValueError(f"Weight column should be castable to float. Given dtype: {weights.dtype}")
    weights = cast(weights, dtypes.float32)
    if weights.ndim == 1:
        weights = expand_dims(weights, -1)
    last = None if weights.dims is None or not weights.dims else weights.dims[-1]
    if last not in (None, 1, (logits.dims or (None,))[-1]):
        raise ValueError(
            f"Weights have the shape {weights.shape}; it has to be [batch, 1] or that of logits."
        )
    return weights


def at_threshold(
    key: str, labels: Any, predictions: Any, weights: Any, threshold: float, name: str
) -> dict[str, Any]:
    """Accuracy, precision and recall of the decision that a probability is above a threshold."""
    decided = cast(greater(predictions, threshold), dtypes.int64)
    end = f"positive_threshold_{threshold:g}"
    return {
        f"accuracy/{end}{key}": accuracy(
            labels, decided, weights=weights, name=f"{name}accuracy_{threshold:g}"
        ),
        f"precision/{end}{key}": precision(labels, decided, weights=weights),
        f"recall/{end}{key}": recall(labels, decided, weights=weights),
    }


def accuracy_baseline(labels_mean: Any) -> tuple[Any, Any]:
    """The accuracy of always saying the more frequent class, of a mean of labels."""
    value, update = labels_mean
    return maximum(value, 1.0 - value, name="value"), maximum(update, 1.0 - update, name="update_op")


def weighted_mean(values: Any, weights: Any, name: str) -> tuple[Any, Any]:
    """`tf.metrics.mean` of values whose weights may have fewer columns."""
    return mean(values, weights=weights_for_metrics(values, weights), name=name)


def weights_for_metrics(values: Any, weights: Any) -> Any:
    """Weights as metrics take them; None where all count the same."""
    return None if isinstance(weights, float) and weights == 1.0 else weights
