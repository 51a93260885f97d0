"""Arithmetic of SparseTensors: sums, products with tensors, reductions, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.devices.blas import large_product
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import (
    check,
    check_inside,
    elements,
    keys,
    linear,
    sizes_of,
    starts_of,
    unravel,
)
from tensorfleet_service.kernels.values import (
    host_kernel,
    ints,
    invalid,
    shape_text,
)
from tensorfleet_service.threads import unlocked

CHUNK = 1 << 22
"""Number of elementwise products of a sparse and a dense matrix that are in memory at a time."""


def _same_shapes(a: Any, b: Any) -> None:
    if len(a) != len(b):
        raise invalid(f"Ranks of input tensors must match, but saw ranks: {len(a)} and {len(b)}")
    for i in range(len(a)):
        if a[i] != b[i]:
            raise invalid(f"Input shapes must match: got {int(a[i])} and {int(b[i])} for dimension {i}")


@host_kernel("SparseAdd")
def sparse_add(node: KernelNode) -> Kernel:
    def run(ai: Any, av: Any, ashape: Any, bi: Any, bv: Any, bshape: Any, thresh: Any) -> Any:
        check(ai, av, ashape)
        check(bi, bv, bshape)
        _same_shapes(ashape, bshape)
        if np.ndim(thresh):
            raise invalid(
                f"The magnitude threshold must be a scalar: got shape {shape_text(np.shape(thresh))}"
            )
        places, groups = _united(ai, bi)
        total = np.zeros(len(places), av.dtype)
        total[groups[: len(av)]] = av
        unlocked.at(np.add, total, groups[len(av) :], bv)
        # Only sums are compared with the threshold, not single values.
        both = unlocked.bincount(groups, len(places)) > 1
        kept = ~both | (np.abs(total) >= thresh)
        return places[kept], total[kept], ashape

    return run


def _united(a: Any, b: Any) -> tuple[Any, Any]:
    """All indices in order, each once, and the position among them of each index of a and then of b."""
    rows = np.concatenate([a, b])
    numbers = np.concatenate(keys(a, b))
    _, first, groups, _ = unlocked.unique(numbers)
    return rows[first], groups


@host_kernel("SparseSparseMaximum", "SparseSparseMinimum")
def sparse_extremum(node: KernelNode) -> Kernel:
    function = np.maximum if node.op.endswith("Maximum") else np.minimum

    def run(ai: Any, av: Any, ashape: Any, bi: Any, bv: Any, bshape: Any) -> Any:
        check(ai, av, ashape, "Input a")
        check(bi, bv, bshape, "Input b")
        if len(ashape) != len(bshape):
            raise invalid(
                f"Operands do not have the same ranks; got shapes: {ashape.tolist()} and {bshape.tolist()}"
            )
        for i in range(len(ashape)):
            if ashape[i] != bshape[i]:
                raise invalid(
                    f"Operands' shapes do not match: got {int(ashape[i])} and {int(bshape[i])} for "
                    f"dimension {i}"
                )
        places, groups = _united(ai, bi)
        x, y = np.zeros((2, len(places)), av.dtype)
        x[groups[: len(av)]] = av
        y[groups[len(av) :]] = bv
        return places, function(x, y)

    return run


@host_kernel("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse")
def sparse_reduce(node: KernelNode) -> Kernel:
    keep, sparse = node.attrs["keep_dims"], node.op.endswith("Sparse")
    ufunc = np.add if "Sum" in node.op else np.maximum
    small = node.attrs["T"] in SMALL_FLOATS

    def run(indices: Any, values: Any, shape: Any, axes: Any) -> Any:
        check(indices, values, shape)
        sizes = sizes_of(shape)
        check_inside(indices, sizes)
        rank = len(sizes)
        dropped = set()
        for axis in ints(axes.reshape(-1)):
            if not -rank <= axis < rank:
                raise invalid(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
            dropped.add(axis % rank)
        kept = [axis for axis in range(rank) if axis not in dropped]
        inner = [sizes[axis] for axis in kept]
        outer = [1 if axis in dropped else sizes[axis] for axis in range(rank)] if keep else inner
        count = elements(inner)
        groups = linear(indices[:, kept], inner)
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
        starts = starts_of(groups)
        ordered = values[order].astype(np.float32) if small else values[order]
        found = unlocked.reduceat(ufunc, ordered, starts, ordered.dtype) if len(starts) else ordered
        found = found.astype(values.dtype)
        if sparse:
            return unravel(groups[starts], outer), found, np.array(outer, np.int64)
        result = np.zeros(count, values.dtype)
        result[groups[starts]] = found
        return result.reshape(outer)

    return run


@host_kernel("SparseSoftmax")
def sparse_softmax(node: KernelNode) -> Kernel:
    def run(indices: Any, values: Any, shape: Any) -> Any:
        check(indices, values, shape)
        if len(shape) < 2:
            raise invalid("Input should have rank >= 2, but received shape " + shape_text(shape))
        check_inside(indices, shape)
        if not len(values):
            return values
        [groups] = keys(indices[:, :-1])
        order = np.argsort(groups, kind="stable")
        starts = starts_of(groups[order])
        lengths = np.diff(np.append(starts, len(order)))
        # Small floats are rounded once, at the end.
        x = values[order].astype(np.float32) if values.dtype == np.float16 else values[order]
        x = np.exp(x - unlocked.repeat(unlocked.reduceat(np.maximum, x, starts), lengths))
        x /= unlocked.repeat(unlocked.reduceat(np.add, x, starts), lengths)
        result = np.empty_like(values)
        result[order] = x
        return result

    return run


@host_kernel("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv")
def sparse_dense_cwise(node: KernelNode) -> Kernel:
    kind = node.op.removeprefix("SparseDenseCwise")
    dtype = node.attrs["T"]

    def run(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        check(indices, values, shape)
        sizes = sizes_of(shape)
        dense = np.asarray(dense)
        missing = len(sizes) - dense.ndim
        if missing < 0 or any(
            d not in (1, size) for d, size in zip(dense.shape, sizes[missing:], strict=True)
        ):
            raise invalid(
                "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
                f"[{','.join(map(str, sizes))}] vs. {shape_text(dense.shape)}"
            )
        check_inside(indices, sizes)
        columns = tuple(
            indices[:, missing + i] if d != 1 else np.zeros(len(indices), np.int64)
            for i, d in enumerate(dense.shape)
        )
        beside = dense[columns] if columns else np.broadcast_to(dense, len(indices))
        if kind == "Add":
            return values + beside
        if kind == "Mul":
            return values * beside
        if not dtype.is_integer:
            with np.errstate(all="ignore"):
                return values / beside
        if (beside == 0).any():
            raise invalid("Integer division by zero")
        return ((values - np.fmod(values, beside)) // beside).astype(values.dtype)

    return run


@host_kernel("SparseTensorDenseAdd")
def sparse_tensor_dense_add(node: KernelNode) -> Kernel:
    def run(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        check(indices, values, shape)
        if len(shape) != np.ndim(dense):
            raise invalid(f"Two operands have different ranks; received: {len(shape)} and {np.ndim(dense)}")
        for i, (mine, other) in enumerate(zip(shape, np.shape(dense), strict=True)):
            if mine != other:
                raise invalid(
                    f"Dimension {i} does not equal (no broadcasting is supported): sparse side {int(mine)} "
                    f"vs dense side {other}"
                )
        check_inside(indices, np.shape(dense))
        result = np.array(dense)
        unlocked.at(np.add, result, tuple(indices.T) if len(shape) else (np.zeros(0, np.int64),), values)
        return result

    return run


@host_kernel("SparseTensorDenseMatMul")
def sparse_tensor_dense_matmul(node: KernelNode) -> Kernel:
    adjoint_a, adjoint_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]
    small = node.attrs["T"] in SMALL_FLOATS

    def run(indices: Any, values: Any, shape: Any, b: Any) -> Any:
        if b.ndim != 2:
            raise invalid("Tensor 'b' is not a matrix")
        if shape.ndim != 1:
            raise invalid("Tensor 'a_shape' is not a vector")
        if len(shape) != 2:
            raise invalid("Tensor 'a_shape' must have 2 elements")
        if values.ndim != 1:
            raise invalid("Tensor 'a_values' is not a vector")
        if indices.ndim != 2:
            raise invalid("Tensor 'a_indices' is not a matrix")
        if len(values) != len(indices):
            raise invalid("Number of rows of a_indices does not match number of entries in a_values")
        if indices.shape[1] != 2:
            raise invalid("Number of columns of a_indices does not match number of entries in a_shape")
        sizes = sizes_of(shape)
        rows, columns = indices[:, 0], indices[:, 1]
        if adjoint_a:
            rows, columns, sizes, values = columns, rows, sizes[::-1], np.conj(values)
        if adjoint_b:
            b = np.conj(b).T
        if sizes[1] != len(b):
            text = f"k (from a) {sizes[1]} vs. k (from b) {len(b)}"
            raise invalid(f"Cannot multiply A and B because inner dimension does not match: {text}")
        for name, at, limit in (("k", columns, sizes[1]), ("m", rows, sizes[0])):
            outside = (at < 0) | (at >= limit)
            if outside.any():
                i = int(np.flatnonzero(outside)[0])
                raise invalid(f"{name} ({int(at[i])}) from index[{i}] out of bounds (>={limit})")
        wide = np.float32 if small else values.dtype
        result = np.zeros((sizes[0], b.shape[1]), wide)
        if not (rows[1:] >= rows[:-1]).all():
            order = np.argsort(rows, kind="stable")
            rows, columns, values = rows[order], columns[order], values[order]
        step = max(1, CHUNK // max(1, b.shape[1]))
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            products = b[columns[part]].astype(wide, copy=False) * values[part, None].astype(wide, copy=False)
            starts = starts_of(rows[part])
            result[rows[part][starts]] += unlocked.reduceat(np.add, products, starts, wide)
        return result.astype(values.dtype, copy=False)

    return run


@host_kernel("SparseMatMul")
def sparse_matmul(node: KernelNode) -> Kernel:
    transpose_a, transpose_b = node.attrs["transpose_a"], node.attrs["transpose_b"]

    def run(a: Any, b: Any) -> Any:
        for name, x in (("a", a), ("b", b)):
            if x.ndim != 2:
                raise invalid(f"{name} is not a matrix")
        a = a.T if transpose_a else a
        b = b.T if transpose_b else b
        if a.shape[1] != len(b):
            raise invalid(f"Matrix size incompatible: a: {shape_text(a.shape)}, b: {shape_text(b.shape)}")
        return large_product(a.astype(np.float32), b.astype(np.float32))

    return run
