"""`tf.contrib.learn`'s estimators, with `fit` and arrays, on those of `tf.estimator`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tensorfleet.contrib.old_columns import UNNAMED
from tensorfleet.contrib.serving_inputs import receiver_of
from tensorfleet.estimator import (
    DNNClassifier as NewDNNClassifier,
    DNNLinearCombinedClassifier as NewDNNLinearCombinedClassifier,
    DNNRegressor as NewDNNRegressor,
    LinearClassifier as NewLinearClassifier,
    LinearRegressor as NewLinearRegressor,
)
from tensorfleet.estimator.inputs import numpy_input_fn
from tensorfleet.feature_column import numeric_column
from tensorfleet.graph.graph import Graph
from tensorfleet.losses import Reduction
from tensorfleet.ops.nn.activation import relu

# The names that predictions of `tf.estimator` have here.
_PREDICTIONS = {
    "class_ids": "classes",
    "probabilities": "probabilities",
    "logits": "logits",
    "logistic": "logistic",
    "predictions": "scores",
}
# The names that metrics of `tf.estimator` have here, where classes are told apart.
_METRICS = {
    "average_loss": ["loss"],
    "global_step": ["global_step"],
    "accuracy": ["accuracy", "accuracy/threshold_0.500000_mean"],
    "label/mean": ["labels/actual_label_mean", "accuracy/baseline_label_mean"],
    "prediction/mean": ["labels/prediction_mean"],
    "precision": ["precision/positive_threshold_0.500000_mean"],
    "recall": ["recall/positive_threshold_0.500000_mean"],
    "auc": ["auc"],
    "auc_precision_recall": ["auc_precision_recall"],
}


class NotFittedError(ValueError, AttributeError):
    """An estimator without a checkpoint is asked for results (`tf.contrib.learn.NotFittedError`)."""


def _batched(x: Any, y: Any, batch_size: int | None, epochs: int | None, shuffled: bool) -> Any:
    """An input function of arrays."""
    features = x if isinstance(x, dict) else {UNNAMED: np.asarray(x)}
    features = {key: np.asarray(value) for key, value in features.items()}
    rows = len(next(iter(features.values())))
    return numpy_input_fn(
        features,
        None if y is None else np.asarray(y),
        batch_size=batch_size or rows,
        num_epochs=epochs,
        shuffle=shuffled,
    )


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


class FittedEstimator:
    """The methods of `tf.contrib.learn`'s estimators, before those of `tf.estimator`.

    Attributes:
        estimator: the estimator of `tf.estimator`.
    """

    estimator: Any
    _is_classifier = False

    @property
    def model_dir(self) -> str:
        """Where checkpoints go."""
        found: str = self.estimator.model_dir
        return found

    @property
    def config(self) -> Any:
        """The configuration."""
        return self.estimator.config

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> Any:
        """Trains with arrays, or with an input function; returns the estimator.

        Raises:
            ValueError: both are given, or neither.
        """
        given = self._given(x, y, input_fn, batch_size, None, True)
        self.estimator.train(given, hooks=monitors, steps=steps, max_steps=max_steps)
        return self

    partial_fit = fit

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Any = None,
    ) -> dict[str, Any]:
        """The metrics of arrays, or of an input function, by the names of `tf.contrib.learn.MetricKey`."""
        given = self._given(x, y, input_fn, batch_size, 1, False)
        for argument, what in ((metrics, "metrics"), (feed_fn, "a feed_fn")):
            if argument is not None:
                raise NotImplementedError(
                    f"evaluate with {what} is not part of TensorFleet for this estimator."
                )
        found: dict[str, Any] = self.estimator.evaluate(
            given, steps=steps, hooks=hooks, checkpoint_path=checkpoint_path, name=name
        )
        return self._named(found)

    def _named(self, found: dict[str, Any]) -> dict[str, Any]:
        """Metrics of `tf.estimator` by the names that they have here."""
        if self._is_classifier:
            kept = set(found)
            if "auc" not in kept:  # several classes
                kept &= {"average_loss", "global_step", "accuracy"}
        else:
            kept = {"average_loss", "global_step"}
        named = {new: found[key] for key in kept & set(_METRICS) for new in _METRICS[key]}
        if self._is_classifier and "auc" not in kept:
            del named["accuracy/threshold_0.500000_mean"]
        return named

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The probabilities of the classes, for each example."""
        return self._predicted("probabilities", x, input_fn, batch_size, as_iterable)

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The class of each example."""
        return self._predicted("class_ids", x, input_fn, batch_size, as_iterable)

    def predict_scores(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The number for each example."""
        return self._predicted("predictions", x, input_fn, batch_size, as_iterable)

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
    ) -> Any:
        """The class, or the number, of each example; an iterator, or an array if not `as_iterable`."""
        key = "class_ids" if self._is_classifier else "predictions"
        return self._predicted(key, x, input_fn, batch_size, as_iterable)

    def _predicted(self, key: str, x: Any, input_fn: Any, batch_size: int | None, iterable: bool) -> Any:
        given = self._given(x, None, input_fn, batch_size, 1, False)
        rows = (found[key] for found in self.estimator.predict(given))
        values = (row[0] if len(row) == 1 else row for row in rows)
        return values if iterable else np.array(list(values))

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_fn: Callable[[], Any],
        default_output_alternative_key: str | None = None,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Writes a SavedModel into a new directory, which has the time as its name, and returns its path.

        Args:
            export_dir_base: the directory above.
            serving_input_fn: to InputFnOps, such as `utils.input_fn_utils.build_parsing_serving_input_fn`
                makes, or to a ServingInputReceiver.
            default_output_alternative_key: without effect: these estimators have one head.
            assets_extra, as_text, checkpoint_path, strip_default_attrs: as of `tf.estimator.Estimator`.
        """
        exported: bytes = self.estimator.export_savedmodel(
            export_dir_base,
            receiver_of(serving_input_fn, UNNAMED),
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )
        return exported

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the newest checkpoint."""
        found: list[str] = self.estimator.get_variable_names()
        return found

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint."""
        return self.estimator.get_variable_value(name)

    def predicted(self, x: Any, batch_size: int | None, outputs: Any) -> Iterator[Any]:
        """The predictions of arrays, batch by batch, by the names of `tf.contrib.learn.PredictionKey`.

        Args:
            outputs: which of them; all by default.

        Raises:
            ValueError: none of them is predicted.
        """
        given = self._given(x, None, None, batch_size, 1, False)
        for batch in self.estimator.predict(given, yield_single_examples=False):
            named = {_PREDICTIONS[key]: value for key, value in batch.items() if key in _PREDICTIONS}
            for key in ("classes", "scores"):
                if key in named and named[key].shape[1:] == (1,):
                    named[key] = named[key][:, 0]
            chosen = {key: value for key, value in named.items() if not outputs or key in outputs}
            if not chosen:
                raise ValueError(
                    f"Expected to run at least one output from {list(named)}, provided {outputs}."
                )
            yield chosen

    def _given(
        self, x: Any, y: Any, input_fn: Any, batch_size: int | None, epochs: int | None, shuffled: bool
    ) -> Any:
        """The input function, or one of the arrays. Raises ValueError where there are both, or neither."""
        self._check(x, input_fn)
        return keyed_input(input_fn) if input_fn is not None else _batched(x, y, batch_size, epochs, shuffled)

    def _check(self, x: Any, input_fn: Any) -> None:
        if (x is None) == (input_fn is None):
            raise ValueError("Either x or input_fn must be provided.")


def keyed_input(input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """The input function, whose single feature has the name that columns of arrays have."""

    def keyed() -> Any:
        result = input_fn()
        if isinstance(result, tuple) and not isinstance(result[0], dict):
            return {UNNAMED: result[0]}, result[1]
        return result if isinstance(result, (tuple, dict)) else {UNNAMED: result}

    return keyed


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
