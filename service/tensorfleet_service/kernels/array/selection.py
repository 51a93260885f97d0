"""Choosing elements: Where, Select, TopK, InTopK."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.wire.buffers import empty
from tensorfleet_service.devices import native
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import array_kernel, array_module, invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

_FOUR_BYTES = (np.dtype(np.float32), np.dtype(np.int32))


def _chosen(xp: Any, condition: Any, then: Any, other: Any) -> Any:
    """`where`; by the compiled kernels, where all arrays are of one shape, or single numbers."""
    if (
        native.native is None
        or type(condition) is not np.ndarray
        or condition.size < native.LEAST
        or then.dtype not in _FOUR_BYTES
        or condition.dtype != np.bool_
        or then.dtype != other.dtype
        or not condition.flags.c_contiguous
    ):
        return xp.where(condition, then, other)
    for x in (then, other):
        if x.size != 1 and (x.shape != condition.shape or not x.flags.c_contiguous):
            return xp.where(condition, then, other)
    if max(then.ndim, other.ndim) > condition.ndim:
        return xp.where(condition, then, other)
    out = empty(condition.shape, then.dtype)
    numbers = then.size == 1, other.size == 1
    native.native.select(condition, then, other, out, out.size, *numbers, thread_count())
    return out


@kernel("Where")
def where(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(x: Any) -> Any:
        if x.ndim == 0:
            raise invalid("WhereOp : Unhandled input dimensions: 0")
        return xp.argwhere(x).astype(np.int64, copy=False)

    return run


@array_kernel("Select", moves=True)
def select(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(condition: Any, then: Any, other: Any) -> Any:
        shape = then.shape
        if other.shape != shape or (condition.ndim == 1 and not shape):
            raise _unlike_values(node, condition, then, other)
        if condition.ndim == 0 and array_module(xp, condition) is np:
            return then if condition else other
        if condition.ndim and condition.shape != shape:
            if condition.ndim != 1 or len(shape) == 1:
                raise _unlike(node, condition, 1, then)
            if condition.shape[0] != shape[0]:
                raise _wrong_batches(condition, then)
            condition = condition.reshape((-1,) + (1,) * (len(shape) - 1))
        return _chosen(xp, condition, then, other)

    return run


def _unlike_values(node: KernelNode, condition: Any, then: Any, other: Any) -> Exception:
    if condition.ndim == 1 and not then.ndim:
        return invalid(f"'then' must be at least a vector, but saw shape: {shape_text(then.shape)}")
    if condition.ndim == 0 or (condition.ndim == 1 and then.ndim != 1):
        if condition.ndim and condition.shape[0] != then.shape[0]:
            return _wrong_batches(condition, then)
        return invalid(
            f"'then' and 'else' must have the same size.  but received: {shape_text(then.shape)} vs. "
            f"{shape_text(other.shape)}"
        )
    index, value = (1, then) if then.shape != condition.shape else (2, other)
    return _unlike(node, condition, index, value)


def _wrong_batches(condition: Any, then: Any) -> Exception:
    return invalid(
        f"Number of batches of 'then' must match size of 'cond', but saw: {then.shape[0]} vs. "
        f"{condition.shape[0]}"
    )


def _unlike(node: KernelNode, condition: Any, index: int, value: Any) -> Exception:
    return invalid(
        f"Inputs to operation {node.name} of type {node.op} must have the same size and shape.  Input 0: "
        f"{shape_text(condition.shape)} != input {index}: {shape_text(value.shape)}"
    )


@array_kernel("SelectV2", moves=True)
def select_v2(node: KernelNode) -> Kernel:
    xp = node.xp

    def run(condition: Any, then: Any, other: Any) -> Any:
        try:
            return _chosen(xp, condition, then, other)
        except ValueError:
            raise invalid(
                f"condition {shape_text(condition.shape)}, then {shape_text(then.shape)}, and else "
                f"{shape_text(other.shape)} must be broadcastable"
            ) from None

    return run


_SORT_ALL = 256
"""Length of a row from which finding the threshold first is quicker than sorting the whole row."""


@kernel("TopK")
def top_k(node: KernelNode) -> Kernel:
    k, best = node.attrs["k"], _top(node)
    return lambda x: best(x, k)


@kernel("TopKV2")
def top_k_v2(node: KernelNode) -> Kernel:
    best = _top(node)

    def run(x: Any, k: Any) -> Any:
        if k.ndim:
            raise invalid(f"k must be scalar, got shape {shape_text(k.shape)}")
        return best(x, int(k))

    return run


@kernel("ApproxTopK")
def approx_top_k(node: KernelNode) -> Kernel:
    """Exact, as on TensorFlow's CPUs."""
    xp, best = node.xp, _top(node)
    k, axis, is_max = (node.attrs[name] for name in ("k", "reduction_dimension", "is_max_k"))
    if not node.attrs["aggregate_to_topk"]:
        raise invalid("ApproxTopK without aggregate_to_topk gives the parts of TPUs; here it is exact")

    def run(x: Any) -> Any:
        if not -x.ndim <= axis < x.ndim:
            raise invalid(f"reduction_dimension must be in [{-x.ndim}, {x.ndim}), got {axis}")
        values, places = best(xp.moveaxis(x if is_max else -x, axis, -1), k)
        values, places = (xp.ascontiguousarray(xp.moveaxis(y, -1, axis)) for y in (values, places))
        return values if is_max else -values, places

    return run


