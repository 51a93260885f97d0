"""Call: the request of one member of a collective, and the verbs of messages about collectives."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.device import parse

SMALL_BYTES = 1 << 16
"""The size of a member's tensor up to which it goes to the leader with the request to join."""

Key = tuple[int, int]
"""(group_key, instance_key)"""

Place = tuple[str, int]
"""A device's or a task's canonical name, and the incarnation of the task's process."""


class Verb(IntEnum):
    """The verb of a COLLECTIVE frame, whose `meta` is JSON.

    The frame's number is that of the join, which the member chooses, or of the round, which the leader
    chooses.
    """

    JOIN = 1  # member to leader, number: join; the Call, the members as the member knows them, a small tensor
    LEAVE = 2  # member to leader, number: join; why
    START = 3  # leader to member, number: round; the ring
    FAIL = 4  # leader to member, number: round; the task's joins, and the error
    DONE = 5  # member to leader, number: round
    BROKEN = 6  # member to leader, number: round; the error
    STOPPED = 7  # member to leader; a device, a key: its step has failed before its collective began
    RESULT = 8  # leader to member, number: round; the task's joins, all members, the result of small tensors
    LATE = 9  # member to leader, number: join; as JOIN, with a standing round, and how long it has waited
    LEFT = 10  # member to leader, number: join; a member that came late has its result
    VOID = 11  # member to members, number: a standing round; its base, and why there will be none
    UNDONE = (
        12  # member, or leader, to members, number: round; its key, whose step it has not counted for, why
    )
    HEARD = 13  # the answer to an UNDONE or LEAVE that asks for one, with the number that it has asked by


@dataclass(frozen=True)
class Call:
    """The request of one member.

    Attributes:
        kind: "reduce", "gather" or "broadcast".
        op, name, device: the node, for messages.
        dtype, shape: of the member's tensor, or of the one that it receives.
        merge_op, final_op: of a reduction, else "".
        sends: whether the member is the sender of a broadcast.
        seconds: the time after which the member gives up.
        gpu: what identifies the GPU that it is on, if NCCL is there; else "".
    """

    kind: str
    op: str
    name: str
    device: str
    group_size: int
    group_key: int
    instance_key: int
    dtype: str
    shape: tuple[int, ...]
    merge_op: str
    final_op: str
    sends: bool
    seconds: float
    gpu: str = ""

    @property
    def key(self) -> Key:
        return self.group_key, self.instance_key

    @property
    def title(self) -> str:
        return describe(self.key)

    @cached_property
    def is_small(self) -> bool:
        """Whether the leader computes the result; members that agree have the same answer."""
        return self.nbytes <= SMALL_BYTES

    @cached_property
    def nbytes(self) -> int:
        """The size of the member's tensor."""
        return int(np.dtype(self.dtype).itemsize * math.prod(self.shape))

    def result_shape(self, members: int) -> tuple[int, ...]:
        """The shape of the result of so many members."""
        if self.kind == "gather":
            return self.shape[0] * members, *self.shape[1:]
        return self.shape

    def may_result_in(self, value: Any, members: int) -> bool:
        """Whether a tensor that came as the result has its dtype and shape."""
        return bool(value.dtype == self.dtype and value.shape == self.result_shape(members))

    def difference(self, other: Call) -> str:
        """A description of the disagreement of two members of a collective; empty if they agree."""
        if other is self:
            return ""
        for aspect, mine, theirs in (
            ("group_size", self.group_size, other.group_size),
            ("operation", self.kind, other.kind),
            ("dtype", self.dtype, other.dtype),
            ("shape", list(self.shape), list(other.shape)),
            ("merge_op", self.merge_op, other.merge_op),
            ("final_op", self.final_op, other.final_op),
        ):
            if mine != theirs:
                return (
                    f"{self.op} '{self.name}' on {self.device} has {aspect} {mine}, but "
                    f"{other.op} '{other.name}' on {other.device} has {theirs}"
                )
        return ""

    def to_dict(self) -> dict[str, Any]:
        # Tasks of earlier versions know nothing of GPUs.
        return {field: getattr(self, field) for field in _FIELDS if field != "gpu" or self.gpu}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Call:
        """The request that came in a message. Raises ValueError if its shape is none."""
        if not all(type(dim) is int and dim >= 0 for dim in fields["shape"]):
            raise ValueError("a request to join a collective has no shape")
        return cls(**{**fields, "shape": tuple(fields["shape"])})


_FIELDS = [field.name for field in fields(Call)]


def describe(key: Key) -> str:
    """The name of a collective in messages."""
    return f"Collective with group_key {key[0]} and instance_key {key[1]}"


def order(device: str) -> tuple[Any, ...]:
    """The sort key of devices and tasks, in whose order members have their ranks."""
    parts = parse(device)
    return parts.job or "", parts.replica or 0, parts.task or 0, parts.type or "", parts.index or 0


def pack(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def unpack(meta: bytes) -> dict[str, Any]:
    """The content of a message. Raises ValueError if it is not a JSON object."""
    try:
        fields = json.loads(meta) if meta else {}
    except RecursionError:
        raise ValueError("a message about a collective is nested too deeply") from None
    if not isinstance(fields, dict):
        raise ValueError("a message about a collective is not an object")
    return fields


def error_fields(error: errors.OpError) -> dict[str, Any]:
    return {"code": error.error_code, "text": error.message}


def error_of(fields: dict[str, Any]) -> errors.OpError:
    return errors.from_code(int(fields["code"]), str(fields["text"]))
