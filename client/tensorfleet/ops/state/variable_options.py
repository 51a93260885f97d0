"""Defaults of new variables, and options of `tf.Variable` that are kept but have no effect."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from tensorfleet.graph.graph import Graph


class VariableSynchronization(enum.Enum):
    """When copies of a variable are synchronized (`tf.VariableSynchronization`); without effect."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable are aggregated (`tf.VariableAggregation`); without effect."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


_resource_by_default = False


def enable_resource_variables() -> None:
    """Makes `tf.Variable` and `tf.get_variable` make resource variables (`tf.enable_resource_variables`)."""
    global _resource_by_default
    _resource_by_default = True


def disable_resource_variables() -> None:
    """Makes `tf.Variable` and `tf.get_variable` make reference variables again, the default
    (`tf.disable_resource_variables`)."""
    global _resource_by_default
    _resource_by_default = False


def resource_variables_enabled() -> bool:
    """Whether new variables are resource variables by default (`tf.resource_variables_enabled`)."""
    return _resource_by_default


_CREATORS = ("__variable_creators",)
"""The key of the collection with a graph's variable creators; no string, as in TensorFlow."""


def creators(graph: Graph) -> list[Callable[..., Any]]:
    """The stack of `tf.variable_creator_scope` functions of a graph, the outermost first."""
    return graph.get_collection_ref(_CREATORS)
