"""Heads of models that tell classes: `tf.estimator.MultiClassHead`, `BinaryClassHead`, `MultiLabelHead`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.estimator import head_parts as parts
from tensorfleet.estimator.export_outputs import ClassificationOutput, ExportOutput, RegressionOutput
from tensorfleet.estimator.head import OVER_BATCH, Head
from tensorfleet.metrics.confusion import precision, recall
from tensorfleet.metrics.means import accuracy, mean
from tensorfleet.metrics.thresholds import auc
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as range_of, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.shaping import expand_dims, shape as shape_of, squeeze
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.io.parsing import sparse_to_indicator
from tensorfleet.ops.math.elementwise import sigmoid
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_mean
from tensorfleet.ops.nn.activation import softmax
from tensorfleet.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)


class _ClassHead(Head):
    """A head whose labels are the numbers or names of classes."""

    # How the area under the curve of precision and recall is summed.
    _SUMMATION = "careful_interpolation"

    def __init__(
        self,
        n_classes: int,
        name: str | None,
        weight_column: Any,
        label_vocabulary: Sequence[Any] | None,
        loss_reduction: str,
        loss_fn: Callable[..., Any] | None,
    ) -> None:
        super().__init__(name, weight_column, loss_reduction, loss_fn)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given: {type(label_vocabulary)}")
        if label_vocabulary and len(label_vocabulary) != n_classes:
            raise ValueError(
                f"Length of label_vocabulary must be n_classes={n_classes}: it has {len(label_vocabulary)}."
            )
        self._n_classes = n_classes
        self._vocabulary = label_vocabulary

    def _every_id(self, logits: Any) -> Any:
        """The numbers of all classes, for each example: [batch, n_classes]."""
        return tile(expand_dims(range_of(self._n_classes), 0), [shape_of(logits)[0], 1])

    def _every_class(self, logits: Any) -> Any:
        """Their names."""
        names = parts.class_strings(range_of(self._n_classes), self._vocabulary, name="all_classes")
        return tile(expand_dims(names, 0), [shape_of(logits)[0], 1])

    def _areas(self, labels: Any, predictions: Any, weights: Any) -> dict[str, Any]:
        return {
            self._key("auc"): auc(labels, predictions, weights=weights, name="auc"),
            self._key("auc_precision_recall"): auc(
                labels,
                predictions,
                weights=weights,
                curve="PR",
                name="auc_precision_recall",
                summation_method=self._SUMMATION,
            ),
        }

    def _classified(self, predictions: dict[str, Any]) -> ClassificationOutput:
        return ClassificationOutput(
            scores=predictions["probabilities"], classes=self._every_class(predictions["logits"])
        )


def _some(made: dict[str, Callable[[], Any]], keys: Sequence[str] | None) -> dict[str, Any]:
    """The predictions of these keys, or all.

    Raises:
        ValueError: a key is unknown.
    """
    for key in keys or ():
        if key not in made:
            raise ValueError(f"Prediction key must be one of {list(made)}, given: {key}")
    return {key: make() for key, make in made.items() if keys is None or key in keys}


class MultiClassHead(_ClassHead):
    """One of several classes, by a softmax (`tf.estimator.MultiClassHead`).

    Labels are [batch] or [batch, 1], numbers in [0, n_classes) or words of the vocabulary.

    Args:
        n_classes: at least 3.
        weight_column, loss_reduction, loss_fn, name: as for `tf.estimator.Head`.
        label_vocabulary: the words that labels are.

    Raises:
        ValueError: fewer classes, or a vocabulary of another length.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[Any] | None = None,
        loss_reduction: str = OVER_BATCH,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2 for multi-class classification. Given: {n_classes}")
        super().__init__(n_classes, name, weight_column, label_vocabulary, loss_reduction, loss_fn)

    @property
    def logits_dimension(self) -> int:
        return self._n_classes

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        ids = expand_dims(argmax(logits, axis=-1), -1)
        return _some(
            {
                "logits": lambda: logits,
                "probabilities": lambda: softmax(logits, name="probabilities"),
                "class_ids": lambda: ids,
                "classes": lambda: parts.class_strings(ids, self._vocabulary),
                "all_class_ids": lambda: self._every_id(logits),
                "all_classes": lambda: self._every_class(logits),
            },
            keys,
        )

    def _labels(self, labels: Any, logits: Any) -> Any:
        dense = parts.dense_labels(labels, logits, 1)
        ids = parts.class_ids(dense, self._n_classes, self._vocabulary)
        return parts.checked_class_ids(ids, self._n_classes)

    def _unreduced(self, labels: Any, logits: Any) -> Any:
        losses = sparse_softmax_cross_entropy_with_logits(labels=squeeze(labels, [-1]), logits=logits)
        return expand_dims(losses, -1)

    def _metrics(self, labels: Any, predictions: dict[str, Any], weights: Any) -> dict[str, Any]:
        weights = parts.weights_for_metrics(labels, weights)
        return {
            self._key("accuracy"): accuracy(
                labels, predictions["class_ids"], weights=weights, name="accuracy"
            )
        }

    def _outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {"classification": self._classified(predictions)}


