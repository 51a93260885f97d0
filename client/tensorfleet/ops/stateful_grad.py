"""The op types of `training`, `queues`, `accumulators`, summaries and checkpoints: none has a gradient.

They are told by their names: what they give is a state, a handle, a string, or a value from elsewhere.
"""

from __future__ import annotations

import re

from tensorfleet import op_def
from tensorfleet.gradient_registry import not_differentiable
from tensorfleet.ops import accumulators, queues, training  # noqa: F401 - registers them

_NAMES = re.compile(
    r"(Resource)?(Sparse)?Apply\w+"
    r"|Queue\w+|(FIFO|PaddingFIFO|Priority|RandomShuffle)Queue(V2)?"
    r"|(Resource|Sparse)?(Conditional)?Accumulator\w*"
    r"|\w+Summary(V2)?|SaveV2|RestoreV2|ShardedFilename|MergeV2Checkpoints"
)

not_differentiable(*(name for name in op_def.registered() if _NAMES.fullmatch(name)))
