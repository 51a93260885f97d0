"""Reads of a variable after it has changed in the same step.

In TensorFlow what reads a reference shares the variable's memory: `v + 1` that runs after an assignment sees
the new value, although its input comes from `v/read`, which may have run before. Here a read is a snapshot.
So where a node takes such a tensor, and a change of the variable comes before the node, it gets a read of its
own, beside the variable, that waits for the change:

    v ── v/read ── y (after AssignAdd)        v ── v/read
      └─ AssignAdd                      ►       ├─ AssignAdd
                                                └─ Identity (after AssignAdd) ── y

Nothing else of the step changes, and a step whose changes come last, as in training, not at all. Over devices
the same holds, where TensorFlow sends either value, as it comes. A fetch gives what the variable has when the
step is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorfleet.op_def import OpDef, lookup
from tensorfleet_service.graph import Node, is_back_edge
from tensorfleet_service.master.loops import ENTERS, find_frames

Edge = tuple[Node, int]
Name = tuple[str, str, str]
"""A variable: its device, its container and its name."""

_SWITCHES = frozenset(("Switch", "RefSwitch"))
_NOT_CHANGING = frozenset(
    ("RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity", "RefSelect")
) | {"IsVariableInitialized"}
_SAME = frozenset(
    ("Identity", "StopGradient", "PreventGradient", "GuaranteeConst", "PlaceholderWithDefault")
) | {"EnsureShape", "CheckNumerics"}
_SAME_MEMORY = frozenset(("Reshape", "Squeeze", "ExpandDims", "Bitcast"))
"""Their output is the memory of their first input in another form."""
_JOINS = frozenset(("Merge", "RefMerge"))


def read_late(nodes: list[Node]) -> list[Node]:
    """The nodes with the reads that changes make necessary, in an order in which they can run.

    Args:
        nodes: placed, in an order in which they can run; they get other inputs.
    """
    changes = [node for node in nodes if _changes(node)]
    return _Rewrite(nodes, changes).nodes if changes else nodes


def _changes(node: Node) -> bool:
    return any(dtype.is_ref for dtype in node.input_types) and node.op not in _NOT_CHANGING


class _Rewrite:
    """Attributes:
    nodes: the result.
    """

    def __init__(self, nodes: Sequence[Node], changes: Sequence[Node]) -> None:
        self.nodes: list[Node] = []
        self._changes = changes
        self._frames = find_frames(nodes).of
        self._has_flow = any(node.op in _SWITCHES or node.op in ENTERS for node in nodes)
        self._names = {node.name for node in nodes}
        self._variables = _variables(nodes)
        self._changed: dict[Name, int] = {}
        """The changes of each variable, a bit for each."""
        for i, node in enumerate(changes):
            for source, dtype in zip(node.inputs, node.input_types, strict=True):
                if dtype.is_ref:
                    for name in self._variables.get(source, ()):
                        self._changed[name] = self._changed.get(name, 0) | 1 << i
        self._before, self._after = _order(nodes, changes)
        self._shares: dict[Edge, frozenset[Name]] = {}
        """The tensors that share memory with variables that change in this step."""
        self._references: dict[Edge, Edge] = {}
        self._reads: dict[tuple[Edge, frozenset[Node]], Node] = {}
        ends: list[Node] = []
        for node in nodes:
            if node.op == "_Retval":
                ends.append(node)
                continue
            if node.op not in _JOINS:
                self._take(node)
            self.nodes.append(node)
        for retval in ends:
            self._fetch(retval)
        self.nodes += ends

    # Who shares memory with a variable

    def _names_of(self, node: Node, i: int) -> frozenset[Name]:
        """The changing variables whose memory an input is, where that is a value and not a reference."""
        edge = node.inputs[i]
        if i < len(node.input_types) and node.input_types[i].is_ref:
            return frozenset()
        found = self._shares.get(edge)
        if found is None:
            found = frozenset(name for name in self._variables.get(edge, ()) if name in self._changed)
        return found

    def _take(self, node: Node) -> None:
        """Gives a node the reads that it needs, and notes which of its outputs share memory."""
        for i, edge in enumerate(list(node.inputs)):
            names = self._names_of(node, i)
            if not names:
                continue
            # A reference on the same device is read when the node has its turn.
            reads = edge in self._variables and edge[0].assigned == node.assigned
            if not reads and self._is_stale(node, edge, names):
                node.inputs[i] = self._read(edge, self._controls(node, i, names))
            self._share(node, i, names)

    def _share(self, node: Node, i: int, names: frozenset[Name]) -> None:
        if i == 0 and (
            node.op in _SAME or node.op in _SAME_MEMORY or (node.op == "Enter" and node.attrs["is_constant"])
        ):
            outputs = [(node, 0)]
        elif i == 0 and node.op == "Switch":
            outputs = [(node, 0), (node, 1)]
        elif node.op == "IdentityN":
            outputs = [(node, i)]
        else:
            return
        if node.op in ("Enter", "Switch") and self._reference(node.inputs[0]) is None:
            return
        for output in outputs:
            self._shares[output] = names

    def _mask(self, names: Iterable[Name]) -> int:
        mask = 0
        for name in names:
            mask |= self._changed[name]
        return mask

    def _those(self, mask: int) -> list[Node]:
        return [node for i, node in enumerate(self._changes) if mask >> i & 1]

    def _is_stale(self, node: Node, edge: Edge, names: frozenset[Name]) -> bool:
        """Whether a change comes between an input and the node, which takes it."""
        mask = self._mask(names)
        frame = self._frames.get(edge[0])
        if frame is not None and any(
            f"{self._frames.get(change, '')}/".startswith(f"{frame}/") for change in self._those(mask)
        ):
            return True  # in the iteration before, if not in this one
        since = self._after[edge[0]] if edge in self._variables else self._before[edge[0]]
        return bool(self._before[node] & mask & ~since)

    def _controls(self, node: Node, i: int, names: frozenset[Name]) -> list[Node]:
        """What a read for an input waits for."""
        if not self._has_flow:
            return self._those(self._before[node] & self._mask(names))
        # The change itself may be on a branch that is not taken, or in another loop; what the node waits for
        # has its branch and its iteration.
        others = [source for j, (source, _) in enumerate(node.inputs) if j != i]
        return [
            other
            for other in dict.fromkeys((*others, *node.controls))
            if not (other.op in ENTERS and other.attrs["is_constant"])
        ]

    # New nodes

    def _read(self, edge: Edge, controls: list[Node]) -> Edge:
        """An edge's value as it is after `controls`."""
        source, index = edge
        reference = self._reference(edge)
        if reference is not None:
            key = reference, frozenset(controls)
            found = self._reads.get(key)
            if found is None:
                holder, output = reference
                found = self._reads[key] = self._add(
                    "Identity", source.name, holder, reference, {"T": holder.output_types[output].base}
                )
                found.controls = list(controls)
                found.why = f"read after {', '.join(control.name for control in controls)}"
            return found, 0
        copied = source.copy()
        copied.name = self._name(source.name)
        copied.inputs, copied.controls = list(source.inputs), list(source.controls)
        place = index if source.op == "IdentityN" else 0
        copied.inputs[place] = self._read(source.inputs[place], controls)
        self.nodes.append(copied)
        return copied, index

    def _reference(self, edge: Edge) -> Edge | None:
        """The reference whose value an edge is, on the same branch and in the same loop."""
        source, index = edge
        if source.output_types[index].is_ref:
            return edge
        found = self._references.get(edge)
        if found is None:
            if source.op not in _SAME and source.op not in ("Switch", "Enter"):
                return None
            if source.op == "Enter" and not source.attrs["is_constant"]:
                return None
            origin = self._reference(source.inputs[0])
            if origin is None or source.op in _SAME:
                found = origin
            else:
                made = self._add(f"Ref{source.op}", source.name, origin[0], origin, source.attrs)
                made.inputs += source.inputs[1:]
                made.controls = list(source.controls)
                for output in range(len(source.output_types)):
                    self._references[source, output] = (made, output)
                found = self._references[edge]
            if found is not None:
                self._references[edge] = found
        return found

    def _add(self, op: str, name: str, beside: Node, source: Edge, attrs: dict[str, object]) -> Node:
        """A node on the device of another one, with its first input."""
        opdef = lookup(op)
        assert isinstance(opdef, OpDef), f"Op type {op} is not defined"
        node = Node(self._name(name), opdef, attrs)
        node.assigned, node.why = beside.assigned, f"with {beside.name} (reference edge)"
        node.inputs = [source]
        self.nodes.append(node)
        return node

    def _name(self, name: str) -> str:
        count = 0
        while (unique := f"_late_{count}_{name}") in self._names:
            count += 1
        self._names.add(unique)
        return unique

    # Fetches

    def _fetch(self, retval: Node) -> None:
        """Gives a fetch the value that is there when the step is over."""
        names = self._names_of(retval, 0)
        edge = retval.inputs[0]
        if not names or edge in self._variables:
            return  # a reference is read at the end, as the fetch stands there
        reference = self._reference(edge)
        if reference is not None and reference in self._variables:
            retval.inputs[0] = reference
            retval.assigned = reference[0].assigned
        elif not self._has_flow:
            retval.inputs[0] = self._read(edge, self._those(self._mask(names)))


