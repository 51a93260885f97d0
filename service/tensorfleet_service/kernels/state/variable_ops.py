"""Reference variables: VariableV2, Assign, AssignAdd, and other ops that change a variable in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.state import scatter
from tensorfleet_service.kernels.state.adding import in_place
from tensorfleet_service.state.variables import DEFAULT_CONTAINER, REFERENCE, RESOURCE, Variable


@kernel("Variable", "VariableV2", "VarHandleOp")
def variable(node: KernelNode) -> Kernel:
    attrs = node.attrs
    kind = RESOURCE if node.op == "VarHandleOp" else REFERENCE
    container = attrs["container"].decode() or DEFAULT_CONTAINER
    name = attrs["shared_name"].decode() or node.name
    dtype, dims = attrs["dtype"], attrs["shape"]
    if node.op == "Variable" and dims == ():
        dims = None  # In the older op a scalar shape stands for an unknown one.
    key = (container, kind, name)
    lookup, create = node.resources.lookup, node.resources.variable

    def handle() -> Variable:
        found: Variable | None = lookup(key)
        if found is None or found.dtype is not dtype or found.dims != dims:
            found = create(container, name, dtype, dims, kind)
        return found

    return handle


@kernel("Assign")
def assign(node: KernelNode) -> Kernel:
    validate_shape = node.attrs["validate_shape"]

    def run(ref: Variable, value: Any) -> Variable:
        ref.assign(value, validate_shape)
        return ref

    return run


@kernel("AssignAdd", "AssignSub")
def assign_update(node: KernelNode) -> Kernel:
    function = in_place(node.xp.add if node.op == "AssignAdd" else node.xp.subtract)

    def run(ref: Variable, value: Any) -> Variable:
        ref.update(function, value)
        return ref

    return run


@kernel("IsVariableInitialized", "VarIsInitializedOp")
def is_initialized(node: KernelNode) -> Kernel:
    return lambda ref: np.bool_(ref.is_initialized)


@kernel("CountUpTo")
def count_up_to(node: KernelNode) -> Kernel:
    xp, limit = node.xp, node.attrs["limit"]
    reached = f"Reached limit of {limit}"

    one = node.output_types[0].as_numpy_dtype(1)

    def run(ref: Variable) -> Any:
        before: list[Any] = []

        def count(current: Any, one: Any, out: Any = None) -> Any:
            if current >= limit:
                raise errors.OutOfRangeError(None, None, reached)
            before.append(current.copy())
            return xp.add(current, one, out=out)

        ref.update(count, one)
        return before[0]

    return run


@kernel(
    "ScatterUpdate",
    "ScatterAdd",
    "ScatterSub",
    "ScatterMul",
    "ScatterDiv",
    "ScatterMin",
    "ScatterMax",
    "ScatterNdUpdate",
    "ScatterNdAdd",
    "ScatterNdSub",
    "ScatterNdMin",
    "ScatterNdMax",
    "ResourceScatterUpdate",
    "ResourceScatterAdd",
    "ResourceScatterSub",
    "ResourceScatterMul",
    "ResourceScatterDiv",
    "ResourceScatterMin",
    "ResourceScatterMax",
    "ResourceScatterNdUpdate",
    "ResourceScatterNdAdd",
    "ResourceScatterNdSub",
    "ResourceScatterNdMin",
    "ResourceScatterNdMax",
)
def scatter_update(node: KernelNode) -> Kernel:
    into = scatter.scatter_function(node.op, node.xp)
    if node.op.startswith("Resource"):
        return lambda resource, indices, updates: resource.modify(into, indices, updates)

    def run(ref: Variable, indices: Any, updates: Any) -> Variable:
        ref.modify(into, indices, updates)
        return ref

    return run
