"""What is private in modules of `tensorflow.python.training`: of `training_util`, `optimizer` and others."""

from __future__ import annotations

from typing import Any

import tensorfleet as tf
from tensorfleet.graph.tensor import Tensor
from tensorfleet.train.moving_averages import assign_moving_average


def as_graph_element(obj: Any) -> Any:
    """The tensor or operation of the default graph that a name or object stands for.

    Raises:
        ValueError: it stands for none.
    """
    return tf.get_default_graph().as_graph_element(obj, allow_tensor=True, allow_operation=True)


def var_key(var: Any) -> tuple[Any, str]:
    """What identifies a variable among those of all graphs."""
    return var.op.graph, var.op.name


def global_step_read(graph: Any = None) -> Tensor | None:
    """The global step's value, read; None without a global step."""
    found = tf.train.get_or_create_global_step(graph)
    return None if found is None else tf.identity(found)


def increment_global_step(increment: Any, graph: Any = None) -> Any:
    """The operation that adds to the global step.

    Raises:
        ValueError: the graph has none.
    """
    graph = graph or tf.get_default_graph()
    found = tf.train.get_global_step(graph)
    if found is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before calling "
            "increment."
        )
    with graph.as_default(), tf.control_dependencies([tf.identity(found)]):
        return found.assign_add(tf.cast(increment, found.dtype.base))


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """The average of a value that was weighted at each step, with older ones decayed
    (`moving_averages.weighted_moving_average`)."""
    if collections is None:
        collections = [tf.GraphKeys.GLOBAL_VARIABLES]
    with tf.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        made = [
            tf.get_variable(
                variable,
                initializer=tf.zeros_initializer(),
                shape=part.get_shape(),
                dtype=value.dtype,
                trainable=False,
                collections=collections,
            )
            for variable, part in (("value_x_weight", value), ("weight", weight))
        ]
        numerator = assign_moving_average(made[0], value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(made[1], weight, decay, zero_debias=False)
        divide = tf.truediv if truediv else tf.div
        average: Tensor = divide(numerator, denominator, name=scope.name)
    return average
