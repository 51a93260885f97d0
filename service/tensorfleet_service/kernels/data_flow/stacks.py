"""StackV2, its ops and their older forms: the stack itself travels on the edges, and ends with its step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_handle, invalid, shape_text


class Stack:
    """Values of one dtype in one step, the last one first."""

    __slots__ = ("dtype", "is_closed", "limit", "name", "values")

    def __init__(self, name: str, dtype: DType, limit: int) -> None:
        self.name = name
        self.dtype = dtype
        self.limit = limit
        self.values: list[Any] = []
        self.is_closed = False

    def read(self) -> Any:
        """The value of a fetched reference to the stack: its container and name."""
        return np.array([b"_stacks", self.name.encode()], object)

    def push(self, value: Any) -> Any:
        """Adds a value, and returns it. Raises InvalidArgumentError if the stack is full or closed."""
        if self.is_closed:
            raise self._error("has already been closed.")
        if 0 <= self.limit <= len(self.values):
            raise self._error(f"overflowed its max_size ({self.limit})")
        self.values.append(value)
        return value

    def pop(self) -> Any:
        """Removes and returns the last value. Raises InvalidArgumentError if the stack is empty or closed."""
        if self.is_closed:
            raise self._error("has already been closed.")
        if not self.values:
            raise self._error("is empty when calling Pop().")
        return self.values.pop()

    def close(self) -> None:
        self.values.clear()
        self.is_closed = True

    def check(self, dtype: DType) -> None:
        """Raises InvalidArgumentError if the stack has values of another dtype."""
        if dtype is not self.dtype:
            raise self._error(f"has elements of type {self.dtype.name}, not {dtype.name}")

    def _error(self, text: str) -> errors.OpError:
        return errors.InvalidArgumentError(None, None, f"Stack[{self.name}] {text}")


_UNLIMITED = np.int32(-1)


@kernel("StackV2", "Stack")
def stack(node: KernelNode) -> Kernel:
    name = (node.attrs["stack_name"] or node.name.encode()).decode()
    dtype = node.attrs["elem_type"]

    def run(max_size: Any = _UNLIMITED) -> Stack:
        if max_size.ndim:
            raise invalid(f"Stack size must be a scalar, but had shape: {shape_text(max_size.shape)}")
        return Stack(name, dtype, int(max_size))

    return run


@kernel("StackPushV2", "StackPush")
def push(node: KernelNode) -> Kernel:
    dtype = node.attrs["T"]

    def run(stack: Stack, value: Any) -> Any:
        check_handle(stack, Stack)
        stack.check(dtype)
        return stack.push(value)

    return run


@kernel("StackPopV2", "StackPop")
def pop(node: KernelNode) -> Kernel:
    dtype = node.attrs["elem_type"]

    def run(stack: Stack) -> Any:
        check_handle(stack, Stack)
        stack.check(dtype)
        return stack.pop()

    return run


@kernel("StackCloseV2", "StackClose")
def close(node: KernelNode) -> Kernel:
    def run(stack: Stack) -> None:
        check_handle(stack, Stack)
        stack.close()

    return run
