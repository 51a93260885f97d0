"""Order and grouping of operations: `tf.group`, `tf.tuple`, `tf.no_op`."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, ValuesView
from typing import Any, overload

from tensorfleet.core import structures
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import nothing

op("ControlTrigger() -> ()", shape=nothing)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing, for others to depend on (`tf.no_op`)."""
    return apply_none("NoOp", name=name)


def _flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _flatten(value[key])
    elif isinstance(value, (list, builtins.tuple, ValuesView)):
        for item in value:
            yield from _flatten(item)
    elif not hasattr(value, "op") and (parts := structures.VALUES.items(value)) is not None:
        yield from parts  # of a RaggedTensor
    else:
        yield value


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that has run once all `inputs` have (`tf.group`).

    Each device gets its own NoOp, so that the last one waits for one signal from each device.

    Args:
        inputs: operations, tensors or variables, and lists of them.
        name: keyword only.

    Raises:
        TypeError: an input of another type.

    Example:
        >>> a, b = tf.Variable(1), tf.Variable(2)
        >>> with tf.Session() as session:
        ...     session.run(tf.group(a.initializer, b.initializer))
        ...     session.run([a, b])
        [np.int32(1), np.int32(2)]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    elements = list(_flatten(inputs))
    with framework.name_scope(name, "group_deps", elements) as scope:
        by_device: dict[str, list[Operation]] = {}
        for element in elements:
            operation = _operation(element)
            by_device.setdefault(operation.device, []).append(operation)
        node_name = scope[:-1] + "/"
        if len(by_device) <= 1:
            for device, operations in by_device.items():
                return _no_op_after(operations, device, node_name)
            return no_op(node_name)
        deps = [_no_op_after(by_device[device], device, None) for device in sorted(by_device)]
        with framework.control_dependencies(deps):
            return no_op(node_name)


def _operation(element: Any) -> Operation:
    operation = element if isinstance(element, Operation) else getattr(element, "op", None)
    if not isinstance(operation, Operation):
        raise TypeError(
            "'inputs' should be zero or more (nested) Tensors. Received "
            f"'{element}' with type '{type(element)}'."
        )
    return operation


def _no_op_after(operations: list[Operation], device: str, name: str | None) -> Operation:
    with framework.control_dependencies(operations):
        if not device:
            return no_op(name)
        with framework.device(device):
            return no_op(name)


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The tensors, available once all of them and `control_inputs` are (`tf.tuple`).

    Args:
        tensors: tensors, IndexedSlices or operations; None stays None.

    Raises:
        ValueError: there is no tensor or operation among `tensors`.
        TypeError: an item of `control_inputs` is neither an operation nor a tensor.
    """
    from tensorfleet.ops.array.identity import identity

    with framework.name_scope(name, "tuple", [t for t in tensors if t is not None]):
        gating = [t if isinstance(t, Operation) else _operation(t) for t in tensors if t is not None]
        for control in control_inputs or ():
            operation = control.op if isinstance(control, Tensor) else control
            if not isinstance(operation, Operation):
                raise TypeError(
                    f"'control_inputs' must only contain Operation or Tensor. Received: {type(control)}"
                )
            gating.append(operation)
        gating = sorted(set(gating), key=lambda operation: operation._id)
        if not gating:
            raise ValueError("'tensors' must have at least one Tensor. Received: " + str(list(tensors)) + ".")
        gate = group(*gating)
        result: list[Any] = []
        for value in tensors:
            if value is None or isinstance(value, Operation):
                result.append(None if value is None else with_dependencies([gate], value))
                continue
            with framework.colocate_with(value), framework.control_dependencies([gate]):
                result.append(identity(value, name="control_dependency"))
        return result


@overload
def with_dependencies(dependencies: list[Any], output: Tensor, name: str | None = None) -> Tensor: ...
@overload
def with_dependencies(dependencies: list[Any], output: Any, name: str | None = None) -> Any: ...
def with_dependencies(dependencies: list[Any], output: Any, name: str | None = None) -> Any:
    """`output`, available only once `dependencies` have run."""
    from tensorfleet.ops.array.identity import identity

    if isinstance(output, Operation):
        return group(*dependencies, output, name=name)
    with framework.name_scope(name, "control_dependency", [*dependencies, output]) as scope:
        graph = get_default_graph()
        with graph.colocate_with(output), graph.control_dependencies(dependencies):
            return identity(output, name=scope)
