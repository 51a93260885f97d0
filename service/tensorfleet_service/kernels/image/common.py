"""What kernels of images have in common: they work in host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, shape_text

Array = np.ndarray[Any, Any]


def host_kernel(*op_types: str) -> Callable[[Callable[[KernelNode], Kernel]], Callable[[KernelNode], Kernel]]:
    """As `kernel`, for kernels that compute in host memory, whatever the device: values are copied."""

    def register(factory: Callable[[KernelNode], Kernel]) -> Callable[[KernelNode], Kernel]:
        def make(node: KernelNode) -> Kernel:
            made = factory(node)

            def run(*inputs: Any) -> Any:
                return made(*map(host_array, inputs))

            def run_on_device(*inputs: Any) -> Any:
                result = run(*inputs)
                if isinstance(result, tuple):
                    return tuple(map(node.xp.asarray, result))
                return node.xp.asarray(result)

            return run if node.xp is np else run_on_device

        kernel(*op_types)(make)
        return factory

    return register


def check_rank(value: Any, rank: int, name: str) -> None:
    if value.ndim != rank:
        raise invalid(f"{name} must be {rank}-dimensional, got shape {shape_text(value.shape)}")


def positive_size(size: Any, name: str = "size") -> tuple[int, int]:
    """Height and width.

    Raises:
        InvalidArgumentError: this is no vector of two positive numbers.
    """
    if size.shape != (2,):
        raise invalid(f"{name} must be a vector of two elements, got shape {shape_text(size.shape)}")
    height, width = map(int, size)
    if height <= 0 or width <= 0:
        raise invalid(f"output dimensions must be positive: {name} is {height} x {width}")
    return height, width
