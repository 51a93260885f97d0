"""Nodes that only compute: their outputs depend on their inputs and attributes alone."""

from __future__ import annotations

from tensorfleet.core import dtypes
from tensorfleet.graph.op_def import OpDef
from tensorfleet_service.graph.graph import Node

CONTROL_FLOW = frozenset(
    prefix + op for op in ("Switch", "Merge", "Enter", "Exit", "NextIteration") for prefix in ("", "Ref")
) | {"LoopCond", "ControlTrigger"}
# Op types that are stateless by definition, but whose outputs depend on more than their inputs, or can be
# larger than the bound that is estimated; and those that people look for in graphs.
_KEPT = frozenset(
    (
        "Placeholder",
        "PlaceholderV2",
        "ReadFile",
        "MatchingFiles",
        "Diag",
        "MatrixDiag",
        "MatrixDiagV2",
        "MatrixDiagV3",
        "Qr",
        "Svd",
    )
)
_NEVER, _ALWAYS, _WITHOUT_HANDLES = range(3)
_pure_ops: dict[str, int] = {}


def is_pure(node: Node) -> bool:
    """Whether a node's outputs depend only on its inputs and attributes, and it has no other effect."""
    pure = _pure_ops.get(node.op)
    if pure is None:
        pure = _pure_ops[node.op] = _purity(node.opdef)
    if pure != _WITHOUT_HANDLES:
        return pure == _ALWAYS
    for types in (node.input_types, node.output_types):
        for dtype in types:
            if dtype is dtypes.resource or dtype is dtypes.variant:
                return False
    return True


def _purity(opdef: OpDef) -> int:
    args = (*opdef.inputs, *opdef.outputs)
    if (
        opdef.is_stateful
        or opdef.name in CONTROL_FLOW
        or opdef.name in _KEPT
        or any(arg.is_ref for arg in args)
        or any("func" in attr.kind for attr in opdef.attrs.values())
    ):
        return _NEVER
    for arg in args:
        name = arg.type_attr or arg.type_list_attr
        types = opdef.attrs[name].allowed if name else (arg.dtype,)
        if types is None or any(dtype in (dtypes.resource, dtypes.variant) for dtype in types):
            return _WITHOUT_HANDLES
    return _ALWAYS
