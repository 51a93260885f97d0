"""Which operations depend on which tensors."""

from __future__ import annotations

from typing import Any


def depending(values: list[Any], marked: set[Any], inputs: Any) -> list[Any]:
    """Those of `values`, tensors or operations, that are `marked` and depend on `inputs`; with None, those
    that are not marked."""
    if inputs is None:
        return [v for v in values if v not in marked]
    reached = reachable_from(list(inputs) if isinstance(inputs, (list, tuple)) else [inputs])
    return [v for v in values if v in marked and getattr(v, "op", v) in reached]


def reachable_from(tensors: list[Any]) -> set[Any]:
    """The operations that depend on these tensors, by data or control, and theirs."""
    found: set[Any] = set()
    pending = [tensor.op for tensor in tensors]
    found.update(pending)
    while pending:
        op = pending.pop()
        after = [c for output in op.outputs for c in output.consumers()]
        for other in [*after, *getattr(op, "_control_outputs", ())]:
            if other not in found:
                found.add(other)
                pending.append(other)
    return found
