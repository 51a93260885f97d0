"""The bodies of a session's functions, as far as they may be in the place of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tensorfleet.core import dtypes
from tensorfleet.core.attr_value import NameAttrList
from tensorfleet.graph.stateful import READS, SAMPLERS
from tensorfleet.proto import function_pb2
from tensorfleet_service.executor.function_gradient import gradient_body
from tensorfleet_service.graph.function_graph import body, check_call
from tensorfleet_service.graph.graph import GRADIENT, Node
from tensorfleet_service.master.colocate import holds_state
from tensorfleet_service.master.lower_functional import functions_of, is_functional, is_loop
from tensorfleet_service.master.purity import CONTROL_FLOW

Functions = Mapping[str, function_pb2.FunctionDef]

_CALLS = frozenset(("PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient"))
_ENDS = ("_Arg", "_Retval")
MAX_REPEATED_NODES = 1_000_000
"""Limit on the nodes of the bodies that a session's functions have by other attributes than at their first
call; the calls that come then stay as they are."""

_WITHOUT_EFFECT = READS | SAMPLERS | {"Placeholder"}
"""Op types that are stateful by definition, and of which nobody notices whether they ran."""


def is_call(node: Node) -> bool:
    """Whether a node calls a function, and may be replaced by its body."""
    return node.op in _CALLS


class Bodies:
    """Makes each body once for the attributes with which it is called."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._bodies: dict[tuple[bytes, bool], list[Node] | None] = {}
        self._made: set[tuple[str, bool]] = set()
        self._repeated = 0

    def can_replace(self, node: Node) -> bool:
        """Whether a call is of a function whose body can be in its place.

        Raises:
            OpError: the body is invalid, has no gradient, or is not called as it has to be.
        """
        if node.attrs.get("_noinline"):
            return False
        found = self.body_of(node)
        if found is None:
            return False
        given = node.input_types[1:] if node.op == "RemoteCall" else node.input_types
        check_call(found, node.attrs["f"].name, given, node.output_types)
        return True

    def can_lower(self, node: Node) -> bool:
        """Whether an If, Case or While is of functions whose bodies can be in its place.

        Raises:
            OpError: a body is invalid, or is not called as it has to be.
        """
        bodies = [self.of(function, False) for function in functions_of(node)]
        given = node.input_types if is_loop(node) else node.input_types[1:]
        if not bodies or (is_loop(node) and not given):
            return False
        for number, (function, found) in enumerate(zip(functions_of(node), bodies, strict=True)):
            if found is None:
                return False
            results = [each.attrs["T"] for each in found if each.op == "_Retval"]
            if not is_loop(node) or number:
                results = node.output_types
            elif len(results) != 1:
                return False
            check_call(found, function.name, given, results)
        return True

    def body_of(self, node: Node) -> list[Node] | None:
        """The body of the function that a node calls; None if it has to stay a function."""
        return self.of(node.attrs["f"], node.op == "SymbolicGradient")

    def of(self, func: NameAttrList, gradient: bool) -> list[Node] | None:
        key = (func.SerializeToString(deterministic=True), gradient)
        if key not in self._bodies:
            if func.name not in self._functions:
                return None
            again = (func.name, gradient) in self._made
            if again and self._repeated >= MAX_REPEATED_NODES:
                return None
            self._bodies[key] = self._make(func, gradient)
            self._made.add((func.name, gradient))
            if again:
                self._repeated += len(self._functions[func.name].node_def) + 1
        return self._bodies[key]

    def all(self) -> list[list[Node]]:
        """The nodes of all bodies that it keeps."""
        return [body for body in self._bodies.values() if body is not None]

    def _make(self, func: NameAttrList, gradient: bool) -> list[Node] | None:
        definition = self._functions[func.name]
        if "_noinline" in definition.attr and definition.attr["_noinline"].b:
            return None
        if gradient and GRADIENT in definition.attr:
            own = self._functions.get(definition.attr[GRADIENT].s.decode())
            if own is None:
                return None
            definition, gradient = own, False
        found = body(definition, dict(func.attr))
        if gradient:
            found = gradient_body(found, func.name)
        if any(map(_belongs_to_function, found)):
            return None
        # What waits for an effect in a branch that is not taken, or in a loop, would be dead, or in the loop.
        if any(map(has_effect, found)) and any(node.op in CONTROL_FLOW for node in found):
            return None
        return found


def has_effect(node: Node) -> bool:
    return node.opdef.is_stateful and node.op not in _WITHOUT_EFFECT and node.op not in _ENDS


def _belongs_to_function(node: Node) -> bool:
    """Whether a node makes a resource, which is the function's own, or is for other tasks."""
    if node.op in _ENDS:
        return False
    if node.op in ("_Send", "_Recv"):
        return True
    if node.op.startswith(("TensorList", "EmptyTensorList", "Optional")) or node.op == "FakeParam":
        return False
    if is_call(node) or is_functional(node):  # whose functions may make lists
        return dtypes.resource in node.output_types and holds_state(node)
    return holds_state(node)


def passed_on(body: Iterable[Node]) -> set[int]:
    """The numbers of the arguments that a body returns as they are, as results of the same numbers."""
    found = set()
    for node in body:
        if node.op == "_Retval":
            source = node.inputs[0][0]
            if source.op == "_Arg" and source.attrs["index"] == node.attrs["index"]:
                found.add(node.attrs["index"])
    return found
