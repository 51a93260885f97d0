"""Collectives: CollectiveReduce, CollectiveGather, CollectiveBcastSend, CollectiveBcastRecv, and their V2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, format_dims
from tensorfleet_service.collectives.call import Call, Key
from tensorfleet_service.collectives.device_value import DeviceValue, gpu_of
from tensorfleet_service.collectives.member import Group
from tensorfleet_service.kernels.registry import AsyncKernel, KernelNode, kernel
from tensorfleet_service.kernels.values import ints


class _Member:
    """The part of one node in its collectives.

    The group is looked up once, and kept as long as the session lasts.
    """

    def __init__(self, node: KernelNode, kind: str) -> None:
        attrs = node.attrs
        self.kind = kind
        self.sends = node.op.startswith("CollectiveBcastSend")
        self._node = node
        self._service = node.resources.collectives
        by_ring = attrs.get("communication_hint") == b"ring"
        self._gpu = "" if by_ring else gpu_of(node.xp)
        self._dtype = node.output_types[0].name
        self._merge_op, self._final_op = (
            attrs[name].decode() if kind == "reduce" else "" for name in ("merge_op", "final_op")
        )
        self._seconds = float(attrs["timeout_seconds"])
        self._group: Group | None = None
        self._key: Key | None = None
        self._calls = 0
        # The last request, which most steps repeat: another thread may replace it at any time.
        self._last: tuple[tuple[Any, ...], Call] | None = None
        if "group_key" in attrs:
            self._use((attrs["group_key"], attrs["instance_key"]))

    def _use(self, key: Key) -> Group | None:
        if self._service is not None and (self._key is None or self._key[0] != key[0]):
            self._group = self._service.group(self._node.device, key[0])
        self._key = key
        return self._group

    def run(self, value: Any, dims: Sequence[int], group_size: int, group_key: int, instance_key: int) -> Any:
        """The result, or a Future for it; `value` is None for a member that receives."""
        self._calls += 1
        node = self._node
        if group_size < 1:
            raise errors.InvalidArgumentError(None, None, f"group_size must be positive, but is {group_size}")
        if group_size == 1 and value is not None:
            return value
        group = self._use((group_key, instance_key))
        if self._service is None or group is None:
            raise errors.InternalError(None, None, f"{node.device} takes part in no collectives")
        about = tuple(dims), group_size, group_key, instance_key
        last = self._last
        if last is not None and last[0] == about:
            call = last[1]
        else:
            call = Call(
                self.kind,
                node.op,
                node.name,
                node.device,
                group_size,
                group_key,
                instance_key,
                self._dtype,
                about[0],
                self._merge_op,
                self._final_op,
                self.sends,
                self._seconds or self._service.seconds,
                self._gpu,
            )
            self._last = about, call
        if node.xp is np:
            return self._service.join(call, value, group)
        here = DeviceValue(node.xp, value)
        # What is small goes to the leader with the request.
        return self._service.join(call, here.to_host() if call.is_small else here, group).then(here.take)

    def watch(self) -> Callable[[errors.OpError], None]:
        """The function that releases the other members if a step fails before this node has run.

        It does nothing if a collective of the group has failed meanwhile, which has released them.
        """
        calls, group = self._calls, self._group
        failures = 0 if group is None else group.failures

        def failed(error: errors.OpError) -> None:
            if self._calls != calls or group is None or group.failures != failures:
                return
            assert self._service is not None
            assert self._key is not None
            self._service.stopped(self._node.device, self._key, error)

        return failed


def _keys(node: KernelNode) -> tuple[int, int, int]:
    return node.attrs["group_size"], node.attrs["group_key"], node.attrs["instance_key"]


@kernel("CollectiveReduce", blocking=True)
def reduce(node: KernelNode) -> AsyncKernel:
    member, keys = _Member(node, "reduce"), _keys(node)
    return AsyncKernel(lambda value: member.run(value, value.shape, *keys), member.watch)


@kernel("CollectiveGather", blocking=True)
def gather(node: KernelNode) -> AsyncKernel:
    member, keys = _Member(node, "gather"), _keys(node)

    def run(value: Any) -> Any:
        _check_rank(value)
        return member.run(value, value.shape, *keys)

    return AsyncKernel(run, member.watch)


@kernel("CollectiveBcastSend", blocking=True)
def broadcast_send(node: KernelNode) -> AsyncKernel:
    member, keys, declared = _Member(node, "broadcast"), _keys(node), node.attrs["shape"]

    def run(value: Any) -> Any:
        if value.shape != declared:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The tensor to broadcast has shape {format_dims(value.shape)}, but {format_dims(declared)} "
                "was declared",
            )
        return member.run(value, value.shape, *keys)

    return AsyncKernel(run, member.watch)


@kernel("CollectiveBcastRecv", blocking=True)
def broadcast_recv(node: KernelNode) -> AsyncKernel:
    member, keys = _Member(node, "broadcast"), _keys(node)
    declared = _known(node.attrs["shape"])
    return AsyncKernel(lambda: member.run(None, declared, *keys), member.watch)


@kernel("CollectiveReduceV2", "CollectiveGatherV2", "CollectiveBcastSendV2", blocking=True)
def with_key_inputs(node: KernelNode) -> AsyncKernel:
    kinds = {"CollectiveReduceV2": "reduce", "CollectiveGatherV2": "gather"}
    member = _Member(node, kinds.get(node.op, "broadcast"))

    def run(value: Any, group_size: Any, group_key: Any, instance_key: Any, *tokens: Any) -> Any:
        if member.kind == "gather":
            _check_rank(value)
        return member.run(value, value.shape, *_scalars(group_size, group_key, instance_key))

    return AsyncKernel(run, member.watch)


@kernel("CollectiveBcastRecvV2", blocking=True)
def broadcast_recv_v2(node: KernelNode) -> AsyncKernel:
    member = _Member(node, "broadcast")

    def run(group_size: Any, group_key: Any, instance_key: Any, shape: Any) -> Any:
        dims = _known(tuple(ints(shape)))
        return member.run(None, dims, *_scalars(group_size, group_key, instance_key))

    return AsyncKernel(run, member.watch)


def _scalars(group_size: Any, group_key: Any, instance_key: Any) -> tuple[int, int, int]:
    for name, value in (
        ("group_size", group_size),
        ("group_key", group_key),
        ("instance_key", instance_key),
    ):
        if value.size != 1 or value.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"{name} must be a scalar, but has shape {list(value.shape)}"
            )
    return int(group_size), int(group_key), int(instance_key)


def _check_rank(value: Any) -> None:
    if not value.ndim:
        raise errors.InvalidArgumentError(
            None, None, "A tensor of rank 0 cannot be gathered: rank 1 is the least"
        )


def _known(dims: Dims) -> tuple[int, ...]:
    if dims is None or any(size is None or size < 0 for size in dims):
        raise errors.InvalidArgumentError(
            None, None, f"The shape of a broadcast tensor must be fully known, but is {format_dims(dims)}"
        )
    return tuple(size for size in dims if size is not None)
