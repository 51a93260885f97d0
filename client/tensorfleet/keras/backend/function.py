"""`K.function`: from values to values by one step, with updates; gradients."""

from __future__ import annotations

from typing import Any

from tensorfleet.autodiff.gradients import gradients as _gradients
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import nest, ops
from tensorfleet.keras.backend.state import get_session
from tensorfleet.ops.state.variables import Variable


class GraphFunction:
    """A function that feeds values, runs updates and returns the outputs' values.

    Args:
        inputs: the tensors that are fed, in the order of the values.
        outputs: the tensors that are fetched, in any nested structure.
        updates: operations, or pairs of a variable and its new value, which are run in the same step.
        feed_dict: other values to feed in each step.
        fetches: other tensors to compute in each step.
    """

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        updates: Any = None,
        name: str | None = None,
        feed_dict: Any = None,
        fetches: Any = None,
        **session_kwargs: Any,
    ) -> None:
        if session_kwargs:
            raise ValueError(f"Invalid argument {next(iter(session_kwargs))!r} passed to K.function.")
        self.inputs = list(nest.flatten(inputs))
        self.outputs = outputs
        self.name = name
        self.feed_dict: dict[Any, Any] = dict(feed_dict or {})
        flat = [_element(output) for output in nest.flatten(outputs)]
        with ops.control_dependencies([output for output in flat if isinstance(output, (Tensor, Operation))]):
            updates_ops = [
                ops.assign(*update).op if isinstance(update, tuple) else _operation(update)
                for update in updates or []
            ]
        extra = [_operation(fetch) for fetch in nest.flatten(fetches or [])]
        with ops.init_scope():
            self.updates_op = ops.group(*updates_ops) if updates_ops else None
        self._fetches = [flat, [*([] if self.updates_op is None else [self.updates_op]), *extra]]

    def __call__(self, inputs: Any) -> Any:
        feeds = dict(self.feed_dict)
        values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        for tensor, value in zip(self.inputs, values, strict=True):
            if value is not None:
                feeds[tensor] = value
        found = get_session().run(self._fetches, feed_dict=feeds)[0]
        return nest.pack(self.outputs, found)


def _element(output: Any) -> Any:
    return output.value() if isinstance(output, Variable) else output


def _operation(update: Any) -> Any:
    return update if isinstance(update, Operation) else update.op


def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """A function that feeds `inputs`, runs `updates` and returns the values of `outputs`."""
    return GraphFunction(inputs, outputs, updates=updates, name=name, **kwargs)


def gradients(loss: Any, variables: Any) -> list[Any]:
    """The gradients of a loss by each of the variables."""
    return _gradients(loss, variables)


def stop_gradient(variables: Any) -> Any:
    """The same values, through which no gradient goes."""
    if isinstance(variables, (list, tuple)):
        return [ops.stop_gradient(v) for v in variables]
    return ops.stop_gradient(variables)


def update(x: Any, new_x: Any) -> Any:
    """The operation that sets a variable."""
    return ops.assign(x, new_x)


def update_add(x: Any, increment: Any) -> Any:
    """The operation that adds to a variable."""
    return ops.assign_add(x, increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """The operation that subtracts from a variable."""
    return ops.assign_sub(x, decrement)


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """The operation that moves a running average towards a value, by 1 - momentum of the difference."""
    with ops.name_scope("AssignMovingAvg"):
        return ops.assign_sub(x, (x - ops.cast(value, x.dtype.base)) * (1.0 - momentum))
