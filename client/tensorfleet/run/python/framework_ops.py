"""Names of `tensorflow.python.framework` that libraries use and no public namespace has."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import get_default_graph
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state.variables import Variable

bool_ref = dtypes.bool._as_ref
float16_ref = dtypes.float16._as_ref
float32_ref = dtypes.float32._as_ref
float64_ref = dtypes.float64._as_ref
int32_ref = dtypes.int32._as_ref
int64_ref = dtypes.int64._as_ref
string_ref = dtypes.string._as_ref

_ids = itertools.count(1)
_dense_types: list[type] = [Tensor, Variable]
_lock = threading.Lock()


def uid() -> int:
    """A number that no other call returns."""
    return next(_ids)


def is_dense_tensor_like(t: Any) -> bool:
    """Whether a value is a tensor, a variable, or of a type that was registered as such."""
    return isinstance(t, tuple(_dense_types))


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Lets `is_dense_tensor_like` be true of a type.

    Raises:
        TypeError: its `name` or `dtype` is not a property.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    with _lock:
        _dense_types.append(tensor_type)


def graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """The graph of an op's inputs: `graph` if it is given, else theirs, else the default graph.

    Raises:
        ValueError: the inputs are of several graphs, or not of `graph`.
    """
    found = graph
    for value in op_input_list:
        element = value._as_graph_element() if hasattr(value, "_as_graph_element") else value
        own = element.graph if isinstance(element, Tensor | Operation) else getattr(element, "graph", None)
        if own is None:
            continue
        if found is None:
            found = own
        elif own is not found:
            if graph is not None:
                raise ValueError(f"{element} is not from the passed-in graph.")
            raise ValueError(f"{element} must be from the same graph as the other inputs.")
    return found or get_default_graph()


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """The shape that a tensor of sizes stands for, unknown where its elements are (-1, too).

    Raises:
        ValueError: the tensor has another rank than 1.
    """
    if isinstance(tensor, np.ndarray | list | tuple):
        return TensorShape([None if size is None or int(size) < 0 else int(size) for size in tensor])
    value = static_value(tensor)
    if value is not None:
        return TensorShape([None if size < 0 else int(size) for size in np.asarray(value)])
    if tensor.ndim not in (None, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.ndim}")
    if tensor.op.type == "Pack":
        sizes = [static_value(part) for part in tensor.op.inputs]
        return TensorShape([None if size is None or size < 0 else int(size) for size in sizes])
    if tensor.op.type == "Shape":
        shape: TensorShape = tensor.op.inputs[0].shape
        return shape
    if tensor.op.type == "ConcatV2" and static_value(tensor.op.inputs[-1]) == 0:
        whole = TensorShape([])
        for part in tensor.op.inputs[:-1]:
            whole = whole.concatenate(constant_value_as_shape(part))
        return whole
    length = tensor.dims[0] if tensor.dims else None
    return TensorShape(None if length is None else [None] * length)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """A name inside of a scope; `^` and `loc:@` stay before it."""
    if not import_scope:
        return name
    scope = import_scope.removesuffix("/")
    for mark in ("loc:@", "^"):
        if name.startswith(mark):
            return f"{mark}{scope}/{name.removeprefix(mark)}"
    return f"{scope}/{name}"


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """A name without the scope that it begins with; the reverse of `prepend_name_scope`."""
    if not export_scope:
        return name
    scope = export_scope.removesuffix("/") + "/"
    for mark in ("loc:@", "^", ""):
        if name.startswith(mark + scope):
            return mark + name.removeprefix(mark + scope)
    return name


def inside_function() -> bool:
    """Whether the default graph is the body of a function."""
    return get_default_graph().building_function


def set_shapes_for_outputs(op: Operation) -> None:
    """Does nothing: an operation's outputs have their shapes since it was made."""


def shape_to_tensor(s: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    """The sizes of a fully defined shape as a tensor."""
    return convert_to_tensor(s, dtype, name)
