"""Linking the edges that messages name, and checks of their types and of cycles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet_service.graph.attributes import at, cut, signature, type_name
from tensorfleet_service.graph.graph import Node, is_back_edge


def link(inputs: Iterable[tuple[Node, Sequence[str]]], made: dict[str, Node], old: dict[str, Node]) -> bool:
    """Links new nodes to their inputs, and checks types. Returns whether a node precedes an input of its.

    Args:
        inputs: the nodes that are not linked yet, and the texts that name their inputs.
        made: all new nodes by name, in their order.
        old: nodes that were there before.
    """
    place = {node: i for i, node in enumerate(made.values())}
    any_forward = False
    for node, texts in inputs:
        controls: dict[Node, None] = {}
        own = place[node]
        edges, wanted = node.inputs, node.input_types
        fits = len(texts) == len(wanted)
        for text in texts:
            # The quick way for a plain name, which nearly all inputs are, of a tensor of the right type.
            source = made.get(text) or old.get(text)
            if fits and source is not None and source.output_types and not controls:
                fits = source.output_types[0] is wanted[len(edges)]
                edges.append((source, 0))
                if place.get(source, -1) >= own and not is_back_edge(source, node):
                    any_forward = True
                continue
            fits = False
            index = 0
            if source is None and text[:1] == "^":
                source = made.get(text[1:]) or old.get(text[1:])
                if source is not None:
                    controls[source] = None
            else:
                if source is None:
                    name, _, index_text = text.partition(":")
                    if not name or (text != name and not (index_text.isascii() and index_text.isdigit())):
                        raise input_error(node, f"Illegal op input name '{cut(text)}'")
                    source = made.get(name) or old.get(name)
                    index = int(index_text or 0)
                if controls:
                    raise input_error(node, "All control inputs must follow all data inputs")
                if source is not None:
                    edges.append((source, index))
            if source is None:
                raise input_error(node, f"Node '{node.name}': Unknown input node '{cut(text)}'")
            if place.get(source, -1) >= own and not is_back_edge(source, node):
                any_forward = True
        if not fits:
            node.controls += controls
            _check_inputs(node)
    return any_forward


def link_plain(node: Node, texts: Sequence[str], made: dict[str, Node], old: dict[str, Node]) -> bool:
    """Links a node to nodes before it, if its inputs are just their first outputs, of the right types.

    Nearly all nodes are such. Returns False, and links nothing, for any other, which are left to `link`.
    """
    wanted = node.input_types
    if len(texts) != len(wanted):
        return False
    edges = []
    for text, dtype in zip(texts, wanted, strict=True):
        source = made.get(text) or old.get(text)
        if source is None or not source.output_types or source.output_types[0] is not dtype:
            return False
        edges.append((source, 0))
    node.inputs = edges
    return True


def _check_inputs(node: Node) -> None:
    if len(node.inputs) != len(node.input_types):
        expected = ", ".join(map(type_name, node.input_types))
        raise input_error(
            node,
            f"NodeDef expected inputs '{expected}' do not match {len(node.inputs)} inputs specified; "
            f"{signature(node.opdef)}; NodeDef: {{{{node {node.name}}}}}",
        )
    for i, (source, index) in enumerate(node.inputs):
        if index >= len(source.output_types):
            raise input_error(
                node,
                f"Node '{node.name}': Connecting to invalid output {index} of source node {source.name} "
                f"which has {len(source.output_types)} outputs.",
            )
        expected_type = node.input_types[i]
        passed = source.output_types[index]
        if passed is not expected_type and passed.base is not expected_type:
            raise input_error(
                node,
                f"Input {i} of node {node.name} was passed {type_name(passed)} from {source.name}:{index} "
                f"incompatible with expected {type_name(expected_type)}.",
            )


def input_error(node: Node, message: str) -> InvalidArgumentError:
    """The error for a wrong input, by which the client finds the operation."""
    return InvalidArgumentError(None, None, message + at(node.name))


def check_cycles(nodes: dict[str, Node]) -> None:
    """Raises InvalidArgumentError if nodes wait for each other. Older nodes cannot use newer ones."""
    waiting: dict[Node, int] = {}
    consumers: dict[Node, list[Node]] = {}
    for node in nodes.values():
        count = 0
        for source in [source for source, _ in node.inputs] + node.controls:
            if source.name in nodes and not is_back_edge(source, node):
                consumers.setdefault(source, []).append(node)
                count += 1
        waiting[node] = count
    ready = [node for node, count in waiting.items() if not count]
    while ready:
        for consumer in consumers.get(ready.pop(), ()):
            waiting[consumer] -= 1
            if not waiting[consumer]:
                ready.append(consumer)
    # Nodes that only follow a cycle are stuck, too; walking back from any stuck node leads into a cycle.
    stuck = {node for node, count in waiting.items() if count}
    if stuck:
        cycle = _cycle(next(node for node in waiting if node in stuck), stuck)
        names = ", ".join(node.name for node in cycle[:10]) + (", ..." if len(cycle) > 10 else "")
        raise input_error(
            cycle[0], f"Graph is invalid, contains a cycle with {len(cycle)} nodes, including: {names}"
        )


def _cycle(node: Node, stuck: set[Node]) -> list[Node]:
    path: dict[Node, None] = {}
    while node not in path:
        path[node] = None
        node = next(
            source
            for source in [source for source, _ in node.inputs] + node.controls
            if source in stuck and not is_back_edge(source, node)
        )
    walked = list(path)
    return walked[walked.index(node) :][::-1]
