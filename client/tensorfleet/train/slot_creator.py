"""Slots: variables that accompany another variable, named after it and placed with it."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.save_slice import SaveSliceInfo
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.ops.state.variables import Variable


def create_slot(primary: Any, value: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot of `primary` with the initial value `value`, a tensor."""
    return _slot(primary, value, name, colocate_with_primary, None, None)


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: TensorShape,
    dtype: DType,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """A slot of `primary` of this shape, with an initial value from `initializer`."""
    return _slot(primary, initializer, name, colocate_with_primary, shape, dtype)


def create_zeros_slot(
    primary: Any, name: str, dtype: DType | None = None, colocate_with_primary: bool = True
) -> Any:
    """A slot of `primary`, of its shape, initialized with zeros."""
    dtype = (dtype or primary.dtype).base
    if primary.get_shape().is_fully_defined():
        return create_slot_with_initializer(
            primary, zeros_initializer(), primary.get_shape(), dtype, name, colocate_with_primary
        )
    value = primary.initialized_value() if isinstance(primary, Variable) else primary
    zeros = apply_one("Fill", apply_one("Shape", value), apply_one("Cast", 0, DstT=dtype))
    return create_slot(primary, zeros, name, colocate_with_primary)


def _slot(
    primary: Any, initial: Any, name: str, colocate: bool, shape: TensorShape | None, dtype: DType | None
) -> Any:
    is_static = (shape or initial.shape).is_fully_defined()
    with variable_scope(None, f"{primary.op.name}/{name}"):
        if not colocate:
            return _variable(primary, initial, is_static, shape, dtype)
        with framework.colocate_with(primary.op):
            return _variable(primary, initial, is_static, shape, dtype)


def _variable(
    primary: Any, initial: Any, validate_shape: bool, shape: TensorShape | None, dtype: DType | None
) -> Any:
    scope = get_variable_scope()
    partitioner = scope.partitioner
    # A slot of one part of a partitioned variable is not partitioned again.
    scope.set_partitioner(None)
    slot = get_variable(
        "",
        shape=shape,
        dtype=dtype or initial.dtype.base,
        initializer=initial,
        trainable=False,
        use_resource=is_resource(primary),
        validate_shape=validate_shape,
    )
    scope.set_partitioner(partitioner)
    part = primary._save_slice_info if isinstance(primary, Variable) else None
    if part is not None:
        slot_name = slot.name[len(primary.op.name) + 1 : -2]
        slot._set_save_slice_info(
            SaveSliceInfo(f"{part.full_name}/{slot_name}", part.full_shape, part.var_offset, part.var_shape)
        )
    return slot


def is_resource(variable: Any) -> bool:
    """Whether `variable` is a resource variable."""
    return isinstance(variable, Variable) and not variable._is_reference
