"""The op types of `script` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("PyFunc", "PyFuncStateless")
