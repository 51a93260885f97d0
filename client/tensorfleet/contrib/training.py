"""`tf.contrib.training`: hyperparameters, training operations, evaluation, placement of variables."""

import typing as _typing

from tensorfleet.contrib.bucketing import (
    bucket as bucket,
    bucket_by_sequence_length as bucket_by_sequence_length,
)
from tensorfleet.contrib.hparam import HParams as HParams, parse_values as parse_values
from tensorfleet.contrib.monitored_training import (
    SummaryAtEndHook as SummaryAtEndHook,
    evaluate_once as evaluate_once,
    evaluate_repeatedly as evaluate_repeatedly,
    train as train,
)
from tensorfleet.contrib.sampling import (
    rejection_sample as rejection_sample,
    resample_at_rate as resample_at_rate,
    stratified_sample as stratified_sample,
    weighted_resample as weighted_resample,
)
from tensorfleet.contrib.train_ops import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    clip_gradient_norms_fn as clip_gradient_norms_fn,
    create_train_op as create_train_op,
    multiply_gradients as multiply_gradients,
)
from tensorfleet.train.checkpoint_waiting import (
    checkpoints_iterator as checkpoints_iterator,
    wait_for_new_checkpoint as wait_for_new_checkpoint,
)
from tensorfleet.train.device_setter import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
    RandomStrategy as RandomStrategy,
    byte_size_load_fn as byte_size_load_fn,
)
from tensorfleet.train.evaluation import (
    StopAfterNEvalsHook as StopAfterNEvalsHook,
    get_or_create_eval_step as get_or_create_eval_step,
)
from tensorfleet.train.hooks import FinalOpsHook as FinalOpsHook

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "FinalOpsHook",
    "GreedyLoadBalancingStrategy",
    "HParams",
    "RandomStrategy",
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "add_gradients_summaries",
    "bucket",
    "bucket_by_sequence_length",
    "byte_size_load_fn",
    "checkpoints_iterator",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "multiply_gradients",
    "parse_values",
    "rejection_sample",
    "resample_at_rate",
    "stratified_sample",
    "train",
    "wait_for_new_checkpoint",
    "weighted_resample",
]
