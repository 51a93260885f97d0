"""`tf.estimator.tpu`: estimators that are written for TPUs, on CPUs and GPUs."""

import typing as _typing

from tensorfleet.estimator.tpu_estimator import (
    InputPipelineConfig as InputPipelineConfig,
    RunConfig as RunConfig,
    TPUConfig as TPUConfig,
    TPUEstimator as TPUEstimator,
    TPUEstimatorSpec as TPUEstimatorSpec,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
