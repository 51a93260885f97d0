"""`tf.contrib.graph_editor`: copies of parts of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.contrib.graph_edits.choosing import (
    get_walks_intersection_ops,
    make_list_of_t,
    make_placeholder_from_tensor,
)
from tensorfleet.contrib.graph_edits.views import SubGraphView, make_view
from tensorfleet.core import structures
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor


class TransformerInfo:
    """What became of the operations and tensors of a copy (`tf.contrib.graph_editor.TransformerInfo`)."""

    def __init__(
        self,
        source: SubGraphView,
        ops: dict[Operation, Operation],
        tensors: dict[Tensor, Tensor],
        scopes: tuple[str, str],
    ) -> None:
        self._view, self._transformed_ops, self._transformed_ts = source, ops, tensors
        self.scope, self.scope_ = scopes

    def transformed(self, original: Any, missing_fn: Any = None) -> Any:
        """The copy of an operation or tensor, or of each in a list; None, or what `missing_fn` says, for
        those that have none."""
        if isinstance(original, (list, tuple)):
            return [self.transformed(one, missing_fn) for one in original]
        if hasattr(original, "_as_graph_element") and not isinstance(original, (Tensor, Operation)):
            original = original._as_graph_element()
        found: Any = self._transformed_ops if isinstance(original, Operation) else self._transformed_ts
        if original in found:
            return found[original]
        return missing_fn(original) if missing_fn else None

    def original(self, transformed: Any, missing_fn: Any = None) -> Any:
        """The original of an operation or tensor, or of each in a list."""
        if isinstance(transformed, (list, tuple)):
            return [self.original(one, missing_fn) for one in transformed]
        pairs: Any = self._transformed_ops if isinstance(transformed, Operation) else self._transformed_ts
        for before, after in pairs.items():
            if after is transformed:
                return before
        return missing_fn(transformed) if missing_fn else None


def copy(
    sgv: Any,
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """A copy of a view, with placeholders for its inputs (`tf.contrib.graph_editor.copy`).

    Args:
        dst_graph: the graph of the copy, by default that of the view, where the copy takes the same inputs.
        dst_scope, src_scope: the names' beginning in the copy, and in the view.

    Returns:
        The view of the copy, and a TransformerInfo.

    Raises:
        ValueError: the view has a loop.
    """
    view = make_view(sgv)
    graph = dst_graph or view.graph
    assert graph is not None
    inputs: dict[Tensor, Tensor] = {}
    if graph is not view.graph:
        with graph.as_default(), framework.name_scope(_scope(dst_scope, reuse_dst_scope)):
            inputs = {t: make_placeholder_from_tensor(t) for t in view.inputs}
    return _copied(view, inputs, graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Any,
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """A copy of a view with other inputs (`tf.contrib.graph_editor.copy_with_input_replacements`).

    Args:
        replacement_ts: a dict from tensors to those that the copy takes instead; others it takes as they are.

    Returns:
        As `copy`.
    """
    view = make_view(sgv)
    graph = dst_graph or view.graph
    assert graph is not None
    found = {key: convert_to_tensor(value) for key, value in replacement_ts.items()}
    replaced = {make_list_of_t(key)[0]: value for key, value in found.items()}
    return _copied(view, replaced, graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Any,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Tensors computed anew from other values (`tf.contrib.graph_editor.graph_replace`).

    Args:
        target_ts: a tensor, or a list or dict of them.
        replacement_ts: a dict from tensors on which these depend to those that stand for them.

    Raises:
        ValueError: the targets do not depend on them.
    """
    replaced = {make_list_of_t(key)[0]: value for key, value in replacement_ts.items()}
    targets = make_list_of_t(structures.flatten(target_ts))
    ops = get_walks_intersection_ops(list(replaced), targets)
    # What makes a replaced tensor is not copied, unless something else is on the way through it.
    makers = {t.op for t in replaced}
    ops = [op for op in ops if op not in makers]
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, made = copy_with_input_replacements(ops, replaced, None, dst_scope, src_scope, reuse_dst_scope)

    def of(target: Any) -> Any:
        [tensor] = make_list_of_t(target)
        return replaced.get(tensor, made.transformed(tensor, lambda t: t))

    return structures.map_structure(of, target_ts)


