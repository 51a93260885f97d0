"""The kernel of `tensorfleet.ops.math.einsum`: transposes, one product of matrices, and a transpose."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.devices.blas import LARGE_PRODUCT, large_product
from tensorfleet_service.devices.cublas import matmul
from tensorfleet_service.kernels.common import SMALL_FLOATS
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid, shape_text

Label = str | int
"""A letter, or the place of a dimension under the ellipsis, counted from its end: -1, -2, …"""


@kernel("Einsum")
def _einsum(node: KernelNode) -> Kernel:
    xp = node.xp
    equation = node.attrs["equation"].decode().replace(" ", "")
    if equation.count("->") != 1:
        raise invalid(f"Expecting exactly one '->' in einsum equation: {equation}")
    left, right = equation.split("->")
    inputs = [re.findall(r"\.\.\.|[A-Za-z]", part) for part in left.split(",")]
    output = re.findall(r"\.\.\.|[A-Za-z]", right)
    if len(inputs) > 2:
        raise invalid(f"Expecting 1 or 2 input subscripts in equation '{equation}' but got: {len(inputs)}")
    target = node.output_types[0].np
    small = node.output_types[0] in SMALL_FLOATS

    def einsum(*arrays: Any) -> Any:
        if small:
            arrays = tuple(x.astype(np.float32) for x in arrays)
        covered = 0
        operands = []
        for i, (x, labels) in enumerate(zip(arrays, inputs, strict=True)):
            full, under = _full_labels(i, x, labels)
            covered = max(covered, under)
            operands.append((x, full))
        if covered and "..." not in output:
            raise invalid(f"Output contains {covered} broadcasting dimension(s) but no ellipsis")
        wanted: list[Label] = []
        for label in output:
            wanted += range(-covered, 0) if label == "..." else [label]
        _check_sizes(operands)
        unique = list(dict.fromkeys(wanted))
        if len(operands) == 1:
            result, labels_now = _reduced(xp, *operands[0], set(unique))
        else:
            x = _reduced(xp, *operands[0], set(unique) | set(operands[1][1]))
            y = _reduced(xp, *operands[1], set(unique) | set(operands[0][1]))
            result, labels_now = _multiplied(xp, x, y, unique)
        missing = [label for label in unique if label not in labels_now]
        result = result.reshape((1,) * len(missing) + result.shape)
        labels_now = missing + labels_now
        result = result.transpose([labels_now.index(label) for label in unique])
        if len(unique) < len(wanted):
            result = _diagonals(xp, result, unique, wanted)
        return (
            xp.ascontiguousarray(result).astype(target, copy=False) if result.ndim else result.astype(target)
        )

    return einsum


def _full_labels(i: int, x: Any, labels: list[str]) -> tuple[list[Label], int]:
    """A label for each dimension, and how many of them are under the ellipsis."""
    if "..." not in labels:
        if x.ndim != len(labels):
            raise invalid(f"Expected input {i} to have rank {len(labels)} but got: {x.ndim}")
        return list(labels), 0
    covered = x.ndim - len(labels) + 1
    if covered < 0:
        raise invalid(f"Expected input {i} to have rank at least {len(labels) - 1} but got: {x.ndim}")
    place = labels.index("...")
    return [*labels[:place], *range(-covered, 0), *labels[place + 1 :]], covered


def _check_sizes(operands: list[tuple[Any, list[Label]]]) -> None:
    sizes: dict[Label, int] = {}
    for x, labels in operands:
        for axis, (label, size) in enumerate(zip(labels, x.shape, strict=True)):
            before = sizes.setdefault(label, size)
            if before == size:
                continue
            if isinstance(label, int) and 1 in (before, size):
                sizes[label] = max(before, size) if 0 not in (before, size) else 0
                continue
            raise invalid(
                f"Expected dimension {before} at axis {axis} of the input shaped "
                f"{shape_text(x.shape)} but got dimension {size}"
            )


def _reduced(xp: ModuleType, x: Any, labels: list[Label], needed: set[Label]) -> tuple[Any, list[Label]]:
    """The operand with one dimension for each label: diagonals of repeated ones, sums over others."""
    labels = list(labels)
    for label in [a for a in dict.fromkeys(labels) if labels.count(a) > 1]:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = xp.diagonal(x, axis1=first, axis2=second)
            del labels[second], labels[first]
            labels.append(label)
    axes = tuple(i for i, label in enumerate(labels) if label not in needed)
    if axes:
        x = x.sum(axis=axes, dtype=x.dtype)
        labels = [label for label in labels if label in needed]
    return x, labels


def _multiplied(
    xp: ModuleType, a: tuple[Any, list[Label]], b: tuple[Any, list[Label]], output: list[Label]
) -> tuple[Any, list[Label]]:
    """The product of two operands: batches of matrices, [batch, free, summed] × [batch, summed, free]."""
    (x, x_labels), (y, y_labels) = a, b
    both = [label for label in x_labels if label in y_labels]
    batch = [label for label in both if label in output]
    summed = [label for label in both if label not in output]
    # Broadcasting along dimensions of the other operand changes only strides.
    for label in summed:
        i, j = x_labels.index(label), y_labels.index(label)
        if x.shape[i] != y.shape[j]:
            size = max(x.shape[i], y.shape[j])
            x = xp.broadcast_to(x, (*x.shape[:i], size, *x.shape[i + 1 :]))
            y = xp.broadcast_to(y, (*y.shape[:j], size, *y.shape[j + 1 :]))
    x_free = [label for label in x_labels if label not in both]
    y_free = [label for label in y_labels if label not in both]
    x, x_sizes = _arranged(x, x_labels, batch, x_free, summed)
    y, y_sizes = _arranged(y, y_labels, batch, summed, y_free)
    if xp is np and not batch and x.size * y.size >= LARGE_PRODUCT:
        result = large_product(x, y)
    else:
        result = matmul(xp, x, y)
    sizes = [x_sizes[label] for label in x_free] + [y_sizes[label] for label in y_free]
    return result.reshape(result.shape[: len(batch)] + tuple(sizes)), [*batch, *x_free, *y_free]


def _arranged(
    x: Any, labels: list[Label], batch: list[Label], rows: list[Label], columns: list[Label]
) -> tuple[Any, dict[Label, int]]:
    sizes = dict(zip(labels, x.shape, strict=True))
    x = x.transpose([labels.index(label) for label in (*batch, *rows, *columns)])
    shape = [sizes[label] for label in batch]
    shape += [int(np.prod([sizes[label] for label in part], dtype=np.int64)) for part in (rows, columns)]
    return x.reshape(shape), sizes


def _diagonals(xp: ModuleType, x: Any, labels: list[Label], wanted: list[Label]) -> Any:
    """Zeros with x on the diagonals of the dimensions that are named more than once."""
    sizes = dict(zip(labels, x.shape, strict=True))
    result = xp.zeros([sizes[label] for label in wanted], x.dtype)
    places = []
    for label in wanted:
        shape = [1] * len(labels)
        shape[labels.index(label)] = sizes[label]
        places.append(xp.arange(sizes[label]).reshape(shape))
    result[tuple(places)] = x
    return result
