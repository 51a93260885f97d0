"""Stage 3: simplification with the same results: constants folded, equal nodes merged, Identity dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.hints import KNOWN, SCALED, UNCHANGED
from tensorfleet_service.executor.patterns import FUSES, PATTERNS
from tensorfleet_service.graph import large
from tensorfleet_service.graph.copies import NodeCopies
from tensorfleet_service.graph.graph import Node, is_back_edge, opdef_of
from tensorfleet_service.master import folding
from tensorfleet_service.master.branches import without_dead_branches
from tensorfleet_service.master.folding import Evaluate
from tensorfleet_service.master.ordering import needless_controls
from tensorfleet_service.master.purity import CONTROL_FLOW, is_pure
from tensorfleet_service.master.rewrites import Rewrites

_PASS_THROUGH = frozenset(("Identity", "StopGradient", "PreventGradient", "Snapshot"))
_REDUCTIONS = frozenset(("Sum", "Prod", "Mean", "Max", "Min", "All", "Any"))
_MAY_PASS = _PASS_THROUGH | _REDUCTIONS | {"FloorDiv", "Reshape"}
_INDICES = frozenset((dtypes.int32, dtypes.int64))
_SMALL_BYTES = 65_536
_HASHED_BYTES = 1_024
_KNOWN_0 = f"{KNOWN}0"


def optimize(nodes: Sequence[Node], evaluate: Evaluate | None, rewrites: Rewrites) -> list[Node]:
    """An equivalent graph that computes less, as new nodes in an order in which they can run.

    * A stateless node whose inputs are all constants becomes a Const with the same name on the same device,
      if its value has at most 10 MB, and all such values together at most 100 MB, and that is known to take
      no long time (`master.folding`).
    * Branches of conditionals that are never taken are dropped, as their predicate is a constant.
    * A constant of at most 64 KB is copied to the devices that use it, instead of being sent in each step.
    * Control edges that order nothing are dropped, and with them the nodes that only they needed.
    * Of stateless nodes of one device with equal inputs and attributes, one remains.
    * Identity and similar nodes are dropped if they neither read a reference, nor move a value to another
      device, nor take part in control edges. So are reductions along no axis, and reshapes that change
      nothing according to the client (`tensorfleet.graph.hints`).
    * Values that the client knows by static shapes become Consts.
    * A tensor that is repeated by Tile and then scaled by a number is scaled first.
    * Nodes that executors may compute together with those before them are marked (`executor.patterns`).

    Args:
        nodes: in an order in which they can run; stay as they are.
        evaluate: computes a node's output value, or a tuple of several, from its input values. If it raises,
            the node stays, and the step will report the error. None: no constants are folded.
        rewrites: which of these are done.
    """
    if not rewrites.any:
        return list(nodes)
    made = _Made()
    found = _rewritten(nodes, evaluate, rewrites, made)
    while rewrites.branches:
        remaining = without_dead_branches(found)
        if remaining is None:
            break
        # What a branch computes may be constant now, too, and decide others.
        found = _rewritten(remaining, evaluate, rewrites, made)
    return found


class _Made:
    """What has been made in all passes over the nodes: how many copies of constants, and folded values, and
    the time that is left for these.
    """

    __slots__ = ("budget", "copies", "folded_bytes")

    def __init__(self) -> None:
        self.budget = folding.Budget()
        self.copies = 0
        self.folded_bytes = 0


def _rewritten(
    nodes: Sequence[Node], evaluate: Evaluate | None, rewrites: Rewrites, made: _Made
) -> list[Node]:
    work = _Rewrite(nodes, evaluate, rewrites, made)
    for node in nodes:
        work.add(node)
    work.close_loops()
    found = work.alive(nodes)
    work.end()
    return found


class _Rewrite:
    def __init__(
        self, nodes: Sequence[Node], evaluate: Evaluate | None, rewrites: Rewrites, made: _Made
    ) -> None:
        self.order: list[Node] = []
        self._evaluate = evaluate if rewrites.fold else None
        self._rewrites = rewrites
        self._arithmetic, self._fuse, self._merge = rewrites.arithmetic, rewrites.fuse, rewrites.merge
        self._made = made
        self._new = NodeCopies()
        self._outputs, self._copies = self._new.outputs, self._new.nodes
        self.close_loops = self._new.close_loops
        self._equal: dict[Any, Node] = {}
        # Numbers of what op types and attributes are equal. By the identities of dicts of attributes, which
        # nodes share; each is kept, so that its identity stays its own.
        self._kinds: dict[Any, int] = {}
        self._kind_of: dict[tuple[str, int], tuple[int, dict[str, Any]]] = {}
        self._constants: dict[tuple[Node, str], Node] = {}
        self._needless: set[tuple[Node, Node]] = set()
        self._has_flow = any(node.op in CONTROL_FLOW for node in nodes)
        if rewrites.dependencies and not self._has_flow:
            self._needless = needless_controls(nodes, is_pure)
        self._waited_for = _waited_for(nodes, self._needless)

    def add(self, node: Node) -> None:
        copied = self._new.copy(node, has_loops=self._has_flow)
        if node.controls:
            self._add_controls(node, copied)
        pure = is_pure(node)
        if node.op in _MAY_PASS and self._pass_through(node, copied):
            return
        # The client's knowledge comes first, as it has made other nodes that rely on it.
        if pure:
            may_know = not self._has_flow and (_KNOWN_0 in node.attrs or len(node.output_types) > 1)
            if may_know and self._all_known(node, copied):
                return
            if copied.inputs and copied.inputs[0][0].op == "Const" and self._fold(node, copied):
                return
        if self._arithmetic:
            if SCALED in node.attrs and node.attrs[SCALED] is True:
                copied = self._scaled_first(copied)
            elif node.op == "Prod":
                copied = _counted(copied)
        if self._fuse and node.op in PATTERNS:
            copied.attrs = {**copied.attrs, FUSES: True}
        device = copied.assigned
        for edge in copied.inputs:
            if edge[0].assigned != device and edge[0].op == "Const":
                copied.inputs = [self._near(edge, device) for edge in copied.inputs]
                break
        if pure and self._merge:
            known = self._equal.setdefault(self._key(copied), copied)
            if known is not copied:
                self._copies[node] = known
                return
        self._copies[node] = copied
        self.order.append(copied)

    def _add_controls(self, node: Node, copied: Node) -> None:
        drops = self._rewrites.dependencies
        kept = [self._copies[control] for control in node.controls if (control, node) not in self._needless]
        copied.controls += dict.fromkeys(
            control for control in kept if control.op != "Const" or control.controls or not drops
        )

    def _key(self, node: Node) -> Any:
        """A key that is equal for nodes that compute the same."""
        place = node.op, id(node.attrs)
        kind = self._kind_of.get(place)
        if kind is None:
            attrs = node.attrs
            key = node.op, tuple([(name, _attr_key(attrs[name])) for name in node.opdef.attrs])
            kind = self._kind_of[place] = self._kinds.setdefault(key, len(self._kinds)), attrs
        if node.controls:
            return kind[0], node.assigned, frozenset(node.controls), *node.inputs
        return kind[0], node.assigned, *node.inputs

    def _pass_through(self, node: Node, copied: Node) -> bool:
        if copied.controls or node in self._waited_for or not self._gives_input(node, copied):
            return False
        source, index = copied.inputs[0]
        if source.assigned != copied.assigned or source.output_types[index].is_ref:
            return False
        self._outputs[(node, 0)] = (source, index)
        self._copies[node] = source
        return True

    def _gives_input(self, node: Node, copied: Node) -> bool:
        """Whether the node's output is its first input."""
        if node.op in _PASS_THROUGH:
            return self._rewrites.dependencies
        if not self._rewrites.arithmetic:
            return False
        if node.op in _REDUCTIONS:
            axes = copied.inputs[1][0]
            return axes.op == "Const" and np.asarray(axes.attrs["value"]).size == 0
        if node.op == "FloorDiv":
            divisor = copied.inputs[1][0]
            return (
                divisor.op == "Const" and node.input_types[1] in _INDICES and _is_one(divisor.attrs["value"])
            )
        if node.op != "Reshape" or node.attrs.get(UNCHANGED) is not True:
            return False
        # A reduction may have dropped other axes of size 1 than those that the client knows.
        source = copied.inputs[0][0]
        return source.op != "Sum" or (not self._has_flow and source.inputs[1][0].op == "Const")

    def _fold(self, node: Node, copied: Node) -> bool:
        """Replaces the node by constants, if all its inputs are constants."""
        if self._evaluate is None or not node.output_types:
            return False
        for source, _ in copied.inputs:
            if source.op != "Const":
                return False
        constants = [source for source, _ in copied.inputs]
        values = [source.attrs["value"] for source in constants]
        results = self._made.budget.computed(self._evaluate, copied, values)
        if results is None:
            return False
        arrays = [_as_array(value, dtype) for value, dtype in zip(results, node.output_types, strict=True)]
        if any(array is None for array in arrays):
            return False
        size = max(array.nbytes for array in arrays if array is not None)
        one_device = all(source.assigned == copied.assigned for source in constants)
        total = self._made.folded_bytes + sum(array.nbytes for array in arrays if array is not None)
        limits = self._rewrites
        if size > (limits.max_bytes if one_device else _SMALL_BYTES) or total > limits.max_total_bytes:
            return False
        self._made.folded_bytes = total
        # In a branch or a loop, the result has to wait for the control inputs of its inputs.
        controls = dict.fromkeys([c for source in (*constants, copied) for c in source.controls])
        self._replace(node, arrays, controls)
        return True

    def _all_known(self, node: Node, copied: Node) -> bool:
        """Replaces outputs that the client knows by constants; whether these are all of them.

        Not for graphs with conditionals and loops, where a constant would have to wait as the node does.
        """
        found = _known_outputs(node)
        if any(array is not None for array in found):
            self._replace(node, found, dict.fromkeys(copied.controls))
        return all(array is not None for array in found) and bool(found)

    def _replace(self, node: Node, arrays: Sequence[Any], controls: dict[Node, None]) -> None:
        """Replaces each output whose value is given by a constant."""
        for index, (array, dtype) in enumerate(zip(arrays, node.output_types, strict=True)):
            if array is None:
                continue
            name = node.name if len(arrays) == 1 else f"_folded_{index}_{node.name}"
            constant = Node(name, opdef_of("Const"), {"dtype": dtype, "value": array}, node.device)
            constant.assigned, constant.why = node.assigned, node.why
            constant.controls += controls
            self.order.append(constant)
            self._outputs[(node, index)] = (constant, 0)
            if index == 0:
                self._copies[node] = constant

    def _scaled_first(self, copied: Node) -> Node:
        """A Tile of the scaled tensor, in place of a node that scales the output of a Tile."""
        (repeat, _), factor = copied.inputs
        if repeat.op != "Tile" or repeat.assigned != copied.assigned or copied.controls or repeat.controls:
            return copied
        copied.inputs = [repeat.inputs[0], factor]
        name, copied.name = copied.name, f"_before_{copied.name}"
        self.order.append(copied)
        result = repeat.copy()
        result.name = name
        result.inputs = [(copied, 0), repeat.inputs[1]]
        return result

    def _near(self, edge: tuple[Node, int], device: str) -> tuple[Node, int]:
        """A copy on `device` of a small constant on another device."""
        source = edge[0]
        if source.op != "Const" or source.assigned == device or source.controls:
            return edge
        if np.asarray(source.attrs["value"]).nbytes > _SMALL_BYTES:
            return edge
        near = self._constants.get((source, device))
        if near is None:
            near = source.copy()
            near.name = f"_copy_{self._made.copies}_{source.name}"
            self._made.copies += 1
            near.assigned, near.why = device, f"copied from {source.assigned}"
            self._constants[(source, device)] = near
            self.order.append(near)
        return near, 0

    def alive(self, nodes: Iterable[Node]) -> list[Node]:
        """The new nodes that are needed by old nodes without users and by those with effects."""
        used: set[Node] = set()
        for node in nodes:
            for source, _ in node.inputs:
                used.add(source)
            if node.controls:
                used.update(node.controls)
        alive = {self._copies[node] for node in nodes if node not in used or node.opdef.is_stateful}
        # If a node has become several constants, those that are needed are found by their users.
        found = []
        for node in reversed(self.order):  # users come first
            if node in alive:
                found.append(node)
                for source, _ in node.inputs:
                    alive.add(source)
                if node.controls:
                    alive.update(node.controls)
        if self._has_flow and any(is_back_edge(source, node) for node in found for source, _ in node.inputs):
            return self._reached(alive)
        found.reverse()
        return found

    def end(self) -> None:
        """Drops what it knows of each node."""
        large.empty(self.order, self._equal, self._kinds, self._kind_of, self._constants)
        large.empty(self._copies, self._outputs)

    def _reached(self, alive: set[Node]) -> list[Node]:
        """The new nodes that others need, where edges lead backwards, too."""
        stack = list(alive)
        while stack:
            node = stack.pop()
            for source in [source for source, _ in node.inputs] + node.controls:
                if source not in alive:
                    alive.add(source)
                    stack.append(source)
        return [node for node in self.order if node in alive]


