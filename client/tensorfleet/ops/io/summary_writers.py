"""Writers of event files that operations use, of `tf.contrib.summary`: a task writes the file."""

from __future__ import annotations

from tensorfleet.graph.op_def import op
from tensorfleet.ops.shape_rules import nothing, scalar

op(
    "SummaryWriter() -> (writer: resource)",
    'shared_name: string = ""',
    'container: string = ""',
    shape=scalar,
    stateful=True,
)
for _text in (
    "CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, "
    "filename_suffix: string)",
    "WriteRawProtoSummary(writer: resource, step: int64, tensor: string)",
    "WriteGraphSummary(writer: resource, step: int64, tensor: string)",
    "ImportEvent(writer: resource, event: string)",
    "FlushSummaryWriter(writer: resource)",
    "CloseSummaryWriter(writer: resource)",
):
    op(f"{_text} -> ()", shape=nothing, stateful=True)
