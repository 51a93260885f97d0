"""`tf.estimator.DNNLinearCombinedClassifier` and its kin: wide and deep models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tensorfleet.estimator import canned_parts as parts
from tensorfleet.estimator.dnn import dnn_logit_fn_builder
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.linear import linear_logit_fn_builder
from tensorfleet.estimator.regression_heads import RegressionHead
from tensorfleet.estimator.run_config import RunConfig
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.losses.weighted import Reduction
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.train.step_count import get_global_step

_DNN_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005


class DNNLinearCombinedEstimator(Estimator):
    """The sum of a linear model and of layers, for a head (`tf.estimator.DNNLinearCombinedEstimator`).

    Args:
        head: a `tf.estimator.Head`.
        model_dir, config, warm_start_from: as for `tf.estimator.Estimator`.
        linear_feature_columns: columns of the linear model, of numbers or categories.
        linear_optimizer: minimizes over its variables.
        dnn_feature_columns: dense columns of the layers.
        dnn_optimizer: minimizes over their variables.
        dnn_hidden_units, dnn_activation_fn, dnn_dropout, batch_norm: as for `tf.estimator.DNNEstimator`.
        input_layer_partitioner: divides the columns' variables; by default in parts of 64 MiB or more.
        linear_sparse_combiner: how the weights of an example's categories become one.

    Raises:
        ValueError: there are no columns, or those of layers without units.
    """

    def __init__(
        self,
        head: Any,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        linear_columns, dnn_columns = list(linear_feature_columns or ()), list(dnn_feature_columns or ())
        if not linear_columns and not dnn_columns:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        if dnn_columns and not dnn_hidden_units:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        if dnn_hidden_units and not dnn_columns:
            raise ValueError("dnn_feature_columns must be defined when dnn_hidden_units is specified.")

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            parts.check_features(features)
            values = tuple(features.values())
            partitioner = input_layer_partitioner or parts.input_partitioner(config)
            logits, optimizers = None, []
            if dnn_columns:
                dnn_logit_fn = dnn_logit_fn_builder(
                    *(head.logits_dimension, dnn_hidden_units or (), dnn_columns, dnn_activation_fn),
                    *(dnn_dropout, partitioner, batch_norm),
                )
                scope_of = variable_scope("dnn", values=values, partitioner=parts.hidden_partitioner(config))
                with scope_of as scope:
                    logits = dnn_logit_fn(features=features, mode=mode)
                optimizers.append((parts.optimizer_of(dnn_optimizer, _DNN_LEARNING_RATE), scope.name))
            if linear_columns:
                linear_logit_fn = linear_logit_fn_builder(
                    head.logits_dimension, linear_columns, linear_sparse_combiner
                )
                with variable_scope("linear", values=values, partitioner=partitioner) as scope:
                    linear = linear_logit_fn(features=features)
                rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(linear_columns)))
                optimizers.append((parts.optimizer_of(linear_optimizer, rate), scope.name))
                logits = linear if logits is None else logits + linear

            def train(loss: Any) -> Any:
                """Both optimizers, and then the count of the step."""
                step = get_global_step()
                trained = [
                    optimizer.minimize(
                        loss,
                        var_list=framework.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=f"{name}/"),
                    )
                    for optimizer, name in optimizers
                ]
                with framework.control_dependencies([group(*trained)]):
                    return assign_add(step, 1).op

            spec: EstimatorSpec = head.create_estimator_spec(
                features=features, mode=mode, labels=labels, train_op_fn=train, logits=logits
            )
            return spec

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A wide and deep model that tells classes (`tf.estimator.DNNLinearCombinedClassifier`).

    Args:
        n_classes: how many.
        weight_column: the feature with the weights of examples.
        label_vocabulary: the words that labels are; by default they are numbers.
        loss_reduction: how the losses of examples become one.
        The others: as for `tf.estimator.DNNLinearCombinedEstimator`.
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            parts.class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            batch_norm,
            linear_sparse_combiner,
            warm_start_from,
        )


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """A wide and deep model that gives numbers (`tf.estimator.DNNLinearCombinedRegressor`).

    Args:
        label_dimension: how many numbers there are for each example.
        weight_column: the feature with the weights of examples.
        loss_reduction: how the losses of examples become one.
        The others: as for `tf.estimator.DNNLinearCombinedEstimator`.
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            batch_norm,
            linear_sparse_combiner,
            warm_start_from,
        )
