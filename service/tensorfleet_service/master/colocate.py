"""Groups of nodes that must be on one device, and the device that their requests together name."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tensorfleet.core import dtypes
from tensorfleet.core.device import ParsedDevice, parse
from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet_service.graph.graph import Node

_CLASS_PREFIX = b"loc:@"
_ANYWHERE = ParsedDevice()
_PARTS = ("job", "replica", "task", "type", "index")
_PART_NAMES = {"job": "jobs", "replica": "replicas", "task": "tasks", "type": "types", "index": "ids"}


class Group:
    """Nodes that must be on one device.

    Attributes:
        members: the nodes, in the order in which they joined.
        wanted: the parts of a device name that the nodes' requests together determine.
        fixed: the parts of it that come from nodes that hold state, or are placed already, which their users
            cannot move.
        reasons: the reason why each node but the first is in the group.
    """

    __slots__ = ("fixed", "members", "reasons", "wanted")

    def __init__(self, node: Node) -> None:
        self.members = [node]
        self.reasons: dict[Node, str] = {}
        self.wanted = parse(node.assigned) if node.assigned else requested(node)
        self.fixed = self.wanted if node.assigned or holds_state(node) else _ANYWHERE


def requested(node: Node) -> ParsedDevice:
    """The device that a node requests. Raises InvalidArgumentError if that is not a device name."""
    try:
        return parse(node.device)
    except ValueError as error:
        message = (
            f"Malformed device specification '{node.device}' in node: {{{{node {node.name}}}}} = {node.op}: "
            f"{error}\n\t [[{{{{node {node.name}}}}}]]"
        )
        raise InvalidArgumentError(None, None, message) from None


def colocate(nodes: Sequence[Node], allow_soft_placement: bool = False) -> dict[Node, Group]:
    """The groups of nodes, by reference and resource edges and by `_class` attributes.

    If an edge joins requests that contradict each other, the holder of the state wins. A name in a `_class`
    attribute need not be that of a node in `nodes`: the nodes that name it belong together all the same.

    Raises:
        InvalidArgumentError: `_class` joins requests that contradict each other, or an op uses state on
            different devices. With soft placement, types and numbers of devices never contradict each other.
    """
    groups = _Groups(allow_soft_placement)
    by_name: dict[bytes, Node] = {}
    named = [node for node in nodes if "_class" in node.attrs]
    if named:
        by_name = {node.name.encode(): node for node in nodes}
    for node in nodes:
        for i, dtype in enumerate(node.input_types):
            if _is_state(dtype):
                kind = "reference" if dtype.is_ref else dtype.name
                groups.join_edge(node.inputs[i][0], node, f"{kind} edge")
    for node in named:
        for name in node.attrs["_class"]:
            if name.startswith(_CLASS_PREFIX):
                groups.join_class(by_name.setdefault(name[len(_CLASS_PREFIX) :], node), node)
    return groups.of


class _Groups:
    def __init__(self, soft: bool) -> None:
        self.of: dict[Node, Group] = {}
        self._soft = soft

    def join_edge(self, source: Node, node: Node, reason: str) -> None:
        first, second = self._pair(source, node)
        if first is second:
            return
        fixed = self._merge(first.fixed, second.fixed)
        if isinstance(fixed, str):
            message = (
                "Cannot place the graph because a reference or resource edge connects colocation groups with "
                f"incompatible resource devices: {first.fixed} vs {second.fixed}. The edge src node is "
                f"name='{source.name}' (op='{source.op}'), and the dst node is name='{node.name}' "
                f"(op='{node.op}').\n\t [[{{{{node {node.name}}}}}]]"
            )
            raise InvalidArgumentError(None, None, message)
        wanted = self._merge(first.wanted, second.wanted)
        if isinstance(wanted, str):
            wanted = second.wanted.merge(first.wanted).merge(fixed)
        self._join(first, second, wanted, fixed, node, f"with {source.name} ({reason})")

    def join_class(self, target: Node, node: Node) -> None:
        first, second = self._pair(target, node)
        if first is second:
            return
        wanted = self._merge(second.wanted, first.wanted)
        if isinstance(wanted, str):
            message = (
                f"Cannot colocate nodes {{{{colocation_node {node.name}}}}} and "
                f"{{{{colocation_node {target.name}}}}}: {wanted}\n\t [[{{{{node {node.name}}}}}]]"
            )
            raise InvalidArgumentError(None, None, message)
        fixed = self._merge(first.fixed, second.fixed)
        assert not isinstance(fixed, str), "a group's fixed parts are among its wanted ones"
        self._join(first, second, wanted, fixed, node, f"with {target.name} (_class)")

    def _pair(self, first: Node, second: Node) -> tuple[Group, Group]:
        for node in (first, second):
            if node not in self.of:
                self.of[node] = Group(node)
        return self.of[first], self.of[second]

    def _join(
        self,
        first: Group,
        second: Group,
        wanted: ParsedDevice,
        fixed: ParsedDevice,
        node: Node,
        reason: str,
    ) -> None:
        # The smaller group moves, so that a node moves only a logarithmic number of times.
        big, small = (first, second) if len(first.members) >= len(second.members) else (second, first)
        big.members += small.members
        big.reasons |= small.reasons
        big.reasons.setdefault(node, reason)
        big.wanted, big.fixed = wanted, fixed
        for member in small.members:
            self.of[member] = big

    def _merge(self, first: ParsedDevice, second: ParsedDevice) -> ParsedDevice | str:
        """The device that both names together determine, or a description of their contradiction."""
        if first is second or second is _ANYWHERE:
            return first
        for part in _PARTS:
            own, other = getattr(first, part), getattr(second, part)
            if own is not None and other is not None and own != other:
                if not self._soft or part in ("job", "replica", "task"):
                    name = _PART_NAMES[part]
                    return f"Cannot merge devices with incompatible {name}: '{first}' and '{second}'"
                kind = None if part == "type" else first.type
                merged = first.merge(second)
                return ParsedDevice(merged.job, merged.replica, merged.task, kind, None)
        return first.merge(second)


def holds_state(node: Node) -> bool:
    """Whether a node makes a reference or a resource without taking one."""
    for dtype in node.output_types:
        if _is_state(dtype):
            return not any(map(_is_state, node.input_types))
    return False


def state_related(nodes: Collection[Node]) -> list[Node]:
    """The nodes that share state, those with a `_class` attribute, and the nodes that these name."""
    named = {name for node in nodes if "_class" in node.attrs for name in node.attrs["_class"]}
    return [
        node
        for node in nodes
        if "_class" in node.attrs
        or any(map(_is_state, node.input_types))
        or any(map(_is_state, node.output_types))
        or (named and _CLASS_PREFIX + node.name.encode() in named)
    ]


def _is_state(dtype: dtypes.DType) -> bool:
    # Datasets are state, too: the op that makes an iterator has to be on its dataset's device.
    return dtype.is_ref or dtype is dtypes.resource or dtype is dtypes.variant
