"""Signatures of optional values: the components of an element, or the lack of one."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import scalar, with_rank


def _declared(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    shapes: list[Dims] = op.attrs["output_shapes"]
    if len(shapes) != len(op.outputs):
        raise ValueError(
            f"`output_shapes` must be the same length as `output_types` ({len(shapes)} vs. {len(op.outputs)})"
        )
    return list(shapes)


op(
    "OptionalFromValue(components: list(Toutput_types)) -> (optional: variant)",
    "Toutput_types: list(type) >= 1",
    shape=scalar,
)
op("OptionalNone() -> (optional: variant)", shape=scalar)
op("OptionalHasValue(optional: variant) -> (has_value: bool)", shape=scalar)
op(
    "OptionalGetValue(optional: variant) -> (components: list(output_types))",
    "output_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
    shape=_declared,
)
op(
    "IteratorGetNextAsOptional(iterator: resource) -> (optional: variant)",
    "output_types: list(type) >= 1",
    "output_shapes: list(shape) >= 1",
    shape=scalar,
    stateful=True,
)
