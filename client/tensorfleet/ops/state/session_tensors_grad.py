"""The op types of `session_tensors` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor")
