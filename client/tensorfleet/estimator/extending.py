"""Estimators made of others: `tf.estimator.add_metrics`, `tf.contrib.estimator.forward_features`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.export_outputs import PredictOutput
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor, sparse_tensor_to_dense

_METRIC_ARGUMENTS = frozenset(("features", "labels", "predictions", "config"))


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Mapping[str, Any]]) -> Estimator:
    """An estimator that evaluates further metrics (`tf.estimator.add_metrics`).

    Args:
        estimator: the model, which stays as it is.
        metric_fn: from features, labels, predictions and config, those that it has parameters for, to
            (value, update) by name; a metric of the same name is replaced.

    Raises:
        ValueError: `metric_fn` has other parameters.
    """
    names = parameter_names(metric_fn)
    unknown = sorted(set(names) - _METRIC_ARGUMENTS)
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        values = {
            "features": features,
            "labels": labels,
            "predictions": spec.predictions,
            "config": config,
        }
        further = metric_fn(**{name: values[name] for name in names})
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **(further or {})})

    return Estimator(model_fn, config=estimator.config, model_dir=estimator.model_dir)


def forward_features(
    estimator: Estimator, keys: Any = None, sparse_default_values: Mapping[str, Any] | None = None
) -> Estimator:
    """An estimator whose predictions have features in them (`tf.contrib.estimator.forward_features`).

    Args:
        estimator: the model, which stays as it is.
        keys: the features, a name or a list of them; None: all.
        sparse_default_values: what fills up a sparse feature, by its name.

    Raises:
        TypeError: a key is no string.
        ValueError: a feature is missing, or a prediction has its name.
    """
    wanted = [keys] if isinstance(keys, str) else keys
    for key in wanted or ():
        if not isinstance(key, str):
            raise TypeError(f"All `keys` must be strings. Given: {key!r}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if not isinstance(spec.predictions, Mapping):
            raise ValueError("Predictions should be a dict to be able to forward features.")
        predictions = dict(spec.predictions)
        for key in features if wanted is None else wanted:
            if key not in features:
                raise ValueError(f"keys should be exist in features. Key {key!r} is not in features.")
            if key in predictions:
                raise ValueError(f"Cannot forward feature key ({key}): there is a prediction of this name.")
            predictions[key] = _dense(features[key], (sparse_default_values or {}).get(key))
        outputs = spec.export_outputs
        if outputs is not None:
            outputs = {
                name: PredictOutput({**output.outputs, **_new(predictions, spec.predictions)})
                if isinstance(output, PredictOutput)
                else output
                for name, output in outputs.items()
            }
        return spec._replace(predictions=predictions, export_outputs=outputs)

    return Estimator(model_fn, config=estimator.config, model_dir=estimator.model_dir)


def _new(predictions: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in predictions.items() if key not in before}


def _dense(feature: Any, default: Any) -> Any:
    if not isinstance(feature, SparseTensor):
        return feature
    if default is None:
        default = b"" if feature.dtype is dtypes.string else 0
    return sparse_tensor_to_dense(feature, default)


def call_logit_fn(logit_fn: Callable[..., Any], features: Any, mode: str, params: Any, config: Any) -> Any:
    """What a `logit_fn` makes of features (`tf.estimator.experimental.call_logit_fn`).

    It gets of features, mode, params and config what it has parameters for.

    Raises:
        ValueError: it returns neither a tensor nor a dict of tensors.
    """
    names = parameter_names(logit_fn)
    values = {"mode": mode, "params": params, "config": config}
    result = logit_fn(features=features, **{name: value for name, value in values.items() if name in names})
    if not isinstance(result, Tensor):
        parts = result.values() if isinstance(result, Mapping) else [result]
        if not all(isinstance(part, Tensor) for part in parts):
            raise ValueError(
                "model_fn should return a Tensor or a dictionary of Tensors. Given type: "
                f"{type(result).__name__}"
            )
    return result
