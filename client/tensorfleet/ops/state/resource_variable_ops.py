"""The ops of resource variables, which take a handle and read or change its variable."""

from __future__ import annotations

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.handles import variable_of
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.ops.shape_rules import nothing, scalar
from tensorfleet.ops.state.variable_ops import check_scatter, check_scatter_nd


def handle_dims(handle: RuleTensor) -> Dims:
    """The declared shape of a handle's variable; unknown if the op that made the handle is not found."""
    found = variable_of(handle)
    return None if found is None else found[1]


def _variable_value(op: RuleNode) -> list[Dims]:
    return [handle_dims(op.inputs[0])]


def _assign(op: RuleNode) -> list[Dims]:
    dims_module.merge(handle_dims(op.inputs[0]), op.inputs[1].dims)
    return []


def _variable_shape(op: RuleNode) -> list[Dims]:
    dims = handle_dims(op.inputs[0])
    return [(None if dims is None else len(dims),)]


def _gather(op: RuleNode) -> list[Dims]:
    params, indices, batch_dims = handle_dims(op.inputs[0]), op.inputs[1].dims, op.attrs["batch_dims"]
    if params is None or indices is None:
        return [None]
    if not params:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    batch = dims_module.merge(params[:batch_dims], indices[:batch_dims])
    return [dims_module.concatenate(batch, indices[batch_dims:] + params[batch_dims + 1 :])]


def _gather_nd(op: RuleNode) -> list[Dims]:
    params, indices = handle_dims(op.inputs[0]), op.inputs[1].dims
    if params is None or not indices or indices[-1] is None:
        return [None]
    if indices[-1] > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{dims_module.format_dims(indices)} and params shape: {dims_module.format_dims(params)}"
        )
    return [indices[:-1] + params[indices[-1] :]]


def _scatter(op: RuleNode) -> list[Dims]:
    check_scatter(handle_dims(op.inputs[0]), op.inputs[1].dims, op.inputs[2].dims)
    return []


def _scatter_nd(op: RuleNode) -> list[Dims]:
    check_scatter_nd(handle_dims(op.inputs[0]), op.inputs[1].dims, op.inputs[2].dims)
    return []


op(
    "VarHandleOp() -> (resource: resource)",
    'container: string = ""',
    'shared_name: string = ""',
    'debug_name: string = ""',
    "dtype: type",
    "shape: shape",
    "allowed_devices: list(string) = []",
    shape=scalar,
    stateful=True,
)
op(
    "ReadVariableOp(resource: resource) -> (value: dtype)",
    "dtype: type",
    shape=_variable_value,
    stateful=True,
)
op(
    "AssignVariableOp(resource: resource, value: dtype) -> ()",
    "dtype: type",
    "validate_shape: bool = false",
    shape=_assign,
    stateful=True,
)
op("AssignAddVariableOp(resource: resource, value: dtype) -> ()", "dtype: type", shape=_assign, stateful=True)
op("AssignSubVariableOp(resource: resource, value: dtype) -> ()", "dtype: type", shape=_assign, stateful=True)
op("VarIsInitializedOp(resource: resource) -> (is_initialized: bool)", shape=scalar, stateful=True)
op(
    "DestroyResourceOp(resource: resource) -> ()",
    "ignore_lookup_error: bool = true",
    shape=nothing,
    stateful=True,
)
op(
    "VariableShape(input: resource) -> (output: out_type)",
    "out_type: {int32, int64} = int32",
    shape=_variable_shape,
    stateful=True,
)
op(
    "ResourceGather(resource: resource, indices: Tindices) -> (output: dtype)",
    "batch_dims: int = 0",
    "validate_indices: bool = true",
    "dtype: type",
    "Tindices: {int32, int64}",
    shape=_gather,
    stateful=True,
)
op(
    "ResourceGatherNd(resource: resource, indices: Tindices) -> (output: dtype)",
    "dtype: type",
    "Tindices: {int32, int64}",
    shape=_gather_nd,
    stateful=True,
)
op(
    "ResourceScatterUpdate(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: type",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterAdd(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: {number}",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterSub(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: {number}",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterMul(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: {number}",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterDiv(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: {number}",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterMin(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: {number}",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterMax(resource: resource, indices: Tindices, updates: dtype) -> ()",
    "dtype: {number}",
    "Tindices: {int32, int64}",
    shape=_scatter,
    stateful=True,
)
op(
    "ResourceScatterNdUpdate(ref: resource, indices: Tindices, updates: T) -> ()",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
    stateful=True,
)
op(
    "ResourceScatterNdAdd(ref: resource, indices: Tindices, updates: T) -> ()",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
    stateful=True,
)
op(
    "ResourceScatterNdSub(ref: resource, indices: Tindices, updates: T) -> ()",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
    stateful=True,
)
op(
    "ResourceScatterNdMin(ref: resource, indices: Tindices, updates: T) -> ()",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
    stateful=True,
)
op(
    "ResourceScatterNdMax(ref: resource, indices: Tindices, updates: T) -> ()",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
    stateful=True,
)
