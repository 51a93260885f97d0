"""`tf.contrib`: the names of it that many TensorFlow 1.x programs use."""

import typing as _typing

from tensorfleet.contrib import (
    framework as framework,
    layers as layers,
    lookup as lookup,
    opt as opt,
    rnn as rnn,
    seq2seq as seq2seq,
    training as training,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "framework",
            "layers",
            "lookup",
            "opt",
            "rnn",
            "seq2seq",
            "training",
        ),
    )
