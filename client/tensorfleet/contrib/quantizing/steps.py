"""The number of steps that a graph has been trained with quantization."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.ops.state.variable_scope import variable_scope

_NAME = "fake_quantization_step"


def quantization_step() -> Any:
    """The step, which each run that takes it counts: one operation of the graph, as delays depend on it."""
    graph = get_default_graph()
    try:
        return graph.get_tensor_by_name(f"{_NAME}/AssignAdd:0")
    except KeyError:
        pass
    with graph.name_scope(None), variable_scope("", reuse=False):
        step: Any = get_variable(
            _NAME,
            [],
            dtypes.int64,
            zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
            use_resource=False,
        )
        with graph.name_scope(f"{_NAME}/"):
            return assign_add(step, 1, name=f"{_NAME}/AssignAdd/")
