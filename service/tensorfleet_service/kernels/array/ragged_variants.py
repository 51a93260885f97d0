"""Ragged tensors in variants: batches of them, and their rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import string_arrays
from tensorfleet_service.kernels.array.row_splits import checked_splits
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import boxed, host_array, invalid, shape_text
from tensorfleet_service.kernels.variant_messages import decoder
from tensorfleet_service.kernels.variants import Variant, unboxed
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

_LOOKS = 1 << 12
"""Number of rows between two looks at the step, and of those that are put together by one call."""


class RaggedVariant(Variant):
    """A ragged tensor as one value: the splits of its ragged dimensions, and its flat values."""

    __slots__ = ("splits", "values")

    def __init__(self, splits: Sequence[Any], values: Any) -> None:
        self.splits = tuple(splits)
        self.values = values

    @property
    def rows(self) -> int:
        """The size of the first dimension."""
        return len(self.splits[0]) - 1 if self.splits else len(self.values)

    def zeros_like(self, xp: Any) -> RaggedVariant:
        return RaggedVariant(self.splits, np.zeros_like(self.values))

    def plus(self, other: Any) -> RaggedVariant:
        second = unboxed(other)
        same = isinstance(second, RaggedVariant) and len(self.splits) == len(second.splits)
        if not same or not all(map(np.array_equal, self.splits, second.splits)):
            raise invalid("Ragged tensors with other row splits cannot be added")
        if self.values.shape != second.values.shape:
            raise invalid("Ragged tensors with values of other shapes cannot be added")
        return RaggedVariant(self.splits, self.values + second.values)

    def parts(self) -> tuple[str, bytes, list[Any]]:
        return "RaggedTensorVariant", b"", [*self.splits, self.values]


@decoder("RaggedTensorVariant")
def _decode(metadata: bytes, tensors: list[Any]) -> RaggedVariant:
    *splits, values = map(np.asarray, tensors)
    return RaggedVariant([checked_splits(one, None) for one in splits], values)


@kernel("RaggedTensorToVariant")
def ragged_to_variant(node: KernelNode) -> Kernel:
    batched = node.attrs["batched_input"]

    def run(*inputs: Any) -> Any:
        *given, values = inputs
        values = np.asarray(host_array(values))
        splits = []
        for i, one in enumerate(given):
            after = given[i + 1] if i + 1 < len(given) else None
            splits.append(checked_splits(one, len(values) if after is None else len(after) - 1))
        if not batched:
            return RaggedVariant(splits, values)
        if not splits:
            if not values.ndim:
                raise invalid("A batch of ragged tensors has at least one dimension")
            return _vector((RaggedVariant((), row) for row in values), len(values))
        return _vector(_rows(splits, values), len(splits[0]) - 1)

    return run


def _rows(splits: Sequence[Any], values: Any) -> Iterator[RaggedVariant]:
    """The ragged tensors of which one is made, along its first dimension."""
    outer = splits[0]
    for first in range(0, len(outer) - 1, unlocked.LISTED):
        for begin, end in itertools.pairwise(outer[first : first + unlocked.LISTED + 1].tolist()):
            inner = []
            for one in splits[1:]:
                part = one[begin : end + 1]
                inner.append(part - part[0])
                begin, end = int(part[0]), int(part[-1])
            yield RaggedVariant(inner, values[begin:end])


def _vector(items: Iterable[Any], count: int) -> Any:
    """An array of variants, which lets them go by parts; looks at its step while they are made."""
    made = string_arrays.empty(count)
    for i, item in enumerate(items):
        if not i % _LOOKS:
            check_step()
        made[i] = item
    return made


@kernel("RaggedTensorFromVariant")
def ragged_from_variant(node: KernelNode) -> Kernel:
    splits_type, dtype = node.attrs["Tsplits"].np, node.attrs["Tvalues"].np
    wanted, output = node.attrs["input_ragged_rank"], node.attrs["output_ragged_rank"]

    def run(encoded: Any) -> Any:
        array = boxed(encoded)
        rank = output - array.ndim if wanted == -1 else wanted
        if rank < 0:
            raise invalid(
                f"ragged_rank: {rank} is less than 0: {array.ndim} of {output} ragged dimensions are batches"
            )
        if output != array.ndim + rank:
            raise invalid(
                "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
                f"output_ragged_rank: {output}, input_ragged_rank: {rank}, dims: {array.ndim}"
            )
        items = _checked(array, lambda item: _of(item, rank, splits_type, dtype))
        if not array.ndim:
            return (*items[0].splits, items[0].values) if rank else items[0].values
        outer = [
            np.arange(math.prod(array.shape[:i]) + 1, dtype=splits_type) * array.shape[i]
            for i in range(1, array.ndim)
        ]
        outer.append(_after_each_other((item.rows for item in items), len(items), splits_type))
        inner = [_joined((item.splits[i] for item in items), splits_type) for i in range(rank)]
        if not items:
            return (*outer, *inner, np.zeros(0, dtype))
        shapes = {item.values.shape[1:] for item in items}
        if len(shapes) > 1:
            first, *_, other = sorted(shapes)
            raise invalid(
                f"All flat_values must have compatible shapes. Shape at index 0: {shape_text(first)}. "
                f"Shape at another one: {shape_text(other)}"
            )
        return (*outer, *inner, _concatenated(item.values for item in items))

    return run


def _checked(array: Any, check: Callable[[Any], RaggedVariant]) -> list[RaggedVariant]:
    """The ragged tensors in an array of any shape."""
    flat, found = array.reshape(-1), unlocked.Listed()
    for begin in range(0, flat.size, _LOOKS):
        check_step()
        found += [check(item) for item in flat[begin : begin + _LOOKS].tolist()]
    return found


def _concatenated(arrays: Iterable[Any]) -> Any:
    """As `numpy.concatenate`, of arrays whose number no single call depends on."""
    rest, parts = iter(arrays), unlocked.Listed()
    while part := list(itertools.islice(rest, _LOOKS)):
        check_step()
        parts.append(np.concatenate(part))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _after_each_other(lengths: Iterable[int], count: int, dtype: Any) -> Any:
    """The splits of rows of these lengths."""
    splits = np.zeros(count + 1, dtype)
    np.cumsum(np.fromiter(lengths, dtype, count), out=splits[1:])
    return splits


def _joined(splits: Iterable[Any], dtype: Any) -> Any:
    """The splits of rows one after the other."""
    lengths = _concatenated(itertools.chain((np.zeros(1, dtype),), map(np.diff, splits)))
    return np.cumsum(lengths, dtype=dtype)


def _of(item: Any, rank: int, splits_type: Any, dtype: Any) -> RaggedVariant:
    value = unboxed(item)
    if not isinstance(value, RaggedVariant):
        raise invalid("Input Variant element at index 0 doesn't hold a RaggedTensorVariant")
    if len(value.splits) != rank:
        raise invalid(
            f"Encoded input RaggedTensorVariant has ragged_rank={len(value.splits)}. Expected: {rank}"
        )
    if value.values.dtype != dtype:
        raise invalid(f"Expected values Tensor dtype: {dtype}, found: {value.values.dtype}")
    if any(one.dtype != splits_type for one in value.splits):
        raise invalid(f"Expected row_splits Tensor dtype: {splits_type}, found another one")
    if value.values.ndim < 1 and rank:
        raise invalid("Ragged values must have rank >= 1; encoded scalar element")
    return value


def _of_gradient(item: Any) -> RaggedVariant:
    value = unboxed(item)
    if not isinstance(value, RaggedVariant):
        raise invalid("The gradient of a ragged tensor is no ragged tensor")
    return value


@kernel("RaggedTensorToVariantGradient")
def ragged_to_variant_gradient(node: KernelNode) -> Kernel:
    dtype = node.attrs["Tvalues"].np

    def run(encoded: Any, row_splits: Any, shape: Any) -> Any:
        shape = tuple(host_array(shape).tolist())
        items = _checked(boxed(encoded), _of_gradient)
        flat = _concatenated(item.values.reshape(-1) for item in items) if items else np.zeros(0, dtype)
        if flat.size != math.prod(shape) or flat.dtype != dtype:
            raise invalid(
                f"The gradient has {flat.size} values, but those of shape {shape_text(shape)} are wanted"
            )
        return flat.reshape(shape)

    return run
