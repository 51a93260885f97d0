"""`tf.contrib.legacy_seq2seq`: sequence models that are unrolled."""

import typing as _typing

from tensorfleet.contrib.legacy_decoders import (
    attention_decoder as attention_decoder,
    basic_rnn_seq2seq as basic_rnn_seq2seq,
    embedding_attention_decoder as embedding_attention_decoder,
    embedding_attention_seq2seq as embedding_attention_seq2seq,
    embedding_rnn_decoder as embedding_rnn_decoder,
    embedding_rnn_seq2seq as embedding_rnn_seq2seq,
    embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq,
    one2many_rnn_seq2seq as one2many_rnn_seq2seq,
    rnn_decoder as rnn_decoder,
    tied_rnn_seq2seq as tied_rnn_seq2seq,
)
from tensorfleet.contrib.legacy_sequence_losses import (
    model_with_buckets as model_with_buckets,
    sequence_loss as sequence_loss,
    sequence_loss_by_example as sequence_loss_by_example,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
