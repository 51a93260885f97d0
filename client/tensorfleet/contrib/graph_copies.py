"""Operations and variables of one graph in another (`tf.contrib.copy_graph`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.contrib.graph_edits.copying import copy_operation
from tensorfleet.graph import framework
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state.variables import Variable
from tensorfleet.session.session import Session


def _name(name: str, scope: str) -> str:
    return f"{scope}/{name}" if scope else name


def copy_variable_to_graph(org_instance: Any, to_graph: Graph, scope: str = "") -> Any:
    """A variable in another graph, in the same collections, with the initial value that a session computes
    (`tf.contrib.copy_graph.copy_variable_to_graph`).

    Args:
        scope: before its name, and before those of collections of the program's own.

    Raises:
        TypeError: it is no variable.
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    graph = org_instance.graph
    known = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
    collections = [
        key if key in known or not isinstance(key, str) else _name(key, scope)
        for key in graph.get_all_collection_keys()
        if any(each is org_instance for each in graph.get_collection(key))
    ]
    with Session(graph=graph) as session:
        value = session.run(org_instance.initial_value)
    with to_graph.as_default():
        return Variable(
            value,
            trainable=GraphKeys.TRAINABLE_VARIABLES in collections,
            name=_name(org_instance.op.name, scope),
            collections=collections,
            validate_shape=org_instance.shape.is_fully_defined(),
        )


def copy_op_to_graph(org_instance: Any, to_graph: Graph, variables: Iterable[Any], scope: str = "") -> Any:
    """An operation or tensor in another graph, with all that it is made of
    (`tf.contrib.copy_graph.copy_op_to_graph`).

    What the other graph has by that name is taken as it is.

    Args:
        variables: variables that have been copied there, by `copy_variable_to_graph`.
        scope: before all names.

    Raises:
        TypeError: it is neither an operation, nor a tensor or variable.
    """
    if isinstance(org_instance, Variable):
        org_instance = org_instance.op
    if isinstance(org_instance, Tensor):
        op = _copied(org_instance.op, to_graph, scope)
        return op.outputs[org_instance.value_index]
    if not isinstance(org_instance, Operation):
        raise TypeError(f"Could not copy instance: {org_instance}")
    return _copied(org_instance, to_graph, scope)


def _copied(wanted: Operation, graph: Graph, scope: str) -> Operation:
    """The copy of an operation, after those of all that it needs."""
    made: dict[Operation, Operation] = {}
    with graph.as_default(), framework.control_dependencies(None), framework.device(None):
        waiting = [wanted]
        while waiting:
            op = waiting[-1]
            if op in made:
                waiting.pop()
                continue
            found = _existing(graph, _name(op.name, scope))
            if found is None:
                needed = [t.op for t in op.inputs if t.op not in made]
                needed += [control for control in op.control_inputs if control not in made]
                if needed:
                    if any(each in waiting for each in needed):
                        raise ValueError("A part of a graph with a loop cannot be copied.")
                    waiting += needed
                    continue
                inputs = tuple(made[t.op].outputs[t.value_index] for t in op.inputs)
                found = copy_operation(op, _name(op.name, scope), graph, inputs)
                found._add_control_inputs([made[control] for control in op.control_inputs])
            made[op] = found
            waiting.pop()
    return made[wanted]


def _existing(graph: Graph, name: str) -> Operation | None:
    try:
        return graph.get_operation_by_name(name)
    except KeyError:
        return None


def get_copied_op(org_instance: Any, graph: Graph, scope: str = "") -> Any:
    """The copy that another graph has of an operation, tensor or variable
    (`tf.contrib.copy_graph.get_copied_op`)."""
    if isinstance(org_instance, Variable):
        name = _name(org_instance.op.name, scope)
        for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if variable.op.name == name:
                return variable
    name = _name(org_instance.name, scope)
    return graph.as_graph_element(name, allow_tensor=True, allow_operation=True)
