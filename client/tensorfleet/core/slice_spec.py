"""The meaning of StridedSlice's masks, which shape rules and kernels share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Index = tuple[Any, ...]
"""An index that NumPy understands: of int, slice, Ellipsis and None."""


@dataclass(frozen=True, slots=True)
class SliceSpec:
    """The masks of a StridedSlice; bit i is about position i of begin, end and strides."""

    begin_mask: int
    end_mask: int
    ellipsis_mask: int
    new_axis_mask: int
    shrink_axis_mask: int

    @classmethod
    def of_attrs(cls, attrs: Mapping[str, Any]) -> SliceSpec:
        """The spec of a StridedSlice's attributes. Raises ValueError where two positions are ellipses."""
        if attrs["ellipsis_mask"].bit_count() > 1:
            raise ValueError("Multiple ellipses in slice spec not allowed")
        return cls(*(attrs[f"{m}_mask"] for m in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")))

    def index(self, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]) -> Index:
        """The NumPy index that means the same. Raises ValueError for a stride that is not allowed."""
        if not len(begin) == len(end) == len(strides):
            raise ValueError("begin, end and strides must have the same length")
        result: list[Any] = []
        for i, stride in enumerate(strides):
            bit = 1 << i
            if self.ellipsis_mask & bit:
                result.append(Ellipsis)
            elif self.new_axis_mask & bit:
                result.append(None)
            elif stride == 0:
                raise ValueError(f"strides[{i}] must be non-zero")
            elif self.shrink_axis_mask & bit:
                if stride < 0:
                    raise ValueError("only stride 1 allowed on non-range indexing.")
                result.append(begin[i])
            else:
                start = None if self.begin_mask & bit else begin[i]
                stop = None if self.end_mask & bit else end[i]
                result.append(slice(start, stop, stride))
        return tuple(result)

    def axes(self, count: int, rank: int) -> list[int | None]:
        """The input dimension that each of `count` positions is for; None for an ellipsis or a new dimension.

        Raises ValueError where there are more positions than dimensions.
        """
        extra = self.ellipsis_mask | self.new_axis_mask
        used = sum(not extra >> i & 1 for i in range(count))
        if used > rank:
            raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
        result: list[int | None] = []
        axis = 0
        for i in range(count):
            if self.ellipsis_mask >> i & 1:
                axis += rank - used
            result.append(None if extra >> i & 1 else axis)
            axis += not extra >> i & 1
        return result

    def output_dims(
        self,
        dims: tuple[int | None, ...],
        begin: Sequence[int] | None,
        end: Sequence[int] | None,
        strides: Sequence[int],
    ) -> tuple[int | None, ...]:
        """The shape of a slice of `dims`, where begin and end may be unknown. Raises ValueError."""
        count, rank = len(strides), len(dims)
        axes = self.axes(count, rank)
        used = sum(axis is not None for axis in axes)
        result: list[int | None] = []
        for i, (axis, stride) in enumerate(zip(axes, strides, strict=True)):
            if self.ellipsis_mask >> i & 1:
                first = len([a for a in axes[:i] if a is not None])
                result += dims[first : first + rank - used]
            elif axis is None:
                result.append(1)
            elif stride == 0:
                raise ValueError(f"strides[{i}] must be non-zero")
            elif self.shrink_axis_mask >> i & 1:
                if dims[axis] is not None and stride < 0:
                    raise ValueError("only stride 1 allowed on non-range indexing.")
                if begin is not None and end is not None:
                    check_index(begin[i], axis, dims[axis])
            else:
                result.append(self._size(i, dims[axis], begin, end, stride))
        if not self.ellipsis_mask & ((1 << count) - 1):
            result += dims[used:]
        return tuple(result)

    def _size(
        self,
        i: int,
        size: int | None,
        begin: Sequence[int] | None,
        end: Sequence[int] | None,
        stride: int,
    ) -> int | None:
        start_open, stop_open = self.begin_mask >> i & 1, self.end_mask >> i & 1
        if size is None or ((begin is None or end is None) and not (start_open and stop_open)):
            return None
        start = None if begin is None or start_open else begin[i]
        stop = None if end is None or stop_open else end[i]
        return len(range(size)[start:stop:stride])


def check_index(index: int, axis: int, size: int | None) -> None:
    """Raises ValueError where `index` is outside of a dimension of this size."""
    if size is not None and not -size <= index < size:
        raise ValueError(f"slice index {index} of dimension {axis} out of bounds.")
