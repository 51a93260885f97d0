"""How often each number is there, in the rows of ragged, sparse and dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.array.row_splits import checked_splits
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import host_array, invalid, shape_text
from tensorfleet_service.threads import unlocked


@kernel("RaggedBincount", "SparseBincount")
def bincount(node: KernelNode) -> Kernel:
    binary, dtype, is_ragged = (
        node.attrs["binary_output"],
        node.output_types[0].np,
        node.op.startswith("Ragged"),
    )

    def run(*inputs: Any) -> Any:
        shape: tuple[int, ...]
        weights, size = host_array(inputs[-1]), host_array(inputs[-2])
        values = host_array(inputs[1])
        if size.ndim:
            raise invalid(f"Shape must be rank 0 but is rank {size.ndim}")
        width = int(size)
        if width < 0:
            raise invalid(f"size ({width}) must be non-negative")
        if weights.size and weights.shape != values.shape:
            raise invalid(
                f"`weights` must be the same shape as `values` or a length-0 `Tensor`, in which case it acts "
                f"as all weights equal to 1. Received {shape_text(weights.shape)}"
            )
        flat = values.ravel()
        if is_ragged:
            splits = _count_splits(inputs[0], len(flat))
            rows, shape = (
                unlocked.repeat(np.arange(len(splits) - 1), np.diff(splits)),
                (len(splits) - 1, width),
            )
        else:
            indices, dense = host_array(inputs[0]), host_array(inputs[2])
            _check_sparse(indices, flat, dense)
            if dense.size == 1:
                rows, shape = np.zeros(len(flat), int), (width,)
            else:
                rows, shape = indices[:, 0], (int(dense[0]), width)
        if flat.size and flat.min() < 0:
            raise invalid("Input must be non-negative")
        result = np.zeros((shape[0] if len(shape) > 1 else 1, width), dtype)
        inside = flat < width
        if binary:
            result[rows[inside], flat[inside]] = 1
        else:
            given = weights.ravel()[inside] if weights.size else np.ones(int(inside.sum()), dtype)
            unlocked.at(np.add, result, (rows[inside], flat[inside]), given)
        return node.xp.asarray(result.reshape(shape))

    return run


@kernel("DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput")
def count_sparse(node: KernelNode) -> Kernel:
    attrs, dtype = node.attrs, node.output_types[1].np
    least, most, binary = attrs["minlength"], attrs["maxlength"], attrs["binary_output"]
    kind = node.op.removesuffix("CountSparseOutput")

    def run(*inputs: Any) -> Any:
        weights = host_array(inputs[-1])
        values = host_array(inputs[0 if kind == "Dense" else 1])
        if weights.size and weights.shape != values.shape:
            raise invalid(
                f"Weights and values must have the same shape. Weight shape: {shape_text(weights.shape)}; "
                f"values shape: {shape_text(values.shape)}"
            )
        rows, count, is_vector = _rows_of(kind, inputs, values)
        flat = values.ravel()
        if flat.size and flat.min() < 0:
            raise invalid("Input values must all be non-negative")
        top = int(flat.max(initial=-1)) + 1
        width = max(top, least) if least > 0 else top
        width = most if most > 0 and width > most else width
        chosen = np.flatnonzero(flat < most) if most >= 0 else np.arange(flat.size)
        # Equal ones come together, in the order in which their weights are added.
        chosen = chosen[np.lexsort((flat[chosen], rows[chosen]))]
        at, value = rows[chosen], flat[chosen]
        is_new = np.ones(chosen.size, np.bool_)
        is_new[1:] = (at[1:] != at[:-1]) | (value[1:] != value[:-1])
        begins = np.flatnonzero(is_new)
        if binary:
            made: Any = np.ones(begins.size)
        elif not weights.size:
            made = np.diff(begins, append=chosen.size)
        else:
            exact = np.float64 if weights.dtype.kind == "f" else np.int64
            made = (
                unlocked.reduceat(np.add, weights.reshape(-1)[chosen].astype(exact), begins)
                if begins.size
                else begins
            )
        at, value = at[begins].astype(np.int64), value[begins].astype(np.int64)
        return (
            value[:, None] if is_vector else np.stack([at, value], 1),
            made.astype(dtype),
            np.array([width] if is_vector else [count, width], np.int64),
        )

    return run


def _count_splits(splits: Any, count: int) -> Any:
    array = host_array(splits)
    if not array.size:
        raise invalid("Splits must be non-empty")
    if array.ndim == 1 and array[0]:
        raise invalid(f"Splits must start with 0, not with {array[0]}")
    if array.ndim == 1 and array[-1] != count:
        raise invalid(f"Splits must end with the number of values, got {array[-1]} instead of {count}")
    return checked_splits(splits, count)


def _check_sparse(indices: Any, values: Any, shape: Any) -> None:
    """Raises InvalidArgumentError where indices, values and the dense shape make no SparseTensor."""
    if indices.ndim != 2:
        raise invalid(f"indices must be a matrix, got shape {shape_text(indices.shape)}")
    if len(indices) != len(values):
        raise invalid(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not match"
        )
    if indices.shape[1] != shape.size:
        raise invalid(f"Index rank ({indices.shape[1]}) and shape rank ({shape.size}) do not match")
    outside = ((indices < 0) | (indices >= shape)).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        listed = ", ".join(map(str, indices[row].tolist()))
        raise invalid(f"Sparse index tuple indices[{row}, :] = [{listed}] is out of bounds")


def _rows_of(kind: str, inputs: tuple[Any, ...], values: Any) -> tuple[Any, int, bool]:
    """The row of each value, the number of rows, and whether the input is a vector."""
    if kind == "Dense":
        if values.ndim not in (1, 2):
            raise invalid(f"Input must be a 1 or 2-dimensional tensor. Got: {shape_text(values.shape)}")
        if values.ndim == 1:
            return np.zeros(values.size, int), 1, True
        return unlocked.repeat(np.arange(len(values)), values.shape[1]), len(values), False
    if kind == "Ragged":
        splits = checked_splits(inputs[0], values.size)
        return unlocked.repeat(np.arange(len(splits) - 1), np.diff(splits)), len(splits) - 1, False
    indices, shape = host_array(inputs[0]), host_array(inputs[2])
    if indices.ndim != 2 or values.ndim != 1 or len(indices) != len(values) or shape.ndim != 1:
        raise invalid("indices, values and dense_shape make no sparse tensor")
    if indices.shape[1] != shape.size or shape.size not in (1, 2):
        raise invalid(f"Sparse tensor must be a vector or a matrix, got {shape.size} dimensions")
    if (shape < 0).any() or (indices < 0).any() or (indices >= shape).any():
        raise invalid("An index of a sparse tensor is out of its shape")
    if shape.size == 1:
        return np.zeros(values.size, int), 1, True
    return indices[:, 0], int(shape[0]), False
