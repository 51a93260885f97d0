"""The modes in which an estimator calls its `model_fn`."""

from __future__ import annotations


class ModeKeys:
    """The modes of a `model_fn` (`tf.estimator.ModeKeys`).

    Attributes:
        TRAIN: training.
        EVAL: evaluation.
        PREDICT: prediction, and export for serving.
    """

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"
