"""`Defun` of `tensorflow.python.framework.function`: functions with declared arguments, and own gradients.

A call puts the function's operations into the graph at the place of the call, as TensorFlow does before it
runs them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorfleet.autodiff.custom_gradient import custom_gradient
from tensorfleet.core import dtypes, errors
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.control_flow.control import group


@dataclass(frozen=True)
class Call:
    """What a gradient function gets in place of a call's operation."""

    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]


class Defun:
    """A decorator of functions of tensors (`function.Defun`).

    Args:
        input_types: the dtypes of the arguments; any number of any, if none is given.
        func_name: the name of the scope of each call.
        grad_func: a function of the arguments and of the gradients of the results, decorated as well.
        python_grad_func: a function of a call, with `inputs` and `outputs`, and of those gradients.
        shape_func: a function of a call that returns the shapes of its results.
        out_names: as many names as there are results.
        capture_by_value, noinline, compiled, separate_compiled_gradients: not needed here; nor are other
            attributes, which are numbers or strings.

    Raises:
        ValueError: two functions for gradients, or an attribute of another type.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        known = {
            *("func_name", "grad_func", "python_grad_func", "out_names", "shape_func", "capture_by_value"),
            *("noinline", "compiled", "separate_compiled_gradients"),
        }
        for key in kwargs.keys() - known:
            if not isinstance(kwargs[key], (bool, int, float, str, bytes)):
                raise ValueError(f"Unsupported attribute type {type(kwargs[key])} of {key}")
        if kwargs.get("grad_func") and kwargs.get("python_grad_func"):
            raise ValueError("Gradient defined twice for function: by grad_func and python_grad_func")
        self._types = [dtypes.as_dtype(each) for each in input_types]
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> Function:
        """The decorated function.

        Raises:
            ValueError: it takes another number of arguments than was declared, or arguments by keyword.
        """
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")
        parameters = inspect.signature(func).parameters.values()
        kinds = [each.kind for each in parameters]
        if inspect.Parameter.VAR_KEYWORD in kinds or any(
            each.default is not each.empty for each in parameters
        ):
            raise ValueError(
                f"Functions with argument defaults or keywords arguments are not supported, such as {func}."
            )
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            if self._types and len(self._types) != len(kinds):
                raise ValueError(
                    f"The function takes {len(kinds)} arguments; {len(self._types)} is the number of "
                    "specified input types."
                )
            return Function(func, self._types, self._options, len(kinds))
        return Function(func, self._types, self._options, len(self._types) or None)


class Function:
    """A function that `Defun` has decorated."""

    def __init__(
        self, func: Callable[..., Any], types: list[Any], options: dict[str, Any], count: int | None
    ) -> None:
        """Wraps `func`; `count` is the number of its arguments, None if it takes any."""
        self._func: Callable[..., Any] = func
        self._count = count
        self._types, self._options = types, options
        functools.update_wrapper(self, func)

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The gradient's function of a call's operation."""
        return self._options.get("python_grad_func")

    @property
    def name(self) -> str:
        """The name of the scope of a call."""
        return str(self._options.get("func_name") or getattr(self._func, "__name__", "function")).strip("<>")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of a call; its operation, if the function returns none.

        Raises:
            ValueError: another number of arguments than was declared, tensors of other dtypes, or a result
                that is None.
            InvalidArgumentError: another number of results than of `out_names`.
        """
        name = kwargs.pop("name", None)
        if kwargs:
            raise ValueError(f"Unknown keyword arguments: {kwargs.keys()}")
        if self._count is not None and len(args) != self._count:
            raise ValueError(f"Expected number of arguments: {self._count}, received: {len(args)}")
        with framework.name_scope(name or self.name):
            wanted = self._types or [None] * len(args)
            inputs = [convert_to_tensor(arg, dtype) for arg, dtype in zip(args, wanted, strict=True)]
            if self._options.get("grad_func") or self._options.get("python_grad_func"):
                return self._with_own_gradient(inputs)
            return self._results(inputs)

    def _results(self, inputs: Sequence[Tensor]) -> Any:
        """What the function returns, with the shapes told of it; if nothing, the operation that runs it."""
        graph = framework.get_default_graph()
        before = len(graph.get_operations())
        results = self._func(*inputs)
        if results is None:
            return group(*graph.get_operations()[before:])
        self._check(results)
        shape_func = self._options.get("shape_func")
        if shape_func is not None:
            outputs = list(results) if isinstance(results, (list, tuple)) else [results]
            for tensor, shape in zip(outputs, shape_func(Call(inputs, outputs)), strict=True):
                tensor.set_shape(shape)
        return results

    def _check(self, results: Any) -> None:
        outputs = results if isinstance(results, (list, tuple)) else [results]
        if any(output is None for output in outputs):
            raise ValueError(f"Function {self.name} can not return None.")
        names = self._options.get("out_names")
        if names and len(names) != len(outputs):
            raise errors.InvalidArgumentError(
                None,
                None,
                "output names must be either empty or equal in size to outputs. output names size = "
                f"{len(names)} outputs size = {len(outputs)}",
            )

    def _with_own_gradient(self, inputs: list[Tensor]) -> Any:
        own, python = self._options.get("grad_func"), self._options.get("python_grad_func")

        @custom_gradient
        def call(*tensors: Tensor) -> Any:
            results = self._results(tensors)
            outputs = list(results) if isinstance(results, (list, tuple)) else [results]

            def grad(*grads: Any) -> Any:
                if python is not None:
                    given = python(Call(tensors, outputs), *grads)
                else:
                    assert own is not None
                    given = own(*tensors, *grads)
                return given if isinstance(given, (list, tuple)) else [given]

            return results, grad

        return call(*map(identity, inputs))
