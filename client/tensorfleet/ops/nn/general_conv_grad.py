"""The op types of `general_conv` have no gradient rule, as in TensorFlow."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule

no_rule("Conv", "Conv2DBackpropFilterV2", "Conv2DBackpropInputV2")
