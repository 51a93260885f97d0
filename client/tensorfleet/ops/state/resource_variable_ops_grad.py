"""Gradients of `resource_variable_ops`: gathers from variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph import handles
from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexing_grad import rows_gradient, scattered
from tensorfleet.ops.common import apply_one

not_differentiable("VarHandleOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp")
not_differentiable("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
no_rule("ResourceStridedSliceAssign")
for _change in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
    not_differentiable(f"ResourceScatter{_change}")
for _change in ("Add", "Sub", "Min", "Max", "Update"):
    not_differentiable(f"ResourceScatterNd{_change}")


def _variable_shape(handle: Tensor, dtype: Any = np.int32) -> tuple[Tensor, tuple[int | None, ...] | None]:
    """The shape of a handle's variable, as a tensor and as far as it is static."""
    dims = handles.handle_dims(handle)
    if dims is not None and None not in dims:
        return constant_node(np.array(dims, dtype), "Const"), dims
    return apply_one("VariableShape", handle, out_type=dtype), dims


@gradient("ResourceGather")
def _resource_gather(op: Operation, grad: Tensor) -> list[Any]:
    shape, dims = _variable_shape(op.inputs[0])
    return [rows_gradient(grad, op.inputs[1], shape, None if dims is None else dims[1:]), None]


@gradient("ResourceGatherNd")
def _resource_gather_nd(op: Operation, grad: Tensor) -> list[Any]:
    handle, indices = op.inputs
    shape, _ = _variable_shape(handle, indices.dtype.base.as_numpy_dtype)
    return [scattered(grad, indices, shape), None]
