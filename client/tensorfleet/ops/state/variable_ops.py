"""The ops of reference variables, and functions that change variables: `tf.assign`, `tf.scatter_add`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import scalar


def _variable(op: RuleNode) -> list[Dims]:
    return [op.attrs["shape"]]


def _old_variable(op: RuleNode) -> list[Dims]:
    # The op Variable, unlike VariableV2, cannot tell an unknown shape from that of a scalar.
    return [op.attrs["shape"] or None]


def _assign(op: RuleNode) -> list[Dims]:
    ref, value = (t.dims for t in op.inputs)
    return [dims_module.merge(ref, value) if op.attrs["validate_shape"] else value]


def _update(op: RuleNode) -> list[Dims]:
    ref, value = (t.dims for t in op.inputs)
    return [dims_module.merge(ref, value)]


def _count_up_to(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    if dims:
        raise ValueError(f"Shape must be rank 0 but is rank {len(dims)}")
    return [()]


def _scatter(op: RuleNode) -> list[Dims]:
    check_scatter(op.inputs[0].dims, op.inputs[1].dims, op.inputs[2].dims)
    return [op.inputs[0].dims]


def check_scatter(params: Dims, indices: Dims, updates: Dims) -> None:
    """Raises ValueError unless `updates` is a scalar, or has a slice of `params` for each index."""
    if params == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if params is not None and updates != ():
        dims_module.merge(updates, dims_module.concatenate(indices, params[1:]))


def _scatter_nd(op: RuleNode) -> list[Dims]:
    check_scatter_nd(op.inputs[0].dims, op.inputs[1].dims, op.inputs[2].dims)
    return [op.inputs[0].dims]


def check_scatter_nd(params: Dims, indices: Dims, updates: Dims) -> None:
    """Raises ValueError unless `updates` has a slice of `params` for each position in `indices`."""
    if params is None or indices is None or updates is None or not indices or indices[-1] is None:
        return
    lead, depth = len(indices) - 1, indices[-1]
    if not dims_module.compatible(indices[:-1], updates[:lead]):
        raise ValueError(
            f"Dimensions [0,{lead}) of indices[shape={dims_module.format_dims(indices)}] must match "
            f"dimensions [0,{lead}) of updates[shape={dims_module.format_dims(updates)}]"
        )
    if not dims_module.compatible(params[depth:], updates[lead:]):
        raise ValueError(
            f"Dimensions [{depth},{len(params)}) of input[shape={dims_module.format_dims(params)}] must "
            f"match dimensions [{lead},{len(updates)}) of updates[shape={dims_module.format_dims(updates)}]"
        )


op(
    "Variable() -> (ref: Ref(dtype))",
    "shape: shape",
    "dtype: type",
    'container: string = ""',
    'shared_name: string = ""',
    shape=_old_variable,
    stateful=True,
)
op(
    "VariableV2() -> (ref: Ref(dtype))",
    "shape: shape",
    "dtype: type",
    'container: string = ""',
    'shared_name: string = ""',
    shape=_variable,
    stateful=True,
)
op(
    "Assign(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
    "T: type",
    "validate_shape: bool = true",
    "use_locking: bool = true",
    shape=_assign,
    uninitialized=True,
)
op(
    "AssignAdd(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "use_locking: bool = false",
    shape=_update,
)
op(
    "AssignSub(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "use_locking: bool = false",
    shape=_update,
)
op(
    "IsVariableInitialized(ref: Ref(dtype)) -> (is_initialized: bool)",
    "dtype: type",
    shape=scalar,
    uninitialized=True,
)
op("CountUpTo(ref: Ref(T)) -> (output: T)", "limit: int", "T: {int32, int64}", shape=_count_up_to)
op(
    "ScatterUpdate(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    shape=_scatter,
)
op(
    "ScatterAdd(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    shape=_scatter,
)
op(
    "ScatterSub(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    shape=_scatter,
)
op(
    "ScatterMul(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    shape=_scatter,
)
op(
    "ScatterDiv(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    shape=_scatter,
)
op(
    "ScatterMin(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {float16, bfloat16, float32, float64, int32, int64}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    shape=_scatter,
)
op(
    "ScatterMax(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {float16, bfloat16, float32, float64, int32, int64}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    shape=_scatter,
)
op(
    "ScatterNdUpdate(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: type",
    "Tindices: {int32, int64}",
    "use_locking: bool = true",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
)
op(
    "ScatterNdAdd(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
)
op(
    "ScatterNdSub(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
)
op(
    "ScatterNdMin(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
)
op(
    "ScatterNdMax(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
    "T: {number}",
    "Tindices: {int32, int64}",
    "use_locking: bool = false",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd,
)


def is_reference(ref: Any) -> bool:
    """Whether `ref` is a reference variable or a reference tensor, not a resource variable."""
    return bool(ref.dtype.is_ref if isinstance(ref, Tensor) else getattr(ref, "_is_reference", False))


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: Any = None,
) -> Any:
    """Sets a variable to `value` (`tf.assign`).

    Returns:
        For a reference variable, the reference after the assignment, of the variable's `_ref` dtype.

    Example:
        >>> v = tf.Variable(1)
        >>> tf.Session().run(tf.assign(v, 5))
        np.int32(5)
    """
    if is_reference(ref):
        return apply_op(
            "Assign", ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name
        )
    return ref.assign(value, name=name)


def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Adds `value`, of the same shape, to a variable (`tf.assign_add`).

    Example:
        >>> v = tf.Variable(1)
        >>> with tf.Session() as session:
        ...     session.run(v.initializer)
        ...     session.run(tf.assign_add(v, 5))
        np.int32(6)
    """
    if is_reference(ref):
        return apply_op("AssignAdd", ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtracts `value`, of the same shape, from a variable (`tf.assign_sub`)."""
    if is_reference(ref):
        return apply_op("AssignSub", ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


def is_variable_initialized(variable: Any) -> Any:
    """Whether a variable has a value: a bool of rank 0 (`tf.is_variable_initialized`)."""
    if is_reference(variable):
        return apply_op("IsVariableInitialized", variable)
    return variable.is_initialized()


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """The value of a counter, which is then increased by 1 (`tf.count_up_to`).

    Raises:
        OutOfRangeError: in a run, once the counter is at `limit`.
    """
    if is_reference(ref):
        return apply_op("CountUpTo", ref, limit=limit, name=name)
    return ref.count_up_to(limit)


def _scatter_into(
    kind: str, ref: Any, indices: Any, updates: Any, use_locking: bool, name: str | None
) -> Any:
    if is_reference(ref):
        return apply_op(f"Scatter{kind}", ref, indices, updates, use_locking=use_locking, name=name)
    resource_kind = f"ResourceScatter{kind}"
    return ref._lazy_read(apply_op(resource_kind, ref.handle, indices, ref._as_value(updates), name=name))


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Sets the slices `ref[indices]` (`tf.scatter_update`).

    Args:
        indices: integers into the first dimension, of any shape.
        updates: of shape `indices.shape + ref.shape[1:]`, or a scalar. Of several updates to one index, one
            is kept.
    """
    return _scatter_into("Update", ref, indices, updates, use_locking, name)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Adds to the slices `ref[indices]`, repeated indices included (`tf.scatter_add`)."""
    return _scatter_into("Add", ref, indices, updates, use_locking, name)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtracts from the slices `ref[indices]`, repeated indices included (`tf.scatter_sub`)."""
    return _scatter_into("Sub", ref, indices, updates, use_locking, name)


def scatter_mul(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Multiplies the slices `ref[indices]`, repeated indices included (`tf.scatter_mul`)."""
    return _scatter_into("Mul", ref, indices, updates, use_locking, name)


def scatter_div(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Divides the slices `ref[indices]`, integers toward zero (`tf.scatter_div`)."""
    return _scatter_into("Div", ref, indices, updates, use_locking, name)


def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Replaces the slices `ref[indices]` by their minimum with the updates (`tf.scatter_min`)."""
    return _scatter_into("Min", ref, indices, updates, use_locking, name)


def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Replaces the slices `ref[indices]` by their maximum with the updates (`tf.scatter_max`)."""
    return _scatter_into("Max", ref, indices, updates, use_locking, name)


def _scatter_nd_into(
    kind: str, ref: Any, indices: Any, updates: Any, use_locking: bool, name: str | None
) -> Any:
    if is_reference(ref):
        return apply_op(f"ScatterNd{kind}", ref, indices, updates, use_locking=use_locking, name=name)
    return ref._lazy_read(
        apply_op(f"ResourceScatterNd{kind}", ref.handle, indices, ref._as_value(updates), name=name)
    )


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Sets the elements or slices at `indices` (`tf.scatter_nd_update`).

    Args:
        indices: coordinates in the last dimension, at most as many as the variable's rank.
        updates: of shape `indices.shape[:-1] + ref.shape[indices.shape[-1]:]`.
    """
    return _scatter_nd_into("Update", ref, indices, updates, use_locking, name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Adds to the elements or slices at `indices` (`tf.scatter_nd_add`)."""
    return _scatter_nd_into("Add", ref, indices, updates, use_locking, name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Any:
    """Subtracts from the elements or slices at `indices` (`tf.scatter_nd_sub`)."""
    return _scatter_nd_into("Sub", ref, indices, updates, use_locking, name)


def assign_slice(
    op_type: str, ref: Any, begin: Any, end: Any, strides: Any, masks: Any, value: Any, name: str | None
) -> Any:
    """The node that sets a slice of a variable; `masks` are the attributes of the StridedSlice."""
    return apply_op(
        op_type,
        ref,
        begin,
        end,
        strides,
        value,
        name=name,
        **{mask: masks[mask] for mask in _MASKS},
    )


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