def _is_one(value: Any) -> bool:
    array = np.asarray(value)
    return array.ndim == 0 and bool(array == 1)


def _counted(copied: Node) -> Node:
    """Size in place of the product of a tensor's shape, which saves the vector."""
    (shape, _), (axes, _) = copied.inputs
    if shape.op != "Shape" or shape.assigned != copied.assigned or shape.controls or axes.op != "Const":
        return copied
    if copied.attrs["keep_dims"] or np.asarray(axes.attrs["value"]).ravel().tolist() != [0]:
        return copied
    size = Node(copied.name, opdef_of("Size"), {key: shape.attrs[key] for key in ("T", "out_type")})
    size.device, size.assigned, size.why = copied.device, copied.assigned, copied.why
    size.inputs, size.controls = [shape.inputs[0]], copied.controls
    return size


def _waited_for(nodes: Sequence[Node], needless: set[tuple[Node, Node]]) -> set[Node]:
    """The nodes that others wait for by control edges, except NoOps that nobody needs."""
    found: set[Node] = set()
    before = {control for node in nodes for control in node.controls}
    if not before:
        return found
    for node in reversed(nodes):
        if node.op != "NoOp" or node in found or node not in before:
            found.update(control for control in node.controls if (control, node) not in needless)
    return found


def _known_outputs(node: Node) -> list[np.ndarray[Any, Any] | None]:
    """The integer vectors that the outputs are according to the client; None for unknown ones."""
    found: list[np.ndarray[Any, Any] | None] = []
    for index, dtype in enumerate(node.output_types):
        values = node.attrs.get(f"{KNOWN}{index}")
        is_vector = isinstance(values, list) and all(
            type(value) is int and abs(value) < 1 << 31 for value in values
        )
        found.append(np.array(values, dtype.np) if is_vector and dtype in _INDICES else None)
    return found


def _attr_key(value: Any) -> Any:
    kind = type(value)
    if kind is dtypes.DType:
        return id(value)
    if kind is float:
        return repr(value)  # distinguishes 0.0 from -0.0, and a NaN equals itself
    if kind is list:
        return tuple(map(_attr_key, value))
    if isinstance(value, (np.ndarray, np.generic)):
        if value.nbytes > _HASHED_BYTES:
            return id(value)
        array = np.asarray(value)
        data = tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
        return array.dtype, array.shape, data
    return value


def _as_array(value: Any, dtype: dtypes.DType) -> np.ndarray[Any, Any] | None:
    """A kernel's result as the value of a Const; None if it is not an array of the declared type."""
    if isinstance(value, bytes):
        value = np.array(value, object)
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype != dtype.np:
        return None
    return np.array(value)
