"""The ops of queues, by resource and, in their older forms, by reference."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


_TYPES = "component_types: list(type) >= 1"
_SHAPES = "shapes: list(shape) >= 0 = []"
_PLACE = ('container: string = ""', 'shared_name: string = ""')
_TIMEOUT = "timeout_ms: int = -1"
_RANDOM = ("min_after_dequeue: int = 0", "seed: int = 0", "seed2: int = 0")

for _suffix, _output, _rule in (("V2", "resource", scalar), ("", "Ref(string)", _pair)):
    for _kind in ("FIFOQueue", "PaddingFIFOQueue"):
        op(
            f"{_kind}{_suffix}() -> (handle: {_output})",
            _TYPES,
            _SHAPES,
            "capacity: int = -1",
            *_PLACE,
            shape=_rule,
            stateful=True,
        )
    op(
        f"RandomShuffleQueue{_suffix}() -> (handle: {_output})",
        _TYPES,
        _SHAPES,
        "capacity: int = -1",
        *_RANDOM,
        *_PLACE,
        shape=_rule,
        stateful=True,
    )
    op(
        f"PriorityQueue{_suffix}() -> (handle: {_output})",
        "component_types: list(type) >= 0 = []",
        "shapes: list(shape) >= 0",
        "capacity: int = -1",
        *_PLACE,
        shape=_rule,
        stateful=True,
    )
    # The older forms are not declared stateful, as they take a reference.
    _stateful = _suffix == "V2"
    for _name in ("QueueEnqueue", "QueueEnqueueMany"):
        op(
            f"{_name}{_suffix}(handle: {_output}, components: list(Tcomponents)) -> ()",
            "Tcomponents: list(type) >= 1",
            _TIMEOUT,
            shape=nothing,
            stateful=_stateful,
        )
    op(
        f"QueueDequeue{_suffix}(handle: {_output}) -> (components: list(component_types))",
        _TYPES,
        _TIMEOUT,
        shape=_unknown,
        stateful=_stateful,
    )
    for _name in ("QueueDequeueMany", "QueueDequeueUpTo"):
        op(
            f"{_name}{_suffix}(handle: {_output}, n: int32) -> (components: list(component_types))",
            _TYPES,
            _TIMEOUT,
            shape=_unknown,
            stateful=_stateful,
        )
    op(
        f"QueueClose{_suffix}(handle: {_output}) -> ()",
        "cancel_pending_enqueues: bool = false",
        shape=nothing,
        stateful=_stateful,
    )
    op(f"QueueIsClosed{_suffix}(handle: {_output}) -> (is_closed: bool)", shape=scalar, stateful=_stateful)
    op(f"QueueSize{_suffix}(handle: {_output}) -> (size: int32)", shape=scalar, stateful=_stateful)
