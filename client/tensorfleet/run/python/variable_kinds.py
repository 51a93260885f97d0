"""Which kind of variable something is (`tensorflow.python.ops.resource_variable_ops`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.ops.state.resource_variables import ResourceVariable


def is_resource_variable(var: Any) -> bool:
    """Whether a value is a variable that is read and written by a handle."""
    return isinstance(var, ResourceVariable)
