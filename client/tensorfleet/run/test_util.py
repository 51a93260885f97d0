"""`tensorflow.python.framework.test_util`: decorators and predicates of tests in TensorFlow's style.

There is no eager mode: tests for both modes run in a graph, with the test's session.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from tensorfleet.api.case import CapturedWrites as CapturedWrites, TestCase as TensorFlowTestCase
from tensorfleet.api.local_clusters import (
    assert_equal_graph_def as assert_equal_graph_def,
    create_local_cluster as create_local_cluster,
)
from tensorfleet.api.test import (
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as IsGoogleCudaEnabled,
    is_built_with_rocm as IsBuiltWithROCm,
    is_built_with_xla as IsBuiltWithXLA,
    is_gpu_available as is_gpu_available,
)
from tensorfleet.graph.framework import device as _device

Test = Callable[..., Any]

__all__ = [
    "CapturedWrites",
    "IsBuiltWithROCm",
    "IsBuiltWithXLA",
    "IsGoogleCudaEnabled",
    "TensorFlowTestCase",
    "assert_equal_graph_def",
    "create_local_cluster",
    "gpu_device_name",
    "is_gpu_available",
]


def _is_test(name: str, value: Any) -> bool:
    return name.startswith("test") and callable(value) and name not in ("test_session", "testcase")


def for_all_test_methods(decorator: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[type], type]:
    """A decorator of classes that applies `decorator`, with arguments if there are any, to their tests."""

    def decorate(cls: type) -> type:
        for name, value in list(vars(cls).items()):
            if _is_test(name, value):
                setattr(cls, name, decorator(*args, **kwargs)(value) if args or kwargs else decorator(value))
        return cls

    return decorate


def run_in_graph_and_eager_modes(
    func: Test | None = None, config: Any = None, use_gpu: bool = True, **unused: Any
) -> Any:
    """Runs a test with the session of `cached_session` as the default one."""

    def decorate(function: Test) -> Test:
        @wraps(function)
        def test(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.test_session(use_gpu=use_gpu, config=config):
                return function(self, *args, **kwargs)

        return test

    return decorate if func is None else decorate(func)


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Runs the tests of a class with the session of `cached_session` as the default one."""
    return for_all_test_methods(run_in_graph_and_eager_modes)(cls)


def _as_it_is(decorated: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, that changes nothing."""
    return decorated if callable(decorated) else lambda function: function


# There are only graphs.
run_deprecated_v1 = deprecated_graph_mode_only = _as_it_is
run_all_in_deprecated_graph_mode_only = run_v1_only = _as_it_is
# Shapes are inferred in one way.
enable_c_shapes = enable_c_api = _as_it_is
# There is no XLA, no other runtime, and one control flow.
disable_xla = no_xla_auto_jit = disable_tfrt = disable_mlir_bridge = disable_eager_op_as_function = _as_it_is
enable_control_flow_v2 = with_control_flow_v2 = disable_control_flow_v2 = _as_it_is
enable_output_all_intermediates = add_graph_building_optimization_tests = _as_it_is
run_without_tensor_float_32 = run_all_without_tensor_float_32 = disable_cudnn_autotune = _as_it_is
disable_asan = disable_msan = disable_tsan = disable_ubsan = _as_it_is


def _skipped_unless(condition: Callable[[], bool], why: str) -> Callable[[Test], Test]:
    def decorate(function: Test) -> Test:
        @wraps(function)
        def test(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not condition():
                self.skipTest(why)
            return function(self, *args, **kwargs)

        return test

    return decorate


def run_v2_only(func: Test | None = None, reason: str | None = None) -> Any:
    """Skips a test of TensorFlow 2."""
    decorate = _skipped_unless(lambda: False, reason or "it is a test of TensorFlow 2")
    return decorate if func is None else decorate(func)


def run_gpu_only(func: Test | None = None) -> Any:
    """Skips a test if there is no GPU."""
    decorate = _skipped_unless(is_gpu_available, "it needs a GPU")
    return decorate if func is None else decorate(func)


run_cuda_only = run_gpu_or_tpu = run_gpu_only


def skip_if(condition: Any) -> Callable[[Test], Test]:
    """Does nothing instead of a test if the condition, or its result, is true."""

    def decorate(function: Test) -> Test:
        @wraps(function)
        def test(*args: Any, **kwargs: Any) -> Any:
            if condition() if callable(condition) else condition:
                return None
            return function(*args, **kwargs)

        return test

    return decorate


@contextmanager
def skip_if_error(test_obj: Any, error_type: Any, messages: Any = None) -> Iterator[None]:
    """Skips the test if the block raises an error of this type and, if given, with one of these texts."""
    try:
        yield
    except error_type as e:
        listed = [messages] if isinstance(messages, str) else list(messages or ())
        if listed and not any(text in str(e) for text in listed):
            raise
        test_obj.skipTest(f"Skipping error: {type(e)}: {e}")


def assert_no_new_tensors(f: Test) -> Test:
    """Runs a test unchanged, as graphs keep their tensors."""
    return f


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """The nodes with these names, after a check of their op types.

    Raises:
        ValueError: a node is missing, or of another type.
    """
    definition = graph.as_graph_def() if hasattr(graph, "as_graph_def") else graph
    found = {node.name: node for node in definition.node if node.name in expected_ops}
    for name, op_type in expected_ops.items():
        if name not in found:
            raise ValueError(f"Expected op for node {name} is not present.")
        if found[name].op != op_type:
            raise ValueError(f"Expected op for node {name} is different: {op_type} vs {found[name].op}")
    return found


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """The node of a name, or None."""
    return next((node for node in graph_def.node if node.name == node_name), None)


@contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Places the ops of the block on a GPU if `use_gpu` and there is one, else on the CPU."""
    with _device("/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"):
        yield


def use_gpu() -> Any:
    """Places the ops of the block on a GPU if there is one."""
    return device(use_gpu=True)


def force_cpu() -> Any:
    """Places the ops of the block on the CPU."""
    return _device("/device:CPU:0")


def force_gpu() -> Any:
    """Places the ops of the block on the first GPU."""
    return _device("/device:GPU:0")


def GpuSupportsHalfMatMulAndConv() -> bool:
    """Whether there is a GPU, as all supported ones compute in float16."""
    return is_gpu_available()


def IsMklEnabled() -> bool:
    """False: kernels are NumPy's and CuPy's."""
    return False


def is_xla_enabled() -> bool:
    """False: there is no XLA."""
    return False


is_mlir_bridge_enabled = is_asan_enabled = is_msan_enabled = is_tsan_enabled = is_ubsan_enabled = (
    is_xla_enabled
)


def NHWCToNCHW(input_tensor: Any) -> Any:
    """A tensor, or a shape as a list, with the channels moved behind the batch."""
    return _permuted(input_tensor, {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """A tensor, or a shape as a list, with the channels moved to the end."""
    return _permuted(input_tensor, {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)})


def _permuted(value: Any, orders: dict[int, tuple[int, ...]]) -> Any:
    if isinstance(value, list):
        return [value[i] for i in orders[len(value)]]
    from tensorfleet.ops.array.rearranging import transpose

    return transpose(value, orders[value.get_shape().ndims])


def pick_unused_port() -> int:
    """A TCP port that was free at the time of the call."""
    with socket.socket() as sock:
        sock.bind(("localhost", 0))
        port: int = sock.getsockname()[1]
        return port
