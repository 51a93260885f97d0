"""Reads of a variable after a change of it in the same step.

In TensorFlow a read of a reference shares the variable's memory: `v + 1` that runs after an assignment sees
the new value, although its input comes from `v/read`, which may have run before. Here a read is a snapshot.
So a node that takes such a tensor, and runs after a change of the variable, gets a read of its own, beside
the variable, that waits for the change:

    v ── v/read ── y (after AssignAdd)        v ── v/read
      └─ AssignAdd                      ►       ├─ AssignAdd
                                                └─ Identity (after AssignAdd) ── y

Nothing else in the step changes, and nothing at all in steps whose changes come last, as in training. The
same holds over devices, where TensorFlow sends either value, as it comes. A fetch gives the variable's value
at the end of the step. An Assign that does not validate the shape is no such change: to grow a variable, a
program reads it, assigns something larger, and copies what it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorfleet_service.graph.graph import Node, opdef_of
from tensorfleet_service.graph.loops import ENTERS, find_frames

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
"""Op types whose output is the memory of their first input in another shape or dtype."""
_FLOW = frozenset(("Switch", "Enter"))
_JOINS = frozenset(("Merge", "RefMerge"))
_BACK = frozenset(("NextIteration", "RefNextIteration"))


def read_late(nodes: list[Node]) -> list[Node]:
    """The nodes and the added reads, in an order in which they can run.

    Args:
        nodes: placed nodes in an order in which they can run; their inputs are changed.
    """
    changes = [node for node in nodes if _changes(node)]
    return _Rewrite(nodes, changes).nodes if changes else nodes


def _changes(node: Node) -> bool:
    if node.op == "Assign" and not node.attrs["validate_shape"]:
        # Made to give the variable another size, and so other memory: what was read keeps the old memory.
        return False
    return any(dtype.is_ref for dtype in node.input_types) and node.op not in _NOT_CHANGING


class _Rewrite:
    """Adds the necessary reads to the nodes of a step.

    Attributes:
        nodes: the result.
    """

    def __init__(self, nodes: Sequence[Node], changes: Sequence[Node]) -> None:
        self.nodes: list[Node] = []
        self._changes = changes
        self._frames = find_frames(nodes).of
        self._has_flow = any(node.op in _SWITCHES or node.op in ENTERS for node in nodes)
        self._names = {node.name for node in nodes}
        self._counts: dict[str, int] = {}
        self._variables = _variables(nodes)
        self._changed: dict[Name, int] = {}
        """The changes of each variable, one bit for each."""
        for i, node in enumerate(changes):
            for source, dtype in zip(node.inputs, node.input_types, strict=True):
                if dtype.is_ref:
                    for name in self._variables.get(source, ()):
                        self._changed[name] = self._changed.get(name, 0) | 1 << i
        self._before, self._after = _order(nodes, changes)
        self._shares: dict[Edge, frozenset[Name]] = {}
        """The tensors that share memory with variables that this step changes."""
        self._brought: dict[tuple[Edge, Node], Node] = {}
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

    # Sharing memory with a variable

    def _names_of(self, node: Node, i: int) -> frozenset[Name]:
        """The changed variables whose memory an input shares, if it is a value and not a reference."""
        edge = node.inputs[i]
        if i < len(node.input_types) and node.input_types[i].is_ref:
            return frozenset()
        found = self._shares.get(edge)
        if found is None:
            found = frozenset(name for name in self._variables.get(edge, ()) if name in self._changed)
        return found

    def _take(self, node: Node) -> None:
        """Gives a node the reads that it needs, and notes its outputs that share memory."""
        for i, edge in enumerate(list(node.inputs)):
            names = self._names_of(node, i)
            if not names:
                continue
            # A reference on the same device is read when the node runs.
            reads = edge in self._variables and edge[0].assigned == node.assigned
            if not reads and self._is_stale(node, edge, names):
                node.inputs[i] = self._read(edge, self._controls(node, i, names))
            self._share(node, i, names)

    def _share(self, node: Node, i: int, names: frozenset[Name]) -> None:
        if node.op == "IdentityN":
            self._shares[node, i] = names
        elif i == 0 and (node.op in _SAME or node.op in _SAME_MEMORY or node.op in _FLOW):
            if node.op == "Enter" and not node.attrs["is_constant"]:
                return  # a variable of a loop
            for output in range(len(node.output_types)):
                self._shares[node, output] = names

    def _mask(self, names: Iterable[Name]) -> int:
        mask = 0
        for name in names:
            mask |= self._changed[name]
        return mask

    def _those(self, mask: int) -> list[Node]:
        return [node for i, node in enumerate(self._changes) if mask >> i & 1]

    def _last(self, mask: int) -> list[Node]:
        """The last changes of a mask, which no others of it follow, in a step without loops."""
        found: list[Node] = []
        while mask:
            found.append(self._changes[mask.bit_length() - 1])
            mask &= ~self._after[found[-1]]
        return found[::-1]

    def _is_stale(self, node: Node, edge: Edge, names: frozenset[Name]) -> bool:
        """Whether a change comes between an input and the node that takes it."""
        mask = self._mask(names)
        frame = self._frames.get(edge[0])
        if frame is not None and any(
            f"{self._frames.get(change, '')}/".startswith(f"{frame}/") for change in self._those(mask)
        ):
            return True  # the change is in the preceding iteration, if not in this one
        since = self._after[edge[0]] if edge in self._variables else self._before[edge[0]]
        return bool(self._before[node] & mask & ~since)

    def _controls(self, node: Node, i: int, names: frozenset[Name]) -> list[Node]:
        """The nodes that a read for an input waits for."""
        if not self._has_flow:
            return self._last(self._before[node] & self._mask(names))
        # The change itself may be on a branch that is not taken, or in another loop; the nodes that this one
        # waits for are on its branch and in its iteration.
        others = [source for j, (source, _) in enumerate(node.inputs) if j != i]
        return [
            other
            for other in dict.fromkeys((*others, *node.controls))
            if not (other.op in ENTERS and other.attrs["is_constant"])
        ]

    # New nodes

    def _read(self, edge: Edge, controls: list[Node]) -> Edge:
        """An edge with the value after `controls`."""
        flow: tuple[Edge, ...] = ()  # the edges that bring the reference to its user's branch and loop
        forms: list[tuple[Node, tuple[Edge, ...]]] = []  # reshapes of the memory, each with its flow
        while not edge[0].output_types[edge[1]].is_ref:
            source, index = edge
            if source.op in _FLOW:
                flow, edge = (edge, *flow), source.inputs[0]
            elif source.op in _SAME_MEMORY:
                forms.append((source, flow))
                edge = source.inputs[0]
            else:
                if self._has_flow and not flow:
                    controls = list(dict.fromkeys((*controls, *source.controls)))  # the branch's, perhaps
                edge = source.inputs[index]
        edge = self._read_reference(self._bring(edge, flow), controls)
        for source, flow in reversed(forms):
            copied = source.copy()
            copied.name = self._name(source.name)
            copied.inputs.append(edge)
            copied.inputs += [self._bring(other, flow) for other in source.inputs[1:]]
            copied.controls = [] if flow else list(source.controls)
            self.nodes.append(copied)
            edge = copied, 0
        return edge

    def _read_reference(self, reference: Edge, controls: list[Node]) -> Edge:
        key = reference, frozenset(controls)
        found = self._reads.get(key)
        if found is None:
            holder, output = reference
            attrs = {"T": holder.output_types[output].base}
            found = self._reads[key] = self._add("Identity", holder.name, holder.assigned, [reference], attrs)
            found.controls = list(controls)
            found.why = f"read after {', '.join(control.name for control in controls)}"
        return found, 0

    def _bring(self, edge: Edge, flow: tuple[Edge, ...]) -> Edge:
        """An edge brought to a branch or into a loop as `flow` is, whose outermost edge is the first."""
        for through, output in flow:
            key = edge, through
            found = self._brought.get(key)
            if found is None:
                source, index = edge
                dtype = source.output_types[index]
                found = self._brought[key] = self._add(
                    f"Ref{through.op}" if dtype.is_ref else through.op,
                    through.name,
                    source.assigned,
                    [edge, *through.inputs[1:]],
                    {**through.attrs, "T": dtype.base},
                )
                found.controls = list(through.controls)
            edge = found, output
        return edge

    def _add(self, op: str, name: str, device: str, inputs: list[Edge], attrs: dict[str, Any]) -> Node:
        node = Node(self._name(name), opdef_of(op), attrs)
        node.assigned, node.why = device, f"with {inputs[0][0].name}"
        node.inputs = inputs
        self.nodes.append(node)
        return node

    def _name(self, name: str) -> str:
        count = self._counts.get(name, 0)
        while (unique := f"_late_{count}_{name}") in self._names:
            count += 1
        self._counts[name] = count + 1
        self._names.add(unique)
        return unique

    # Fetches

    def _fetch(self, retval: Node) -> None:
        """Gives a fetch the value at the end of the step."""
        names = self._names_of(retval, 0)
        origin = edge = retval.inputs[0]
        while origin[0].op in _SAME and origin not in self._variables:
            origin = origin[0].inputs[0]
        if not names or edge in self._variables:
            return  # a fetched reference is read at the end of the step already
        if origin in self._variables:
            retval.inputs[0] = origin
            retval.assigned = origin[0].assigned
        elif not self._has_flow:
            retval.inputs[0] = self._read(edge, self._last(self._mask(names)))


def _variables(nodes: Sequence[Node]) -> dict[Edge, frozenset[Name]]:
    """The variables to which each reference may refer."""
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
            # The tensor that closes a loop refers to the variable that has entered it.
            found[node, output] = frozenset().union(*(found.get(source, frozenset()) for source in sources))
    return found


def _order(nodes: Sequence[Node], changes: Sequence[Node]) -> tuple[dict[Node, int], dict[Node, int]]:
    """The changes before the beginning and before the end of each node, one bit for each."""
    bits = {node: 1 << i for i, node in enumerate(changes)}
    before: dict[Node, int] = {}
    after: dict[Node, int] = dict.fromkeys(nodes, 0)
    loops = any(node.op in _BACK for node in nodes)
    settled = False
    while not settled:
        settled = True
        for node in nodes:
            mask = 0
            for source in (*(source for source, _ in node.inputs), *node.controls):
                known = after[source]
                # Most nodes have the mask of the one before, so they share one number to save memory.
                if known is not mask:
                    mask = mask | known if mask else known
            before[node] = mask
            if node in bits:
                mask |= bits[node]
            if after[node] != mask:
                after[node] = mask
                settled = not loops
    return before, after
