"""Parts and arrangements of SparseTensors: concat, slice, split, reshape, empty rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import check, elements, in_order, keys, linear, sizes_of, unravel
from tensorfleet_service.kernels.values import (
    host_kernel,
    ints,
    invalid,
    no_strings,
    shape_text,
)


@host_kernel("SparseConcat")
def sparse_concat(node: KernelNode) -> Kernel:
    count, axis = node.attrs["N"], node.attrs["concat_dim"]

    def run(*inputs: Any) -> Any:
        indices, values, shapes = inputs[:count], inputs[count : 2 * count], inputs[2 * count :]
        for parts in zip(indices, values, shapes, strict=True):
            check(*parts)
        rank = len(shapes[0])
        if not -rank <= axis < rank:
            raise invalid(f"Concat dimension must be in range [{-rank}, {rank}), got {axis}")
        at = axis % rank
        for i, shape in enumerate(shapes):
            if len(shape) != rank:
                raise invalid(
                    f"Ranks of all input tensors must match: expected {rank} but got {len(shape)} at "
                    f"position {i}"
                )
            for j in range(rank):
                if j != at and shape[j] != shapes[0][j]:
                    raise invalid(
                        f"Input shapes must match: expected {int(shapes[0][j])} for dimension {j} but got "
                        f"{int(shape[j])} at position {i}"
                    )
        before = np.cumsum([0, *(int(shape[at]) for shape in shapes)])
        moved = []
        for part, offset in zip(indices, before, strict=False):
            part = part.copy()
            part[:, at] += offset
            moved.append(part)
        places, joined = np.concatenate(moved), np.concatenate(values)
        total = shapes[0].copy()
        total[at] = before[-1]
        order = in_order(places)
        return places[order], joined[order], total

    return run


@host_kernel("SparseSlice")
def sparse_slice(node: KernelNode) -> Kernel:
    def run(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
        check(indices, values, shape)
        for name, given in (("start", start), ("size", size)):
            if given.ndim != 1:
                raise invalid(f"Input {name} should be a vector but received shape {shape_text(given.shape)}")
            if len(given) != len(shape):
                raise invalid(
                    f"Expected {name} to be a vector of length {len(shape)} but got length {len(given)}"
                )
            if (given < 0).any():
                raise invalid(f"Expected {name} to be non-negative")
        kept = ((indices >= start) & (indices - start < size)).all(1)
        # A slice that begins beyond the end is empty.
        sizes = np.clip(np.minimum(size, shape - start), 0, None)
        return indices[kept] - start, values[kept], sizes

    return run


@host_kernel("SparseSliceGrad")
def sparse_slice_grad(node: KernelNode) -> Kernel:
    def run(grad: Any, indices: Any, start: Any, found: Any) -> Any:
        if grad.ndim != 1 or indices.ndim != 2 or start.ndim != 1 or found.ndim != 2:
            raise invalid("The gradient and the start must be vectors, the indices matrices")
        if len(grad) != len(found):
            raise invalid(
                "Number of elements in backprop_val_grad and output_indices should match: "
                f"{len(grad)} vs. {len(found)}"
            )
        if indices.shape[1] != len(start) or found.shape[1] != len(start):
            raise invalid("The input_indices and output_indices must have as many columns as input_start has")
        return _at(indices - start, found, grad)

    return run


def _at(wanted: Any, there: Any, values: Any) -> Any:
    """The values at the indices `wanted`, given the values at the indices `there`; 0 where there is none."""
    asked, given = keys(wanted, there)
    result = np.zeros(len(asked), values.dtype)
    if not len(given):
        return result
    order = np.argsort(given, kind="stable")
    at = np.minimum(np.searchsorted(given[order], asked), len(given) - 1)
    hit = given[order][at] == asked
    result[hit] = values[order[at[hit]]]
    return result


@host_kernel("SparseAddGrad")
def sparse_add_grad(node: KernelNode) -> Kernel:
    def run(grad: Any, a: Any, b: Any, total: Any) -> Any:
        if a.ndim != 2 or b.ndim != 2 or total.ndim != 2:
            raise invalid("Input indices should be matrices")
        if grad.ndim != 1:
            raise invalid(
                f"Input backprop_val_grad should be a vector but received shape: {shape_text(grad.shape)}"
            )
        if not a.shape[1] == b.shape[1] == total.shape[1]:
            raise invalid("The densified operands should have the same ndims")
        if len(grad) != len(total):
            raise invalid(
                "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): "
                f"got {len(grad)} and {len(total)}"
            )
        return _at(a, total, grad), _at(b, total, grad)

    return run


@host_kernel("SparseSplit")
def sparse_split(node: KernelNode) -> Kernel:
    count = node.attrs["num_split"]

    def run(split_dim: Any, indices: Any, values: Any, shape: Any) -> Any:
        check(indices, values, shape)
        if np.ndim(split_dim):
            raise invalid("split_dim should be a scalar")
        axis, rank = int(split_dim), len(shape)
        if not -rank <= axis < rank:
            raise invalid(f"Input axis should be in range [-{rank}, {rank}), got {axis}")
        axis %= rank
        size = int(shape[axis])
        if not 1 <= count <= size:
            raise invalid(
                f"Input num_split should be between 1 and the splitting dimension size ({size}), got {count}"
            )
        least, longer = divmod(size, count)
        ends = np.cumsum([least + (i < longer) for i in range(count)])
        part = np.searchsorted(ends, indices[:, axis], side="right")
        places, found, shapes = [], [], []
        for i in range(count):
            begin = ends[i - 1] if i else 0
            mine = part == i
            kept = indices[mine]
            kept[:, axis] -= begin
            sizes = shape.copy()
            sizes[axis] = ends[i] - begin
            places.append(kept)
            found.append(values[mine])
            shapes.append(sizes)
        return (*places, *found, *shapes)

    return run


@host_kernel("SparseReshape")
def sparse_reshape(node: KernelNode) -> Kernel:
    def run(indices: Any, shape: Any, wanted: Any) -> Any:
        if indices.ndim != 2:
            raise invalid(f"Input indices should be a matrix but received shape {shape_text(indices.shape)}")
        if shape.ndim != 1 or wanted.ndim != 1:
            which, x = ("Input", shape) if shape.ndim != 1 else ("Target", wanted)
            raise invalid(f"{which} shape should be a vector but received shape {shape_text(x.shape)}")
        if indices.shape[1] != len(shape):
            raise invalid(
                f"Input tensor rank must match input shape length, got {indices.shape[1]} and {len(shape)}"
            )
        old = sizes_of(shape)
        total = elements(old)
        new = _resolved(ints(wanted), total)
        if old == new:
            return indices, wanted if -1 not in wanted else np.array(new, np.int64)
        return unravel(linear(indices, old), new), np.array(new, np.int64)

    return run


def _resolved(sizes: list[int], total: int) -> list[int]:
    """The new shape, with the size that was given as -1."""
    for i, size in enumerate(sizes):
        if size < -1:
            raise invalid(f"size {i} must be non-negative, not {size}")
    if sizes.count(-1) > 1:
        first, second = [i for i, size in enumerate(sizes) if size == -1][:2]
        raise invalid(f"only one output dimension may be -1, not both {first} and {second}")
    rest = elements([size for size in sizes if size != -1])
    if -1 in sizes:
        if not rest:
            raise invalid(
                "reshape cannot infer the missing input size for an empty tensor unless all specified "
                "input sizes are non-zero"
            )
        if total % rest:
            raise invalid(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape "
                f"requires a multiple of {rest}."
            )
        return [total // rest if size == -1 else size for size in sizes]
    if rest != total:
        raise invalid(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has {rest}."
        )
    return sizes


@host_kernel("SparseFillEmptyRows")
def sparse_fill_empty_rows(node: KernelNode) -> Kernel:
    def run(indices: Any, values: Any, shape: Any, default: Any) -> Any:
        if shape.ndim != 1:
            raise invalid(f"dense_shape must be a vector, saw: {shape_text(shape.shape)}")
        if not len(shape):
            raise invalid("Dense shape cannot be empty.")
        if np.ndim(default):
            raise invalid(f"default_value must be a scalar, saw: {shape_text(np.shape(default))}")
        check(indices, values, shape)
        rows = int(shape[0])
        first = indices[:, 0]
        if not rows and len(first):
            raise invalid(
                f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {len(first)}"
            )
        for wrong, text in ((first < 0, "< 0"), (first >= rows, f">= {rows}")):
            if wrong.any():
                i = int(np.flatnonzero(wrong)[0])
                raise invalid(f"indices({i}, 0) is invalid: {int(first[i])} {text}")
        empty = np.ones(rows, bool)
        empty[first] = False
        added = np.flatnonzero(empty)
        order = np.argsort(np.concatenate([first, added]), kind="stable")
        filler = np.zeros((len(added), indices.shape[1]), np.int64)
        filler[:, 0] = added
        fill = np.empty(len(added), values.dtype)
        fill[:] = default if values.dtype != object else _item(default)
        reverse = np.empty(len(order), np.int64)
        reverse[order] = np.arange(len(order))
        return (
            np.concatenate([indices, filler])[order],
            np.concatenate([values, fill])[order],
            empty,
            reverse[: len(first)],
        )

    return run


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) else value


@host_kernel("SparseFillEmptyRowsGrad")
def sparse_fill_empty_rows_grad(node: KernelNode) -> Kernel:
    no_strings(node)

    def run(reverse: Any, grad: Any) -> Any:
        if reverse.ndim != 1:
            raise invalid(f"reverse_index_map must be a vector, saw: {shape_text(reverse.shape)}")
        if grad.ndim != 1:
            raise invalid(f"grad_values must be a vector, saw: {shape_text(grad.shape)}")
        outside = (reverse < 0) | (reverse >= len(grad))
        if outside.any():
            i = int(np.flatnonzero(outside)[0])
            raise invalid(f"Elements in reverse index must be in [0, {len(grad)}) but got {int(reverse[i])}")
        rest = np.ones(len(grad), bool)
        rest[reverse] = False
        return grad[reverse], grad[rest].sum(dtype=grad.dtype)

    return run
