"""Averages of gradients and broadcast of initial values among the workers that train one model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.distribute.collective_keys import CollectiveKeys
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.selection import boolean_mask, sequence_mask
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.collective import collective_ops
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.math.reduction import reduce_max
from tensorfleet.ops.state import variable_ops
from tensorfleet.ops.state.variable_collections import global_variables

BUCKET_BYTES = 16 << 20
"""The default size to reduce at once, so that the first gradients are sent while others are computed."""

_REDUCED = frozenset((dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64))
_GATHERED = frozenset((dtypes.float16, dtypes.float32, dtypes.float64))
_BROADCAST = frozenset(
    (dtypes.bool, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
)

GradsAndVars = list[tuple[Any, Any]]


def all_reduce_gradients(
    grads_and_vars: Iterable[tuple[Any, Any]],
    group_size: int,
    group_key: int = 1,
    keys: CollectiveKeys | None = None,
    bucket_bytes: int = BUCKET_BYTES,
    timeout: float = 0,
    mean: bool = True,
) -> GradsAndVars:
    """The mean of the gradients of all workers, with the same variables in the same order.

    Gradients of one dtype are packed into buckets, the last variables first, as their gradients come first.
    IndexedSlices are gathered: the result has the rows of all workers, whose numbers may differ.

    Args:
        grads_and_vars: as `compute_gradients` returns them; None gradients stay None, and must be None on
            every worker.
        group_size: the number of workers.
        group_key: the group of the workers.
        keys: the numbers of the collectives, by default those of `group_key` in the graph; several workers in
            one graph need an object each.
        bucket_bytes: the approximate number of bytes to reduce at once.
        timeout: see `collective_ops.all_reduce`.
        mean: whether to divide the sums by the number of workers.

    Raises:
        ValueError: a gradient has a dtype that collectives do not support, or its variable an unknown
            shape.
    """
    pairs = list(grads_and_vars)
    keys = keys or CollectiveKeys.of_graph(group_key)
    results = [grad for grad, _ in pairs]
    with framework.name_scope("all_reduce_gradients"):
        for bucket in _buckets(pairs, bucket_bytes):
            tensors = [convert_to_tensor(pairs[i][0]) for i in bucket]
            shapes = [pairs[i][1].get_shape().as_list() for i in bucket]
            reduced = _reduced(tensors, shapes, group_size, keys, timeout, mean)
            for i, result in zip(bucket, reduced, strict=True):
                results[i] = result
        for i, (grad, var) in enumerate(pairs):
            if isinstance(grad, IndexedSlices):
                _check(grad.dtype, _GATHERED, var)
                results[i] = _gather_slices(grad, group_size, keys, timeout, mean)
    return [(result, var) for result, (_, var) in zip(results, pairs, strict=True)]


def _buckets(pairs: Sequence[tuple[Any, Any]], bucket_bytes: int) -> list[list[int]]:
    """The indices of the dense gradients of each bucket, the same on all workers."""
    buckets: list[list[int]] = []
    open_buckets: dict[DType, tuple[list[int], int]] = {}
    for i in reversed(range(len(pairs))):
        grad, var = pairs[i]
        if grad is None or isinstance(grad, IndexedSlices):
            continue
        dtype = grad.dtype.base_dtype
        _check(dtype, _REDUCED, var)
        elements = var.get_shape().num_elements()
        if elements is None:
            raise ValueError(f"The gradient of {var.name} cannot be packed: the variable's shape is unknown")
        size = elements * dtype.size
        bucket, filled = open_buckets.get(dtype, ([], 0))
        if bucket and filled + size > bucket_bytes:
            bucket, filled = [], 0
        if not bucket:
            buckets.append(bucket)
        bucket.append(i)
        open_buckets[dtype] = bucket, filled + size
    return buckets


def _reduced(
    tensors: list[Tensor],
    shapes: list[list[int]],
    group_size: int,
    keys: CollectiveKeys,
    timeout: float,
    mean: bool,
) -> list[Tensor]:
    whole = tensors[0] if len(tensors) == 1 else concat([reshape(t, [-1]) for t in tensors], 0)
    final_op = "Div" if mean else "Id"
    result = collective_ops.all_reduce(
        whole, group_size, keys.group_key, keys.next_instance_key(), "Add", final_op, timeout=timeout
    )
    if len(tensors) == 1:
        result.set_shape(shapes[0])
        return [result]
    parts = split(result, [prod(dims) for dims in shapes], 0)
    return [reshape(part, dims) for part, dims in zip(parts, shapes, strict=True)]


def _gather_slices(
    grad: IndexedSlices, group_size: int, keys: CollectiveKeys, timeout: float, mean: bool
) -> IndexedSlices:
    """All workers' rows. Collectives gather equal shapes, so each worker pads to the most rows."""

    def gather(t: Tensor) -> Tensor:
        return collective_ops.all_gather(
            t, group_size, keys.group_key, keys.next_instance_key(), timeout=timeout
        )

    rows = shape(grad.indices)
    counts = gather(rows)
    most = reduce_max(counts)
    missing = most - rows[0]
    rank = grad.values.get_shape().ndims
    if rank is None:
        raise ValueError("The gathered rows of an IndexedSlices must have a known rank")
    values = gather(pad(grad.values, [[0, missing]] + [[0, 0]] * (rank - 1)))
    indices = gather(pad(grad.indices, [[0, missing]]))
    present = reshape(sequence_mask(counts, most), [-1])
    rows_of_all = boolean_mask(values, present)
    return IndexedSlices(
        rows_of_all / group_size if mean else rows_of_all, boolean_mask(indices, present), grad.dense_shape
    )


