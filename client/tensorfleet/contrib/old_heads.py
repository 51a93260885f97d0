"""Heads by functions, and optimizers that clip: `tf.contrib.estimator`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.contrib.train_ops import clip_gradient_norms
from tensorfleet.estimator.class_heads import BinaryClassHead, MultiClassHead, MultiLabelHead
from tensorfleet.estimator.head import Head
from tensorfleet.estimator.multi_head import MultiHead
from tensorfleet.estimator.regression_heads import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from tensorfleet.losses.weighted import Reduction
from tensorfleet.train.optimizer import Optimizer

_BY_SIZE = Reduction.SUM_OVER_BATCH_SIZE


def binary_classification_head(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[Any] | None = None,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """One of two classes; the arguments are those of `tf.estimator.BinaryClassHead`."""
    return BinaryClassHead(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[Any] | None = None,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """One of several classes; the arguments are those of `tf.estimator.MultiClassHead`."""
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[Any] | None = None,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Sequence[Any] | None = None,
    name: str | None = None,
) -> Head:
    """Any number of classes; the arguments are those of `tf.estimator.MultiLabelHead`."""
    return MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _BY_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Head:
    """Numbers; the arguments are those of `tf.estimator.RegressionHead`, in another order."""
    return RegressionHead(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _BY_SIZE,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """Counts; the arguments are those of `tf.estimator.PoissonRegressionHead`, in another order."""
    return PoissonRegressionHead(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _BY_SIZE, name: str | None = None
) -> Head:
    """Probabilities; the arguments are those of `tf.estimator.LogisticRegressionHead`."""
    return LogisticRegressionHead(weight_column, loss_reduction, name)


def multi_head(heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> MultiHead:
    """Several heads; the arguments are those of `tf.estimator.MultiHead`."""
    return MultiHead(heads, head_weights)


class _Clipping(Optimizer):
    """An optimizer whose gradients are no longer than that."""

    def __init__(self, optimizer: Optimizer, clip_norm: float) -> None:
        super().__init__(use_locking=False, name="ClipByNorm" + optimizer.get_name())
        self._inner = optimizer
        self._clip_norm = clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        clipped = clip_gradient_norms(grads_and_vars, self._clip_norm)
        return self._inner.apply_gradients(clipped, global_step=global_step, name=name)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._inner.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._inner.get_slot_names()


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """An optimizer that shortens each gradient to a norm of at most `clip_norm`
    (`tf.contrib.estimator.clip_gradients_by_norm`)."""
    return _Clipping(optimizer, clip_norm)
