"""The ops of barriers, which gather the components of an element by its key until all have come."""

from __future__ import annotations

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar, with_rank, with_rank_at_least


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def _inserted(op: RuleNode) -> list[Dims]:
    keys = with_rank(op.inputs[1].dims, 1)
    values = with_rank_at_least(op.inputs[2].dims, 1)
    if values is not None:
        dims_module.merge(keys, values[:1])
    return []


_HANDLE = "handle: Ref(string)"
op(
    "Barrier() -> (handle: Ref(string))",
    "component_types: list(type) >= 1",
    "shapes: list(shape) >= 0 = []",
    "capacity: int = -1",
    'container: string = ""',
    'shared_name: string = ""',
    shape=_pair,
    stateful=True,
)
op(
    f"BarrierInsertMany({_HANDLE}, keys: string, values: T) -> ()",
    "T: type",
    "component_index: int",
    shape=_inserted,
)
op(
    f"BarrierTakeMany({_HANDLE}, num_elements: int32) -> "
    "(indices: int64, keys: string, values: list(component_types))",
    "component_types: list(type) >= 1",
    "allow_small_batch: bool = false",
    "wait_for_incomplete: bool = false",
    "timeout_ms: int = -1",
    shape=_unknown,
)
op(f"BarrierClose({_HANDLE}) -> ()", "cancel_pending_enqueues: bool = false", shape=nothing)
op(f"BarrierReadySize({_HANDLE}) -> (size: int32)", shape=scalar)
op(f"BarrierIncompleteSize({_HANDLE}) -> (size: int32)", shape=scalar)
