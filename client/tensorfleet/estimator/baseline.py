"""`tf.estimator.BaselineClassifier`, `BaselineRegressor` and `BaselineEstimator`: models without features."""

from __future__ import annotations

from typing import Any

from tensorfleet.estimator import canned_parts as parts
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.regression_heads import RegressionHead
from tensorfleet.estimator.run_config import RunConfig
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.losses.weighted import Reduction
from tensorfleet.ops.array.constants import ones
from tensorfleet.ops.array.shaping import shape as shape_of
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.math.arithmetic import multiply
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope

_LEARNING_RATE = 0.3


class BaselineEstimator(Estimator):
    """The same answer for all examples, for a head (`tf.estimator.BaselineEstimator`).

    It learns what a model has to be better than: the most frequent class, or the mean.

    Args:
        head: a `tf.estimator.Head`.
        model_dir, config: as for `tf.estimator.Estimator`.
        optimizer: of `tf.train`, a function that makes one, or "Adagrad", "Adam", "Ftrl", "RMSProp", "SGD".
    """

    def __init__(
        self, head: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: RunConfig | None = None
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            parts.check_features(features)
            values = tuple(features.values())
            with variable_scope("baseline", values=values):
                first = values[0]
                rows = (first.dense_shape if isinstance(first, SparseTensor) else shape_of(first))[0]
                bias = get_variable("bias", [head.logits_dimension], initializer=zeros_initializer())
                logits = multiply(ones([rows, head.logits_dimension]), bias)
            chosen = parts.optimizer_of(optimizer, _LEARNING_RATE)
            spec: EstimatorSpec = head.create_estimator_spec(
                features=features, mode=mode, labels=labels, optimizer=chosen, logits=logits
            )
            return spec

        super().__init__(model_fn, model_dir, config)


class BaselineClassifier(BaselineEstimator):
    """Tells the classes by their frequencies (`tf.estimator.BaselineClassifier`).

    Args:
        model_dir, optimizer, config: as for `tf.estimator.BaselineEstimator`.
        n_classes: how many.
        weight_column: the feature with the weights of examples.
        label_vocabulary: the words that labels are; by default they are numbers.
        loss_reduction: how the losses of examples become one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = parts.class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)


class BaselineRegressor(BaselineEstimator):
    """Gives the mean (`tf.estimator.BaselineRegressor`).

    Args:
        model_dir, optimizer, config: as for `tf.estimator.BaselineEstimator`.
        label_dimension: how many numbers there are for each example.
        weight_column: the feature with the weights of examples.
        loss_reduction: how the losses of examples become one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)
