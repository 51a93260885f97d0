"""What the `model_fn` of a `tf.contrib.learn.Estimator` returns, and the names in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.array.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_run_hook import SessionRunHook


class PredictionKey:
    """The names of predictions (`tf.contrib.learn.PredictionKey`)."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"


class MetricKey:
    """The names of metrics (`tf.contrib.learn.MetricKey`)."""

    LOSS = "loss"
    AUC = "auc"
    AUC_PR = "auc_precision_recall"
    CLASS_AUC = "auc/class%d"
    CLASS_AUC_PR = "auc_precision_recall/class%d"
    PREDICTION_MEAN = "labels/prediction_mean"
    CLASS_PREDICTION_MEAN = "labels/prediction_mean/class%d"
    CLASS_LOGITS_MEAN = "labels/logits_mean/class%d"
    CLASS_PROBABILITY_MEAN = "labels/probability_mean/class%d"
    LABEL_MEAN = "labels/actual_label_mean"
    CLASS_LABEL_MEAN = "labels/actual_label_mean/class%d"
    ACCURACY = "accuracy"
    ACCURACY_BASELINE = "accuracy/baseline_label_mean"
    ACCURACY_MEAN = "accuracy/threshold_%f_mean"
    PRECISION_MEAN = "precision/positive_threshold_%f_mean"
    RECALL_MEAN = "recall/positive_threshold_%f_mean"


class _Fields(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    output_alternatives: Any
    training_chief_hooks: list[SessionRunHook]
    training_hooks: list[SessionRunHook]
    scaffold: Scaffold | None
    mode: str


class ModelFnOps(_Fields):
    """The operations of a model in one mode (`tf.contrib.learn.ModelFnOps`).

    Args:
        mode: of `tf.contrib.learn.ModeKeys`.
        predictions: a tensor, or tensors by name; needed to evaluate and to predict.
        loss: of one element; needed to train and to evaluate.
        train_op: an operation or tensor; needed to train.
        eval_metric_ops: by name a value, or (value, update).
        output_alternatives: the outputs of heads; kept, but a SavedModel has the predictions.
        training_chief_hooks: hooks of the chief only.
        training_hooks: hooks of all that train.
        scaffold: initialization, saver and summaries.

    Raises:
        ValueError: something is missing, or the loss has several elements.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        output_alternatives: Any = None,
        training_chief_hooks: Iterable[SessionRunHook] | None = None,
        training_hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
    ) -> ModelFnOps:
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise ValueError(f"Invalid mode {mode}.")
        if train_op is None and mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        if loss is None and mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        if predictions is None and mode in (ModeKeys.PREDICT, ModeKeys.EVAL):
            raise ValueError("Missing predictions.")
        if train_op is not None and not isinstance(train_op, Operation):
            train_op = convert_to_tensor(train_op).op
        if isinstance(predictions, Mapping):
            predictions = {
                name: convert_to_tensor_or_sparse_tensor(value) for name, value in predictions.items()
            }
        elif predictions is not None:
            predictions = convert_to_tensor_or_sparse_tensor(predictions)
        return super().__new__(
            cls,
            predictions,
            None if loss is None else convert_to_tensor(loss),
            train_op,
            dict(eval_metric_ops or {}),
            output_alternatives,
            list(training_chief_hooks or ()),
            list(training_hooks or ()),
            scaffold,
            mode,
        )

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> EstimatorSpec:
        """The same for `tf.estimator`; the argument has no effect, as the predictions are what is served."""
        metrics = {
            name: tuple(value) if isinstance(value, (list, tuple)) else (value, no_op())
            for name, value in self.eval_metric_ops.items()
        }
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )
