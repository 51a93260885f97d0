"""Elements of a graph, found by what names them: a Tensor, an Operation, a name, a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

if TYPE_CHECKING:
    from tensorfleet.graph.graph import Graph


def find_element(graph: Graph, obj: Any, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
    """The element that `obj` names; see `Graph.as_graph_element`."""
    operations = graph._operations
    if not (allow_tensor or allow_operation):
        raise ValueError("allow_tensor and allow_operation can't both be False.")
    types_text = (
        "Tensor or Operation"
        if allow_tensor and allow_operation
        else "Tensor"
        if allow_tensor
        else "Operation"
    )
    if hasattr(obj, "_as_graph_element"):
        obj = obj._as_graph_element()
    if isinstance(obj, (Tensor, Operation)):
        if not (allow_tensor if isinstance(obj, Tensor) else allow_operation):
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {types_text}.")
        if obj.graph is not graph:
            raise ValueError(f"{obj} is not an element of this graph.")
        return obj
    if isinstance(obj, bytes):
        obj = obj.decode()
    if not isinstance(obj, str):
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {types_text}.")
    if ":" in obj and allow_tensor:
        op_name, _, index_text = obj.partition(":")
        if not op_name or not index_text.isdigit():
            raise ValueError(
                f"The name {obj!r} looks a like a Tensor name, but is not a valid one. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
            )
        op = operations.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {obj!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                "does not exist in the graph."
            )
        index = int(index_text)
        if index >= len(op.outputs):
            raise KeyError(
                f"The name {obj!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                f"exists but only has {len(op.outputs)} outputs."
            )
        return op.outputs[index]
    if ":" in obj:
        raise ValueError(f"Name {obj!r} appears to refer to a Tensor, not a {types_text}.")
    if not allow_operation:
        found = "refers to an Operation"
        if obj not in operations:
            found = "looks like an (invalid) Operation name"
        raise ValueError(
            f"The name {obj!r} {found}, not a {types_text}. "
            'Tensor names must be of the form "<op_name>:<output_index>".'
        )
    if obj not in operations:
        raise KeyError(f"The name {obj!r} refers to an Operation not in the graph.")
    return operations[obj]
