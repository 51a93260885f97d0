"""Single nodes of conditionals and loops, for tensors and references alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices


def by_part(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """The function applied to a tensor, or to each part of an IndexedSlices."""
    if not isinstance(value, IndexedSlices):
        return function(value)
    shape = value.dense_shape
    return IndexedSlices(
        function(value.values), function(value.indices), None if shape is None else function(shape)
    )


def switch(data: Any, pred: Any, name: str | None = None) -> Any:
    """`data` as the first output if `pred` is false, as the second if it is true; the other one is dead.

    For an IndexedSlices both outputs are IndexedSlices.
    """
    if isinstance(data, IndexedSlices):
        parts: list[Any] = [None if part is None else switch(part, pred) for part in _parts(data)]
        return tuple(IndexedSlices(*(part and part[branch] for part in parts)) for branch in (0, 1))
    with framework.name_scope(name, "Switch", [data, pred]) as scope:
        data = convert_to_tensor(data, name="data", as_ref=True)
        pred = convert_to_tensor(pred, name="pred")
        return apply_op("Switch", data, pred, name=scope)


def _parts(slices: IndexedSlices) -> tuple[Tensor | None, ...]:
    return slices.values, slices.indices, slices.dense_shape


def switch_by_kind(data: Any, pred: Tensor, name: str = "Switch") -> Any:
    """`switch` on the device of the data; a reference stays one."""
    if not isinstance(data, IndexedSlices):
        data = convert_to_tensor(data, name="data", as_ref=True)
    with get_default_graph().colocate_with(data.op, ignore_existing=True):
        if data.dtype.is_ref:
            return apply_op("RefSwitch", data, pred, name=name)
        return switch(data, pred, name=name)


def merge(inputs: Any, name: str | None = None) -> Any:
    """The first live tensor of `inputs`, and its position: (output, value_index).

    If one input is an IndexedSlices, all are converted to it; where some have indices of int32 and some of
    int64, all become int64.

    Raises:
        ValueError: one of the inputs is None.
    """
    if any(value is None for value in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    if any(isinstance(value, IndexedSlices) for value in inputs):
        slices = [as_slices(value) for value in inputs]
        with framework.name_scope(name, "Merge", []) as scope:
            values, index = merge([value.values for value in slices], f"{scope}values")
            indices, _ = merge(_alike([value.indices for value in slices]), f"{scope}indices")
            shapes = [value.dense_shape for value in slices if value.dense_shape is not None]
            known = len(shapes) == len(slices)
            shape = merge(_alike(shapes), f"{scope}dense_shape")[0] if known else None
        return IndexedSlices(values, indices, shape), index
    with framework.name_scope(name, "Merge", inputs) as scope:
        tensors = [convert_to_tensor(value, as_ref=True) for value in inputs]
        kind = "RefMerge" if all(tensor.dtype.is_ref for tensor in tensors) else "Merge"
        return apply_op(kind, tensors, name=scope)


def _alike(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors of integers, those of int32 as int64 where the dtypes differ."""
    if len({tensor.dtype for tensor in tensors}) == 1:
        return tensors
    return [apply_one("Cast", tensor, DstT=dtypes.int64) for tensor in tensors]


def as_slices(value: Any) -> IndexedSlices:
    """A tensor as an IndexedSlices of all its rows."""
    if isinstance(value, IndexedSlices):
        return value
    tensor = convert_to_tensor(value)
    shape: Tensor = apply_op("Shape", tensor)
    rows = apply_op("StridedSlice", shape, [0], [1], [1], shrink_axis_mask=1)
    return IndexedSlices(tensor, apply_op("Range", 0, rows, 1), shape)


def _kind(op_type: str, tensor: Tensor) -> str:
    return f"Ref{op_type}" if tensor.dtype.is_ref else op_type


def enter(
    tensor: Tensor,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    keep_shape: bool = True,
    name: str | None = None,
) -> Tensor:
    """The tensor inside of a loop, as the output of an Enter."""
    result: Tensor = apply_op(
        _kind("Enter", tensor),
        tensor,
        frame_name=frame_name,
        is_constant=is_constant,
        parallel_iterations=parallel_iterations,
        name=name,
    )
    result.dims = tensor.dims if keep_shape else None
    return result


def exit_loop(tensor: Tensor, name: str | None = None) -> Tensor:
    """The tensor after a loop, as the output of an Exit."""
    return apply_one(_kind("Exit", tensor), tensor, name=name)


def next_iteration(tensor: Tensor) -> Tensor:
    """The tensor in the next iteration, as the output of a NextIteration."""
    return apply_one(_kind("NextIteration", tensor), tensor)


def is_exit(op: Operation) -> bool:
    return op.type in ("Exit", "RefExit")


def is_constant_enter(op: Operation) -> bool:
    return op.type in ("Enter", "RefEnter") and bool(op.attrs["is_constant"])
