"""Leaving functions and control dependencies: `tf.init_scope`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.tensor import Tensor


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """A `with` block outside of functions and of control dependencies (`tf.init_scope`).

    What is built in it, such as variables and their initial values, belongs to the outermost graph, under the
    name scope of the block.
    """
    inner = get_default_graph()
    outer: Graph = inner
    while isinstance(outer, FuncGraph):
        outer = outer.outer
    scope = inner.get_name_scope()
    with (
        outer.as_default(),
        outer.name_scope(f"{scope}/" if scope else None),
        outer.control_dependencies(None),
    ):
        yield


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether a value is a tensor of a graph, or consists of them (`tf.is_symbolic_tensor`)."""
    return isinstance(tensor, Tensor) or hasattr(tensor, "_as_graph_element") or hasattr(tensor, "_tensors")