_FEW = 32
"""How many elements the compiled kernel keeps in order while it goes through a row."""


def _top(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[1].np

    def best(x: Any, k: int) -> tuple[Any, Any]:
        if k < 0:
            raise invalid(f"Need k >= 0, got {k}")
        if x.ndim == 0:
            raise invalid("input must be >= 1-D, got shape []")
        size = x.shape[-1]
        if size < k:
            raise invalid(f"input must have at least k columns. Had {size}, needed {k}")
        if 0 < k <= _FEW and native.takes(x):
            values, chosen = np.empty((*x.shape[:-1], k), x.dtype), np.empty((*x.shape[:-1], k), np.int32)
            if native.native.top_k(x, values, chosen, x.size // size, size, k, thread_count()):
                return values, chosen.astype(dtype, copy=False)
        places = None
        if size >= _SORT_ALL and 0 < k <= size // 4:
            places = _candidates(xp, x, k)
        if places is None:
            order = _descending(xp, x)[..., :k]
        else:
            order = xp.take_along_axis(places, _descending(xp, xp.take_along_axis(x, places, -1)), -1)
        return xp.take_along_axis(x, order, -1), order.astype(dtype)

    return best


def _descending(xp: Any, x: Any) -> Any:
    """The order of each row from the greatest element on; of equal ones the first comes first."""
    # Backwards twice, because sorting in ascending order keeps the order of equal elements.
    ascending = _ascending(xp, x[..., ::-1])
    return x.shape[-1] - 1 - ascending[..., ::-1]


SORTED_AT_ONCE = 1 << 20
"""Number of elements that are sorted without a look at the step."""


def _ascending(xp: Any, x: Any) -> Any:
    """The order of each row from the least element on; of equal ones the first comes first.

    Raises:
        OpError: the step has ended.
    """
    if xp is not np or x.size <= SORTED_AT_ONCE:
        return xp.argsort(x, axis=-1, kind="stable")
    size = x.shape[-1]
    rows = x.reshape(-1, size)
    order = np.empty(rows.shape, np.intp)
    if size <= SORTED_AT_ONCE:
        count = SORTED_AT_ONCE // size
        for i in range(0, len(rows), count):
            check_step()
            order[i : i + count] = np.argsort(rows[i : i + count], axis=-1, kind="stable")
        return order.reshape(x.shape)
    for row, places in zip(rows, order, strict=True):
        for begin in range(0, size, SORTED_AT_ONCE):
            check_step()
            part = slice(begin, begin + SORTED_AT_ONCE)
            np.add(np.argsort(row[part], kind="stable"), begin, out=places[part])
        # What is sorted in pieces is merged, which takes a fraction of the time.
        check_step()
        places[:] = places[np.argsort(row[places], kind="stable")]
    return order.reshape(x.shape)


def _candidates(xp: Any, x: Any, k: int) -> Any:
    """The places of the k greatest elements of each row, in ascending order; None where NaNs are found."""
    size = x.shape[-1]
    least = xp.partition(x, size - k, axis=-1)[..., size - k : size - k + 1]
    above, equal = x > least, x == least
    missing = k - above.sum(-1, keepdims=True)
    chosen = above | (equal & (equal.cumsum(-1) <= missing))
    if not (chosen.sum(-1) == k).all():
        return None
    return xp.nonzero(chosen)[-1].reshape(*x.shape[:-1], k)


@kernel("InTopK")
def in_top_k(node: KernelNode) -> Kernel:
    k, test = node.attrs["k"], _in_top(node)
    return lambda predictions, targets: test(predictions, targets, k)


@kernel("InTopKV2")
def in_top_k_v2(node: KernelNode) -> Kernel:
    test = _in_top(node)

    def run(predictions: Any, targets: Any, k: Any) -> Any:
        if k.ndim:
            raise invalid(f"k must be 0-D, got shape {shape_text(k.shape)}")
        return test(predictions, targets, int(k))

    return run


def _in_top(node: KernelNode) -> Kernel:
    xp = node.xp

    def test(predictions: Any, targets: Any, k: int) -> Any:
        if predictions.ndim != 2:
            raise invalid("predictions must be 2-dimensional")
        if targets.ndim != 1:
            raise invalid("targets must be 1-dimensional")
        if predictions.shape[0] != targets.shape[0]:
            raise invalid(
                f"First dimension of predictions {predictions.shape[0]} must match length of targets "
                f"{targets.shape[0]}"
            )
        if native.takes(predictions) and targets.flags.c_contiguous and k < 1 << 62:
            found, (rows, width) = np.empty(targets.shape, np.bool_), predictions.shape
            native.native.in_top_k(predictions, targets, found, rows, width, k, thread_count())
            return found
        known = (targets >= 0) & (targets < predictions.shape[1])
        if not predictions.size:
            return xp.zeros(targets.shape, np.bool_)
        own = xp.take_along_axis(predictions, xp.where(known, targets, 0)[:, None], 1)
        better = (predictions > own).sum(1)
        return known & xp.isfinite(predictions).all(1) & (better < k)

    return test
