"""`tensorflow.python.framework.function.Defun`: functions of tensors with gradients of their own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.gradient_registry import RegisterGradient
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

_numbers = itertools.count()


class Defun:
    """The decorator of a function whose calls add its operations to the graph.

    In TensorFlow a call is one node, and the function lies in the graph's library. Here the operations are
    those of the graph itself, so that optimizers and placing see them; values and gradients are the same.

    Args:
        *input_types: the dtypes of the arguments; none: as they come.
        **kwargs: `func_name`; `python_grad_func(op, *grads)`, where `op` has the call's `inputs` and
            `outputs`; `grad_func(*inputs, *grads)`, a function of this kind; `shape_func(op)`, the shapes of
            the outputs; `out_names` and `noinline`, which change nothing here.

    Raises:
        ValueError: both kinds of gradients are given.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._types = [dtypes.as_dtype(dtype) for dtype in input_types]
        self._name: str | None = kwargs.pop("func_name", None)
        self._grad: Callable[..., Any] | None = kwargs.pop("grad_func", None)
        self._python_grad: Callable[..., Any] | None = kwargs.pop("python_grad_func", None)
        self._shape_func: Callable[..., Any] | None = kwargs.pop("shape_func", None)
        if self._grad is not None and self._python_grad is not None:
            raise ValueError("Gradient defined twice for function: by grad_func and python_grad_func")

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        name = self._name or getattr(func, "__name__", type(func).__name__)

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._types and len(args) != len(self._types):
                raise ValueError(
                    f"Expected number of arguments: {len(self._types)}, received: {len(args)} by {name}"
                )
            scope = kwargs.pop("name", None)
            if kwargs:
                raise ValueError(f"Unknown keyword arguments in a call of {name}: {sorted(kwargs)}")
            return self._call(func, scope or name, args)

        call.python_grad_func = self._python_grad  # type: ignore[attr-defined]
        return call

    def _call(self, func: Callable[..., Any], name: str, args: Sequence[Any]) -> Any:
        with name_scope(None, name, args):
            wanted = self._types or [None] * len(args)
            inputs = [convert_to_tensor(arg, dtype) for arg, dtype in zip(args, wanted, strict=True)]
            result = func(*inputs)
            is_list = isinstance(result, (list, tuple))
            results = [convert_to_tensor(value) for value in (result if is_list else [result])]
            if self._shape_func is not None:
                shapes = self._shape_func(SimpleNamespace(inputs=inputs, outputs=results))
                for tensor, shape in zip(results, shapes, strict=True):
                    tensor.set_shape(shape)
            if self._grad is not None or self._python_grad is not None:
                results = self._with_gradient(inputs, results)
            return tuple(results) if is_list else results[0]

    def _with_gradient(self, inputs: list[Tensor], results: list[Tensor]) -> list[Tensor]:
        """The results, whose gradients come by the function's own."""
        count = len(results)

        def rule(op: Operation, *grads: Any) -> list[Any]:
            given = grads[:count]
            if self._python_grad is not None:
                seen = SimpleNamespace(
                    inputs=list(op.inputs)[count:], outputs=op.outputs[:count], name=op.name, graph=op.graph
                )
                found = self._python_grad(seen, *given)
            else:
                assert self._grad is not None
                found = self._grad(*list(op.inputs)[count:], *given)
            own = list(found) if isinstance(found, (list, tuple)) else [found]
            if len(own) != len(inputs):
                raise ValueError(f"Expected {len(inputs)} gradients of {op.name}, received {len(own)}")
            return [None] * count + own

        kind = f"Defun-{next(_numbers)}"
        RegisterGradient(kind)(rule)
        # The results pass through together with the arguments, so that their gradients come by here alone.
        with get_default_graph().gradient_override_map({"IdentityN": kind}):
            outputs: list[Tensor] = apply_op("IdentityN", [*results, *inputs])
        return outputs[:count]
