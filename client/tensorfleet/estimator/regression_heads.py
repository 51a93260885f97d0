"""Heads of models that give numbers: `tf.estimator.RegressionHead` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.estimator import head_parts as parts
from tensorfleet.estimator.export_outputs import ExportOutput, RegressionOutput
from tensorfleet.estimator.head import OVER_BATCH, Head
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.math.arithmetic import squared_difference
from tensorfleet.ops.math.elementwise import exp, sigmoid
from tensorfleet.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits
from tensorfleet.ops.nn.statistics import log_poisson_loss


class RegressionHead(Head):
    """Numbers, by their squared errors (`tf.estimator.RegressionHead`).

    Labels are [batch] or [batch, label_dimension].

    Args:
        label_dimension: how many numbers there are for each example.
        weight_column, loss_reduction, loss_fn, name: as for `tf.estimator.Head`.
        inverse_link_fn: from logits to predictions; by default they are the same.

    Raises:
        ValueError: `label_dimension` is not positive.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = OVER_BATCH,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(name, weight_column, loss_reduction, loss_fn)
        self._label_dimension = label_dimension
        self._inverse_link_fn = inverse_link_fn

    @property
    def logits_dimension(self) -> int:
        return self._label_dimension

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        if self._inverse_link_fn is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link_fn(logits), "logits": logits}

    def _labels(self, labels: Any, logits: Any) -> Any:
        return cast(parts.dense_labels(labels, logits, self._label_dimension), dtypes.float32)

    def _unreduced(self, labels: Any, logits: Any) -> Any:
        return squared_difference(logits, labels)

    def _metrics(self, labels: Any, predictions: dict[str, Any], weights: Any) -> dict[str, Any]:
        return {
            self._key("prediction/mean"): parts.weighted_mean(
                predictions["predictions"], weights, "prediction/mean"
            ),
            self._key("label/mean"): parts.weighted_mean(labels, weights, "label/mean"),
        }

    def _outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {"regression": RegressionOutput(predictions["predictions"])}


class PoissonRegressionHead(RegressionHead):
    """Counts, whose logarithm the logits are (`tf.estimator.PoissonRegressionHead`).

    Args:
        label_dimension: how many counts there are for each example.
        weight_column, loss_reduction, name: as for `tf.estimator.Head`.
        compute_full_loss: add Stirling's approximation of the term that depends on labels only.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = OVER_BATCH,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, None, exp, name)
        self._compute_full_loss = compute_full_loss

    def _unreduced(self, labels: Any, logits: Any) -> Any:
        return log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=self._compute_full_loss)


class LogisticRegressionHead(RegressionHead):
    """Probabilities, by a sigmoid (`tf.estimator.LogisticRegressionHead`).

    Labels are in [0, 1].

    Args:
        weight_column, loss_reduction, name: as for `tf.estimator.Head`.
    """

    def __init__(
        self, weight_column: Any = None, loss_reduction: str = OVER_BATCH, name: str | None = None
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, None, sigmoid, name)

    def _unreduced(self, labels: Any, logits: Any) -> Any:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
