"""Tensors that sessions keep end gradients: the steps before are over."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import not_differentiable

not_differentiable("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor")
