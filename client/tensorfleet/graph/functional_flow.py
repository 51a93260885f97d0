"""Whether conditionals and loops are built as If, Case and While, and what builds them: control flow v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph.graph import Graph, get_default_graph

_enabled = False
_load: Callable[[], Any] | None = None


def enable(value: bool) -> None:
    """Sets how conditionals and loops are built from now on, in all graphs."""
    global _enabled
    _enabled = bool(value)


def is_enabled() -> bool:
    """What `enable` set; False by default."""
    return _enabled


def is_used(graph: Graph | None = None) -> bool:
    """Whether a graph, by default the default one, gets If, Case and While."""
    return _enabled or (graph or get_default_graph()).functional_flow


def serve(load: Callable[[], Any]) -> None:
    """Registers what gives the module with `cond`, `switch_case` and `while_loop`."""
    global _load
    _load = load


def builders() -> Any:
    """The module with `cond`, `switch_case` and `while_loop`."""
    assert _load is not None, "import tensorfleet first"
    return _load()