class BinaryClassHead(_ClassHead):
    """One of two classes, by a sigmoid (`tf.estimator.BinaryClassHead`).

    Labels are [batch] or [batch, 1], 0 or 1 (numbers between them are probabilities), or words of the
    vocabulary.

    Args:
        weight_column, loss_reduction, loss_fn, name: as for `tf.estimator.Head`.
        thresholds: probabilities above which the answer is 1, for further metrics.
        label_vocabulary: the two words that labels are.

    Raises:
        ValueError: a threshold that is not between 0 and 1, or a vocabulary of another length.
    """

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[Any] | None = None,
        loss_reduction: str = OVER_BATCH,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(2, name, weight_column, label_vocabulary, loss_reduction, loss_fn)
        self._thresholds = _thresholds(thresholds)

    @property
    def logits_dimension(self) -> int:
        return 1

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        both = concat([zeros_like(logits), logits], axis=-1, name="two_class_logits")
        ids = expand_dims(argmax(both, axis=-1), -1)
        return _some(
            {
                "logits": lambda: logits,
                "logistic": lambda: sigmoid(logits, name="logistic"),
                "probabilities": lambda: softmax(both, name="probabilities"),
                "class_ids": lambda: ids,
                "classes": lambda: parts.class_strings(ids, self._vocabulary),
                "all_class_ids": lambda: self._every_id(logits),
                "all_classes": lambda: self._every_class(logits),
            },
            keys,
        )

    def _labels(self, labels: Any, logits: Any) -> Any:
        dense = parts.dense_labels(labels, logits, 1)
        if self._vocabulary:
            dense = parts.class_ids(dense, 2, self._vocabulary)
        return parts.checked_class_ids(cast(dense, dtypes.float32), 2)

    def _unreduced(self, labels: Any, logits: Any) -> Any:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _metrics(self, labels: Any, predictions: dict[str, Any], weights: Any) -> dict[str, Any]:
        weights = parts.weights_for_metrics(labels, weights)
        ids, logistic = cast(predictions["class_ids"], dtypes.float32), predictions["logistic"]
        labels_mean = mean(labels, weights=weights, name="label/mean")
        key = self._key
        found = {
            key("accuracy"): accuracy(labels, ids, weights=weights, name="accuracy"),
            key("precision"): precision(labels, ids, weights=weights, name="precision"),
            key("recall"): recall(labels, ids, weights=weights, name="recall"),
            key("prediction/mean"): mean(logistic, weights=weights, name="prediction/mean"),
            key("label/mean"): labels_mean,
            key("accuracy_baseline"): parts.accuracy_baseline(labels_mean),
            **self._areas(labels, logistic, weights),
        }
        end = "" if self._name is None else f"/{self._name}"
        for threshold in self._thresholds:
            found |= parts.at_threshold(end, labels, logistic, weights, threshold, "")
        return found

    def _outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {
            "classification": self._classified(predictions),
            "regression": RegressionOutput(predictions["logistic"]),
        }


class MultiLabelHead(_ClassHead):
    """Any number of classes for each example, by a sigmoid each (`tf.estimator.MultiLabelHead`).

    Labels are [batch, n_classes], 0 or 1, or a SparseTensor of classes: numbers, or words of the vocabulary.

    Args:
        n_classes: at least 2.
        weight_column, loss_reduction, loss_fn, name: as for `tf.estimator.Head`.
        thresholds: probabilities above which the answer is 1, for further metrics.
        label_vocabulary: the words that labels are.
        classes_for_class_based_metrics: classes whose own metrics are evaluated; not supported.

    Raises:
        ValueError: fewer classes, or a threshold that is not between 0 and 1.
        NotImplementedError: `classes_for_class_based_metrics` is given.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[Any] | None = None,
        loss_reduction: str = OVER_BATCH,
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        if classes_for_class_based_metrics:
            raise NotImplementedError(
                "MultiLabelHead(classes_for_class_based_metrics=…) is not supported: evaluate the metrics of "
                "single classes by tf.estimator.add_metrics."
            )
        super().__init__(n_classes, name, weight_column, label_vocabulary, loss_reduction, loss_fn)
        self._thresholds = _thresholds(thresholds)

    @property
    def logits_dimension(self) -> int:
        return self._n_classes

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        return _some(
            {"logits": lambda: logits, "probabilities": lambda: sigmoid(logits, name="probabilities")}, keys
        )

    def _labels(self, labels: Any, logits: Any) -> Any:
        if isinstance(labels, SparseTensor):
            ids = SparseTensor(
                labels.indices,
                parts.class_ids(labels.values, self._n_classes, self._vocabulary),
                labels.dense_shape,
            )
            labels = sparse_to_indicator(ids, self._n_classes)
            labels.set_shape([None, self._n_classes])
        dense = parts.dense_labels(_as_numbers(labels), logits, self._n_classes)
        return parts.checked_class_ids(cast(dense, dtypes.int64), 2)

    def _unreduced(self, labels: Any, logits: Any) -> Any:
        losses = sigmoid_cross_entropy_with_logits(labels=cast(labels, dtypes.float32), logits=logits)
        return reduce_mean(losses, axis=-1, keepdims=True)

    def _metrics(self, labels: Any, predictions: dict[str, Any], weights: Any) -> dict[str, Any]:
        weights = parts.weights_for_metrics(labels, weights)
        probabilities = predictions["probabilities"]
        found = self._areas(labels, probabilities, weights)
        end = "" if self._name is None else f"/{self._name}"
        for threshold in self._thresholds:
            found |= parts.at_threshold(end, labels, probabilities, weights, threshold, "")
        return found

    def _outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {"classification": self._classified(predictions)}


def _as_numbers(labels: Any) -> Any:
    """Numbers of a tensor of truth values; others stay as they are."""
    return cast(labels, dtypes.int64) if getattr(labels, "dtype", None) is dtypes.bool else labels


def _thresholds(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    for threshold in thresholds or ():
        if not 0.0 < threshold < 1.0:
            raise ValueError(f"thresholds not in (0, 1): {tuple(thresholds or ())}.")
    return tuple(thresholds or ())
