"""`tf.contrib.mixed_precision`: losses scaled for gradients of float16."""

import typing as _typing

from tensorfleet.contrib.loss_scaling import (
    ExponentialUpdateLossScaleManager as ExponentialUpdateLossScaleManager,
    FixedLossScaleManager as FixedLossScaleManager,
    LossScaleManager as LossScaleManager,
    LossScaleOptimizer as LossScaleOptimizer,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaleOptimizer",
]
