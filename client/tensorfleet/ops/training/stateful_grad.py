"""The op types of training, queues, accumulators, datasets, summaries and checkpoints: none has a gradient.

They are recognized by name. Their outputs are states, handles, strings, or values from elsewhere.
"""

from __future__ import annotations

import re

from tensorfleet.graph import op_def
from tensorfleet.graph.gradient_registry import no_rule, not_differentiable
from tensorfleet.ops.data_flow import accumulators, dataset_ops, queues  # noqa: F401 - registers them
from tensorfleet.ops.functions import function_ops  # noqa: F401 - registers them
from tensorfleet.ops.training import training_ops  # noqa: F401 - registers them

_NAMES = re.compile(
    r"(Resource)?(Sparse)?Apply\w+"
    r"|Queue\w+|(FIFO|PaddingFIFO|Priority|RandomShuffle)Queue(V2)?"
    r"|(Resource|Sparse)?(Conditional)?Accumulator\w*"
    r"|\w+Summary(V2)?|SaveV2|RestoreV2|ShardedFilename|MergeV2Checkpoints"
    r"|\w+Dataset(V\d)?|(OneShot|Make|Serialize|Deserialize)?Iterator\w*"
)

no_rule("ShardedFilespec", "Save", "SaveSlices", "Restore", "RestoreSlice")
no_rule("SymbolicGradient")
no_rule("DatasetCardinality", "DatasetToSingleElement", "DatasetToTFRecord")
not_differentiable(*(name for name in op_def.registered() if _NAMES.fullmatch(name)))
