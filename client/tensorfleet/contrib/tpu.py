"""`tf.contrib.tpu`: estimators and optimizers that are written for TPUs, on CPUs and GPUs."""

from tensorfleet.contrib.tpu_training import (
    CrossShardOptimizer as CrossShardOptimizer,
    bfloat16_scope as bfloat16_scope,
)
from tensorfleet.estimator.tpu_estimator import (
    InputPipelineConfig as InputPipelineConfig,
    RunConfig as RunConfig,
    TPUConfig as TPUConfig,
    TPUEstimator as TPUEstimator,
    TPUEstimatorSpec as TPUEstimatorSpec,
)

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
    "bfloat16_scope",
]
