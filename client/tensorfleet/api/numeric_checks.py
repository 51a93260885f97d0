"""`tf.debugging.enable_check_numerics`: checks of all floating point outputs that are added from then on."""

from __future__ import annotations

import linecache

from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.operation import PACKAGE_DIRECTORY, Operation
from tensorfleet.graph.output_checks import CHECKS
from tensorfleet.graph.tensor import Tensor

_SKIPPED = frozenset(
    (
        *("Enter", "Exit", "Identity", "If", "LoopCond", "Merge", "NextIteration", "StatelessIf"),
        *("StatefulPartitionedCall", "Switch", "While", "RemoteCall", "DestroyResourceOp"),
        # What only moves numbers makes no new ones.
        *("Concat", "ConcatV2", "ExpandDims", "Fill", "Gather", "Maximum", "Minimum", "Reshape", "Slice"),
        *("Squeeze", "Stack", "StridedSlice", "StridedSliceGrad", "TensorListConcatV2", "TensorListGather"),
        *("TensorListGetItem", "TensorListPopBack", "TensorListStack", "Transpose", "Unpack"),
    )
)
_NORMS = frozenset(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"))
"""Of these only the first output is checked: the statistics of no elements are NaN."""


class _Checker:
    """Adds a CheckNumericsV2 to each floating point output, and gives its output in its place."""

    def __init__(self, stack_height_limit: int, path_length_limit: int) -> None:
        self._height, self._length = stack_height_limit, path_length_limit
        self._busy = False

    def __call__(self, op: Operation) -> list[Tensor]:
        if self._busy or op.type in _SKIPPED:
            return op.outputs
        if op.outputs:
            # A placeholder can be fed only as itself, so its check runs before what takes it.
            op._add_control_inputs([check for t in op.inputs if (check := _check_of(t)) is not None])
        self._busy = True
        try:
            return [self._checked(op, tensor) for tensor in op.outputs]
        finally:
            self._busy = False

    def _checked(self, op: Operation, tensor: Tensor) -> Tensor:
        if not tensor.dtype.is_floating or tensor.dtype.is_ref or (op.type in _NORMS and tensor.value_index):
            return tensor
        with op.graph.name_scope(op.name + "/"):
            made = apply_one("CheckNumericsV2", tensor, message=self._message(op, tensor))
        return tensor if op.type == "Placeholder" else made

    def _message(self, op: Operation, tensor: Tensor) -> str:
        lines = [
            f'\n\n!!! Detected Infinity or NaN in output {tensor.value_index} of graph op "{op.type}" '
            f"(# of outputs: {len(op.outputs)}) !!!",
            f"  dtype: {tensor.dtype!r}",
            f"  shape: {tensor.shape}",
        ]
        if op.inputs:
            lines.append("\n  Input tensor" + (":" if len(op.inputs) == 1 else f"s ({len(op.inputs)}):"))
            lines += [f"         {slot}: {value!r}" for slot, value in enumerate(op.inputs)]
        lines.append('\n  Stack trace of op\'s creation ("->": inferred user code):')
        for frame in op.traceback[-self._height :]:
            path = frame.filename
            shown = path if len(path) <= self._length else "..." + path[3 - self._length :]
            lines.append(f"    + {shown} (L{frame.lineno}) {frame.name}")
            source = linecache.getline(path, frame.lineno or 0).strip()
            if source and not path.startswith(PACKAGE_DIRECTORY):
                lines.append(f" -> |   {source}")
        return "\n".join(lines) + "\n"


def _check_of(tensor: Tensor) -> Operation | None:
    """The check of a placeholder, which was made right after it."""
    first = tensor._consumers[0] if tensor.op.type == "Placeholder" and tensor._consumers else None
    return first if first is not None and first.type == "CheckNumericsV2" else None


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Has steps fail that make an Inf or a NaN, by ops that this thread adds from now on.

    Args:
        stack_height_limit: how many calls the error shows of those that made the op.
        path_length_limit: the length to which the error shortens the names of files.
    """
    if CHECKS.function is None:
        CHECKS.function = _Checker(stack_height_limit, path_length_limit)


def disable_check_numerics() -> None:
    """Ends `enable_check_numerics`, for what this thread adds from now on."""
    CHECKS.function = None
