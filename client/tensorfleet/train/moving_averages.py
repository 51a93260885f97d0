"""Moving averages of variables and tensors (`tf.train.ExponentialMovingAverage`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.variable_collections import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train import slot_creator

_VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))
_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


class ExponentialMovingAverage:
    """Moving averages of variables: average = decay · average + (1 - decay) · value
    (`tf.train.ExponentialMovingAverage`).

    Args:
        decay: the decay, near 1, such as 0.999.
        num_updates: the number n of updates so far, which limits the decay to (1 + n) / (10 + n).
        zero_debias: correct the bias of averages of tensors, which start from zero.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[tuple[Graph, str], Any] = {}

    @property
    def name(self) -> str:
        """The name, with which the names of the averages' variables end."""
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """The operation that updates the averages of these variables or tensors, by default of the trainable
        variables; makes missing averages.

        Raises:
            TypeError: a variable is not floating point.
        """
        values = trainable_variables() if var_list is None else list(var_list)
        debiased = set()
        for value in values:
            if value.dtype.base not in _FLOATS:
                raise TypeError(f"The variables must be half, float, or double: {value.name}")
            if _key(value) not in self._averages:
                with framework.control_dependencies(None):
                    self._averages[_key(value)] = self._make(value)
                if self._zero_debias and not isinstance(value, Variable):
                    debiased.add(_key(value))
        with framework.name_scope(self._name) as scope:
            decay: Any = convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
            if self._num_updates is not None:
                updates: Any = cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = apply_one("Minimum", decay, (1.0 + updates) / (10.0 + updates))
            moved = [
                assign_moving_average(self._averages[_key(value)], value, decay, _key(value) in debiased)
                for value in values
            ]
            return group(*moved, name=scope)

    def _make(self, value: Any) -> Any:
        if not isinstance(value, Variable):
            return slot_creator.create_zeros_slot(
                value, self._name, colocate_with_primary=value.op.type in _VARIABLES
            )
        with framework.device(value.device):
            initial = value.initialized_value()
        average = slot_creator.create_slot(value, initial, self._name)
        framework.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value)
        return average

    def average(self, var: Any) -> Any:
        """The variable that holds the average of `var`, or None."""
        return self._averages.get(_key(var))

    def average_name(self, var: Any) -> str:
        """The name of the variable of the average of `var`, which need not exist yet."""
        found = self.average(var)
        if found is not None:
            name: str = found.op.name
            return name
        return framework.get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """From names in the checkpoint to variables, for a Saver that loads averages in place of values.

        Args:
            moving_avg_variables: the variables to load the average of, by default all that may have one.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = {_key(v): v for v in moving_avg_variables}
        names = {self.average_name(v): v for v in averaged.values()}
        for variable in [*global_variables()]:
            if _key(variable) not in averaged and variable.op.name not in names:
                names[variable.op.name] = variable
        return names


def _key(value: Any) -> tuple[Graph, str]:
    return value.op.graph, value.name


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """The operation that moves `variable` toward `value`: variable = decay · variable + (1 - decay) · value
    (`moving_averages.assign_moving_average`).

    Args:
        variable: a variable of a floating-point dtype.
        value: a tensor of its shape and dtype.
        decay: the decay, near 1.
        zero_debias: correct the bias of a variable that starts from zero, by two more variables.
        name: the name of the operation.
    """
    with (
        framework.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope,
        framework.colocate_with(variable.op),
    ):
        rate = cast(convert_to_tensor(1.0 - decay, name="decay"), variable.dtype.base)
        if zero_debias:
            return _move_debiased(variable, value, rate, scope)
        return variable.assign_sub((variable - value) * rate, name=scope)


def _free_name(name: str, scope: Any) -> str:
    """A variable's name in the scope, with a number if there is one of that name and it is not reused."""
    if scope.reuse:
        return name
    taken = {variable.op.name for variable in scope.global_variables()}
    names = (name, *(f"{name}_{number}" for number in range(1, len(taken) + 1)))
    return next(free for free in names if f"{scope.name}/{free}" not in taken)


def _move_debiased(average: Any, value: Any, rate: Any, scope: str) -> Any:
    dtype = average.dtype.base
    with variable_scope(average.op.name, values=[average, value, rate]) as inner:
        # An average that moves in several places of the graph has one pair of variables for each of them.
        biased_name, steps_name = _free_name("biased", inner), _free_name("local_step", inner)
        biased = get_variable(
            biased_name, average.get_shape(), dtype, initializer=zeros_initializer(), trainable=False
        )
        steps = get_variable(steps_name, [], dtype, initializer=zeros_initializer(), trainable=False)
    moved = biased.assign_sub((biased - value) * rate, read_value=False)
    counted = steps.assign_add(apply_one("Cast", 1.0, DstT=dtype), read_value=False)
    with framework.control_dependencies([moved, counted]):
        corrected = biased.read_value() / (1 - apply_one("Pow", 1.0 - rate, steps.read_value()))
        return average.assign_sub(average - corrected, name=scope)
