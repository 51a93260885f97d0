"""The op types of `reader_ops` have no gradient; the same ones as in TensorFlow have no rule at all."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

_ASKED = ("Read", "ReadUpTo", "NumRecordsProduced", "NumWorkUnitsCompleted", "Reset", "RestoreState")
for _op_types in (
    [f"Reader{question}" for question in (*_ASKED, "SerializeState")],
    [f"{kind}Reader" for kind in ("FixedLengthRecord", "Identity", "TFRecord", "TextLine", "WholeFile")],
):
    not_differentiable(*_op_types)
    no_rule(*(f"{op_type}V2" for op_type in _op_types))
no_rule("MatchingFiles", "ReadFile", "WriteFile")
