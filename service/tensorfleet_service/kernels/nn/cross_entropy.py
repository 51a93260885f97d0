"""Kernels of softmax cross entropy: loss and gradient in one pass over the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import format_dims
from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices.blocks import BLOCK_BYTES, in_parallel, scratch, shares, thread_count
from tensorfleet_service.devices.native import native, takes
from tensorfleet_service.kernels.nn import cuda_rows
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel

ROW_BLOCK_BYTES = 1 << 21
"""The size of a block of rows. It takes ten calls, some of them short: over smaller blocks, the threads would
wait for each other at the interpreter's lock for longer than they compute."""


def _in_row_blocks(run: Callable[[int, int], None], rows: int, row_bytes: int) -> None:
    """Calls `run(begin, end)` for blocks of rows that fit the cache, on several threads if there are many."""
    step = max(1, ROW_BLOCK_BYTES // max(row_bytes, 1))
    if rows * row_bytes <= 2 * BLOCK_BYTES:
        run(0, rows)
        return

    def part(bounds: tuple[int, int]) -> None:
        for begin in range(*bounds, step):
            run(begin, min(begin + step, bounds[1]))

    in_parallel(part, shares(rows, step))


@kernel("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(node: KernelNode) -> Kernel:
    xp = node.xp
    dtype = node.input_types[0].np
    inner = np.dtype(np.float32) if node.input_types[0].name in ("float16", "bfloat16") else dtype
    assert inner is not None
    has_gradient = 1 in node.used_outputs

    def run(logits: Any, labels: Any) -> tuple[Any, Any]:
        shape = _broadcast(logits, labels)
        if 0 in shape:
            return xp.zeros(shape[:1], dtype), xp.zeros(shape, dtype)
        logits, labels = (
            (a if a.shape == shape else xp.broadcast_to(a, shape)).astype(inner, copy=False)
            for a in (logits, labels)
        )
        if xp is not np:
            return _as(dtype, cuda_rows.cross_entropy(xp, logits, labels))
        if dtype == np.float32 and takes(logits, labels):
            return _compiled(logits, labels, has_gradient, False)
        loss = np.empty(shape[0], inner)
        backprop = empty(shape, inner) if has_gradient else None
        ones = np.ones(shape[1], inner)

        def block(begin: int, end: int) -> None:
            values, target = logits[begin:end], labels[begin:end]
            if backprop is not None:
                powers = backprop[begin:end]
            else:
                powers = scratch(1, target.size, inner)[0].reshape(target.shape)
            # One array, which stays in the cache, holds first the exponents and at last the gradient.
            highest = values.max(axis=1, keepdims=True)
            np.subtract(values, highest, out=powers)
            products = np.matmul(target[:, None, :], powers[:, :, None])[:, 0, 0]
            np.exp(powers, out=powers)
            total = powers @ ones
            # -labels · log softmax, all of whose parts are positive
            losses = np.log(total) * (target @ ones) - products
            if not np.isfinite(losses).all():
                # Where a label is 0, a logit of minus infinity does not count.
                shifted = np.log(total)[:, None] - (values - highest)
                shifted *= target
                losses = np.where(target == 0, inner.type(0), shifted).sum(axis=1)
            loss[begin:end] = losses
            if backprop is not None:
                powers *= np.reciprocal(total)[:, None]
                powers -= target

        _in_row_blocks(block, shape[0], shape[1] * loss.itemsize)
        return loss.astype(dtype, copy=False), None if backprop is None else backprop.astype(
            dtype, copy=False
        )

    return run


def _as(dtype: Any, results: tuple[Any, Any]) -> tuple[Any, Any]:
    loss, gradient = results
    return loss.astype(dtype, copy=False), gradient.astype(dtype, copy=False)


def _compiled(logits: Any, labels: Any, has_gradient: bool, is_sparse: bool) -> tuple[Any, Any]:
    """Loss and gradient of matrices by the compiled kernels."""
    rows, classes = logits.shape
    loss = np.empty(rows, np.float32)
    gradient = empty(logits.shape, np.float32) if has_gradient else None
    native.cross_entropy(logits, labels, loss, gradient, rows, classes, is_sparse, thread_count())
    return loss, gradient


def _broadcast(logits: Any, labels: Any) -> tuple[int, int]:
    if logits.shape == labels.shape and logits.ndim == 2:
        rows, classes = logits.shape
        return rows, classes
    shapes = format_dims(logits.shape), format_dims(labels.shape)
    try:
        shape = np.broadcast_shapes(logits.shape, labels.shape)
    except ValueError:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"logits and labels must be broadcastable: logits_size={shapes[0]} labels_size={shapes[1]}",
        ) from None
    if len(shape) != 2:
        raise errors.InvalidArgumentError(
            None, None, "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
        )
    return shape


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(node: KernelNode) -> Kernel:
    xp = node.xp
    dtype = node.input_types[0].np
    inner = np.dtype(np.float32) if node.input_types[0].name in ("float16", "bfloat16") else dtype
    assert inner is not None
    has_gradient = 1 in node.used_outputs

    def run(logits: Any, labels: Any) -> tuple[Any, Any]:
        _check_labels(logits, labels, xp is np)
        if takes(logits) and labels.dtype in (np.int32, np.int64):
            return _compiled(logits, np.ascontiguousarray(labels), has_gradient, True)
        if not logits.size:
            return xp.zeros(logits.shape[:1], dtype), xp.zeros(logits.shape, dtype)
        if xp is not np:
            return _as(dtype, cuda_rows.sparse_cross_entropy(xp, logits.astype(inner, copy=False), labels))
        loss, backprop = np.empty(logits.shape[0], inner), np.empty(logits.shape, inner)

        def block(begin: int, end: int) -> None:
            gradient, target = backprop[begin:end], labels[begin:end]
            rows = np.arange(end - begin)
            values = logits[begin:end].astype(inner, copy=False)
            np.subtract(values, values.max(axis=1, keepdims=True), out=gradient)
            chosen = gradient[rows, target]
            np.exp(gradient, out=gradient)
            total = gradient.sum(axis=1)
            np.subtract(np.log(total), chosen, out=loss[begin:end])
            gradient /= total[:, None]
            gradient[rows, target] -= 1

        _in_row_blocks(block, logits.shape[0], logits.shape[1] * loss.itemsize)
        return loss.astype(dtype, copy=False), backprop.astype(dtype, copy=False)

    return run


def _check_labels(logits: Any, labels: Any, look: bool) -> None:
    """Raises InvalidArgumentError for shapes that do not fit, or, with `look`, labels that are no class."""
    text = None
    if logits.ndim != 2:
        text = f"logits must be 2-D, but got shape {format_dims(logits.shape)}"
    elif labels.ndim != 1:
        text = f"labels must be 1-D, but got shape {format_dims(labels.shape)}"
    elif len(labels) != len(logits):
        text = (
            "logits and labels must have the same first dimension, got logits shape "
            f"{format_dims(logits.shape)} and labels shape {format_dims(labels.shape)}"
        )
    elif not logits.shape[1]:
        text = f"Must have at least one class, but got logits shape {format_dims(logits.shape)}"
    elif look and labels.size and (labels.min() < 0 or labels.max() >= logits.shape[1]):
        bad = labels[(labels < 0) | (labels >= logits.shape[1])]
        text = (
            f"Received a label value of {int(bad[0])} which is outside the valid range of "
            f"[0, {logits.shape[1]}).  Label values: {' '.join(str(int(v)) for v in labels)}"
        )
    if text is not None:
        raise errors.InvalidArgumentError(None, None, text)
