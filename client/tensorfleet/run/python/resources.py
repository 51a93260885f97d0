"""`tensorflow.python.ops.resources`: resources such as tables, which a session has to initialize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant
from tensorfleet.graph.framework import add_to_collection, get_collection
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.selection import boolean_mask
from tensorfleet.ops.control_flow.control import group, no_op


class _Resource(NamedTuple):
    handle: Any
    create: Operation
    is_initialized: Any


def register_resource(
    handle: Any, create_op: Operation, is_initialized_op: Any, is_shared: bool = True
) -> None:
    """Adds a resource to the graph's collection of shared, or of local, ones."""
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    add_to_collection(key, _Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Any]:
    """The resources that tasks share."""
    found: list[Any] = get_collection(GraphKeys.RESOURCES)
    return found


def local_resources() -> list[Any]:
    """The resources of one task."""
    found: list[Any] = get_collection(GraphKeys.LOCAL_RESOURCES)
    return found


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """The operation that creates the resources."""
    if not resource_list:
        return no_op(name=name)
    return group(*(resource.create for resource in resource_list), name=name)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """The names of the resources that are not initialized, string [number of them]."""
    found = [*shared_resources(), *local_resources()] if resource_list is None else list(resource_list)
    if not found:
        return constant([], dtypes.string, [0], name=name)
    missing = ~stack([resource.is_initialized for resource in found])
    names = constant(np.array([resource.handle.name for resource in found], object), dtypes.string)
    return boolean_mask(names, missing, name=name)
