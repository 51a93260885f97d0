"""`tf.contrib.layers.flatten`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers import core


def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Tensor:
    """The inputs as a matrix, with all dimensions but the first joined (`tf.contrib.layers.flatten`).

    Args:
        outputs_collections: a collection, or several, to add the result to.
    """
    with framework.name_scope(scope, "Flatten", [inputs]):
        outputs = core.flatten(convert_to_tensor(inputs))
        if outputs_collections:
            framework.get_default_graph().add_to_collections(outputs_collections, outputs)
        return outputs
