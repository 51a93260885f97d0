"""Metrics of decisions at thresholds: counts, precision, recall, areas under curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.engine.metric import Metric, add_to, as_float
from tensorfleet.keras.loss_classes import squeezed
from tensorfleet.keras.nest import to_list


def _confusion(y_true: Any, y_pred: Any, thresholds: list[float], weight: Any, dtype: str) -> dict[str, Any]:
    """The weighted numbers of examples by target and decision, (thresholds,)."""
    y_true, y_pred = squeezed(as_float(y_true, dtype), as_float(y_pred, dtype))
    truth = ops.reshape(ops.cast(y_true, "bool"), [1, -1])
    above = ops.reshape(y_pred, [1, -1]) > np.array(thresholds, y_pred.dtype.as_numpy_dtype)[:, None]
    weights = ops.ones_like(y_pred)
    if weight is not None:
        given = as_float(weight, dtype)
        while len(given.shape.as_list()) < len(y_pred.shape.as_list()):
            given = ops.expand_dims(given, -1)
        weights = weights * given
    weights = ops.reshape(weights, [1, -1])

    def count(is_true: Any, is_above: Any) -> Any:
        return ops.reduce_sum(ops.cast(ops.logical_and(is_true, is_above), y_pred.dtype.base) * weights, 1)

    not_true, below = ops.logical_not(truth), ops.logical_not(above)
    return {
        "tp": count(truth, above),
        "fp": count(not_true, above),
        "tn": count(not_true, below),
        "fn": count(truth, below),
    }


def _checked(thresholds: Any, default: float = 0.5) -> list[float]:
    found = to_list(default if thresholds is None else thresholds)
    if any(t is None or not 0 <= t <= 1 for t in found):
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {found}")
    return [float(t) for t in found]


class _Count(Metric):
    """The number of examples of one kind."""

    _kind = ""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = _checked(thresholds)
        self.accumulator = self.add_weight("accumulator", (len(self.thresholds),))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        found = _confusion(y_true, y_pred, self.thresholds, sample_weight, self.dtype)
        return add_to(self.accumulator, found[self._kind])

    def result(self) -> Any:
        return self.accumulator[0] if len(self.thresholds) == 1 else ops.identity(self.accumulator)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self.init_thresholds}


class FalsePositives(_Count):
    """The number of wrong positive decisions (`tf.keras.metrics.FalsePositives`)."""

    _kind = "fp"


class FalseNegatives(_Count):
    """The number of wrong negative decisions (`tf.keras.metrics.FalseNegatives`)."""

    _kind = "fn"


class TrueNegatives(_Count):
    """The number of right negative decisions (`tf.keras.metrics.TrueNegatives`)."""

    _kind = "tn"


class TruePositives(_Count):
    """The number of right positive decisions (`tf.keras.metrics.TruePositives`)."""

    _kind = "tp"


class _Share(Metric):
    """The part of examples of two kinds that are of the first kind."""

    _other = ""
    _variable = ""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        # Of the k greatest all count, whatever their values.
        self.thresholds = (
            [float("-inf")] if top_k is not None and thresholds is None else _checked(thresholds)
        )
        shape = (len(self.thresholds),)
        self.true_positives = self.add_weight("true_positives", shape)
        self._others = self.add_weight(self._variable, shape)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_pred = as_float(y_pred, self.dtype)
        y_true = as_float(y_true, self.dtype)
        if self.top_k is not None:
            least = ops.top_k(y_pred, self.top_k, False).values[..., self.top_k - 1 :]
            y_pred = ops.where(y_pred >= least, y_pred, ops.fill(ops.shape(y_pred), np.float32(-np.inf)))
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        found = _confusion(y_true, y_pred, self.thresholds, sample_weight, self.dtype)
        return ops.group(add_to(self.true_positives, found["tp"]), add_to(self._others, found[self._other]))

    def result(self) -> Any:
        share = ops.div_no_nan(self.true_positives, self.true_positives + self._others)
        return share[0] if len(self.thresholds) == 1 else share

    def get_config(self) -> dict[str, Any]:
        own = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), **own}


class Precision(_Share):
    """The part of positive decisions that are right (`tf.keras.metrics.Precision`)."""

    _other, _variable = "fp", "false_positives"


class Recall(_Share):
    """The part of positive targets that are found (`tf.keras.metrics.Recall`)."""

    _other, _variable = "fn", "false_negatives"


class _Curve(Metric):
    """The numbers of examples by target and decision, at many thresholds."""

    def __init__(self, thresholds: list[float], name: str | None, dtype: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self.thresholds = thresholds
        shape = (len(thresholds),)
        self.true_positives = self.add_weight("true_positives", shape)
        self.true_negatives = self.add_weight("true_negatives", shape)
        self.false_positives = self.add_weight("false_positives", shape)
        self.false_negatives = self.add_weight("false_negatives", shape)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        found = _confusion(y_true, y_pred, self.thresholds, sample_weight, self.dtype)
        return ops.group(
            add_to(self.true_positives, found["tp"]),
            add_to(self.true_negatives, found["tn"]),
            add_to(self.false_positives, found["fp"]),
            add_to(self.false_negatives, found["fn"]),
        )

    def _sensitivity(self) -> Any:
        return ops.div_no_nan(self.true_positives, self.true_positives + self.false_negatives)

    def _specificity(self) -> Any:
        return ops.div_no_nan(self.true_negatives, self.true_negatives + self.false_positives)


def _evenly(number: int) -> list[float]:
    """Thresholds from just below 0 to just above 1."""
    inner = [(i + 1) / (number - 1) for i in range(number - 2)]
    return [0.0 - K.epsilon(), *inner, 1.0 + K.epsilon()]


class AUC(_Curve):
    """The area under the curve of true by false positives ("ROC") or of precision by recall ("PR")
    (`tf.keras.metrics.AUC`).

    Args:
        num_thresholds: the number of points of the curve.
        summation_method: "interpolation" (of PR by the counts), "minoring" or "majoring".
        thresholds: the points in place of evenly spaced ones.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        if curve not in ("ROC", "PR"):
            raise ValueError(f'Invalid curve: "{curve}". Valid options are: "ROC" and "PR".')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(f"Invalid summation method: {summation_method}.")
        self._given = thresholds
        if thresholds is not None:
            number = len(thresholds) + 2
            points = [0.0 - K.epsilon(), *sorted(thresholds), 1.0 + K.epsilon()]
        else:
            if num_thresholds <= 1:
                raise ValueError("`num_thresholds` must be > 1.")
            number, points = num_thresholds, _evenly(num_thresholds)
        super().__init__(points, name, dtype)
        self.num_thresholds, self.curve, self.summation_method = number, curve, summation_method

    def result(self) -> Any:
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._interpolated()
        recall = self._sensitivity()
        if self.curve == "ROC":
            x = ops.div_no_nan(self.false_positives, self.false_positives + self.true_negatives)
            y = recall
        else:
            x = recall
            y = ops.div_no_nan(self.true_positives, self.true_positives + self.false_positives)
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        elif self.summation_method == "minoring":
            heights = ops.minimum(y[:-1], y[1:])
        else:
            heights = ops.maximum(y[:-1], y[1:])
        return ops.reduce_sum((x[:-1] - x[1:]) * heights)

    def _interpolated(self) -> Any:
        """The area under precision by recall, between the points by the numbers of examples (Davis and
        Goadrich, 2006)."""
        tp, fp, fn = self.true_positives, self.false_positives, self.false_negatives
        dtp = tp[:-1] - tp[1:]
        p = ops.add(tp, fp)
        dp = p[:-1] - p[1:]
        slope = ops.div_no_nan(dtp, ops.maximum(dp, 0.0))
        intercept = tp[1:] - slope * p[1:]
        both = ops.logical_and(p[:-1] > 0, p[1:] > 0)
        ratio = ops.where(both, ops.div_no_nan(p[:-1], ops.maximum(p[1:], 0.0)), ops.ones_like(p[1:]))
        step = slope * (dtp + intercept * ops.log(ratio))
        return ops.reduce_sum(ops.div_no_nan(step, ops.maximum(tp[1:] + fn[1:], 0.0)))

    def get_config(self) -> dict[str, Any]:
        own = {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
        }
        if self._given is not None:
            own["thresholds"] = list(self._given)
        return {**super().get_config(), **own}


