"""`tf.estimator.LinearClassifier`, `LinearRegressor` and `LinearEstimator`: a weight for each feature."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorfleet.estimator import canned_parts as parts
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.regression_heads import RegressionHead
from tensorfleet.estimator.run_config import RunConfig
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.feature_column.layers import linear_model
from tensorfleet.losses.weighted import Reduction
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.io import summary
from tensorfleet.ops.nn.layers import zero_fraction
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.train.regularized_optimizers import FtrlOptimizer

_LEARNING_RATE = 0.2


def linear_logit_fn_builder(
    units: int, feature_columns: Iterable[Any], sparse_combiner: str = "sum"
) -> Callable[..., Any]:
    """A function from features to the logits of a linear model
    (`tf.estimator.experimental.linear_logit_fn_builder`).

    Args:
        units: the number of logits.
        feature_columns: columns of numbers or categories.
        sparse_combiner: how the weights of an example's categories become one: "sum", "mean" or "sqrtn".
    """
    columns = list(feature_columns)

    def linear_logit_fn(features: Any) -> Any:
        variables: dict[Any, Any] = {}
        logits = linear_model(
            features=features,
            feature_columns=columns,
            units=units,
            sparse_combiner=sparse_combiner,
            cols_to_vars=variables,
        )
        bias = variables.pop("bias")
        summary_of_bias = concat([reshape(part, [-1]) for part in bias], axis=0)
        if units > 1:
            summary.histogram("bias", summary_of_bias)
        else:
            summary.scalar("bias", reshape(summary_of_bias, []))
        weights = [reshape(part, [-1]) for column in variables.values() for part in column]
        if weights:
            summary.scalar("fraction_of_zero_weights", zero_fraction(concat(weights, axis=0)))
        return logits

    return linear_logit_fn


class LinearEstimator(Estimator):
    """A linear model over feature columns, for a head (`tf.estimator.LinearEstimator`).

    Args:
        head: a `tf.estimator.Head`.
        feature_columns: columns of numbers or categories.
        model_dir, config, warm_start_from: as for `tf.estimator.Estimator`.
        optimizer: of `tf.train`, a function that makes one, or "Adagrad", "Adam", "Ftrl", "RMSProp", "SGD".
        partitioner: divides the columns' variables; by default in parts of 64 MiB or more.
        sparse_combiner: how the weights of an example's categories become one: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        head: Any,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        columns = list(feature_columns or ())

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            parts.check_features(features)
            logit_fn = linear_logit_fn_builder(head.logits_dimension, columns, sparse_combiner)
            chosen = parts.optimizer_of(optimizer or _default_optimizer(columns), _LEARNING_RATE)
            with variable_scope(
                "linear",
                values=tuple(features.values()),
                partitioner=partitioner or parts.input_partitioner(config),
            ):
                logits = logit_fn(features=features)
                spec: EstimatorSpec = head.create_estimator_spec(
                    features=features, mode=mode, labels=labels, optimizer=chosen, logits=logits
                )
            return spec

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _default_optimizer(columns: Sequence[Any]) -> FtrlOptimizer:
    return FtrlOptimizer(learning_rate=min(_LEARNING_RATE, 1.0 / math.sqrt(len(columns))))


class LinearClassifier(LinearEstimator):
    """A linear model over feature columns that tells classes (`tf.estimator.LinearClassifier`).

    Args:
        feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner: as for
            `tf.estimator.LinearEstimator`.
        n_classes: how many.
        weight_column: the feature with the weights of examples.
        label_vocabulary: the words that labels are; by default they are numbers.
        loss_reduction: how the losses of examples become one.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            parts.class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            *(feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner, warm_start_from),
        )


class LinearRegressor(LinearEstimator):
    """A linear model over feature columns that gives numbers (`tf.estimator.LinearRegressor`).

    Args:
        feature_columns, model_dir, optimizer, config, partitioner, warm_start_from, sparse_combiner: as for
            `tf.estimator.LinearEstimator`.
        label_dimension: how many numbers there are for each example.
        weight_column: the feature with the weights of examples.
        loss_reduction: how the losses of examples become one.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            *(feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner, warm_start_from),
        )
