"""Metrics as functions from targets and predictions to a value for each example."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import backend as K, ops


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """How many of the predictions are on the side of the threshold that the targets are."""
    y_pred = convert_to_tensor(y_pred)
    above = ops.cast(y_pred > ops.cast(threshold, y_pred.dtype.base), y_pred.dtype.base)
    return K.mean(ops.equal(ops.cast(y_true, y_pred.dtype.base), above), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether the greatest prediction is that of the one-hot target."""
    return ops.cast(ops.equal(ops.argmax(y_true, -1), ops.argmax(y_pred, -1)), K.floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether the greatest prediction is that of the class whose number the target is."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    rank, given = y_pred.shape.ndims, y_true.shape.ndims
    if rank is not None and given is not None and rank == given:
        y_true = ops.squeeze(y_true, [-1])
    found = ops.cast(ops.argmax(y_pred, -1), y_true.dtype.base)
    return ops.cast(ops.equal(y_true, found), K.floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Whether the one-hot target's class is among the k greatest predictions."""
    return ops.cast(ops.in_top_k(y_pred, ops.argmax(y_true, -1), k), K.floatx())


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Whether the target's class is among the k greatest predictions."""
    y_true = convert_to_tensor(y_true)
    if len(y_true.shape.as_list()) == len(y_pred.shape.as_list()):
        y_true = ops.squeeze(y_true, [-1])
    return ops.cast(ops.in_top_k(y_pred, ops.cast(y_true, "int32"), k), K.floatx())


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether predictions equal targets, by elements."""
    y_pred = convert_to_tensor(y_pred)
    return ops.cast(ops.equal(ops.cast(y_true, y_pred.dtype.base), y_pred), K.floatx())
