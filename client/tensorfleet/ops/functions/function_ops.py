"""Signatures of the ops that call functions of the graph's library: PartitionedCall, If, While, …"""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode


def _declared(op: RuleNode) -> list[Dims]:
    """The shapes in the attribute `output_shapes`; unknown ones if it is empty."""
    shapes: list[Dims] = op.attrs["output_shapes"]
    return list(shapes) if len(shapes) == len(op.outputs) else [None] * len(op.outputs)


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def _gradient(op: RuleNode) -> list[Dims]:
    """Each gradient has its argument's shape."""
    if len(op.inputs) < len(op.outputs):
        raise ValueError(f"len(inputs) < len(outputs): {len(op.inputs)} < {len(op.outputs)}")
    return [tensor.dims for tensor in op.inputs[: len(op.outputs)]]


for _name, _stateful in (("PartitionedCall", False), ("StatefulPartitionedCall", True)):
    op(
        f"{_name}(args: list(Tin)) -> (output: list(Tout))",
        "Tin: list(type) >= 0",
        "Tout: list(type) >= 0",
        "f: func",
        'config: string = ""',
        'config_proto: string = ""',
        'executor_type: string = ""',
        shape=_unknown,
        stateful=_stateful,
    )

op(
    "RemoteCall(target: string, args: list(Tin)) -> (output: list(Tout))",
    "Tin: list(type) >= 1",
    "Tout: list(type) >= 1",
    "f: func",
    shape=_unknown,
    stateful=True,
)
op(
    "SymbolicGradient(input: list(Tin)) -> (output: list(Tout))",
    "Tin: list(type) >= 1",
    "Tout: list(type) >= 1",
    "f: func",
    shape=_gradient,
)
for _name, _stateful in (("StatelessIf", False), ("If", True)):
    op(
        f"{_name}(cond: Tcond, input: list(Tin)) -> (output: list(Tout))",
        "Tcond: type",
        "Tin: list(type) >= 0",
        "Tout: list(type) >= 0",
        "then_branch: func",
        "else_branch: func",
        "output_shapes: list(shape) = []",
        shape=_declared,
        stateful=_stateful,
    )
for _name, _stateful in (("StatelessCase", False), ("Case", True)):
    op(
        f"{_name}(branch_index: int32, input: list(Tin)) -> (output: list(Tout))",
        "Tin: list(type) >= 0",
        "Tout: list(type) >= 0",
        "branches: list(func) >= 1",
        "output_shapes: list(shape) = []",
        shape=_declared,
        stateful=_stateful,
    )
for _name, _stateful in (("StatelessWhile", False), ("While", True)):
    op(
        f"{_name}(input: list(T)) -> (output: list(T))",
        "T: list(type) >= 0",
        "cond: func",
        "body: func",
        "output_shapes: list(shape) = []",
        "parallel_iterations: int = 10",
        shape=_declared,
        stateful=_stateful,
    )
op(
    "For(start: int32, limit: int32, delta: int32, input: list(T)) -> (output: list(T))",
    "T: list(type) >= 0",
    "body: func",
    shape=_unknown,
)
