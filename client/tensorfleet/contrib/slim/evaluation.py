"""`slim.evaluation`: evaluation of checkpoints as they appear."""

import typing as _typing

from tensorfleet.contrib.checkpoint_evaluation import (
    evaluate_once as evaluate_once,
    evaluation_loop as evaluation_loop,
)
from tensorfleet.train.checkpoint_waiting import (
    checkpoints_iterator as checkpoints_iterator,
    wait_for_new_checkpoint as wait_for_new_checkpoint,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
