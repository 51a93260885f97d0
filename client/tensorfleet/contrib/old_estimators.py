"""`tf.contrib.learn`'s estimators, with `fit` and arrays, on those of `tf.estimator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.contrib.fitted_estimator import FittedEstimator
from tensorfleet.contrib.old_columns import UNNAMED
from tensorfleet.estimator import (
    DNNClassifier as NewDNNClassifier,
    DNNLinearCombinedClassifier as NewDNNLinearCombinedClassifier,
    DNNRegressor as NewDNNRegressor,
    LinearClassifier as NewLinearClassifier,
    LinearRegressor as NewLinearRegressor,
)
from tensorfleet.feature_column import numeric_column
from tensorfleet.graph.graph import Graph
from tensorfleet.losses import Reduction
from tensorfleet.ops.nn.activation import relu


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """A column of numbers for an array `[examples, size]`
    (`tf.contrib.learn.infer_real_valued_columns_from_input`)."""
    shape = np.asarray(x).shape
    return [numeric_column(UNNAMED, shape=shape[1:] or (1,))]


def infer_real_valued_columns_from_input_fn(input_fn: Any) -> list[Any]:
    """A column of numbers for each feature of an input function
    (`tf.contrib.learn.infer_real_valued_columns_from_input_fn`)."""
    with Graph().as_default():
        features, _ = input_fn()
        if not isinstance(features, dict):
            features = {UNNAMED: features}
        return [
            numeric_column(key, shape=features[key].shape.as_list()[1:] or (1,)) for key in sorted(features)
        ]


class SKCompat:
    """An estimator with scikit-learn's arguments (`tf.contrib.learn.SKCompat`).

    Args:
        estimator: one of `tf.contrib.learn`.
    """

    def __init__(self, estimator: FittedEstimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> SKCompat:
        """Trains with arrays; returns this."""
        self._estimator.fit(x, y, steps=steps, batch_size=batch_size, max_steps=max_steps, monitors=monitors)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: Any = None,
    ) -> dict[str, Any]:
        """The metrics of arrays."""
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """The predictions of all examples: an array, or arrays by name where the model names them."""
        batches = list(self._estimator.predicted(x, batch_size, outputs))
        if not isinstance(batches[0], dict):
            return np.concatenate(batches)
        return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}


class LinearClassifier(FittedEstimator):
    """A linear classifier (`tf.contrib.learn.LinearClassifier`); arguments as of `tf.estimator`'s."""

    _is_classifier = True

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = "Ftrl",
        **kwargs: Any,
    ) -> None:
        self.estimator = NewLinearClassifier(
            feature_columns, model_dir, n_classes, weight_column_name, optimizer=optimizer, **_known(kwargs)
        )


class LinearRegressor(FittedEstimator):
    """A linear model of a number (`tf.contrib.learn.LinearRegressor`)."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = "Ftrl",
        label_dimension: int = 1,
        **kwargs: Any,
    ) -> None:
        self.estimator = NewLinearRegressor(
            feature_columns,
            model_dir,
            label_dimension,
            weight_column_name,
            optimizer=optimizer,
            **_known(kwargs),
        )


class DNNClassifier(FittedEstimator):
    """A classifier of fully connected layers (`tf.contrib.learn.DNNClassifier`)."""

    _is_classifier = True

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        **kwargs: Any,
    ) -> None:
        self.estimator = NewDNNClassifier(
            hidden_units,
            feature_columns,
            model_dir,
            n_classes,
            weight_column_name,
            optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            **_known(kwargs),
        )


class DNNRegressor(FittedEstimator):
    """A model of a number by fully connected layers (`tf.contrib.learn.DNNRegressor`)."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        label_dimension: int = 1,
        **kwargs: Any,
    ) -> None:
        self.estimator = NewDNNRegressor(
            hidden_units,
            feature_columns,
            model_dir,
            label_dimension,
            weight_column_name,
            optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            **_known(kwargs),
        )


class DNNLinearCombinedClassifier(FittedEstimator):
    """A classifier of both kinds (`tf.contrib.learn.DNNLinearCombinedClassifier`)."""

    _is_classifier = True

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        fix_global_step_increment_bug: bool = False,
        **kwargs: Any,
    ) -> None:
        self.estimator = NewDNNLinearCombinedClassifier(
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            n_classes,
            weight_column_name,
            **_known(kwargs),
        )


def _known(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments for an estimator of `tf.estimator`, whose loss is a mean here.

    Raises:
        NotImplementedError: one that it lacks has a value.
    """
    for name, value in arguments.items():
        if name not in ("config",) and value not in (None, False):
            raise NotImplementedError(f"The argument {name} is not part of TensorFleet; see tf.estimator.")
    given = {name: value for name, value in arguments.items() if name == "config"}
    # Those of `tf.estimator` sum over a batch, so that each step goes farther.
    return {**given, "loss_reduction": Reduction.SUM_OVER_BATCH_SIZE}
