"""`tf.contrib.learn.MetricSpec`: which prediction and label a metric gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tensorfleet.estimator.arguments import parameter_names

_LABELS = ("labels", "label", "targets", "target")
_PREDICTIONS = ("predictions", "prediction", "logits", "logit")
_WEIGHTS = ("weights", "weight")


class MetricSpec:
    """A metric of some of a model's outputs (`tf.contrib.learn.MetricSpec`).

    Args:
        metric_fn: to (value, update), or a value. What of `labels`, `predictions` and `weights` it has a
            parameter for comes by its name; predictions without such a parameter come first, after labels
            that are the first parameter.
        prediction_key, label_key: which of several predictions and labels; None where there is one.
        weight_key: the feature that is the weights; None: there are no weights.

    Raises:
        ValueError: `metric_fn` has several parameters for the same, or none for what a key is given for.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        names = parameter_names(metric_fn)
        self._labels = _parameter(names, _LABELS, label_key is not None)
        self._predictions = _parameter(names, _PREDICTIONS, False)
        self._weights = _parameter(names, _WEIGHTS, weight_key is not None)
        self._labels_first = self._labels is not None and names[0] == self._labels
        self.metric_fn = metric_fn
        self.prediction_key, self.label_key, self.weight_key = prediction_key, label_key, weight_key

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """What `metric_fn` makes of them.

        Raises:
            ValueError: there are several values and no key, or a key and one value.
            KeyError: there is no value of that key.
        """
        given: list[Any] = []
        named: dict[str, Any] = {}
        label = None if self._labels is None else _chosen("label", labels, self.label_key)
        prediction = _chosen("prediction", predictions, self.prediction_key)
        if self._predictions is not None:
            named[self._predictions] = prediction
        else:
            given.append(prediction)
        if self._labels is not None and given and self._labels_first:
            given.insert(0, label)
        elif self._labels is not None:
            named[self._labels] = label
        if self._weights is not None and self.weight_key is not None:
            named[self._weights] = _chosen("weight", inputs, self.weight_key)
        return self.metric_fn(*given, **named)


def metric_ops(metrics: Mapping[Any, Any], features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """The metrics that an evaluation asks for.

    Args:
        metrics: MetricSpecs by name; or functions of a prediction and a label, by name, or by (name, the key
            of the prediction).

    Raises:
        ValueError: a function without a key, where there are predictions by name.
    """
    found: dict[str, Any] = {}
    for name, metric in sorted(metrics.items(), key=lambda item: str(item[0])):
        if isinstance(metric, MetricSpec):
            found[name] = metric.create_metric_ops(features, labels, predictions)
            continue
        label = next(iter(labels.values())) if isinstance(labels, Mapping) and len(labels) == 1 else labels
        if isinstance(name, tuple):
            shown, key = name
            if isinstance(labels, Mapping) and key in labels:
                label = labels[key]
            found[shown] = metric(_chosen("prediction", predictions, key), label)
        elif isinstance(predictions, Mapping):
            raise ValueError(
                f"Metrics passed provide only name, no prediction, but predictions are dict. Metrics: "
                f"{dict(metrics)}, Labels: {label}."
            )
        else:
            found[name] = metric(predictions, label)
    return found


def _parameter(names: Iterable[str], candidates: tuple[str, ...], needed: bool) -> str | None:
    found = [name for name in names if name in candidates]
    if len(found) > 1:
        raise ValueError(f"Ambiguous arguments {found}, must provide only one of {candidates}.")
    if needed and not found:
        raise ValueError(f"{candidates} missing from the metric's arguments {tuple(names)}.")
    return found[0] if found else None


def _chosen(kind: str, values: Any, key: str | None) -> Any:
    if key is not None:
        if not isinstance(values, Mapping):
            raise ValueError(f"MetricSpec with {kind}_key specified requires {kind}s dict, got {values}.")
        if key not in values:
            raise KeyError(f"Key '{key}' missing from {list(values)}.")
        return values[key]
    if not isinstance(values, Mapping):
        return values
    if len(values) != 1:
        raise ValueError(
            f"MetricSpec without specified {kind}_key requires {kind}s tensor or single element dict, got "
            f"{values}."
        )
    return next(iter(values.values()))
