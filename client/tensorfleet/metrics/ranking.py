"""Metrics about the k classes that a model finds likeliest: precision, recall and average precision at k."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.metrics.streaming import add_to, collected, metric_variable, safe_quotient
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill, ones_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.selection import top_k
from tensorfleet.ops.array.shaping import expand_dims, rank, shape, size
from tensorfleet.ops.array.sparse_elements import sparse_retain
from tensorfleet.ops.array.sparse_parts import sparse_concat, sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.data_flow.sets import set_difference, set_intersection, set_size
from tensorfleet.ops.debugging.weights import assert_broadcastable, broadcast_weights
from tensorfleet.ops.math.comparison import equal
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.scan import cumsum

Metric = tuple[Any, Any]
"""(value, update_op)"""


def _scope_name(name: str, k: int | None, class_id: int | None = None) -> str:
    named = f"{name}_at_k" if k is None else f"{name}_at_{k}"
    return named if class_id is None else f"{named}_class{class_id}"


def _with_classes(labels: Any, predictions: Any) -> Any:
    """Labels with a last dimension for the classes of one example, which those of one class each may lack."""
    labels = convert_to_tensor_or_sparse_tensor(labels)
    ranks = labels.get_shape().ndims, predictions.get_shape().ndims

    def longer() -> Any:
        if isinstance(labels, SparseTensor):
            return sparse_reshape(labels, concat([labels.dense_shape, cast([1], dtypes.int64)], 0))
        return expand_dims(labels, -1)

    if None in ranks:
        ndim = size(labels.dense_shape) if isinstance(labels, SparseTensor) else rank(labels)
        return cond(equal(rank(predictions), ndim + 1), longer, lambda: labels)
    if ranks[0] == ranks[1]:
        return labels
    if ranks[0] != ranks[1] - 1:
        raise ValueError(
            f"Unexpected labels shape {labels.get_shape()} for predictions shape {predictions.get_shape()}."
        )
    return longer()


def _of_class(ids: Any, class_id: int | None) -> Any:
    """The ids that are of one class."""
    if class_id is None:
        return ids
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, equal(ids.values, class_id))
    sizes: Any = shape(ids, out_type=dtypes.int64)
    one_each = fill(concat([sizes[:-1], cast([1], dtypes.int64)], 0), cast(class_id, dtypes.int64))
    found = set_intersection(one_each, ids)
    return SparseTensor(found.indices, found.values, sizes)


def _counted(kind: str, labels: Any, predictions: Any, class_id: int | None, weights: Any) -> Any:
    """How many of each row's classes are of that kind, times its weight."""
    labels, predictions = _of_class(labels, class_id), _of_class(predictions, class_id)
    if kind == "true_positive":
        found = set_intersection(predictions, labels)
    else:
        found = set_difference(predictions, labels, aminusb=kind == "false_positive")
    count = cast(set_size(found), dtypes.float64)
    if weights is None:
        return count
    with framework.control_dependencies([assert_broadcastable(weights, count)]):
        return count * cast(weights, dtypes.float64)


def _streamed(
    kind: str, labels: Any, predictions: Any, k: int | None, class_id: int | None, weights: Any
) -> Metric:
    """The count of a kind over all batches, before and after this one."""
    with framework.name_scope(None, _scope_name(kind, k, class_id), [predictions]) as scope:
        count = reduce_sum(_counted(kind, labels, predictions, class_id, weights))
        variable = metric_variable([], dtypes.float64, scope)
        return variable, add_to(variable, count)


def _ratio(
    name: str | None,
    default: str,
    other: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
) -> Metric:
    """True positives, divided by all that are either true positives or `other`."""
    with framework.name_scope(name, _scope_name(default, k, class_id), [predictions_idx]) as scope:
        predictions = cast(convert_to_tensor(predictions_idx), dtypes.int64)
        labels = _with_classes(labels, predictions)
        hits, hits_after = _streamed("true_positive", labels, predictions, k, class_id, weights)
        misses, misses_after = _streamed(other, labels, predictions, k, class_id, weights)
        value = apply_one("RealDiv", hits, apply_one("Add", hits, misses), name=scope)
        update = apply_one("RealDiv", hits_after, apply_one("Add", hits_after, misses_after), name="update")
        return collected(value, update, metrics_collections, updates_collections)


def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Which part of the labels is among classes that are predicted (`tf.metrics.recall_at_top_k`).

    Args:
        predictions_idx: the predicted classes, [batch, …, k].
        k: their number, for names alone.

    The rest is as of `tf.metrics.recall_at_k`.
    """
    return _ratio(
        *(name, "recall", "false_negative", labels, predictions_idx, k, class_id, weights),
        metrics_collections,
        updates_collections,
    )


def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Which part of the labels is among the k likeliest classes (`tf.metrics.recall_at_k`).

    Args:
        labels: the true classes, int64: a tensor or SparseTensor [batch, …, labels], or [batch, …] where each
            example has one.
        predictions: how likely each class is, [batch, …, classes].
        class_id: the only class that counts; None: all.
        weights: of the rows, broadcast to [batch, …].
        metrics_collections, updates_collections: to add value and update to.

    Returns:
        The value, float64, NaN before the first label; and the operation that counts a batch in.
    """
    with framework.name_scope(name, _scope_name("recall", k, class_id), [predictions]) as scope:
        return recall_at_top_k(
            *(labels, top_k(predictions, k)[1], k, class_id, weights),
            *(metrics_collections, updates_collections, scope),
        )


