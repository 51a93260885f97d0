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
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity


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
        out_names, capture_by_value, noinline, compiled, separate_compiled_gradients: not needed here.

    Raises:
        ValueError: two functions for gradients.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        known = {
            *("func_name", "grad_func", "python_grad_func", "out_names", "shape_func", "capture_by_value"),
            *("noinline", "compiled", "separate_compiled_gradients"),
        }
        if unknown := sorted(set(kwargs) - known):
            raise TypeError(f"Defun() got an unexpected keyword argument {unknown[0]!r}")
        if kwargs.get("grad_func") and kwargs.get("python_grad_func"):
            raise ValueError("Gradient defined twice for function: by grad_func and python_grad_func")
        self._types = [dtypes.as_dtype(each) for each in input_types]
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> Function:
        """The decorated function.

        Raises:
            ValueError: it takes another number of arguments than was declared.
        """
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")
        parameters = inspect.signature(func).parameters.values()
        if not any(each.kind is each.VAR_POSITIONAL for each in parameters):
            needed = sum(each.default is each.empty for each in parameters)
            if self._types and not needed <= len(self._types) <= len(parameters):
                raise ValueError(
                    f"The function takes {needed} arguments, but was declared with {len(self._types)}"
                )
        return Function(func, self._types, self._options)


class Function:
    """A function that `Defun` has decorated."""

    def __init__(self, func: Callable[..., Any], types: list[Any], options: dict[str, Any]) -> None:
        self._func: Callable[..., Any] = func
        self._types, self._options = types, options
        functools.update_wrapper(self, func)

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The gradient's function of a call's operation."""
        return self._options.get("python_grad_func")

    @property
    def name(self) -> str:
        """The name of the scope of a call."""
        return str(self._options.get("func_name") or getattr(self._func, "__name__", "function"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of a call.

        Raises:
            ValueError: another number of arguments than was declared, or tensors of other dtypes.
        """
        name = kwargs.pop("name", None)
        if kwargs:
            raise ValueError(f"Unknown keyword arguments: {kwargs.keys()}")
        if self._types and len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)}")
        with framework.name_scope(name or self.name):
            wanted = self._types or [None] * len(args)
            inputs = [convert_to_tensor(arg, dtype) for arg, dtype in zip(args, wanted, strict=True)]
            if self._options.get("grad_func") or self._options.get("python_grad_func"):
                return self._with_own_gradient(inputs)
            return self._results(inputs)

    def _results(self, inputs: Sequence[Tensor]) -> Any:
        """What the function returns, with the shapes that are told of it."""
        results = self._func(*inputs)
        shape_func = self._options.get("shape_func")
        if shape_func is not None:
            outputs = list(results) if isinstance(results, (list, tuple)) else [results]
            for tensor, shape in zip(outputs, shape_func(Call(inputs, outputs)), strict=True):
                tensor.set_shape(shape)
        return results

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
