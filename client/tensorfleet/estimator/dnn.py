"""`tf.estimator.DNNClassifier`, `DNNRegressor` and `DNNEstimator`: layers over feature columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorfleet.estimator import canned_parts as parts
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.regression_heads import RegressionHead
from tensorfleet.estimator.run_config import RunConfig
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.feature_column.layers import input_layer
from tensorfleet.layers.core import dense, dropout as drop
from tensorfleet.layers.normalization import batch_normalization
from tensorfleet.losses.weighted import Reduction
from tensorfleet.ops.io import summary
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.nn.layers import zero_fraction
from tensorfleet.ops.state.initializers import glorot_uniform_initializer
from tensorfleet.ops.state.variable_scope import variable_scope

_LEARNING_RATE = 0.05
_BATCH_NORM_MOMENTUM = 0.999


def dnn_logit_fn_builder(
    units: int,
    hidden_units: Sequence[int],
    feature_columns: Iterable[Any],
    activation_fn: Any,
    dropout: float | None,
    input_layer_partitioner: Any,
    batch_norm: bool,
) -> Callable[..., Any]:
    """A function from features and mode to the logits of a network
    (`tf.estimator.experimental.dnn_logit_fn_builder`).

    Args:
        units: the number of logits.
        hidden_units: the numbers of units in the layers before.
        feature_columns: dense columns.
        activation_fn: of the layers.
        dropout: the share of units that are dropped in training; None: none.
        input_layer_partitioner: divides the columns' variables.
        batch_norm: normalize each layer's output over the batch.

    Raises:
        ValueError: `units` is no positive number.
    """
    if not isinstance(units, int) or units <= 0:
        raise ValueError(f"units must be an int, and positive. Given type: {type(units)}")

    def dnn_logit_fn(features: Any, mode: str) -> Any:
        training = mode == ModeKeys.TRAIN
        values = tuple(features.values())
        with variable_scope("input_from_feature_columns", values=values, partitioner=input_layer_partitioner):
            net = input_layer(features=features, feature_columns=feature_columns)
        for index, size in enumerate(hidden_units):
            with variable_scope(f"hiddenlayer_{index}", values=(net,)) as opened:
                scope: Any = opened  # a layer takes its scope in place of its name
                net = dense(
                    net,
                    units=size,
                    activation=activation_fn,
                    kernel_initializer=glorot_uniform_initializer(),
                    name=scope,
                )
                if dropout is not None and training:
                    net = drop(net, rate=dropout, training=True)
                if batch_norm:
                    net = batch_normalization(
                        net, momentum=_BATCH_NORM_MOMENTUM, training=training, name=f"batchnorm_{index}"
                    )
            _summarize(net, scope.name)
        with variable_scope("logits", values=(net,)) as opened:
            scope = opened
            logits = dense(
                net,
                units=units,
                activation=None,
                kernel_initializer=glorot_uniform_initializer(),
                name=scope,
            )
        _summarize(logits, scope.name)
        return logits

    return dnn_logit_fn


def _summarize(value: Any, tag: str) -> None:
    summary.scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)


class DNNEstimator(Estimator):
    """Layers over feature columns, for a head (`tf.estimator.DNNEstimator`).

    Args:
        head: a `tf.estimator.Head`.
        hidden_units: the numbers of units in the layers.
        feature_columns: dense columns.
        model_dir, config, warm_start_from: as for `tf.estimator.Estimator`.
        optimizer: of `tf.train`, a function that makes one, or "Adagrad", "Adam", "Ftrl", "RMSProp", "SGD".
        activation_fn: of the layers.
        dropout: the share of units that are dropped in training; None: none.
        input_layer_partitioner: divides the columns' variables; by default in parts of 64 MiB or more.
        batch_norm: normalize each layer's output over the batch.
    """

    def __init__(
        self,
        head: Any,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        columns = list(feature_columns or ())

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            parts.check_features(features)
            chosen = parts.optimizer_of(optimizer, _LEARNING_RATE)
            partitioner = input_layer_partitioner or parts.input_partitioner(config)
            logit_fn = dnn_logit_fn_builder(
                *(head.logits_dimension, hidden_units, columns, activation_fn, dropout),
                *(partitioner, batch_norm),
            )
            values = tuple(features.values())
            with variable_scope("dnn", values=values, partitioner=parts.hidden_partitioner(config)):
                logits = logit_fn(features=features, mode=mode)
                spec: EstimatorSpec = head.create_estimator_spec(
                    features=features, mode=mode, labels=labels, optimizer=chosen, logits=logits
                )
            return spec

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNClassifier(DNNEstimator):
    """Layers over feature columns that tell classes (`tf.estimator.DNNClassifier`).

    Args:
        hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
            config, warm_start_from, batch_norm: as for `tf.estimator.DNNEstimator`.
        n_classes: how many.
        weight_column: the feature with the weights of examples.
        label_vocabulary: the words that labels are; by default they are numbers.
        loss_reduction: how the losses of examples become one.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            parts.class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            *(hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout),
            *(input_layer_partitioner, config, warm_start_from, batch_norm),
        )


class DNNRegressor(DNNEstimator):
    """Layers over feature columns that give numbers (`tf.estimator.DNNRegressor`).

    Args:
        hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner,
            config, warm_start_from, batch_norm: as for `tf.estimator.DNNEstimator`.
        label_dimension: how many numbers there are for each example.
        weight_column: the feature with the weights of examples.
        loss_reduction: how the losses of examples become one.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            *(hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout),
            *(input_layer_partitioner, config, warm_start_from, batch_norm),
        )