def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Which part of the predicted classes is among the labels (`tf.metrics.precision_at_top_k`).

    Args:
        predictions_idx: the predicted classes, [batch, …, k].
        k: their number, for names alone.

    The rest is as of `tf.metrics.precision_at_k`.
    """
    return _ratio(
        *(name, "precision", "false_positive", labels, predictions_idx, k, class_id, weights),
        metrics_collections,
        updates_collections,
    )


def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """Which part of the k likeliest classes is among the labels (`tf.metrics.precision_at_k`).

    The arguments and the result are as of `tf.metrics.recall_at_k`.
    """
    with framework.name_scope(name, _scope_name("precision", k, class_id), [predictions]) as scope:
        return precision_at_top_k(
            *(labels, top_k(predictions, k)[1], k, class_id, weights),
            *(metrics_collections, updates_collections, scope),
        )


def _repeated(labels: Any, k: int) -> Any:
    """[…, k, labels]: the labels once for each predicted class."""
    if isinstance(labels, SparseTensor):
        sizes: Any = labels.dense_shape
        apart = sparse_reshape(labels, concat([sizes[:-1], cast([1], dtypes.int64), sizes[-1:]], 0))
        return sparse_concat(-2, [apart] * k)
    rows = expand_dims(labels, -2)
    if labels.ndim is not None:
        return tile(rows, [1] * (labels.ndim - 1) + [k, 1])
    return tile(rows, concat([ones_like(shape(labels))[:-1], [k, 1]], 0))


def _relevant(labels: Any, k: int) -> Any:
    """How many of each row's labels can be found among k classes."""
    if isinstance(labels, SparseTensor):
        return apply_one("Minimum", set_size(labels), k)
    # A negative label stands for nothing.
    counted = cast(apply_one("GreaterEqual", labels, 0), dtypes.int64)
    return apply_one("Minimum", reduce_sum(counted, axis=-1), k)


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of each row's average precision at k (`tf.metrics.average_precision_at_k`): of the precisions
    at each place of the k likeliest classes where a label is.

    The arguments and the result are as of `tf.metrics.recall_at_k`; the value is 0 before the first batch.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with framework.name_scope(name, _scope_name("average_precision", k), [predictions]) as whole:
        found = cast(top_k(predictions, k)[1], dtypes.int64)
        return average_precision_at_top_k(
            labels, found, weights, metrics_collections, updates_collections, whole
        )


def average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """`average_precision_at_k` of classes that are given, the likeliest first: integers [D1, … DN, k].

    Raises:
        ValueError: k, the size of their last dimension, is not known.
    """
    with framework.name_scope(name, "average_precision_at_top_k", [predictions_idx]) as whole:
        found = cast(convert_to_tensor(predictions_idx), dtypes.int64)
        k = found.dims[-1] if found.dims else None
        if k is None:
            raise ValueError(f"The last dimension of predictions_idx must be known. Received: {found.shape}")
        each = _average_precision(_with_classes(labels, found), found, k)
        number = cast(size(each), dtypes.float64)
        if weights is not None:
            spread = broadcast_weights(cast(weights, dtypes.float64), each)
            each, number = each * spread, reduce_sum(spread)
        with framework.name_scope("max") as scope:
            largest = metric_variable([], dtypes.float64, scope)
            new_largest = add_to(largest, number)
        with framework.name_scope("total") as scope:
            total = metric_variable([], dtypes.float64, scope)
            new_total = add_to(total, reduce_sum(each))
        value = safe_quotient(total, largest, "mean")
        update = safe_quotient(new_total, new_largest, whole)
        return collected(value, update, metrics_collections, updates_collections)


def _average_precision(labels: Any, predictions: Any, k: int) -> Any:
    """Of each row, float64."""
    hits = _counted("true_positive", _repeated(labels, k), expand_dims(predictions, -1), None, None)
    precisions = cumsum(hits, axis=-1) / cumsum(ones_like(hits), axis=-1)
    return reduce_sum(precisions * hits, axis=-1) / cast(_relevant(labels, k), dtypes.float64)


def sparse_average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The older name of `tf.metrics.average_precision_at_k`."""
    return average_precision_at_k(
        *(labels, predictions, k, weights, metrics_collections, updates_collections, name)
    )


def sparse_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The older name of `tf.metrics.precision_at_k`."""
    return precision_at_k(
        *(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)
    )
