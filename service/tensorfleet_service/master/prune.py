"""Stage 1: selection of the nodes of a session's graph that a signature runs, in the order of running."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tensorfleet.core.errors import InvalidArgumentError, NotFoundError
from tensorfleet_service.graph.attributes import cut, type_name
from tensorfleet_service.graph.graph import NEXT_ITERATIONS, Node, is_back_edge, opdef_of
from tensorfleet_service.graph.session_graph import SessionGraph

_PLACEHOLDERS = frozenset(("Placeholder", "PlaceholderV2"))


def prune(
    graph: SessionGraph, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
) -> list[Node]:
    """The nodes that the fetches and targets need, as copies, in one topological order.

    The order is depth-first from the fetches and then the targets, in their order, so a value is made shortly
    before it is used. The edge from NextIteration back to Merge is the only one that leads backwards. A fed
    tensor, of any op, comes from an `_Arg` node with its position among the feeds; each fetch ends in a
    `_Retval` node with its position. The other outputs of a node with a fed output are computed.

    Args:
        graph: stays as it is.
        feeds, fetches: tensor names, "name:index" or "name" for index 0.
        targets: names of nodes to run.

    Raises:
        NotFoundError: a feed, fetch or target is not in the graph.
        InvalidArgumentError: a node does not have an output; a tensor is fed twice, fed and fetched, or fed
            in
            place of a reference; there is nothing to run.
    """
    if not fetches and not targets:
        raise InvalidArgumentError(None, None, "Must specify at least one target to fetch or execute.")
    walk = _Walk(_find_feeds(graph, feeds))
    found_fetches = [_find_fetch(graph, name, walk.fed) for name in fetches]
    found_targets = _find_targets(graph, targets)
    for position, (node, index) in enumerate(found_fetches):
        walk.visit(node)
        walk.add_retval(node, index, position)
    for node in found_targets:
        walk.visit(node)
    walk.finish()
    return walk.order


def after(graph: SessionGraph, ran: Collection[str]) -> SessionGraph:
    """The graph after some nodes have run, for which nobody waits any more.

    References that they handed on come from the variables themselves. Their other tensors that are still
    needed have to be fed.
    """
    if not ran:
        return graph
    result = SessionGraph()
    copies = {node: node.copy() for node in graph.nodes.values()}
    for node, copied in copies.items():
        for source, index in node.inputs:
            while source.name in ran and source.input_types and source.input_types[0].is_ref:
                if not source.output_types[index].is_ref:
                    break
                source, index = source.inputs[0]
            copied.inputs.append((copies[source], index))
        copied.controls = [copies[control] for control in node.controls if control.name not in ran]
        result.nodes[node.name] = copied
    return result


def _find(graph: SessionGraph, tensor: str) -> tuple[Node | None, int]:
    name, _, index = tensor.partition(":")
    if tensor != name and not (index.isascii() and index.isdigit()):
        return None, 0
    return graph.nodes.get(name), int(index or 0)


def _find_feeds(graph: SessionGraph, feeds: Sequence[str]) -> dict[tuple[Node, int], int]:
    fed: dict[tuple[Node, int], int] = {}
    for position, tensor in enumerate(feeds):
        node, index = _find(graph, tensor)
        if node is None:
            raise NotFoundError(None, None, f"FeedInputs: unable to find feed output {cut(tensor)}")
        count = len(node.output_types)
        if index >= count:
            message = f"FeedInputs: {tensor} should have output index < {count}"
            raise InvalidArgumentError(None, None, message)
        if fed.setdefault((node, index), position) != position:
            raise InvalidArgumentError(None, None, f'Endpoint "{tensor}" fed more than once.')
    return fed


def _find_fetch(graph: SessionGraph, tensor: str, fed: dict[tuple[Node, int], int]) -> tuple[Node, int]:
    node, index = _find(graph, tensor)
    if node is None:
        raise NotFoundError(None, None, f"FetchOutputs node {cut(tensor)}: not found")
    if not node.output_types:
        message = (
            f"Tried to fetch data for '{tensor}', which produces no output.  To run to a node but not fetch "
            f"any data, pass '{tensor}' as an argument to the 'target_node_names' argument of the "
            "Session::Run API."
        )
        raise InvalidArgumentError(None, None, message)
    if index >= len(node.output_types):
        message = f"FetchOutputs {tensor}: output index too large, must be < {len(node.output_types)}"
        raise InvalidArgumentError(None, None, message)
    if (node, index) in fed:
        raise InvalidArgumentError(None, None, f"{tensor} is both fed and fetched.")
    return node, index


def _find_targets(graph: SessionGraph, targets: Sequence[str]) -> list[Node]:
    found = [_find(graph, target)[0] for target in targets]
    missing = [target for target, node in zip(targets, found, strict=True) if node is None]
    if missing:
        message = f"PruneForTargets: Some target nodes not found: {cut(' '.join(missing))}"
        raise NotFoundError(None, None, message)
    return [node for node in found if node is not None]


class _Walk:
    """The depth-first walk from the roots to the sources."""

    def __init__(self, fed: dict[tuple[Node, int], int]) -> None:
        self.order: list[Node] = []
        self.fed = fed
        self._fed_nodes = {node for node, _ in fed}
        self._args: dict[int, Node] = {}
        self._copies: dict[Node, Node] = {}
        self._done: set[Node] = set()
        self._loops: list[tuple[Node, int, Node, int]] = []  # inputs of Merge nodes that close loops

    def visit(self, root: Node) -> None:
        """Adds `root` and all nodes that it needs to the order, without the sources of edges that close
        loops.
        """
        copies, done, fed_nodes = self._copies, self._done, self._fed_nodes
        stack = [root]
        while stack:
            node = stack.pop()
            if node in done:
                continue
            if node in copies:  # all its inputs have been added since it was first seen
                self._add(node)
                done.add(node)
                continue
            copies[node] = node.copy()
            stack.append(node)
            # A node without inputs comes directly before its first user, so it is not visited.
            for control in reversed(node.controls) if node.controls else ():
                if control in copies or not (control.inputs or control.controls):
                    continue
                if self._fed_placeholder(control) is None:
                    stack.append(control)
            for edge in reversed(node.inputs):
                source = edge[0]
                if source in copies or not (source.inputs or source.controls):
                    continue
                if source in fed_nodes and edge in self.fed:
                    continue
                if source.op not in NEXT_ITERATIONS or not is_back_edge(source, node):
                    stack.append(source)

    def _fed_placeholder(self, node: Node) -> int | None:
        """The position of the feed that stands for a placeholder, which then need not run."""
        if node in self._fed_nodes and node.op in _PLACEHOLDERS:
            return self.fed[(node, 0)]
        return None

    def _add(self, node: Node) -> None:
        copied = self._copies[node]
        inputs, copies, fed_nodes = copied.inputs, self._copies, self._fed_nodes
        for edge in node.inputs:
            source, index = edge
            if source in fed_nodes and edge in self.fed:
                expected = node.input_types[len(inputs)]
                argument = self._arg(source, index)
                if expected.is_ref:
                    message = (
                        f"Input {len(inputs)} of node {node.name} was passed "
                        f"{type_name(argument.output_types[0])} from {argument.name}:0 incompatible with "
                        f"expected {type_name(expected)}.\n\t [[{{{{node {node.name}}}}}]]"
                    )
                    raise InvalidArgumentError(None, None, message)
                inputs.append((argument, 0))
            elif source.op in NEXT_ITERATIONS and is_back_edge(source, node):
                self._loops.append((copied, len(inputs), source, index))
                inputs.append(edge)  # replaced by its copy at the end of the walk
            else:
                inputs.append((copies.get(source) or self._source(source), index))
        for control in node.controls:
            if fed_nodes and self._fed_placeholder(control) is not None:
                copied.controls.append(self._arg(control, 0))
            else:
                copied.controls.append(copies.get(control) or self._source(control))
        self.order.append(copied)

    def _source(self, node: Node) -> Node:
        copied = self._copies[node] = node.copy()
        self._done.add(node)
        self.order.append(copied)
        return copied

    def _arg(self, node: Node, index: int) -> Node:
        position = self.fed[(node, index)]
        argument = self._args.get(position)
        if argument is None:
            attrs = {"T": node.output_types[index].base, "index": position}
            argument = Node(f"_arg_{node.name}_{index}_{position}", opdef_of("_Arg"), attrs)
            self._args[position] = argument
            self.order.append(argument)
        return argument

    def add_retval(self, node: Node, index: int, position: int) -> None:
        """Adds the fetch of an output of a visited node."""
        attrs = {"T": node.output_types[index].base, "index": position}
        retval = Node(f"_retval_{node.name}_{index}_{position}", opdef_of("_Retval"), attrs)
        retval.inputs.append((self._copies[node], index))
        self.order.append(retval)

    def finish(self) -> None:
        """Visits the nodes that close loops, which may lead to more loops, and links them to their Merges."""
        for merge, position, source, index in self._loops:  # grows during the iteration
            self.visit(source)
            merge.inputs[position] = (self._copies[source], index)