def broadcast_variables(
    variables: Iterable[Any] | None,
    is_source: bool,
    group_size: int,
    group_key: int = 1,
    keys: CollectiveKeys | None = None,
    timeout: float = 0,
) -> Any:
    """The operation that sends the values of one worker's variables, the source's, to all others.

    The source's variables must be initialized before it runs; those of the others are afterwards.

    Args:
        variables: the same ones in the same order on every worker, by default all global variables.
        is_source: whether this worker is the source.
        group_size, group_key, keys, timeout: see `all_reduce_gradients`.

    Raises:
        ValueError: a variable has a dtype that collectives do not take, or a shape that is not fully known.
    """
    keys = keys or CollectiveKeys.of_graph(group_key)
    done: list[Any] = []
    with framework.name_scope("broadcast_variables"):
        for variable in global_variables() if variables is None else variables:
            dtype, dims = variable.dtype.base_dtype, variable.get_shape()
            _check(dtype, _BROADCAST, variable)
            if not dims.is_fully_defined():
                raise ValueError(f"{variable.name} cannot be broadcast: its shape {dims} is not fully known")
            instance_key = keys.next_instance_key()
            if group_size == 1:
                continue
            with framework.colocate_with(variable):
                where = (dims, dtype, group_size, keys.group_key, instance_key)
                if is_source:
                    value = variable.read_value()
                    done.append(collective_ops.broadcast_send(value, *where, timeout=timeout))
                else:
                    value = collective_ops.broadcast_recv(*where, timeout=timeout)
                    done.append(variable_ops.assign(variable, value))
    return group(*done)


def barrier(
    group_size: int, group_key: int = 1, keys: CollectiveKeys | None = None, timeout: float = 0
) -> Any:
    """The operation that completes when all workers of the group run it; see `all_reduce_gradients`."""
    keys = keys or CollectiveKeys.of_graph(group_key)
    with framework.name_scope("barrier"):
        instance_key = keys.next_instance_key()
        return collective_ops.all_reduce(
            convert_to_tensor(0), group_size, keys.group_key, instance_key, timeout=timeout
        ).op


def _check(dtype: DType, known: frozenset[DType], variable: Any) -> None:
    if dtype not in known:
        names = ", ".join(sorted(t.name for t in known))
        raise ValueError(f"{variable.name}: collectives do not support {dtype.name} here, only {names}")
