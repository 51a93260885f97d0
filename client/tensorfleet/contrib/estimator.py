"""`tf.contrib.estimator`: what came into `tf.estimator` later, and heads by functions."""

import typing as _typing

from tensorfleet.contrib.old_heads import (
    binary_classification_head as binary_classification_head,
    clip_gradients_by_norm as clip_gradients_by_norm,
    logistic_regression_head as logistic_regression_head,
    multi_class_head as multi_class_head,
    multi_head as multi_head,
    multi_label_head as multi_label_head,
    poisson_regression_head as poisson_regression_head,
    regression_head as regression_head,
)
from tensorfleet.estimator.baseline import BaselineEstimator as BaselineEstimator
from tensorfleet.estimator.dnn import (
    DNNEstimator as DNNEstimator,
    dnn_logit_fn_builder as dnn_logit_fn_builder,
)
from tensorfleet.estimator.dnn_linear_combined import (
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
)
from tensorfleet.estimator.early_stopping import (
    make_early_stopping_hook as make_early_stopping_hook,
    make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook,
    read_eval_metrics as read_eval_metrics,
    stop_if_higher_hook as stop_if_higher_hook,
    stop_if_lower_hook as stop_if_lower_hook,
    stop_if_no_decrease_hook as stop_if_no_decrease_hook,
    stop_if_no_increase_hook as stop_if_no_increase_hook,
)
from tensorfleet.estimator.extending import (
    add_metrics as add_metrics,
    call_logit_fn as call_logit_fn,
    forward_features as forward_features,
)
from tensorfleet.estimator.in_memory_evaluator import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from tensorfleet.estimator.linear import (
    LinearEstimator as LinearEstimator,
    linear_logit_fn_builder as linear_logit_fn_builder,
)
from tensorfleet.estimator.receivers import (
    SupervisedInputReceiver as SupervisedInputReceiver,
    build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
