"""The op types that optimizers make, none of which has a gradient."""

from __future__ import annotations

from tensorfleet import op_def
from tensorfleet.gradient_registry import not_differentiable
from tensorfleet.ops import training  # noqa: F401 - registers them

_PREFIXES = ("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply")

not_differentiable(*(name for name in op_def.registered() if name.startswith(_PREFIXES)))
