"""`tf.test`: what programs ask about the devices that they run on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

from tensorfleet.autodiff.gradient_checker import (
    compute_gradient as compute_gradient,
    compute_gradient_error as compute_gradient_error,
)
from tensorfleet.graph.graph import Graph
from tensorfleet.session.session import Session


def gpu_device_name() -> str:
    """The name of a GPU of this process, as in `/device:GPU:0`, or ""."""
    with Session(graph=Graph()) as session:
        for device in session.list_devices():
            if device.device_type == "GPU":
                return "/device:" + device.name.rpartition("/device:")[2]
    return ""


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: Sequence[int] | None = None
) -> bool:
    """Whether a session in this process can use a GPU. GPUs are CUDA's; their capability is not looked at."""
    return bool(gpu_device_name())


def is_built_with_cuda() -> bool:
    """True: GPUs are NVIDIA's, through CuPy where that is installed."""
    return True


def is_built_with_gpu_support() -> bool:
    """True: GPUs are NVIDIA's, through CuPy where that is installed."""
    return True


def is_built_with_rocm() -> bool:
    """False: there is no support for AMD's GPUs."""
    return False


def is_built_with_xla() -> bool:
    """False: graphs are not compiled by XLA."""
    return False


_CPU_TARGETS = {
    "aarch64": ("aarch64", "arm64"),
    "arm": ("arm", "armv6l", "armv7l", "armv8l"),
    "ppc": ("ppc", "ppc64", "ppc64le"),
    "s390x": ("s390x",),
    "x86": ("i386", "i686", "x86", "x86_64", "amd64"),
    "x86_64": ("x86_64", "amd64"),
    "x86-64": ("x86_64", "amd64"),
}
"""The names of CPU targets, and for which machines they stand as `platform.machine` names them."""


def is_cpu_target_available(target: str) -> bool:
    """Whether this machine's processor is one of a CPU target, such as "x86_64" or "aarch64".

    TensorFlow says True of all those that its compiler has code for; there is no compiler here.

    Raises:
        AssertionError: there is no such target.
    """
    if target not in _CPU_TARGETS:
        raise AssertionError(f"Unknown CPU target: {target}")
    return platform.machine().lower() in _CPU_TARGETS[target]


def sync_devices() -> None:
    """Waits until devices have nothing more to do: when `Session.run` returns, they have nothing.

    Raises:
        RuntimeError: always, as in a graph of TensorFlow.
    """
    raise RuntimeError("sync_devices() must only be called in Eager mode, outside tf.functions")


def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """A decorator of test classes that changes nothing: graphs alone are tested."""
    return (lambda decorated: decorated) if cls is None else cls
