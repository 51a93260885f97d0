"""`tf.keras.preprocessing.sequence`: sequences as arrays."""

import typing as _typing

from tensorfleet.keras.sequence_tools import (
    TimeseriesGenerator as TimeseriesGenerator,
    make_sampling_table as make_sampling_table,
    pad_sequences as pad_sequences,
    skipgrams as skipgrams,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
