"""The events of event files, which are TFRecord files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorfleet.records.tfrecord import tf_record_iterator

if TYPE_CHECKING:
    from tensorfleet.proto.event_pb2 import Event


def summary_iterator(path: Any) -> Iterator[Event]:
    """The events of an event file (`tf.train.summary_iterator`).

    Raises:
        NotFoundError: there is no such file.
        DataLossError: the file is damaged, or ends inside of a record, as while it is being written.
    """
    from tensorfleet.proto.event_pb2 import Event

    return map(Event.FromString, tf_record_iterator(path))
