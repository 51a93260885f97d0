"""`tf.queue`: queues that live on a task."""

import typing as _typing

from tensorfleet.ops.data_flow.queue_base import QueueBase as QueueBase
from tensorfleet.ops.data_flow.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    RandomShuffleQueue as RandomShuffleQueue,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
