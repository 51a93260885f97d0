"""The variables of a graph, and the ops that initialize them: `tf.global_variables_initializer`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state import variable_ops


def global_variables(scope: str | None = None) -> list[Any]:
    """The variables that the tasks of a cluster share (`tf.global_variables`).

    Args:
        scope: a regular expression that the names must match from their beginning.
    """
    return framework.get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """`tf.global_variables()` (`tf.all_variables`, deprecated)."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """The variables of one process (`tf.local_variables`)."""
    return framework.get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """The variables that inference needs (`tf.model_variables`)."""
    return framework.get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables that optimizers change (`tf.trainable_variables`).

    Example:
        >>> v, _ = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
        >>> tf.trainable_variables() == [v]
        True
    """
    return framework.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables whose moving averages are kept (`tf.moving_average_variables`)."""
    return framework.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """An operation that runs the initializers of the given variables (`tf.variables_initializer`)."""
    return group(*[variable.initializer for variable in var_list or ()], name=name)


def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """`tf.variables_initializer` (`tf.initialize_variables`, deprecated)."""
    return variables_initializer(var_list, name)


def global_variables_initializer() -> Any:
    """An operation that initializes the global variables made so far (`tf.global_variables_initializer`).

    Example:
        >>> v = tf.Variable(3)
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(v)
        np.int32(3)
    """
    return variables_initializer(global_variables())


def initialize_all_variables() -> Any:
    """`tf.global_variables_initializer` (`tf.initialize_all_variables`, deprecated)."""
    return global_variables_initializer()


def local_variables_initializer() -> Any:
    """An operation that initializes the local variables made so far (`tf.local_variables_initializer`)."""
    return variables_initializer(local_variables())


def initialize_local_variables() -> Any:
    """`tf.local_variables_initializer` (`tf.initialize_local_variables`, deprecated)."""
    return local_variables_initializer()


def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that initializes the tables in their collection (`tf.tables_initializer`)."""
    return group(*framework.get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """`tf.tables_initializer` (`tf.initialize_all_tables`, deprecated)."""
    return tables_initializer(name)


def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    """The names of the variables that are not initialized: a string vector.

    Args:
        var_list: by default the global and the local variables.
    """
    from tensorfleet.ops.array.selection import boolean_mask
    from tensorfleet.ops.math.comparison import logical_not

    if var_list is None:
        var_list = global_variables() + local_variables() or _variables_by_op()
    with framework.name_scope(name):
        checks = [variable_ops.is_variable_initialized(variable) for variable in var_list]
        with framework.device("/cpu:0"):
            if not var_list:
                return constant([], "string")
            missing = logical_not(apply_op("Pack", checks, axis=0, name="stack"))
            names = constant([variable.op.name for variable in var_list])
            return boolean_mask(names, missing)


def _variables_by_op() -> list[Any]:
    """The outputs of the graph's reference variables, found by op type as collections may lack them."""
    types = ("Variable", "VariableV2", "AutoReloadVariable")
    return [op.outputs[0] for op in framework.get_default_graph().get_operations() if op.type in types]


def assert_variables_initialized(var_list: Any = None) -> Any:
    """A tensor whose run fails if a variable is not initialized (`tf.assert_variables_initialized`).

    Returns:
        None if there are no variables.
    """
    if var_list is None:
        var_list = global_variables() + local_variables() or _variables_by_op()
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        with framework.colocate_with(variable.op):
            ranks.append(apply_op("Rank", variable))
    return ranks[0] if len(ranks) == 1 else apply_op("Pack", ranks, axis=0, name="stack")
