"""Iterators: IteratorV2, OneShotIterator, MakeIterator, IteratorGetNext, and their handles as strings."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.proto.resource_handle_pb2 import ResourceHandleProto
from tensorfleet_service.data.dataset import Dataset, Element, checked
from tensorfleet_service.data.iterator import IteratorResource, check_structure
from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_handle
from tensorfleet_service.state.variables import DEFAULT_CONTAINER
from tensorfleet_service.threads.future import Future

ITERATOR = "iterator"
"""The kind of iterators among a task's resources."""

_private = itertools.count()


def _handle(node: KernelNode) -> Callable[[], IteratorResource]:
    """The function that finds the node's iterator among the task's resources, or makes it."""
    attrs = node.attrs
    container = attrs["container"].decode() or DEFAULT_CONTAINER
    shared = attrs["shared_name"].decode()
    name = shared or f"_{next(_private)}_{node.name}"
    resources, library = node.resources, library_of(node)
    types, shapes = attrs["output_types"], attrs["output_shapes"]
    if not shared:
        # An iterator without a name for others is the session's own, and ends with it.
        def end() -> None:
            own = resources.remove(container, ITERATOR, name)
            if own is not None:
                own.close()

        library.on_close(end)

    def make() -> IteratorResource:
        return IteratorResource(container, name, node.device, types, shapes, library.pool)

    return lambda: resources.get_or_create(container, ITERATOR, name, make)


@kernel("Iterator", "IteratorV2")
def iterator(node: KernelNode) -> Kernel:
    find = _handle(node)
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]

    def run() -> IteratorResource:
        found = find()
        check_structure(found.types, found.shapes, types, shapes)
        return found

    return run


@kernel("OneShotIterator")
def one_shot_iterator(node: KernelNode) -> Kernel:
    find = _handle(node)
    factory = library_of(node).instantiate(node.attrs["dataset_factory"], node.device, np)
    if factory.waits:
        text = f"The dataset of {node.name} may wait for other steps. Use an initializable iterator."
        raise errors.UnimplementedError(None, None, text)

    def run() -> IteratorResource:
        found = find()
        found.initialize_once(lambda: checked(factory()[0]))  # type: ignore[index]
        return found

    return run


@kernel("MakeIterator")
def make_iterator(node: KernelNode) -> Kernel:
    def run(dataset: Dataset, iterator: IteratorResource) -> None:
        check_handle(iterator, IteratorResource)
        iterator.initialize(checked(dataset))

    return run


@kernel("IteratorGetNext", "IteratorGetNextSync", blocking=True)
def get_next(node: KernelNode) -> AsyncKernel:
    moves = movers(node.xp)

    def outputs(element: Element) -> Any:
        if moves is not None:
            element = tuple(map(moves[0], element))
        return element if len(element) != 1 else element[0]

    def run(iterator: IteratorResource) -> Any:
        found = iterator.get_next()
        return found.then(outputs) if type(found) is Future else outputs(found)  # type: ignore[arg-type]

    return AsyncKernel(run)


@kernel("IteratorToStringHandle")
def to_string_handle(node: KernelNode) -> Kernel:
    def run(iterator: IteratorResource) -> bytes:
        return ResourceHandleProto(
            device=iterator.device,
            container=iterator.container,
            name=iterator.name,
            maybe_type_name=ITERATOR,
        ).SerializeToString()

    return run


@kernel("IteratorFromStringHandle", "IteratorFromStringHandleV2")
def from_string_handle(node: KernelNode) -> Kernel:
    types: list[DType] = node.attrs["output_types"]
    shapes: list[Dims] = node.attrs["output_shapes"]
    resources, device = node.resources, node.device

    def run(text: Any) -> IteratorResource:
        if getattr(text, "shape", ()):
            raise errors.InvalidArgumentError(None, None, "string_handle must be a scalar")
        handle = ResourceHandleProto()
        try:
            handle.ParseFromString(bytes(text[()] if isinstance(text, np.ndarray) else text))
        except Exception as e:
            message = f"Could not parse string_handle as a valid ResourceHandle: {e}"
            raise errors.InvalidArgumentError(None, None, message) from None
        if handle.device != device:
            message = (
                f'Attempted create an iterator on device "{device}" from handle defined on device '
                f'"{handle.device}"'
            )
            raise errors.InvalidArgumentError(None, None, message)
        found = resources.lookup((handle.container, ITERATOR, handle.name))
        if found is None:
            message = (
                f"Resource {handle.container}/{handle.name} does not exist: its session has been closed, "
                "or its container reset."
            )
            raise errors.NotFoundError(None, None, message)
        iterator: IteratorResource = found
        if types and iterator.types:
            check_structure(types, shapes, iterator.types, iterator.shapes)
        return iterator

    return run
