"""`tf.contrib.seq2seq`: the loss of sequences."""

import typing as _typing

from tensorfleet.contrib.sequences import sequence_loss as sequence_loss

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
