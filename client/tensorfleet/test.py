"""`tf.test`: what tests of graphs need."""

import typing as _typing
from unittest import mock as mock

from tensorfleet.api import test_experimental as experimental
from tensorfleet.api.local_clusters import (
    assert_equal_graph_def as assert_equal_graph_def,
    create_local_cluster as create_local_cluster,
    disable_with_predicate as disable_with_predicate,
)
from tensorfleet.api.temporary import (
    StubOutForTesting as StubOutForTesting,
    get_temp_dir as get_temp_dir,
    test_src_dir_path as test_src_dir_path,
)
from tensorfleet.api.test import (
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as is_built_with_cuda,
    is_built_with_gpu_support as is_built_with_gpu_support,
    is_built_with_rocm as is_built_with_rocm,
    is_built_with_xla as is_built_with_xla,
    is_cpu_target_available as is_cpu_target_available,
    is_gpu_available as is_gpu_available,
    with_eager_op_as_function as with_eager_op_as_function,
)
from tensorfleet.autodiff.gradient_checker import (
    compute_gradient as compute_gradient,
    compute_gradient_error as compute_gradient_error,
)

if _typing.TYPE_CHECKING:
    from tensorfleet.api.benchmarks import (
        Benchmark as Benchmark,
        benchmark_config as benchmark_config,
        main as main,
    )
    from tensorfleet.api.case import TestCase as TestCase
else:
    from tensorfleet.core.public import namespace as _namespace

    # absl's tests define flags, so only programs that are tests import them.
    __getattr__, __dir__ = _namespace(
        __name__,
        modules=("experimental", "mock"),
        names={
            "Benchmark": "tensorfleet.api.benchmarks",
            "TestCase": "tensorfleet.api.case",
            "benchmark_config": "tensorfleet.api.benchmarks",
            "main": "tensorfleet.api.benchmarks",
        },
    )

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "create_local_cluster",
    "disable_with_predicate",
    "experimental",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_cpu_target_available",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
    "with_eager_op_as_function",
]
