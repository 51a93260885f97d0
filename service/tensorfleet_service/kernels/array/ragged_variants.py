"""Ragged tensors in variants: batches of them, and their rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet_service.kernels.array.row_splits import checked_splits
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import boxed, host_array, invalid, shape_text
from tensorfleet_service.kernels.variant_messages import decoder
from tensorfleet_service.kernels.variants import Variant, unboxed


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
            return _vector([RaggedVariant((), row) for row in values])
        rows = []
        for begin, end in itertools.pairwise(splits[0].tolist()):
            inner = []
            for one in splits[1:]:
                part = one[begin : end + 1]
                inner.append(part - part[0])
                begin, end = int(part[0]), int(part[-1])
            rows.append(RaggedVariant(inner, values[begin:end]))
        return _vector(rows)

    return run


def _vector(items: list[Any]) -> Any:
    made = np.empty(len(items), object)
    for i, item in enumerate(items):
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
        items = [_of(item, rank, splits_type, dtype) for item in array.reshape(-1).tolist()]
        if not array.ndim:
            return (*items[0].splits, items[0].values) if rank else items[0].values
        outer = [
            np.arange(math.prod(array.shape[:i]) + 1, dtype=splits_type) * array.shape[i]
            for i in range(1, array.ndim)
        ]
        outer.append(_joined([np.array([0, item.rows]) for item in items], splits_type))
        inner = [_joined([item.splits[i] for item in items], splits_type) for i in range(rank)]
        if not items:
            return (*outer, *inner, np.zeros(0, dtype))
        shapes = {item.values.shape[1:] for item in items}
        if len(shapes) > 1:
            first, *_, other = sorted(shapes)
            raise invalid(
                f"All flat_values must have compatible shapes. Shape at index 0: {shape_text(first)}. "
                f"Shape at another one: {shape_text(other)}"
            )
        return (*outer, *inner, np.concatenate([item.values for item in items]))

    return run


def _joined(splits: list[Any], dtype: Any) -> Any:
    """The splits of rows one after the other."""
    lengths = [np.diff(one) for one in splits]
    return np.cumsum(np.concatenate([[0], *lengths]), dtype=dtype)


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


@kernel("RaggedTensorToVariantGradient")
def ragged_to_variant_gradient(node: KernelNode) -> Kernel:
    dtype = node.attrs["Tvalues"].np

    def run(encoded: Any, row_splits: Any, shape: Any) -> Any:
        shape = tuple(host_array(shape).tolist())
        items = [unboxed(item) for item in boxed(encoded).reshape(-1).tolist()]
        if not all(isinstance(item, RaggedVariant) for item in items):
            raise invalid("The gradient of a ragged tensor is no ragged tensor")
        parts = [item.values.reshape(-1) for item in items]
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype)
        if flat.size != math.prod(shape) or flat.dtype != dtype:
            raise invalid(
                f"The gradient has {flat.size} values, but those of shape {shape_text(shape)} are wanted"
            )
        return flat.reshape(shape)

    return run
