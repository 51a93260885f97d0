"""`tf.metrics`: figures about a model, over all batches since their variables were initialized.

Each function gives `(value, update_op)`. Running `update_op` counts a batch in and gives the value after it;
the value alone counts nothing. The state is in local variables (`tf.local_variables_initializer` resets it),
which are in the collection METRIC_VARIABLES as well.

The functions at k (`recall_at_k`, …) are not there: they are about sparse sets of labels.
"""

from __future__ import annotations

from tensorfleet.metrics.confusion import (
    false_negatives,
    false_positives,
    mean_iou,
    mean_per_class_accuracy,
    precision,
    recall,
    true_negatives,
    true_positives,
)
from tensorfleet.metrics.means import (
    accuracy,
    mean,
    mean_absolute_error,
    mean_cosine_distance,
    mean_relative_error,
    mean_squared_error,
    mean_tensor,
    percentage_below,
    root_mean_squared_error,
)
from tensorfleet.metrics.thresholds import (
    auc,
    false_negatives_at_thresholds,
    false_positives_at_thresholds,
    precision_at_thresholds,
    recall_at_thresholds,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    true_negatives_at_thresholds,
    true_positives_at_thresholds,
)

__all__ = [
    "accuracy",
    "auc",
    "false_negatives",
    "false_negatives_at_thresholds",
    "false_positives",
    "false_positives_at_thresholds",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "precision",
    "precision_at_thresholds",
    "recall",
    "recall_at_thresholds",
    "root_mean_squared_error",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "true_negatives",
    "true_negatives_at_thresholds",
    "true_positives",
    "true_positives_at_thresholds",
]
