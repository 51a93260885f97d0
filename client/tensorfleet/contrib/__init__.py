"""`tf.contrib`: the names in it that many TensorFlow 1.x programs use."""

import typing as _typing

from tensorfleet.contrib import (
    crf as crf,
    distributions as distributions,
    feature_column as feature_column,
    framework as framework,
    layers as layers,
    legacy_seq2seq as legacy_seq2seq,
    lookup as lookup,
    losses as losses,
    metrics as metrics,
    opt as opt,
    rnn as rnn,
    seq2seq as seq2seq,
    slim as slim,
    staging as staging,
    training as training,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "crf",
            "distributions",
            "feature_column",
            "framework",
            "layers",
            "legacy_seq2seq",
            "losses",
            "metrics",
            "lookup",
            "opt",
            "rnn",
            "seq2seq",
            "slim",
            "staging",
            "training",
        ),
    )
