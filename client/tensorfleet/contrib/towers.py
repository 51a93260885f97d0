"""`tf.contrib.nccl` and `tf.contrib.all_reduce`: sums over the devices of one graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.arithmetic import add, maximum, minimum, multiply


def _over(combine: Callable[[Any, Any], Any], tensors: Any) -> list[Any]:
    """All tensors combined, with a copy on the device of each."""
    tensors = [convert_to_tensor(t) for t in tensors]
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    total = functools.reduce(combine, tensors)
    copies = []
    for tensor in tensors:
        with framework.device(tensor.device or None):
            copies.append(identity(total))
    return copies


def all_sum(tensors: Any) -> list[Any]:
    """The sum of tensors, on the device of each (`tf.contrib.nccl.all_sum`)."""
    return _over(add, tensors)


def all_prod(tensors: Any) -> list[Any]:
    """The product of tensors, on the device of each (`tf.contrib.nccl.all_prod`)."""
    return _over(multiply, tensors)


def all_min(tensors: Any) -> list[Any]:
    """The least of tensors, element by element, on the device of each (`tf.contrib.nccl.all_min`)."""
    return _over(minimum, tensors)


def all_max(tensors: Any) -> list[Any]:
    """The greatest of tensors, element by element, on the device of each (`tf.contrib.nccl.all_max`)."""
    return _over(maximum, tensors)


def reduce_sum_of(tensors: Any) -> Any:
    """The sum of tensors (`tf.contrib.nccl.reduce_sum`)."""
    return functools.reduce(add, [convert_to_tensor(t) for t in tensors])


def broadcast(tensor: Any) -> Any:
    """The tensor, which is sent where it is used (`tf.contrib.nccl.broadcast`)."""
    return identity(tensor)


def build_ring_all_reduce(
    input_tensors: Any, num_workers: int, num_subchunks: int, gpu_perm: Any, red_op: Any, un_op: Any = None
) -> list[Any]:
    """Tensors combined by `red_op`, then changed by `un_op`, on the device of each
    (`tf.contrib.all_reduce.build_ring_all_reduce`).

    Args:
        num_workers, num_subchunks, gpu_perm: without effect: what travels is found when the graph is divided.
    """
    return _finished(_over(red_op, input_tensors), un_op)


def build_recursive_hd_all_reduce(input_tensors: Any, red_op: Any, un_op: Any = None) -> list[Any]:
    """As `build_ring_all_reduce` (`tf.contrib.all_reduce.build_recursive_hd_all_reduce`).

    Raises:
        ValueError: the number of tensors is no power of 2.
    """
    if len(input_tensors) & (len(input_tensors) - 1):
        raise ValueError("num_devices not a power of 2")
    return _finished(_over(red_op, input_tensors), un_op)


def build_shuffle_all_reduce(
    input_tensors: Any, gather_devices: Any, red_op: Any, un_op: Any = None
) -> list[Any]:
    """As `build_ring_all_reduce`, with each part combined on one of `gather_devices` by `red_op`, which takes
    the list of parts, as `tf.add_n` does (`tf.contrib.all_reduce.build_shuffle_all_reduce`)."""
    tensors = [convert_to_tensor(t) for t in input_tensors]
    flat = [reshape(t, [-1]) for t in tensors]
    parts = [array_split(t, len(gather_devices)) for t in flat]
    combined = []
    for number, device in enumerate(gather_devices):
        with framework.device(device):
            combined.append(red_op([part[number] for part in parts]))
    copies = []
    for tensor in tensors:
        with framework.device(tensor.device or None):
            copies.append(reshape(concat(combined, 0), shape(tensor)))
    return _finished(copies, un_op)


def array_split(tensor: Any, count: int) -> list[Any]:
    """A vector in so many parts, of about the same size."""
    size = (shape(tensor)[0] + count - 1) // count
    return [tensor[number * size : (number + 1) * size] for number in range(count)]


def _finished(tensors: list[Any], un_op: Any) -> list[Any]:
    if un_op is None:
        return tensors
    made = []
    for tensor in tensors:
        with framework.colocate_with(tensor):
            made.append(un_op(tensor))
    return made
