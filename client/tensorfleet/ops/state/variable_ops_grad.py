"""The op types of `variable_ops` have no gradient; a read of a variable is an Identity."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("Variable", "VariableV2", "IsVariableInitialized", "Assign", "AssignAdd", "AssignSub")
not_differentiable("CountUpTo")
not_differentiable("ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv")
not_differentiable("ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate")
no_rule("StridedSliceAssign", "ScatterUpdate", "ScatterMin", "ScatterMax", "ScatterNdMin", "ScatterNdMax")
