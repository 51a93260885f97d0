"""Staging areas: Stage, Unstage, MapStage, MapUnstage, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    own,
)
from tensorfleet_service.state.staging import Area, MapStagingArea, StagingArea
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.future import Future

STAGING = "staging"
"""The kind of staging areas among a task's resources."""

A = TypeVar("A", bound=Area)


def _found(node: KernelNode, kind: type[A], make: Callable[[str, int, int], A]) -> Callable[[], A]:
    """Finds the area that the op names by `shared_name`, or else by its own name."""
    attrs, resources = node.attrs, node.resources
    name = attrs["shared_name"].decode() or node.name
    container, limits = attrs["container"].decode(), (attrs["capacity"], attrs["memory_limit"])

    def area() -> A:
        found = resources.get_or_create(container, STAGING, name, lambda: make(name, *limits))
        if not isinstance(found, kind):
            raise errors.InvalidArgumentError(
                None, None, f"Staging area '{name}' is a {type(found).__name__}, not a {kind.__name__}"
            )
        return found

    return area


def _line(node: KernelNode) -> Callable[[], StagingArea]:
    return _found(node, StagingArea, StagingArea)


def _map(node: KernelNode) -> Callable[[], MapStagingArea]:
    ordered = node.op.startswith("Ordered")
    return _found(
        node,
        MapStagingArea,
        lambda name, capacity, memory_limit: MapStagingArea(name, capacity, memory_limit, ordered),
    )


def _given(types: tuple[dtypes.DType, ...]) -> Callable[[Any], Any]:
    """The function that returns a tuple as outputs of these dtypes, at once or when its future completes."""

    def outputs(values: tuple[Any, ...]) -> Any:
        got = tuple(dtypes.as_dtype(value.dtype) for value in values)
        if got != types:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Mismatch stage/unstage: {_names(got)} were put in, and {_names(types)} are taken out",
            )
        return values[0] if len(values) == 1 else values

    def given(found: Any) -> Any:
        return found.then(outputs) if type(found) is Future else outputs(found)

    return given


def _names(types: tuple[dtypes.DType, ...]) -> str:
    return ", ".join(dtype.name for dtype in types)


def _indices(value: Any) -> list[int]:
    return unlocked.listed(np.asarray(value))


@kernel("Stage", blocking=True)
def stage(node: KernelNode) -> AsyncKernel:
    area = _line(node)
    return AsyncKernel(lambda *values: area().put(tuple(map(own, values))))


@kernel("Unstage", blocking=True)
def unstage(node: KernelNode) -> AsyncKernel:
    area, given = _line(node), _given(tuple(node.output_types))
    return AsyncKernel(lambda: given(area().get()))


@kernel("StagePeek", blocking=True)
def stage_peek(node: KernelNode) -> AsyncKernel:
    area, given = _line(node), _given(tuple(node.output_types))
    return AsyncKernel(lambda index: given(area().peek(int(index))))


@kernel("StageSize")
def stage_size(node: KernelNode) -> Kernel:
    area = _line(node)
    return lambda: np.int32(area().size())


@kernel("StageClear")
def stage_clear(node: KernelNode) -> Kernel:
    area = _line(node)
    return lambda: area().clear()


@kernel("MapStage", "OrderedMapStage", blocking=True)
def map_stage(node: KernelNode) -> AsyncKernel:
    area, width = _map(node), len(node.attrs["dtypes"])

    def run(key: Any, indices: Any, *values: Any) -> Any:
        return area().put(int(key), _indices(indices), tuple(map(own, values)), width)

    return AsyncKernel(run)


@kernel("MapUnstage", "OrderedMapUnstage", blocking=True)
def map_unstage(node: KernelNode) -> AsyncKernel:
    area, given = _map(node), _given(tuple(node.output_types))
    return AsyncKernel(lambda key, indices: given(area().get(int(key), _indices(indices))))


@kernel("MapUnstageNoKey", "OrderedMapUnstageNoKey", blocking=True)
def map_unstage_no_key(node: KernelNode) -> AsyncKernel:
    area, given = _map(node), _given(tuple(node.output_types))
    return AsyncKernel(lambda indices: given(area().get_any(_indices(indices))))


@kernel("MapPeek", "OrderedMapPeek", blocking=True)
def map_peek(node: KernelNode) -> AsyncKernel:
    area, given = _map(node), _given(tuple(node.output_types))
    return AsyncKernel(lambda key, indices: given(area().peek(int(key), _indices(indices))))


@kernel("MapSize", "OrderedMapSize")
def map_size(node: KernelNode) -> Kernel:
    area = _map(node)
    return lambda: np.int32(area().size())


@kernel("MapIncompleteSize", "OrderedMapIncompleteSize")
def map_incomplete_size(node: KernelNode) -> Kernel:
    area = _map(node)
    return lambda: np.int32(area().incomplete_size())


@kernel("MapClear", "OrderedMapClear")
def map_clear(node: KernelNode) -> Kernel:
    area = _map(node)
    return lambda: area().clear()
