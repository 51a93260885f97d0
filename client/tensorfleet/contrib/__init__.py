"""`tf.contrib`: the names in it that many TensorFlow 1.x programs use."""

import typing as _typing

from tensorfleet.contrib import (
    crf as crf,
    data as data,
    distributions as distributions,
    estimator as estimator,
    feature_column as feature_column,
    framework as framework,
    image as image,
    layers as layers,
    learn as learn,
    legacy_seq2seq as legacy_seq2seq,
    lookup as lookup,
    losses as losses,
    metrics as metrics,
    opt as opt,
    rnn as rnn,
    seq2seq as seq2seq,
    slim as slim,
    staging as staging,
    tensorboard as tensorboard,
    training as training,
    util as util,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "crf",
            "data",
            "distributions",
            "estimator",
            "feature_column",
            "framework",
            "image",
            "layers",
            "learn",
            "legacy_seq2seq",
            "losses",
            "metrics",
            "lookup",
            "opt",
            "rnn",
            "seq2seq",
            "slim",
            "staging",
            "tensorboard",
            "training",
            "util",
        ),
    )
