"""Ops that only the runtime makes, when it cuts a graph into the parts that its devices run.

`_Arg` and `_Retval` stand for the fed and the fetched tensors of a step, `_Send` and `_Recv` for a tensor on
its way between two devices. The `_Host` forms are those of TensorFlow's own workers for tensors in host
memory. `_ToHost` and `_ToDevice` copy a tensor between the memories of one device. A client's graph may not
hold any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorfleet.core.shapes import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import unchanged

if TYPE_CHECKING:
    from tensorfleet.graph.rules import RuleNode

INTERNAL_OPS = frozenset(
    ("_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv", "_ToHost", "_ToDevice")
)

_EDGE = (
    "tensor_name: string",
    "send_device: string",
    "send_device_incarnation: int",
    "recv_device: string",
    "client_terminated: bool = false",
)


def _unknown_shape(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


op("_Arg() -> (output: T)", "T: type", "index: int >= 0", shape=_unknown_shape, stateful=True)
op("_Retval(input: T) -> ()", "T: type", "index: int >= 0", shape=_unknown_shape, stateful=True)
op("_Send(tensor: T) -> ()", "T: type", *_EDGE, shape=_unknown_shape, stateful=True)
op("_HostSend(tensor: T) -> ()", "T: type", *_EDGE, shape=_unknown_shape, stateful=True)
op("_Recv() -> (tensor: tensor_type)", "tensor_type: type", *_EDGE, shape=_unknown_shape, stateful=True)
op("_HostRecv() -> (tensor: tensor_type)", "tensor_type: type", *_EDGE, shape=_unknown_shape, stateful=True)
op("_ToHost(input: T) -> (output: T)", "T: type", shape=unchanged)
op("_ToDevice(input: T) -> (output: T)", "T: type", shape=unchanged)
