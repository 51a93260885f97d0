"""Python functions that get values as TensorFlow 2's eager tensors look: `tf.py_function`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.core.structures import flatten
from tensorfleet.graph import framework
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io.script import py_func


class EagerValue(np.ndarray[Any, Any]):
    """A NumPy array with the method `numpy` of an eager tensor. It is computed with as any array."""

    def numpy(self) -> Any:
        """The plain array; at rank 0 a scalar of NumPy, or bytes."""
        plain = np.asarray(self)
        return plain if plain.shape else plain[()]


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """The results of `func`, called with the inputs' values (`tf.py_function`).

    The function gets NumPy arrays that have a method `numpy`, so code for eager tensors that computes with
    NumPy's functions and operators runs; operations of this library cannot run in it, and no gradient flows
    through it.

    Args:
        func: returns a value, or a list of them, that convert to the dtypes `Tout`.
        inp: a list of tensors.
        Tout: one dtype, a list of them, or None or [] for a function without results.

    Returns:
        Tensors as in `Tout`; without results the Operation.

    Raises:
        UnimplementedError: in a run on a task outside of the client's process.
        InvalidArgumentError: in a run, where the results do not fit `Tout`, or are operations' results.
        LookupError: by `tf.gradients`, of a result by an input.

    Example:
        >>> total = tf.py_function(lambda x: x.numpy().sum(), [tf.constant([1.0, 2.0])], tf.float32)
        >>> tf.Session().run(total)
        np.float32(3.0)
    """
    is_list = isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(t) for t in (Tout if is_list else [] if Tout is None else [Tout])]

    def call(*values: Any) -> Any:
        with Graph().as_default():  # what the function builds must not grow the program's graph
            results = func(*(np.asarray(value).view(EagerValue) for value in values))
        if not types:
            return []
        listed = flatten(results) if isinstance(results, (list, tuple)) and is_list else [results]
        if len(listed) != len(types):
            raise ValueError(f"The function returns {len(listed)} values, but Tout has {len(types)} dtypes.")
        return [_converted(value, dtype) for value, dtype in zip(listed, types, strict=True)]

    call.__name__ = getattr(func, "__name__", "call")
    with framework.get_default_graph().gradient_override_map({"PyFunc": "EagerPyFunc"}):
        results = py_func(call, inp, types, stateful=True, name=name)
    return results if is_list or not types else results[0]


def _converted(value: Any, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        raise TypeError(
            f"The function of a tf.py_function returns {value.name}, a tensor of a graph: operations are not "
            "run in it. Compute with NumPy, or build the operations outside of the function."
        )
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return np.asarray(value)  # of the dtype that it has, which is compared with Tout
    return tensor_util.convert_value(value.numpy() if isinstance(value, EagerValue) else value, dtype)
