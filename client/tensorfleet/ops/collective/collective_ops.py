"""Collectives: values reduced, gathered and broadcast among devices, without a parameter server.

As in TensorFlow 1.x, the functions are on no `tf` name. A program gets them by

    from tensorfleet.ops import collective_ops

where TensorFlow has `from tensorflow.python.ops import collective_ops`.

The members of a group are devices: of one graph, or of the graphs of several sessions that run at the same
time. Members find each other by `group_key`; `instance_key` says which of the group's collectives an op
belongs to, so all members use the same key for it, and another one for another collective.
`docs/collectives.md` says what is guaranteed.
"""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import unchanged, with_rank, with_rank_at_least


def _gathered(op: RuleNode) -> list[Dims]:
    """The input's shape, its first dimension times the group's size, which only version 1 of the op knows."""
    dims = with_rank_at_least(op.inputs[0].dims, 1)
    if dims is None:
        return [None]
    size = op.attrs.get("group_size")
    return [(None if size is None or dims[0] is None else dims[0] * size, *dims[1:])]


def _declared(op: RuleNode) -> list[Dims]:
    return [op.attrs["shape"]]


def _received(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[3].dims, 1)
    return [static_dims(op.inputs[3])]


_KEYS = ("group_size: int", "group_key: int", "instance_key: int")
_KEY_INPUTS = "group_size: int32, group_key: int32, instance_key: int32"
_TOKENS = "ordering_token: Nordering_token * resource"
_HOW = ('communication_hint: string = "auto"', "timeout_seconds: float = 0.0")
_OPS = ('merge_op: {"Min", "Max", "Mul", "Add"}', 'final_op: {"Id", "Div"}')
_REDUCED = "T: {bfloat16, float32, float16, float64, int32, int64}"
_GATHERED = "T: {float32, float16, float64, int32, int64}"
_BROADCAST = "T: {bool, float32, float16, float64, int32, int64}"
_ORDERED = ("is_stateless: bool = false", "Nordering_token: int >= 0 = 0")

op(
    "CollectiveReduce(input: T) -> (data: T)",
    _REDUCED,
    *_KEYS,
    *_OPS,
    "subdiv_offsets: list(int)",
    "wait_for: list(int) = []",
    *_HOW,
    shape=unchanged,
    stateful=True,
)
op(
    "CollectiveGather(input: T) -> (data: T)",
    _GATHERED,
    *_KEYS,
    "shape: shape",
    *_HOW,
    shape=_gathered,
    stateful=True,
)
op(
    "CollectiveBcastSend(input: T) -> (data: T)",
    _BROADCAST,
    *_KEYS,
    "shape: shape",
    *_HOW,
    shape=_declared,
    stateful=True,
)
op(
    "CollectiveBcastRecv() -> (data: T)",
    _BROADCAST,
    *_KEYS,
    "shape: shape",
    *_HOW,
    shape=_declared,
    stateful=True,
)
op(
    f"CollectiveReduceV2(input: T, {_KEY_INPUTS}, {_TOKENS}) -> (data: T)",
    _REDUCED,
    *_OPS,
    *_HOW,
    *_ORDERED,
    "max_subdivs_per_device: int = -1",
    shape=unchanged,
    stateful=True,
)
op(
    f"CollectiveGatherV2(input: T, {_KEY_INPUTS}, {_TOKENS}) -> (data: T)",
    _GATHERED,
    *_HOW,
    *_ORDERED,
    shape=_gathered,
    stateful=True,
)
op(
    f"CollectiveBcastSendV2(input: T, {_KEY_INPUTS}) -> (data: T)",
    _BROADCAST,
    *_HOW,
    shape=unchanged,
    stateful=True,
)
op(
    f"CollectiveBcastRecvV2({_KEY_INPUTS}, shape: Tshape) -> (data: T)",
    _BROADCAST,
    "Tshape: {int32, int64} = int32",
    *_HOW,
    shape=_received,
    stateful=True,
)


