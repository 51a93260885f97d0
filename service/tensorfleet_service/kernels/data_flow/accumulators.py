"""Conditional accumulators: ResourceConditionalAccumulator, SparseConditionalAccumulator, and their ops."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_handle, of_handle
from tensorfleet_service.state.accumulators import Accumulator, SparseAccumulator
from tensorfleet_service.threads.future import Future

ACCUMULATOR = "accumulator"
"""The kind of accumulators among a task's resources."""

_private = itertools.count()


@kernel("ConditionalAccumulator", "ResourceConditionalAccumulator", "SparseConditionalAccumulator")
def accumulator(node: KernelNode) -> Kernel:
    attrs, resources = node.attrs, node.resources
    make = SparseAccumulator if node.op.startswith("Sparse") else Accumulator
    dtype, shape, mean = attrs["dtype"], attrs["shape"], attrs["reduction_type"] == b"MEAN"
    shared, container = attrs["shared_name"].decode(), attrs["container"].decode()
    if not shared:
        # An accumulator without a name for others is the session's own.
        own = make(f"_{next(_private)}_{node.name}", dtype, shape, mean)
        return lambda: own

    def handle() -> Accumulator:
        found = resources.get_or_create(
            container, ACCUMULATOR, shared, lambda: make(shared, dtype, shape, mean)
        )
        if type(found) is not make or found.dtype is not dtype or found.shape != shape:
            raise errors.InvalidArgumentError(
                None, None, f"Shared accumulator '{shared}' exists with another kind, dtype or shape"
            )
        return found

    return handle


@kernel("AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient")
def apply_gradient(node: KernelNode) -> Kernel:
    return of_handle(Accumulator, lambda handle, step, gradient: handle.apply(int(step), gradient))


@kernel("SparseAccumulatorApplyGradient")
def apply_sparse_gradient(node: KernelNode) -> Kernel:
    known = node.attrs["has_known_shape"]

    def run(handle: SparseAccumulator, step: Any, indices: Any, values: Any, shape: Any) -> None:
        check_handle(handle, SparseAccumulator)
        handle.apply(int(step), indices, values, shape, known)

    return run


@kernel(
    "AccumulatorTakeGradient",
    "ResourceAccumulatorTakeGradient",
    "SparseAccumulatorTakeGradient",
    blocking=True,
)
def take_gradient(node: KernelNode) -> AsyncKernel:
    kind = SparseAccumulator if node.op.startswith("Sparse") else Accumulator

    def run(handle: Any, required: Any) -> Any:
        check_handle(handle, kind)
        found = handle.take(int(required))
        return found.then(handle.result) if type(found) is Future else handle.result(found)

    return AsyncKernel(run)


@kernel("AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep")
def set_global_step(node: KernelNode) -> Kernel:
    return of_handle(Accumulator, lambda handle, step: handle.set_global_step(int(step)))


@kernel("AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated")
def num_accumulated(node: KernelNode) -> Kernel:
    return of_handle(Accumulator, lambda handle: np.int32(handle.count))
