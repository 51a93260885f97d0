"""`tf.python_io`: TFRecord files, read and written by this process."""

import typing as _typing

from tensorfleet.records.options import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
)
from tensorfleet.records.tfrecord import (
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
