"""The op types of `script` have no gradient; asking for that of a `tf.py_function` is an error."""

from __future__ import annotations

from typing import NoReturn

from tensorfleet.graph.gradient_registry import gradient, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor

not_differentiable("PyFunc", "PyFuncStateless")


@gradient("EagerPyFunc")
def _py_function(op: Operation, *grads: Tensor) -> NoReturn:
    # TensorFlow differentiates the function; None would leave out a part of the gradient without a word.
    raise LookupError(
        f"No gradient flows through tf.py_function ({op.name}) here. Write what has to be differentiated as "
        "operations of the graph, give it a gradient by tf.custom_gradient, or cut it off by "
        "tf.stop_gradient or tf.py_func."
    )