class SensitivityAtSpecificity(_Curve):
    """The greatest sensitivity where the specificity is at least the one given
    (`tf.keras.metrics.SensitivityAtSpecificity`)."""

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__([0.5] if num_thresholds == 1 else _evenly(num_thresholds), name, dtype)
        self.specificity, self.num_thresholds = specificity, num_thresholds

    def result(self) -> Any:
        place = ops.argmin(ops.abs(self._specificity() - self.specificity), 0)
        return self._sensitivity()[place]

    def get_config(self) -> dict[str, Any]:
        own = {"specificity": self.specificity, "num_thresholds": self.num_thresholds}
        return {**super().get_config(), **own}


class SpecificityAtSensitivity(_Curve):
    """The specificity where the sensitivity is nearest to the one given
    (`tf.keras.metrics.SpecificityAtSensitivity`)."""

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__([0.5] if num_thresholds == 1 else _evenly(num_thresholds), name, dtype)
        self.sensitivity, self.num_thresholds = sensitivity, num_thresholds

    def result(self) -> Any:
        place = ops.argmin(ops.abs(self._sensitivity() - self.sensitivity), 0)
        return self._specificity()[place]

    def get_config(self) -> dict[str, Any]:
        own = {"sensitivity": self.sensitivity, "num_thresholds": self.num_thresholds}
        return {**super().get_config(), **own}


class MeanIoU(Metric):
    """The mean over classes of intersection over union (`tf.keras.metrics.MeanIoU`)."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes), dtype="float64")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        flat = [ops.reshape(ops.cast(y, "int64"), [-1]) for y in (y_true, y_pred)]
        weights = None if sample_weight is None else ops.reshape(as_float(sample_weight, "float64"), [-1])
        matrix = ops.confusion_matrix(flat[0], flat[1], self.num_classes, weights=weights, dtype="float64")
        return add_to(self.total_cm, matrix)

    def result(self) -> Any:
        rows, columns = ops.reduce_sum(self.total_cm, 0), ops.reduce_sum(self.total_cm, 1)
        hits = ops.diag_part(self.total_cm)
        union = rows + columns - hits
        valid = ops.reduce_sum(ops.cast(ops.not_equal(union, 0), "float64"))
        mean = ops.div_no_nan(ops.reduce_sum(ops.div_no_nan(hits, union)), valid)
        return ops.cast(mean, self.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}
