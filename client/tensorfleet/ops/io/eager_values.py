"""Python functions that get values as TensorFlow 2's eager tensors look: `tf.py_function`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.core.structures import flatten
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.gradient_registry import gradients_within
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io.script import py_func
from tensorfleet.session.session import Session


class EagerValue(np.ndarray[Any, Any]):
    """A NumPy array with the method `numpy` of an eager tensor. It is computed with as any array, but
    `x += y` makes a new value, as it does of a tensor.
    """

    def numpy(self) -> Any:
        """A plain array, which the function may change; at rank 0 a scalar of NumPy, or bytes."""
        plain = np.array(self)
        return plain if plain.shape else plain[()]


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(EagerValue, f"__i{_name}__", getattr(np.ndarray, f"__{_name}__"))


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """The results of `func`, called with the inputs' values (`tf.py_function`).

    The function gets NumPy arrays that have a method `numpy`, so code for eager tensors that computes with
    NumPy's functions and operators runs. It may return results of operations, which are computed then, but
    have no values while it runs. Where a gradient is asked for, the function is called once more for it, with
    tensors in place of the arrays: the gradient is that of the operations that it makes of them. As in
    TensorFlow it does not flow through what the function computes with NumPy.

    Args:
        func: returns a value, or a list of them, that convert to the dtypes `Tout`.
        inp: a list of tensors.
        Tout: one dtype, a list of them, or None or [] for a function without results.

    Returns:
        Tensors as in `Tout`; without results the Operation.

    Raises:
        UnimplementedError: in a run on a task outside of the client's process.
        InvalidArgumentError: in a run, where the results do not fit `Tout`.

    Example:
        >>> total = tf.py_function(lambda x: x.numpy().sum(), [tf.constant([1.0, 2.0])], tf.float32)
        >>> tf.Session().run(total)
        np.float32(3.0)
    """
    is_list = isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(t) for t in (Tout if is_list else [] if Tout is None else [Tout])]

    def call(*values: Any) -> Any:
        with Graph().as_default() as graph:  # what the function builds must not grow the program's graph
            listed = results_of(_own(value) for value in values)
            listed = _computed(listed, graph)
        return [_converted(value, dtype) for value, dtype in zip(listed, types, strict=True)]

    def results_of(values: Iterable[Any]) -> list[Any]:
        results = func(*values)
        if not types:
            return []
        listed = flatten(results) if isinstance(results, (list, tuple)) and is_list else [results]
        if len(listed) != len(types):
            raise ValueError(f"The function returns {len(listed)} values, but Tout has {len(types)} dtypes.")
        return listed

    call.__name__ = getattr(func, "__name__", "call")
    with framework.get_default_graph().gradient_override_map({"PyFunc": "EagerPyFunc"}):
        results = py_func(call, inp, types, stateful=True, name=name)
    made = results if isinstance(results, Operation) else results[0].op
    _results_of[made.attrs["token"]] = results_of
    return results if is_list or not types else results[0]


def _own(value: Any) -> EagerValue:
    """An input as a value of the function's own: the task goes on to use its array, as of a variable."""
    # NumPy's own type for bytes would lose the zeros at their end.
    return np.array(value, object if isinstance(value, bytes) else None).view(EagerValue)


Results = Callable[[Iterable[Any]], list[Any]]

_results_of: dict[bytes, Results] = {}
"""The functions by their tokens, as lists of results, for the life of the process."""


class _Known(Tensor):
    """A constant that is differentiated by, and has the look of an eager tensor."""

    __slots__ = ()

    def numpy(self) -> Any:
        """The value; what is made of it does not depend on the tensor."""
        return _own(self.__dict__["value"]).numpy()

    def __array__(self, *args: Any, **_: Any) -> Any:
        return np.array(_own(self.__dict__["value"]), *args[:1], subok=False)


def py_function_gradient(op: Operation, grads: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients of a py_function by its inputs, by a call of the function with tensors.

    Raises:
        LookupError: the function is of another process.
    """
    results_of = _results_of.get(op.attrs["token"])
    if results_of is None:
        raise LookupError(f"The Python function of {op.name} is not in this process: it has no gradient.")
    inputs = list(op.inputs)
    wanted = [i for i, tensor in enumerate(inputs) if tensor.dtype.base.is_floating]
    if not wanted:
        return [None] * len(inputs)

    def call(*values: Any) -> list[Any]:
        with Graph().as_default() as graph:
            known = [_known(value) for value in values[: len(inputs)]]
            pairs = [
                (result, grad)
                for result, grad in zip(results_of(known), values[len(inputs) :], strict=True)
                if isinstance(result, Tensor) and result.dtype.base.is_floating
            ]
            sources = [known[i] for i in wanted]
            found: list[Any] = [None] * len(sources)
            if pairs:
                targets = [target for target, _ in pairs]
                slopes = [convert_to_tensor(grad, target.dtype) for target, grad in pairs]
                found = gradients_within(list(targets), sources, grad_ys=slopes)
            found = [None if one is None else convert_to_tensor(one) for one in found]
            values_found = _computed(found, graph)
        return [
            np.zeros_like(np.asarray(values[i])) if value is None else np.asarray(value)
            for i, value in zip(wanted, values_found, strict=True)
        ]

    made = py_func(call, [*inputs, *grads], [inputs[i].dtype.base for i in wanted], name="py_function_grad")
    gradients: list[Tensor | None] = [None] * len(inputs)
    for i, gradient in zip(wanted, made, strict=True):
        gradient.set_shape(inputs[i].shape)
        gradients[i] = gradient
    return gradients


def _known(value: Any) -> Any:
    made = convert_to_tensor(value if isinstance(value, bytes) else np.asarray(value))
    made.__class__ = _Known
    made.__dict__["value"] = value
    return made


def _computed(results: Sequence[Any], graph: Graph) -> list[Any]:
    """The results with the values of those that are tensors of the graph."""
    tensors = {i: result for i, result in enumerate(results) if isinstance(result, Tensor)}
    if not tensors:
        return list(results)
    for tensor in tensors.values():
        if tensor.graph is not graph:
            raise TypeError(
                f"The function of a tf.py_function returns {tensor.name}, a tensor of the program's graph: "
                "give it to the function as an input."
            )
    with Session(graph=graph) as session:
        values = session.run(tensors)
    return [values.get(i, result) for i, result in enumerate(results)]


def _converted(value: Any, dtype: DType) -> Any:
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return np.asarray(value)  # of the dtype that it has, which is compared with Tout
    return tensor_util.convert_value(value.numpy() if isinstance(value, EagerValue) else value, dtype)
