"""The variables that a graph declares, and their sizes."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

from tensorfleet.core import dtypes
from tensorfleet_service.state.variables import DEFAULT_CONTAINER

if TYPE_CHECKING:
    from tensorfleet.proto.graph_pb2 import GraphDef

_OPS = frozenset(("Variable", "VariableV2", "VarHandleOp"))
_STRING_BYTES = 8  # of the reference to a string


def declared_variables(graph_def: GraphDef, session: str = "") -> dict[tuple[str, str], int]:
    """The bytes of each variable by (container, name); unknown dimensions count as 0.

    Args:
        session: the handle of a session that shares its variables with no other; "" if it does.
    """
    found: dict[tuple[str, str], int] = {}
    bodies = (function.node_def for function in graph_def.library.function)
    for node in chain(graph_def.node, *bodies):
        if node.op not in _OPS:
            continue
        try:
            dtype = dtypes.as_dtype(node.attr["dtype"].type)
        except (TypeError, ValueError):
            continue  # which is refused where the graph is looked at
        shape = node.attr["shape"].shape
        count = 0 if shape.unknown_rank else math.prod(max(dim.size, 0) for dim in shape.dim)
        size = _STRING_BYTES if dtype.np is None else dtype.np.itemsize
        container = node.attr["container"].s.decode("utf-8", "replace") or DEFAULT_CONTAINER
        name = node.attr["shared_name"].s.decode("utf-8", "replace") or node.name
        found[container, name] = max(count * size, found.get((container, name), 0))
    if session:
        return {(session, f"{container}/{name}"): size for (container, name), size in found.items()}
    return found
