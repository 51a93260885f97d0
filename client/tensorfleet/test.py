"""`tf.test`: what tests of graphs need."""

import typing as _typing

from tensorfleet.api.test import (
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as is_built_with_cuda,
    is_built_with_gpu_support as is_built_with_gpu_support,
    is_built_with_rocm as is_built_with_rocm,
    is_built_with_xla as is_built_with_xla,
    is_gpu_available as is_gpu_available,
)
from tensorfleet.autodiff.gradient_checker import (
    compute_gradient as compute_gradient,
    compute_gradient_error as compute_gradient_error,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
