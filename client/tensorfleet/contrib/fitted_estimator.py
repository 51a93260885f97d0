"""What `tf.contrib.learn`'s estimators have in common: `fit`, and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tensorfleet.contrib.metric_spec import metric_ops
from tensorfleet.contrib.model_functions import PredictionKey
from tensorfleet.contrib.monitoring.hooks import replace_monitors_with_hooks
from tensorfleet.contrib.old_columns import UNNAMED
from tensorfleet.contrib.serving_inputs import receiver_of
from tensorfleet.estimator.export_outputs import ClassificationOutput
from tensorfleet.estimator.extending import add_metrics
from tensorfleet.estimator.inputs import numpy_input_fn
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tensorfleet.train.hooks import FeedFnHook
from tensorfleet.train.session_run_hook import SessionRunContext, SessionRunHook

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


class _OneBatch(SessionRunHook):
    """Ends predictions after a batch where no queue runner says when the input ends: it would never end."""

    def begin(self) -> None:
        self._is_endless = not get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS)

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        if self._is_endless:
            run_context.request_stop()


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

        Args:
            monitors: hooks, and monitors of `tf.contrib.learn.monitors`.

        Raises:
            ValueError: both are given, or neither.
        """
        given = self._given(x, y, input_fn, batch_size, None, True)
        hooks = replace_monitors_with_hooks(monitors, self)
        self.estimator.train(given, hooks=hooks, steps=steps, max_steps=max_steps)
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
        """The metrics of arrays, or of an input function, by the names of `tf.contrib.learn.MetricKey`.

        Args:
            feed_fn: gives the feeds of each batch.
            metrics: further metrics: MetricSpecs by name, of predictions by the names of
                `tf.contrib.learn.PredictionKey`.
        """
        given = self._given(x, y, input_fn, batch_size, 1, False)
        all_hooks = [*(hooks or ()), *([] if feed_fn is None else [FeedFnHook(feed_fn)])]
        estimator = self.estimator if metrics is None else self._with_metrics(metrics)
        found: dict[str, Any] = estimator.evaluate(
            given, steps=steps, hooks=all_hooks, checkpoint_path=checkpoint_path, name=name
        )
        return {**self._named(found), **{name: found[name] for name in _metric_names(metrics or ())}}

    def _with_metrics(self, metrics: Mapping[Any, Any]) -> Any:
        def metric_fn(features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
            return metric_ops(metrics, features, labels, _older(predictions))

        return add_metrics(self.estimator, metric_fn)

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
        rows = (found[key] for found in self.estimator.predict(given, hooks=[_OneBatch()]))
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
            named = _older(batch)
            chosen = {key: value for key, value in named.items() if not outputs or key in outputs}
            if not chosen:
                raise ValueError(
                    f"Expected to run at least one output from {list(named)}, provided {outputs}."
                )
            yield chosen

    def outputs(self, features: Any, key: str | None = None) -> dict[str, Any]:
        """What a served model gives, as tensors of the default graph by the names of `PredictionKey`.

        Those of a classifier are the names of all classes and their probabilities, `[batch, classes]`, and
        those of a regressor the scores.

        Args:
            features: tensors by name, or the only one.
            key: which of the model's output alternatives.

        Raises:
            ValueError: there is no such alternative; these estimators have one, without a name.
        """
        if key:
            raise ValueError(f"Requested default_output_alternative: {key}, but available are: [None]")
        if not isinstance(features, Mapping):
            features = {UNNAMED: features}
        spec = self.estimator.model_fn(features, None, ModeKeys.PREDICT, self.config)
        output = spec.export_outputs[DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        if isinstance(output, ClassificationOutput):
            return {PredictionKey.CLASSES: output.classes, PredictionKey.PROBABILITIES: output.scores}
        return {PredictionKey.SCORES: _older(spec.predictions)[PredictionKey.SCORES]}

    def _given(
        self, x: Any, y: Any, input_fn: Any, batch_size: int | None, epochs: int | None, shuffled: bool
    ) -> Any:
        """The input function, or one of the arrays. Raises ValueError where there are both, or neither."""
        self._check(x, input_fn)
        return keyed_input(input_fn) if input_fn is not None else _batched(x, y, batch_size, epochs, shuffled)

    def _check(self, x: Any, input_fn: Any) -> None:
        if (x is None) == (input_fn is None):
            raise ValueError("Either x or input_fn must be provided.")


def _older(predictions: Mapping[str, Any]) -> dict[str, Any]:
    """Predictions of `tf.estimator`, arrays or tensors, with their names and shapes here."""
    named = {_PREDICTIONS[key]: value for key, value in predictions.items() if key in _PREDICTIONS}
    for key in ("classes", "scores"):
        if key in named and list(named[key].shape[1:]) == [1]:
            named[key] = named[key][:, 0]
    return named


def _metric_names(metrics: Iterable[Any]) -> list[str]:
    """What an evaluation calls metrics, which are given by names, or by (name, prediction)."""
    return [name[0] if isinstance(name, tuple) else name for name in metrics]


def keyed_input(input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """The input function, whose single feature has the name that columns of arrays have."""

    def keyed() -> Any:
        result = input_fn()
        if isinstance(result, tuple) and not isinstance(result[0], dict):
            return {UNNAMED: result[0]}, result[1]
        return result if isinstance(result, (tuple, dict)) else {UNNAMED: result}

    return keyed