def _variables(nodes: Sequence[Node]) -> dict[Edge, frozenset[Name]]:
    """The variables that each reference may be to."""
    found: dict[Edge, frozenset[Name]] = {}
    for node in nodes:
        for output, dtype in enumerate(node.output_types):
            if not dtype.is_ref:
                continue
            sources = [
                source for source, kind in zip(node.inputs, node.input_types, strict=True) if kind.is_ref
            ]
            if not sources:
                attrs = node.attrs
                name = attrs.get("shared_name", b"").decode(errors="replace") or node.name
                container = attrs.get("container", b"").decode(errors="replace")
                found[node, output] = frozenset([(node.assigned, container, name)])
                continue
            if node.op not in ("RefMerge", "RefSelect"):
                sources = sources[:1]
            # What closes a loop refers to what has entered it.
            found[node, output] = frozenset().union(*(found.get(source, frozenset()) for source in sources))
    return found


def _order(nodes: Sequence[Node], changes: Sequence[Node]) -> tuple[dict[Node, int], dict[Node, int]]:
    """The changes that come before each node begins, and before it has ended: a bit for each."""
    bits = {node: 1 << i for i, node in enumerate(changes)}
    before: dict[Node, int] = {}
    after: dict[Node, int] = dict.fromkeys(nodes, 0)
    loops = any(is_back_edge(source, node) for node in nodes for source, _ in node.inputs)
    settled = False
    while not settled:
        settled = True
        for node in nodes:
            mask = 0
            for source, _ in node.inputs:
                mask |= after[source]
            for control in node.controls:
                mask |= after[control]
            before[node] = mask
            mask |= bits.get(node, 0)
            if after[node] != mask:
                after[node] = mask
                settled = not loops
    return before, after
