"""Operations that initialize a loaded graph (`tf.saved_model.main_op`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state import variable_collections


def main_op() -> Operation:
    """Initializes all variables and tables (`tf.saved_model.main_op.main_op`)."""
    return group(
        variable_collections.global_variables_initializer(),
        variable_collections.local_variables_initializer(),
        variable_collections.tables_initializer(),
    )


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Restores variables after the initialization of all (`tf.saved_model.main_op_with_restore`).

    Args:
        restore_op_name: the operation that restores them.
    """
    with control_dependencies([main_op()]):
        return group(restore_op_name)
