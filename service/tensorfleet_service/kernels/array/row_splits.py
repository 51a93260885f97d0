"""Row splits of ragged tensors, as they come."""

from __future__ import annotations

from typing import Any

from tensorfleet_service.kernels.values import host_array, invalid


def checked_splits(splits: Any, count: int | None) -> Any:
    """The positions where rows begin, and the end of the last one.

    Raises InvalidArgumentError if they are not row splits.
    """
    array = host_array(splits)
    if array.ndim != 1 or not array.size:
        raise invalid("Ragged splits must be a vector with at least one element: ragged splits is empty.")
    if array[0] != 0:
        raise invalid(f"The first element of ragged splits must be 0, got {array[0]}")
    if (array[1:] < array[:-1]).any():
        raise invalid("Ragged splits must be sorted in ascending order.")
    if count is not None and array[-1] != count:
        raise invalid(
            f"The last value of ragged splits must be the number of values, {count}, got {array[-1]}"
        )
    return array
