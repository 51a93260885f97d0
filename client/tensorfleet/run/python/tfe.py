"""`tensorflow.contrib.eager.python.tfe`, as far as graphs have it: gradients of functions, as functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.api.behavior import (
    enable_eager_execution as enable_eager_execution,
    executing_eagerly as executing_eagerly,
)
from tensorfleet.autodiff.custom_gradient import custom_gradient as custom_gradient
from tensorfleet.autodiff.gradient_tape import GradientTape as GradientTape
from tensorfleet.autodiff.gradients import gradients
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.io.eager_values import py_function as py_func
from tensorfleet.ops.state.resource_variables import ResourceVariable as Variable
from tensorfleet.run.python.context import (
    in_eager_mode as in_eager_mode,
    in_graph_mode as in_graph_mode,
    num_gpus as num_gpus,
)

__all__ = [
    "GradientTape",
    "Variable",
    "custom_gradient",
    "enable_eager_execution",
    "executing_eagerly",
    "gradients_function",
    "in_eager_mode",
    "in_graph_mode",
    "num_gpus",
    "py_func",
    "value_and_gradients_function",
]


def gradients_function(
    f: Callable[..., Any], params: Sequence[Any] | None = None
) -> Callable[..., list[Any]]:
    """A function that returns the gradients of f's result, for each argument.

    Args:
        f: a function of tensors.
        params: the arguments, by positions or by names; by default all.
    """
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[Any] | None = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that returns f's result and the gradients of it; see `gradients_function`.

    The function takes `dy`, the gradient of the result, 1 by default.
    """

    def call(*args: Any, dy: Any = None, **kwargs: Any) -> tuple[Any, list[Any]]:
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        # A tensor that several arguments share has a gradient for each of them.
        given = [identity(convert_to_tensor(arg)) for arg in args]
        result = f(*given)
        if result is None:
            raise ValueError(
                "Cannot differentiate a function that returns None; did you forget to return a value?"
            )
        names = list(inspect.signature(f).parameters)
        chosen = (
            range(len(given))
            if params is None
            else [names.index(p) if isinstance(p, str) else p for p in params]
        )
        return result, gradients(result, [given[index] for index in chosen], None if dy is None else [dy])

    return call
