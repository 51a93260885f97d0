"""`tf.get_variable` and `tf.get_local_variable`."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variable_scope import get_variable_scope
from tensorfleet.ops.state.variable_store import variable_store


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """The variable `name` in the current variable scope, found or made (`tf.get_variable`).

    Args:
        shape: the shape of a new variable; an existing one must be compatible with it.
        initializer: such as `tf.zeros_initializer()`; or a function called as (shape, dtype=…), one
            without arguments, or a value. By default the scope's, or glorot_uniform, or zeros.
        regularizer: a function from the new variable to a loss, kept in REGULARIZATION_LOSSES.

    Raises:
        ValueError: the variable exists but must not, or must but does not; or it has another shape or
            dtype.

    Example:
        >>> with tf.variable_scope("layer"):
        ...     w = tf.get_variable("w", [2, 3])
        >>> w.name, w.shape.as_list()
        ('layer/w:0', [2, 3])
    """
    return get_variable_scope().get_variable(
        variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """`tf.get_variable` for a variable of one process (`tf.get_local_variable`).

    It is in the collection LOCAL_VARIABLES and never trainable, whatever `trainable` is.
    """
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
