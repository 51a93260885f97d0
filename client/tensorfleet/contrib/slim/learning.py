"""`slim.learning`: a training loop with a Supervisor."""

import typing as _typing

from tensorfleet.contrib.slim_training import (
    add_gradients_summaries as add_gradients_summaries,
    clip_gradient_norms as clip_gradient_norms,
    create_train_op as create_train_op,
    multiply_gradients as multiply_gradients,
    train as train,
    train_step as train_step,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
