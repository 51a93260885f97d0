"""Creation of variables: the choice of their class, and `tf.create_partitioned_variables`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.ops.state import variables
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.ref_variable import RefVariable
from tensorfleet.ops.state.resource_variables import ResourceVariable
from tensorfleet.ops.state.variable_options import resource_variables_enabled
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.ops.state.variables import Variable


def _create_default(**arguments: Any) -> Variable:
    """A variable of the class that `use_resource` and the scopes select."""
    definition = arguments.get("variable_def")
    use_resource = arguments.pop("use_resource", None)
    if definition is not None:
        use_resource = definition.is_resource
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = resource_variables_enabled()
    if use_resource:
        arguments.pop("expected_shape", None)
        return ResourceVariable(**arguments)
    return RefVariable(**arguments)


variables.serve_creation(_create_default)


def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """The parts of a new variable (`tf.create_partitioned_variables`, deprecated for partitioners).

    Args:
        shape: the shape of the whole variable.
        slicing: the number of parts along each dimension; greater than 1 along one dimension at most.
        initializer: as in `tf.get_variable`.
        trainable, collections, name, reuse: as in `tf.get_variable`.

    Raises:
        ValueError: `slicing` does not fit the shape.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: "
            f"shape: {shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole = get_variable(
            "",  # the name of the scope
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=lambda **_: list(slicing),
            collections=collections,
        )
    return list(whole)
