"""Resource variables: reads, assignments and gathers through a handle."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.state.adding import in_place
from tensorfleet_service.kernels.state.scatter import check_indices, check_nd_indices, nd_index
from tensorfleet_service.kernels.values import check_handle
from tensorfleet_service.state.variables import RESOURCE, Variable


@kernel("ReadVariableOp")
def read(node: KernelNode) -> Kernel:
    dtype = node.attrs["dtype"]

    def run(resource: Variable) -> Any:
        if type(resource) is not Variable:
            check_handle(resource, Variable)
        if resource.dtype is not dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Trying to read variable with wrong dtype. Expected {dtype.name} got {resource.dtype.name}",
            )
        return resource.read()

    return run


@kernel("AssignVariableOp")
def assign(node: KernelNode) -> Kernel:
    dtype, validate_shape = node.attrs["dtype"], node.attrs["validate_shape"]

    def run(resource: Variable, value: Any) -> None:
        if resource.dtype is not dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Trying to assign variable with wrong dtype. Expected {resource.dtype.name} "
                f"got {dtype.name}",
            )
        resource.assign(value, validate_shape and resource.is_initialized)

    return run


@kernel("AssignAddVariableOp", "AssignSubVariableOp")
def assign_update(node: KernelNode) -> Kernel:
    function = in_place(node.xp.add if node.op == "AssignAddVariableOp" else node.xp.subtract)
    return lambda resource, value: resource.update(function, value)


@kernel("DestroyResourceOp")
def destroy(node: KernelNode) -> Kernel:
    ignore_missing = node.attrs["ignore_lookup_error"]
    resources = node.resources

    def run(resource: Any) -> None:
        found = resources.remove(resource.container, RESOURCE, resource.name)
        missing = found is None or not resource.is_initialized
        resource.discard()
        if missing and not ignore_missing:
            raise errors.NotFoundError(
                None, None, f"Resource {resource.container}/{resource.name} does not exist."
            )

    return run


@kernel("VariableShape")
def variable_shape(node: KernelNode) -> Kernel:
    dtype = node.attrs["out_type"].as_numpy_dtype

    def run(resource: Variable) -> Any:
        if not resource.is_initialized:
            raise errors.NotFoundError(
                None, None, f"Resource {resource.container}/{resource.name} does not exist."
            )
        return np.array(resource.value_dims, dtype)

    return run


@kernel("ResourceGather")
def gather(node: KernelNode) -> Kernel:
    xp, batch_dims = node.xp, node.attrs["batch_dims"]

    def run(resource: Variable, indices: Any) -> Any:
        check_handle(resource, Variable)
        params = resource.read()
        if np.ndim(params) <= batch_dims:
            raise errors.InvalidArgumentError(
                None, None, f"params must have more than {batch_dims} dimensions, got {np.ndim(params)}"
            )
        check_indices(indices, params.shape[batch_dims])
        if not batch_dims:
            return params[indices]
        batch = params.shape[:batch_dims]
        grids = xp.meshgrid(*map(xp.arange, batch), indexing="ij")
        lead = [grid.reshape(batch + (1,) * (indices.ndim - batch_dims)) for grid in grids]
        return params[(*lead, indices)]

    return run


@kernel("ResourceGatherNd")
def gather_nd(node: KernelNode) -> Kernel:
    def run(resource: Variable, indices: Any) -> Any:
        check_handle(resource, Variable)
        params = resource.read()
        if not np.ndim(params):
            raise errors.InvalidArgumentError(None, None, "params must be at least a vector")
        check_nd_indices(
            indices, params.shape, f"does not index into param shape {{shape}}, node name: {node.name}"
        )
        return params[nd_index(indices)]

    return run
