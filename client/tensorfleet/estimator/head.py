"""`tf.estimator.Head`: loss, predictions and metrics of a model, over its logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.estimator import head_parts as parts
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.estimator.export_outputs import ExportOutput, PredictOutput
from tensorfleet.estimator.mode_keys import AVERAGE_LOSS_METRIC_KEY, LOSS_METRIC_KEY, ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.losses.weighted import Reduction, compute_weighted_loss
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.arithmetic import multiply
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tensorfleet.train.step_count import get_global_step

OVER_BATCH = "sum_over_batch_size"
_REDUCTIONS = (
    *(OVER_BATCH, Reduction.SUM, Reduction.MEAN, Reduction.SUM_OVER_BATCH_SIZE),
    *(Reduction.SUM_OVER_NONZERO_WEIGHTS, Reduction.SUM_BY_NONZERO_WEIGHTS),
)


class Head(ABC):
    """What a model makes of its logits (`tf.estimator.Head`).

    Args:
        name: stands behind the names of metrics and before those of signatures, where a model has several.
        weight_column: the feature with the weights of examples: a name or a numeric column.
        loss_reduction: how the losses of examples become one.
        loss_fn: from labels and logits, and features and loss_reduction where it has such parameters, to the
            losses of examples, [batch, 1].

    Raises:
        ValueError: an unknown reduction.
    """

    def __init__(
        self,
        name: str | None = None,
        weight_column: Any = None,
        loss_reduction: str = OVER_BATCH,
        loss_fn: Callable[..., Any] | None = None,
    ) -> None:
        if loss_reduction not in _REDUCTIONS:
            raise ValueError(
                f"Invalid loss_reduction: {loss_reduction}. It is one of those of tf.losses.Reduction."
            )
        self._name = name
        self._weight_column = weight_column
        self._loss_reduction = loss_reduction
        self._loss_fn = loss_fn

    @property
    def name(self) -> str | None:
        """The name."""
        return self._name

    @property
    @abstractmethod
    def logits_dimension(self) -> int:
        """The size of the last dimension of the logits."""

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become one."""
        return self._loss_reduction

    @abstractmethod
    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        """Predictions by name; only those of `keys`, if they are given."""

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        """The loss, a scalar, with the regularization losses."""
        with framework.name_scope("losses"):
            total, _, _, _ = self._losses(features, labels, self._checked_logits(logits))
            return add_n([total, *regularization_losses]) if regularization_losses else total

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """The EstimatorSpec of a model.

        Args:
            features: with the weights, if there are some.
            mode: of `tf.estimator.ModeKeys`.
            logits: float [batch, logits_dimension].
            labels: as the head takes them.
            optimizer: minimizes the loss.
            trainable_variables: which variables it may change.
            train_op_fn: instead, from the loss to an operation that trains.
            update_ops: run in each step as well; by default the collection UPDATE_OPS.
            regularization_losses: added to the loss.

        Raises:
            ValueError: labels or logits have another shape, or not exactly one of `optimizer` and
                `train_op_fn` is given to train.
        """
        with framework.name_scope("head" if self._name is None else self._name):
            logits = self._checked_logits(logits)
            with framework.name_scope("predictions"):
                predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(
                    mode, predictions=predictions, export_outputs=self._named_outputs(predictions)
                )
            total, unreduced, weights, processed = self._losses(features, labels, logits)
            loss, regularization = total, None
            if regularization_losses:
                regularization = add_n(list(regularization_losses))
                loss = add_n([total, regularization], name="regularized_training_loss")
            if mode == ModeKeys.EVAL:
                metrics = self._metrics(processed, predictions, weights)
                metrics[self._key(AVERAGE_LOSS_METRIC_KEY)] = parts.weighted_mean(
                    unreduced, weights, AVERAGE_LOSS_METRIC_KEY
                )
                if regularization is not None:
                    metrics[self._key("loss/regularization")] = parts.weighted_mean(
                        regularization, 1.0, "regularization_loss"
                    )
                return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics)
            trained = train_op(loss, optimizer, train_op_fn, trainable_variables, update_ops)
        with framework.name_scope(""):
            self._summarize(loss, total, unreduced, weights, regularization)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=trained)

    @abstractmethod
    def _labels(self, labels: Any, logits: Any) -> Any:
        """The labels as losses and metrics take them."""

    @abstractmethod
    def _unreduced(self, labels: Any, logits: Any) -> Any:
        """The losses of examples, [batch, 1] or [batch, n]."""

    @abstractmethod
    def _metrics(self, labels: Any, predictions: dict[str, Any], weights: Any) -> dict[str, Any]:
        """(value, update) by name."""

    @abstractmethod
    def _outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """What is served, by method; the first one is the default."""

    def _losses(self, features: Any, labels: Any, logits: Any) -> tuple[Any, Any, Any, Any]:
        """(total, losses of examples, weights, labels)."""
        processed = self._labels(labels, logits)
        if self._loss_fn is None:
            unreduced = self._unreduced(processed, logits)
        else:
            unreduced = _call_loss_fn(self._loss_fn, processed, logits, features, self._loss_reduction)
        weights = parts.weights_of(features, self._weight_column, logits)
        # Keras's name of the reduction, which is the default, stands for that of tf.losses.
        by_size = self._loss_reduction == OVER_BATCH
        reduction = Reduction.SUM_OVER_BATCH_SIZE if by_size else self._loss_reduction
        total = compute_weighted_loss(unreduced, weights, reduction=reduction)
        return total, unreduced, weights, processed

    def _checked_logits(self, logits: Any) -> Any:
        if logits is None:
            raise ValueError("logits are missing")
        logits = cast(convert_to_tensor(logits), dtypes.float32)
        last = None if not logits.dims else logits.dims[-1]
        if logits.ndim is not None and (logits.ndim < 2 or last not in (None, self.logits_dimension)):
            raise ValueError(
                f"logits shape must be [D0, D1, ... DN, {self.logits_dimension}], got {logits.shape}."
            )
        return logits

    def _key(self, key: str) -> str:
        return key if self._name is None else f"{key}/{self._name}"

    def _named_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        outputs = {**self._outputs(predictions), "predict": PredictOutput(predictions)}
        first = next(iter(outputs.values()))
        prefix = "" if self._name is None else f"{self._name}/"
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: first,
            **{prefix + key: value for key, value in outputs.items()},
        }

    def _summarize(self, loss: Any, total: Any, unreduced: Any, weights: Any, regularization: Any) -> None:
        summary.scalar(self._key(LOSS_METRIC_KEY), loss)
        average = total
        if self._loss_reduction == Reduction.SUM:
            count = reduce_sum(multiply(weights, ones_like(unreduced)))
            average = total / count
        summary.scalar(self._key(AVERAGE_LOSS_METRIC_KEY), average)
        if regularization is not None:
            summary.scalar(self._key("loss/regularization"), regularization)


def _call_loss_fn(
    loss_fn: Callable[..., Any], labels: Any, logits: Any, features: Any, reduction: str
) -> Any:
    names = parameter_names(loss_fn)
    for wanted in ("labels", "logits"):
        if wanted not in names:
            raise ValueError(f"loss_fn must contain argument: {wanted}. Given arguments: {names}")
    values = {"labels": labels, "logits": logits, "features": features, "loss_reduction": reduction}
    unknown = sorted(set(names) - set(values))
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")
    return loss_fn(**{name: values[name] for name in names})


def train_op(
    loss: Any,
    optimizer: Any,
    train_op_fn: Callable[[Any], Any] | None,
    variables: Sequence[Any] | None,
    update_ops: Sequence[Any] | None,
) -> Any:
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError("Exactly one of train_op_fn and optimizer must be given to train.")
    if train_op_fn is not None:
        trained = train_op_fn(loss)
    else:
        # Optimizers of programs may have a `minimize` that knows no variables.
        chosen = {} if variables is None else {"var_list": variables}
        trained = optimizer.minimize(loss, global_step=get_global_step(), **chosen)
    updates = framework.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
    return group(trained, *updates) if updates else trained
