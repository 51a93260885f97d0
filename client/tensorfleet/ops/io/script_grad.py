"""The op types of `script` have no gradient; a `tf.py_function` has that of its operations."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io.eager_values import py_function_gradient

not_differentiable("PyFunc", "PyFuncStateless")


@gradient("EagerPyFunc")
def _py_function(op: Operation, *grads: Tensor) -> list[Tensor | None]:
    return py_function_gradient(op, grads)
