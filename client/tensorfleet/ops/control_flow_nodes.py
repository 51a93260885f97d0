"""Single nodes of conditionals and loops, for tensors and references alike."""

from __future__ import annotations

from typing import Any

from tensorfleet import framework
from tensorfleet.graph import get_default_graph
from tensorfleet.operation import Operation
from tensorfleet.ops.apply import apply_op
from tensorfleet.ops.convert import convert_to_tensor
from tensorfleet.tensor import Tensor


def switch(data: Any, pred: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`data` as the first output if `pred` is false, as the second if it is true; the other one is dead."""
    with framework.name_scope(name, "Switch", [data, pred]) as scope:
        data = convert_to_tensor(data, name="data", as_ref=True)
        pred = convert_to_tensor(pred, name="pred")
        return apply_op("Switch", data, pred, name=scope)  # type: ignore[no-any-return]


def switch_by_kind(data: Any, pred: Tensor) -> tuple[Tensor, Tensor]:
    """As `switch`, where the data is; a reference stays one."""
    data = convert_to_tensor(data, name="data", as_ref=True)
    with get_default_graph().colocate_with(data.op, ignore_existing=True):
        if data.dtype.is_ref:
            return apply_op("RefSwitch", data, pred, name="Switch")  # type: ignore[no-any-return]
        return switch(data, pred, name="Switch")


def merge(inputs: Any, name: str | None = None) -> Any:
    """The first live tensor of `inputs`, and its position: (output, value_index).

    Raises:
        ValueError: one of the inputs is None.
    """
    if any(value is None for value in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with framework.name_scope(name, "Merge", inputs) as scope:
        tensors = [convert_to_tensor(value, as_ref=True) for value in inputs]
        kind = "RefMerge" if all(tensor.dtype.is_ref for tensor in tensors) else "Merge"
        return apply_op(kind, tensors, name=scope)


def _kind(op_type: str, tensor: Tensor) -> str:
    return f"Ref{op_type}" if tensor.dtype.is_ref else op_type


def enter(
    tensor: Tensor,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    keep_shape: bool = True,
) -> Tensor:
    """A tensor as it comes into a loop."""
    result: Tensor = apply_op(
        _kind("Enter", tensor),
        tensor,
        frame_name=frame_name,
        is_constant=is_constant,
        parallel_iterations=parallel_iterations,
    )
    result.dims = tensor.dims if keep_shape else None
    return result


def exit_loop(tensor: Tensor) -> Tensor:
    """A tensor as it leaves a loop."""
    return apply_op(_kind("Exit", tensor), tensor)  # type: ignore[no-any-return]


def next_iteration(tensor: Tensor) -> Tensor:
    """A tensor as it comes into the next iteration."""
    return apply_op(_kind("NextIteration", tensor), tensor)  # type: ignore[no-any-return]


def is_exit(op: Operation) -> bool:
    return op.type in ("Exit", "RefExit")


def is_constant_enter(op: Operation) -> bool:
    return op.type in ("Enter", "RefEnter") and bool(op.attrs["is_constant"])