def all_reduce(
    t: Tensor,
    group_size: int,
    group_key: int,
    instance_key: int,
    merge_op: str = "Add",
    final_op: str = "Id",
    subdiv_offsets: Any = (0,),
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """The tensors of all members, reduced element by element; every member gets the same bits.

    Args:
        t: a tensor of the same dtype and shape on every member; bfloat16, float16, float32, float64, int32 or
            int64.
        group_size: how many members there are, each on another device.
        group_key, instance_key: which group, and which of its collectives.
        merge_op: "Add", "Mul", "Min" or "Max".
        final_op: "Id", or "Div", which divides the reduced value by the group's size.
        subdiv_offsets, communication_hint: accepted as in TensorFlow; the way of the data does not depend on
            them.
        timeout: seconds until a DeadlineExceededError where members are missing; 0: the runtime's limit.

    Raises:
        ValueError: `group_size` is less than 1, or an op has another name.
    """
    _check_size(group_size, 1, "all_reduce")
    return apply_one(
        "CollectiveReduce",
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=subdiv_offsets,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def all_reduce_v2(
    t: Tensor,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    merge_op: str = "Add",
    final_op: str = "Id",
    communication_hint: str = "auto",
    timeout: float = 0,
    ordering_token: Tensor | None = None,
    max_subdivs_per_device: int = -1,
    name: str | None = None,
) -> Tensor:
    """`all_reduce` whose size and keys are int32 tensors; `ordering_token` is a resource that is not used."""
    return apply_one(
        "CollectiveReduceV2",
        t,
        group_size,
        group_key,
        instance_key,
        [] if ordering_token is None else [ordering_token],
        merge_op=merge_op,
        final_op=final_op,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
        is_stateless=False,
        max_subdivs_per_device=max_subdivs_per_device,
        name=name,
    )


def all_gather(
    t: Tensor,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """The tensors of all members, one after the other along the first dimension, in the order of their
    devices.

    Args:
        t: a tensor of rank 1 or more, of the same dtype and shape on every member; float16, float32, float64,
            int32 or int64.

    The other arguments are those of `all_reduce`.

    Raises:
        ValueError: `group_size` is less than 1, or `t` has rank 0.
    """
    _check_size(group_size, 1, "all_gather")
    return apply_one(
        "CollectiveGather",
        t,
        shape=[0],
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def all_gather_v2(
    t: Tensor,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    communication_hint: str = "auto",
    timeout: float = 0,
    ordering_token: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """`all_gather` whose size and keys are int32 tensors; `ordering_token` is a resource that is not used."""
    return apply_one(
        "CollectiveGatherV2",
        t,
        group_size,
        group_key,
        instance_key,
        [] if ordering_token is None else [ordering_token],
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
        is_stateless=False,
        name=name,
    )


def broadcast_send(
    t: Tensor,
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """Gives `t` to all other members of the group, which call `broadcast_recv`; returns it, too.

    Args:
        t: bool, float16, float32, float64, int32 or int64.
        shape, dtype: those of `t`.
        group_size: the receivers and the sender together.

    The other arguments are those of `all_reduce`.

    Raises:
        ValueError: `group_size` is less than 2, or `t` has another shape or dtype.
    """
    _check_size(group_size, 2, "broadcast_send")
    if t.shape != shape:
        raise ValueError(
            "Shape of broadcast_send tensor `t` not equal to declared shape. "
            f"Received {t.shape}, expected {shape}."
        )
    if t.dtype != dtype:
        raise ValueError(
            "Type of broadcast_send tensor `t` not equal to declared type. "
            f"Received {t.dtype}, expected {dtype}."
        )
    return apply_one(
        "CollectiveBcastSend",
        t,
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_send_v2(
    t: Tensor,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """`broadcast_send` whose size and keys are int32 tensors."""
    return apply_one(
        "CollectiveBcastSendV2",
        t,
        group_size,
        group_key,
        instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_recv(
    shape: Any,
    dtype: Any,
    group_size: int,
    group_key: int,
    instance_key: int,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """The tensor that the group's one sender gives to `broadcast_send`, of this shape and dtype.

    Raises:
        ValueError: `group_size` is less than 2.
    """
    # TensorFlow's text names the sender here, too.
    _check_size(group_size, 2, "broadcast_send")
    return apply_one(
        "CollectiveBcastRecv",
        shape=shape,
        T=dtype,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def broadcast_recv_v2(
    shape: Any,
    dtype: Any,
    group_size: Any,
    group_key: Any,
    instance_key: Any,
    communication_hint: str = "auto",
    timeout: float = 0,
) -> Tensor:
    """`broadcast_recv` whose size, keys and shape are integer tensors."""
    return apply_one(
        "CollectiveBcastRecvV2",
        group_size,
        group_key,
        instance_key,
        shape,
        T=dtype,
        communication_hint=communication_hint.lower(),
        timeout_seconds=timeout,
    )


def _check_size(group_size: int, least: int, function: str) -> None:
    if group_size < least:
        raise ValueError(
            f"Parameter `group_size` to {function} must be at least {least}. Received: {group_size}."
        )
