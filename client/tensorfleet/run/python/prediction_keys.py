"""`tensorflow.python.estimator.canned.prediction_keys`: the names of what heads predict."""

from __future__ import annotations


class PredictionKeys:
    """The keys of a head's predictions."""

    CLASSES = "classes"
    CLASS_IDS = "class_ids"
    ALL_CLASSES = "all_classes"
    ALL_CLASS_IDS = "all_class_ids"
    LOGISTIC = "logistic"
    LOGITS = "logits"
    PREDICTIONS = "predictions"
    PROBABILITIES = "probabilities"
    TOP_K = "top_k"
