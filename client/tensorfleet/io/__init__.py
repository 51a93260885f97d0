"""`tf.io`: files, and graphs in files."""

import typing as _typing

from tensorfleet.export.graph_io import write_graph as write_graph
from tensorfleet.io import gfile as gfile
from tensorfleet.ops.data_flow.queues import (
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
from tensorfleet.ops.text.strings import (
    decode_base64 as decode_base64,
    decode_raw as decode_raw,
    encode_base64 as encode_base64,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("gfile",))
