"""`tf.contrib.tpu`: estimators for TPUs, which run on CPUs and GPUs here."""

import typing as _typing

from tensorfleet.contrib.tpu_estimators import (
    CrossShardOptimizer as CrossShardOptimizer,
    InputPipelineConfig as InputPipelineConfig,
    TPUConfig as TPUConfig,
    TPUEstimator as TPUEstimator,
    TPUEstimatorSpec as TPUEstimatorSpec,
    TPURunConfig as RunConfig,
    bfloat16_scope as bfloat16_scope,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
    "bfloat16_scope",
]
