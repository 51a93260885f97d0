"""`tf.custom_gradient`: functions that say themselves how they are differentiated."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.gradient_registry import RegisterGradient
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

_numbers = itertools.count()


def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Decorates a function that brings its own gradient (`tf.custom_gradient`).

    Args:
        f: takes tensors and returns (result, grad_fn). The result is a tensor or a list or tuple of them.
            `grad_fn` takes one gradient per tensor of the result, and returns one gradient per argument. If f
            uses resource variables that are not among its arguments, it is called with `variables=[…]` and
            returns (gradients of the arguments, gradients of the variables).

    Returns:
        A function of the same arguments that returns the result alone.
    """
    if f is None:
        return custom_gradient
    function = f

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError("Functions with custom gradients take their arguments by position in graphs.")
        return _call(function, [convert_to_tensor(arg) for arg in args])

    return decorated


def _call(function: Callable[..., Any], args: list[Tensor]) -> Any:
    graph = get_default_graph()
    version = graph.version
    result, grad_fn = function(*args)
    is_list = isinstance(result, (list, tuple))
    results = [convert_to_tensor(t) for t in (result if is_list else [result])]
    variables = _variables_read(graph.get_operations()[version:], args)
    takes_variables = "variables" in inspect.signature(grad_fn).parameters or (
        inspect.getfullargspec(grad_fn).varkw is not None
    )
    if variables and not takes_variables:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
            "'variables' keyword argument."
        )

    def rule(op: Operation, *grads: Any) -> list[Any]:
        given = grads[: len(results)]
        if variables:
            inputs, by_variable = grad_fn(*given, variables=variables)
        else:
            inputs, by_variable = grad_fn(*given), []
        inputs = _as_list(inputs)
        if len(inputs) != len(args):
            raise ValueError(
                f"custom_gradient function expected to return {len(args)} gradients, but "
                f"returned {len(inputs)} instead."
            )
        if len(by_variable) != len(variables):
            raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        return [None] * len(results) + inputs + list(by_variable)

    name = f"CustomGradient-{next(_numbers)}"
    RegisterGradient(name)(rule)
    # The result passes through together with what it depends on, so that its gradients come by here, and the
    # way that f itself took is none.
    with graph.gradient_override_map({"IdentityN": name}):
        outputs = apply_op("IdentityN", [*results, *args, *(v.handle for v in variables)])
    own = outputs[: len(results)]
    if not is_list:
        return own[0]
    return type(result)(*own) if hasattr(result, "_fields") else type(result)(own)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _variables_read(ops: Sequence[Operation], args: Sequence[Tensor]) -> list[Any]:
    """The trainable resource variables that operations read, apart from those among the arguments."""
    handles = {t for op in ops for t in op.inputs if t.dtype.name == "resource"}
    given = {t for arg in args for t in arg.op.inputs}
    found = {}
    for variable in get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES):
        handle = getattr(variable, "handle", None)
        if handle in handles and handle not in given:
            found[handle] = variable
    return list(found.values())


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes f, and whose gradient is that of the identity (`tf.grad_pass_through`)."""

    @custom_gradient
    def passing(*args: Any) -> Any:
        def grad(*grads: Any, variables: Sequence[Any] = ()) -> Any:
            passed = grads[0] if len(grads) == 1 else list(grads)
            return (passed, [None] * len(variables)) if variables else passed

        return f(*args), grad

    function: Callable[..., Any] = passing
    return function


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose values are computed again for its gradient, rather than kept (`tf.recompute_grad`).

    Args:
        f: takes tensors and returns a tensor, or a list or tuple of them. Variables that it uses are resource
            variables of `tf.get_variable`.
    """
    from tensorfleet.autodiff.gradients import gradients
    from tensorfleet.graph.framework import control_dependencies
    from tensorfleet.ops.array.identity import identity
    from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        scope = get_variable_scope()

        @custom_gradient
        def inner(*tensors: Any) -> Any:
            result = f(*tensors, **kwargs)

            def grad(*grads: Any, variables: Sequence[Any] = ()) -> Any:
                # Not before the gradients are there, or nothing would be saved.
                with control_dependencies(list(grads)), variable_scope(scope, reuse=True):
                    again = [identity(tensor) for tensor in tensors]
                    repeated = _as_list(f(*again, **kwargs))
                found = gradients(repeated, [*again, *variables], grad_ys=list(grads))
                count = len(again)
                return (found[:count], found[count:]) if variables else found[:count]

            return result, grad

        return inner(*args)

    return decorated
