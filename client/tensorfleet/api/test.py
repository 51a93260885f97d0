"""`tf.test`: what programs ask about the devices that they run on."""

from __future__ import annotations

from collections.abc import Sequence

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
