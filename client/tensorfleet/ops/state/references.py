"""References passed on and chosen, variables that last for a step, and counters that are resources."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar, unchanged, with_rank


def _selected(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    first, *rest = (tensor.dims for tensor in op.inputs[1:])
    return [
        first if first is not None and None not in first and all(dims == first for dims in rest) else None
    ]


def _declared(op: RuleNode) -> list[Dims]:
    return [op.attrs["shape"]]


op(
    "RefIdentity(input: Ref(T)) -> (output: Ref(T))",
    "T: type",
    shape=unchanged,
    uninitialized=True,
)
op(
    "RefSelect(index: int32, inputs: Ref(N * T)) -> (output: Ref(T))",
    "T: type",
    "N: int >= 1",
    shape=_selected,
)
op(
    "TemporaryVariable() -> (ref: Ref(dtype))",
    "shape: shape",
    "dtype: type",
    'var_name: string = ""',
    shape=_declared,
    stateful=True,
)
op("DestroyTemporaryVariable(ref: Ref(T)) -> (value: T)", "T: type", "var_name: string", shape=unchanged)
op(
    "ResourceCountUpTo(resource: resource) -> (output: T)",
    "limit: int",
    "T: {int32, int64}",
    shape=scalar,
    stateful=True,
)
op("DisableCopyOnRead(resource: resource) -> ()", shape=nothing, stateful=True)
