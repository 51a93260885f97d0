"""The ops of tensors that stay on their task between steps of a session, and are named by handles."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar, with_rank


def _unknown(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [None]


op("GetSessionHandle(value: T) -> (handle: string)", "T: type", shape=scalar, stateful=True)
op("GetSessionTensor(handle: string) -> (value: dtype)", "dtype: type", shape=_unknown, stateful=True)
op("DeleteSessionTensor(handle: string) -> ()", shape=nothing, stateful=True)
