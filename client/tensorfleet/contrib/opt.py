"""`tf.contrib.opt`: optimizers with decay of weights."""

import typing as _typing

from tensorfleet.contrib.weight_decay import (
    AdamWOptimizer as AdamWOptimizer,
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
    MomentumWOptimizer as MomentumWOptimizer,
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