def _scope(scope: str, reuse: bool) -> str | None:
    if not scope:
        return None
    return f"{scope.rstrip('/')}/" if reuse else scope


def _copied(
    view: SubGraphView,
    replaced: dict[Tensor, Tensor],
    graph: Graph,
    dst_scope: str,
    src_scope: str,
    reuse: bool,
) -> tuple[SubGraphView, TransformerInfo]:
    ops: dict[Operation, Operation] = {}
    tensors: dict[Tensor, Tensor] = dict(replaced)
    names = {op.name for op in view.ops}
    with graph.as_default(), framework.control_dependencies(None), framework.device(None):
        opened = framework.name_scope(_scope(dst_scope, reuse)) if dst_scope else framework.name_scope(None)
        with opened as scope:
            for op in _ordered(view.ops):
                name = op.name[len(src_scope) :].lstrip("/") if op.name.startswith(src_scope) else op.name
                ops[op] = made = _copy_of(op, name, graph, tensors, names)
                tensors.update(
                    (a, b) for a, b in zip(op.outputs, made.outputs, strict=True) if a not in replaced
                )
    for op, made in ops.items():
        controls = [ops.get(c, c) for c in op.control_inputs]
        made._add_control_inputs([c for c in controls if c.graph is graph])
    info = TransformerInfo(view, ops, tensors, (scope or "", dst_scope))
    copied = SubGraphView(list(ops.values()))
    copied._inputs = [tensors.get(t, t) for t in view.inputs]
    copied._outputs = [tensors.get(t, t) for t in view.outputs]
    return copied, info


def _copy_of(
    op: Operation, name: str, graph: Graph, tensors: dict[Tensor, Tensor], names: set[str]
) -> Operation:
    groups = [group for group in op.attrs.get("_class", []) if _colocation(group) not in names]
    return copy_operation(
        op,
        graph.unique_name(name),
        graph,
        tuple(tensors.get(t, t) for t in op.inputs),
        groups if graph is op.graph else (),
    )


def copy_operation(
    op: Operation, name: str, graph: Graph, inputs: tuple[Tensor, ...], groups: Sequence[bytes] = ()
) -> Operation:
    """An operation like another one in a graph, under a name that is free there, with these inputs.

    Args:
        groups: those that it is colocated with.
    """
    attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
    if groups:
        attrs["_class"] = list(groups)
    made = graph.add_operation(op.opdef, name, inputs, attrs, [t.dtype for t in op.outputs])
    made._set_device(op.device)
    for before, after in zip(op.outputs, made.outputs, strict=True):
        after.set_shape(before.shape)
    return made


def _colocation(group: bytes) -> str:
    return group.decode().removeprefix("loc:@")


def _ordered(ops: list[Operation]) -> list[Operation]:
    """The operations, each after those whose tensors it takes.

    Raises:
        ValueError: there is a loop.
    """
    own = set(ops)
    waiting = {op: {t.op for t in op.inputs} & own for op in ops}
    takers: dict[Operation, list[Operation]] = {}
    for op, needed in waiting.items():
        for maker in needed:
            takers.setdefault(maker, []).append(op)
    ready = [op for op, needed in waiting.items() if not needed]
    found: list[Operation] = []
    while ready:
        op = ready.pop()
        found.append(op)
        for taker in takers.get(op, ()):
            waiting[taker].discard(op)
            if not waiting[taker]:
                ready.append(taker)
    if len(found) != len(waiting):
        raise ValueError("A part of a graph with a loop cannot be copied.")
    return found
