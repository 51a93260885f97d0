"""Ragged tensors in parts: the version of `tf.split`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Any]:
    """A RaggedTensor in parts along a dimension (`tf.split`).

    Args:
        num_or_size_splits: the number of parts, of which the dimension's size must be a multiple, or the
            constant size of each.
        axis: the dimension: the first, or a uniform one.

    Raises:
        ValueError: the size of a dimension that is to be in equal parts is not known, or it is ragged.
        InvalidArgumentError: the parts do not add up to the dimension.
    """
    with framework.name_scope(name, "RaggedSplit"):
        rank = value.shape.rank
        place = int(static_value(convert_to_tensor(axis)))  # type: ignore[arg-type]
        if rank is not None:
            if not -rank <= place < rank:
                raise ValueError(f"axis={place} out of bounds: expected {-rank}<=axis<{rank}")
            place %= rank
        elif place < 0:
            raise ValueError("A negative axis needs a RaggedTensor of known rank")
        size = value.shape[place].value if rank is not None else None
        if isinstance(num_or_size_splits, int) and not isinstance(num_or_size_splits, bool):
            sizes = _equal(num_or_size_splits, size, place)
        else:
            sizes = _given(num_or_size_splits, size, num)
        parts, begin = [], 0
        for length in sizes:
            key = (*[slice(None)] * place, slice(begin, begin + length))
            parts.append(value[key])
            begin += length
        return parts


def _equal(count: int, size: int | None, axis: int) -> list[int]:
    if count <= 0:
        raise ValueError("num_or_size_splits must be a positive integer")
    if size is None:
        raise ValueError(
            f"Cannot split dimension {axis} into {count} parts: its size is not known, or ragged"
        )
    if size % count:
        text = f"Cannot exactly split the RaggedTensor along dimension {axis} into {count} parts"
        raise errors.InvalidArgumentError(None, None, text)
    return [size // count] * count


def _given(sizes: Any, size: int | None, num: int | None) -> list[int]:
    tensor = convert_to_tensor(sizes, name="size_splits")
    if tensor.dtype.base not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"num_or_size_splits must be of integers, got {tensor.dtype.base.name}")
    known = static_value(tensor)
    if known is None:
        raise ValueError("The sizes of the parts of a RaggedTensor must be constants")
    if known.ndim != 1:
        raise ValueError("num_or_size_splits must be a scalar or a vector")
    listed: list[int] = known.tolist()
    if num is not None and num != len(listed):
        raise ValueError("num does not equal len(num_or_size_splits)")
    if listed.count(-1) == 1 and size is not None:
        listed[listed.index(-1)] = size - sum(listed) - 1
    if any(length < 0 for length in listed):
        raise ValueError(f"The sizes of parts must not be negative, and one at most -1: {listed}")
    if size is not None and sum(listed) != size:
        text = f"The sizes of parts {listed} do not add up to {size}"
        raise errors.InvalidArgumentError(None, None, text)
    return listed
