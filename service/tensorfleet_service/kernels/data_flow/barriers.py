"""Kernels of `tensorfleet.ops.data_flow.barriers`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    check_handle,
    host_array,
    invalid,
    own,
    shape_text,
    string_vector,
    type_text,
)
from tensorfleet_service.state.barriers import Barrier, Ready
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.future import Future

BARRIER = "barrier"
"""The kind of barriers among a task's resources."""

_private = itertools.count()


@kernel("Barrier")
def barrier(node: KernelNode) -> Kernel:
    attrs = node.attrs
    types, shapes = list(attrs["component_types"]), list(attrs["shapes"])
    if attrs["capacity"] != -1:
        raise invalid(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a "
            "limited capacity."
        )
    if any(dims is None or None in dims for dims in shapes):
        raise invalid(f"The shapes of a barrier's components must be known, got {shapes}")
    if shapes and len(shapes) != len(types):
        raise invalid(f"There are {len(types)} types of components, but {len(shapes)} shapes")
    shared = attrs["shared_name"].decode()
    if not shared:
        # A barrier without a name for others is the session's own.
        made = Barrier(f"_{next(_private)}_{node.name}", types, shapes)
        return lambda: made
    container, resources = attrs["container"].decode(), node.resources

    def handle() -> Barrier:
        found = resources.get_or_create(container, BARRIER, shared, lambda: Barrier(shared, types, shapes))
        if found.dtypes != types:
            known, wanted = (", ".join(map(type_text, dtypes)) for dtypes in (found.dtypes, types))
            raise invalid(
                f"Shared barrier '{shared}' has component types {known} but requested component types were "
                f"{wanted}"
            )
        if found.shapes != shapes:
            known, wanted = (", ".join(map(shape_text, each)) for each in (found.shapes, shapes))
            raise invalid(
                f"Shared barrier '{shared}' has component shapes {known} but requested component shapes were "
                f"{wanted}"
            )
        return found

    return handle


@array_kernel("BarrierInsertMany")
def insert_many(node: KernelNode) -> Kernel:
    index, dtype = node.attrs["component_index"], node.attrs["T"]

    def run(barrier: Barrier, keys: Any, values: Any) -> None:
        check_handle(barrier, Barrier)
        if keys.ndim != 1:
            raise invalid(f"keys must be a vector, got shape {list(keys.shape)}")
        if 0 <= index < len(barrier.dtypes) and barrier.dtypes[index] is not dtype:
            raise invalid(
                f"Type mismatch in tuple component {index}. Expected {barrier.dtypes[index].name}, "
                f"got {dtype.name}"
            )
        barrier.insert(unlocked.listed(keys), index, own(host_array(values)))

    return run


@kernel("BarrierTakeMany", blocking=True)
def take_many(node: KernelNode) -> AsyncKernel:
    types, small = list(node.attrs["component_types"]), node.attrs["allow_small_batch"]
    if node.attrs["timeout_ms"] != -1:
        raise invalid("Timeout not supported yet.")

    def run(barrier: Barrier, num_elements: Any) -> Any:
        check_handle(barrier, Barrier)
        count = int(num_elements)
        if barrier.dtypes != types:
            raise invalid(
                f"Barrier {barrier.name} has components of types {[t.name for t in barrier.dtypes]}, "
                f"not {[t.name for t in types]}"
            )
        if count < 0:
            raise invalid(f"num_elements must not be negative, got {count}")

        def batch(elements: list[Ready]) -> Any:
            return _batch(barrier, elements, node.xp)

        found = barrier.take(count, small)
        return found.then(batch) if type(found) is Future else batch(found)  # type: ignore[arg-type]

    return AsyncKernel(run)


def _batch(barrier: Barrier, elements: list[Ready], xp: Any) -> tuple[Any, ...]:
    indices = np.array([element[0] for element in elements], np.int64)
    keys = string_vector([element[2] for element in elements])
    columns: list[Any] = []
    for i, dtype in enumerate(barrier.dtypes):
        values = [host_array(element[3][i]) for element in elements]
        if any(value.shape != values[0].shape for value in values):
            raise invalid(f"The elements taken have several shapes of component {i}")
        shape = (barrier.shapes[i] if barrier.shapes else ()) or ()
        column = np.stack(values) if values else np.empty((0, *(size or 0 for size in shape)), dtype.np)
        columns.append(column if column.dtype == object else xp.asarray(column))
    return (xp.asarray(indices), keys, *columns)


@kernel("BarrierClose")
def close(node: KernelNode) -> Kernel:
    cancel_pending = node.attrs["cancel_pending_enqueues"]

    def run(barrier: Barrier) -> None:
        check_handle(barrier, Barrier)
        barrier.close(cancel_pending)

    return run


@kernel("BarrierReadySize")
def ready_size(node: KernelNode) -> Kernel:
    def run(barrier: Barrier) -> Any:
        check_handle(barrier, Barrier)
        return np.int32(barrier.ready_size)

    return run


@kernel("BarrierIncompleteSize")
def incomplete_size(node: KernelNode) -> Kernel:
    def run(barrier: Barrier) -> Any:
        check_handle(barrier, Barrier)
        return np.int32(barrier.incomplete_size)

    return run
