"""`tf.contrib.crf`: conditional random fields over sequences of tags.

Source: Lafferty, McCallum, Pereira, Conditional Random Fields, 2001.
"""

import typing as _typing

from tensorfleet.contrib.random_fields import (
    CrfDecodeBackwardRnnCell as CrfDecodeBackwardRnnCell,
    CrfDecodeForwardRnnCell as CrfDecodeForwardRnnCell,
    CrfForwardRnnCell as CrfForwardRnnCell,
    crf_binary_score as crf_binary_score,
    crf_decode as crf_decode,
    crf_log_likelihood as crf_log_likelihood,
    crf_log_norm as crf_log_norm,
    crf_multitag_sequence_score as crf_multitag_sequence_score,
    crf_sequence_score as crf_sequence_score,
    crf_unary_score as crf_unary_score,
    viterbi_decode as viterbi_decode,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
