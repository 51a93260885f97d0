"""`tf.summary`: summaries, and event files for TensorBoard."""

import typing as _typing

from tensorfleet.ops.io.summary import (
    all_v2_summary_ops as all_v2_summary_ops,
    audio as audio,
    get_summary_description as get_summary_description,
    histogram as histogram,
    image as image,
    initialize as initialize,
    merge as merge,
    merge_all as merge_all,
    scalar as scalar,
    tensor_summary as tensor_summary,
    text as text,
)
from tensorfleet.summary.file_writer import FileWriter as FileWriter, FileWriterCache as FileWriterCache

if _typing.TYPE_CHECKING:
    from tensorfleet.proto.event_pb2 import (
        Event as Event,
        SessionLog as SessionLog,
        TaggedRunMetadata as TaggedRunMetadata,
    )
    from tensorfleet.proto.summary_pb2 import Summary as Summary, SummaryDescription as SummaryDescription
else:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        names={
            "Event": "tensorfleet.proto.event_pb2",
            "SessionLog": "tensorfleet.proto.event_pb2",
            "Summary": "tensorfleet.proto.summary_pb2",
            "SummaryDescription": "tensorfleet.proto.summary_pb2",
            "TaggedRunMetadata": "tensorfleet.proto.event_pb2",
        },
    )
