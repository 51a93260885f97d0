"""`tf.contrib.graph_editor`: parts of a graph with their inputs and outputs."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.graph_edits.choosing import (
    compute_boundary_ts,
    get_consuming_ops,
    get_name_scope_ops,
    get_unique_graph,
    make_list_of_op,
    make_list_of_t,
    select_ops_and_ts,
)
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor


class SubGraphView:
    """Operations, the tensors that come in and those that go out (`tf.contrib.graph_editor.SubGraphView`).

    Args:
        inside_ops: the operations, in any order.
        passthrough_ts: tensors that are inputs and outputs at once.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops: list[Operation] = make_list_of_op(inside_ops)
        inputs, outputs, inner = compute_boundary_ts(self._ops)
        passing = [t for t in make_list_of_t(passthrough_ts) if t not in {*inputs, *outputs, *inner}]
        self._passing, self._inputs, self._outputs = passing, [*inputs, *passing], [*outputs, *passing]

    def __copy__(self) -> SubGraphView:
        made = SubGraphView()
        made._ops, made._passing = list(self._ops), list(self._passing)
        made._inputs, made._outputs = list(self._inputs), list(self._outputs)
        return made

    copy = __copy__

    @property
    def ops(self) -> list[Operation]:
        """The operations."""
        return self._ops

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that come in."""
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that go out."""
        return self._outputs

    @property
    def passthroughs(self) -> list[Tensor]:
        """The tensors that are both and belong to no operation of the view."""
        return self._passing

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The inputs that an operation of the view takes."""
        return [t for t in self._inputs if t not in self._passing]

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The outputs that an operation of the view makes."""
        return [t for t in self._outputs if t not in self._passing]

    @property
    def graph(self) -> Graph | None:
        """The graph; None of an empty view."""
        return get_unique_graph([*self._ops, *self._passing], none_if_empty=True)

    def op(self, op_id: int) -> Operation:
        """The operation of that number."""
        return self._ops[op_id]

    def is_passthrough(self, t: Tensor) -> bool:
        """Whether a tensor passes through."""
        return t in self._passing

    def consumers(self) -> list[Operation]:
        """The operations outside that take outputs."""
        own = set(self._ops)
        return [op for op in get_consuming_ops(self._outputs) if op not in own]

    def remap_outputs(self, new_output_indices: Any) -> SubGraphView:
        """The view with these of its outputs, in this order."""
        return self._remapped("_outputs", new_output_indices)

    def remap_inputs(self, new_input_indices: Any) -> SubGraphView:
        """The view with these of its inputs, in this order."""
        return self._remapped("_inputs", new_input_indices)

    def remap(self, new_input_indices: Any = None, new_output_indices: Any = None) -> SubGraphView:
        """The view with other inputs and outputs."""
        made = self if new_input_indices is None else self.remap_inputs(new_input_indices)
        return made if new_output_indices is None else made.remap_outputs(new_output_indices)

    def _remapped(self, which: str, chosen: Any) -> SubGraphView:
        made = self.__copy__()
        listed = getattr(self, which)
        setattr(made, which, [listed[i] if isinstance(i, int) else i for i in chosen])
        return made

    def find_op_by_name(self, op_name: str) -> Operation:
        """The operation of that name. Raises ValueError if there is none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not found in subgraph.")

    def __bool__(self) -> bool:
        return bool(self._ops or self._passing)

    def __str__(self) -> str:
        parts = (self._ops, self._inputs, self._outputs)
        ops, inputs, outputs = (", ".join(part.name for part in listed) for listed in parts)
        return f"SubGraphView: {ops}; in: {inputs}; out: {outputs}"


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """A view of operations and tensors, also chosen by regular expressions in `graph`
    (`tf.contrib.graph_editor.make_view`, `sgv`)."""
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    ops, tensors = select_ops_and_ts(*args, **kwargs)
    return SubGraphView(ops, tensors)


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """A view of the operations in a name scope (`tf.contrib.graph_editor.sgv_scope`)."""
    return SubGraphView(get_name_scope_ops(graph, scope))
