"""convert_to_tensor: from Python values, arrays and tensor-like objects to tensors of the graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, shapes, tensor_util
from tensorfleet.core.dimension import Dimension
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import scoped_graph
from tensorfleet.graph.graph import Graph, get_default_graph, lookup_op
from tensorfleet.graph.output_checks import checked_outputs
from tensorfleet.graph.tensor import Tensor

ConversionFunction = Callable[..., Any]

_conversions: list[tuple[int, tuple[type, ...], ConversionFunction]] = []


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: ConversionFunction, priority: int = 100
) -> None:
    """Registers how objects of a type become tensors (`tf.register_tensor_conversion_function`).

    Args:
        conversion_func: called as (value, dtype=None, name=None, as_ref=False); gives a Tensor, or
            NotImplemented to leave the value to the next function.
        priority: the lowest goes first.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    _conversions.append((priority, types, conversion_func))
    _conversions.sort(key=lambda item: item[0])


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    as_ref: bool = False,
) -> Tensor:
    """The tensor that stands for `value` (`tf.convert_to_tensor`).

    Args:
        value: a Tensor, a Variable, a NumPy array, a number, a string, or nested lists of these.
        dtype: the dtype that the tensor must have.
        preferred_dtype: the dtype to try first where `dtype` is None; `dtype_hint` is its newer name.
        as_ref: keep a reference tensor as a reference.

    Raises:
        TypeError: `value` cannot become a tensor of that dtype.
        ValueError: it is a tensor of another dtype.
    """
    if isinstance(value, Tensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    if isinstance(value, (TensorShape, Dimension)):
        if wanted is None and hint is not None and dtypes.as_dtype(hint) in _SIZE_DTYPES:
            with contextlib.suppress(ValueError):  # too large for the hint, which need not be met
                return _sizes(value, dtypes.as_dtype(hint), name)
        return _sizes(value, wanted, name)
    for _, types, function in _conversions:
        if isinstance(value, types):
            if wanted is None and hint is not None:
                try:
                    result = function(value, dtype=dtypes.as_dtype(hint), name=name, as_ref=as_ref)
                except (TypeError, ValueError):
                    result = NotImplemented
                if result is not NotImplemented and isinstance(result, Tensor):
                    return result
            result = function(value, dtype=wanted, name=name, as_ref=as_ref)
            if result is not NotImplemented:
                assert isinstance(result, Tensor)
                return result
    if isinstance(value, (list, tuple)) and _contains_tensor(value):
        return _pack(value, wanted, name)
    if wanted is None and hint is not None:
        array = _convert_as_hinted(value, dtypes.as_dtype(hint))
    else:
        array = tensor_util.convert_value(value, wanted)
    return constant_node(array, name or "Const")


def _convert_as_hinted(value: Any, hint: DType) -> np.ndarray[Any, Any] | np.generic:
    """The array in the dtype that an op prefers; in its own if the values do not fit that one."""
    try:
        array = tensor_util.convert_value(value, hint)
    except (TypeError, ValueError):
        return tensor_util.convert_value(value, None)
    if hint is dtypes.int32:
        try:
            own = tensor_util.convert_value(value, None)
        except (TypeError, ValueError):  # a Dimension is an integer only where integers are wanted
            own = tensor_util.convert_value(value, dtypes.int64)
        if own.dtype.kind in "iu" and not np.array_equal(array, own):
            return own  # sizes of 2**31 and more
    return array


_SIZE_DTYPES = (dtypes.int32, dtypes.int64)


def _sizes(value: TensorShape | Dimension, dtype: DType | None, name: str | None) -> Tensor:
    """A shape as an integer vector, a dimension as a scalar: int32, or int64 where a size needs it."""
    kind = type(value).__name__
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known {kind} {value} to a Tensor.")
        sizes = np.array(value.as_list(), np.int64)
    else:
        if value.value is None:
            raise ValueError(f"Cannot convert unknown {kind} {value} to a Tensor.")
        sizes = np.array(value.value, np.int64)
    if dtype is not None and dtype not in _SIZE_DTYPES:
        raise TypeError(f"Cannot convert {kind} to dtype {dtype.name}: its sizes are int32 or int64.")
    wide = bool(sizes.size) and int(sizes.max()) > dtypes.int32.max
    if wide and dtype is dtypes.int32:
        raise ValueError(
            f"Cannot convert {kind} {value} to dtype int32; a dimension is too large. Consider tf.int64."
        )
    if not wide and dtype is not dtypes.int64:
        sizes = sizes.astype(np.int32)
    return constant_node(sizes[()] if sizes.ndim == 0 else sizes, name or "shape_as_tensor")


def _contains_tensor(value: Iterable[Any]) -> bool:
    for item in value:
        if isinstance(item, (list, tuple)):
            if _contains_tensor(item):
                return True
        elif isinstance(item, Tensor) or any(isinstance(item, types) for _, types, _ in _conversions):
            return True
    return False


def _pack(value: Any, dtype: DType | None, name: str | None) -> Tensor:
    """A list that holds tensors becomes a Pack of its items, level by level."""
    if dtype is None:
        dtype = _dtype_of_first_tensor(value)
    opdef = lookup_op("Pack")
    graph = get_default_graph()
    with graph.name_scope(name or "packed") as scope:
        items: list[Tensor] = []
        for i, item in enumerate(value):
            if isinstance(item, (list, tuple)) and _contains_tensor(item):
                items.append(_pack(item, dtype, str(i)))
            else:
                items.append(_as_item(item, dtype, str(i)))
            dtype = dtype or items[0].dtype.base
        attrs = {"N": len(items), "T": items[0].dtype.base, "axis": 0}
        name = graph_of(items).op_name(scope, "Pack")
        op = graph.add_operation(opdef, name, tuple(items), attrs, opdef.output_types(attrs))
        return checked_outputs(op)[0]


def _as_item(item: Any, dtype: DType | None, name: str) -> Tensor:
    if isinstance(item, Tensor) and dtype is not None and item.dtype.base is not dtype:
        raise TypeError(
            f"Cannot convert a list containing a tensor of dtype {item.dtype.base!r} to {dtype!r} "
            f"(Tensor is: {item!r})"
        )
    return convert_to_tensor(item, dtype, name)


def _dtype_of_first_tensor(value: Iterable[Any]) -> DType | None:
    for item in value:
        if isinstance(item, (list, tuple)):
            found = _dtype_of_first_tensor(item)
            if found is not None:
                return found
        elif not isinstance(item, (int, float, str, bytes, np.ndarray, np.generic)) and hasattr(
            item, "dtype"
        ):
            return dtypes.as_dtype(item.dtype).base_dtype
    return None


def graph_of(inputs: Iterable[Any]) -> Graph:
    """The default graph, to which an operation with these inputs is added.

    Raises:
        ValueError: a tensor among them, or in a list among them, is of another graph.
    """
    graph = get_default_graph()
    for value in inputs:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Tensor) and item.op.graph is not graph and not graph._may_capture(item):
                raise ValueError(
                    f"{item!r} must be from the same graph as the default graph: it was made in another "
                    "tf.Graph. Build the whole of one graph inside of `with graph.as_default():`."
                )
    return graph


def constant_node(array: np.ndarray[Any, Any] | np.generic, name: str) -> Tensor:
    """A Const node with this value. The array belongs to the graph from now on: nobody may change it."""
    graph = get_default_graph()
    dtype = dtypes.from_numpy(array.dtype)
    op = graph.add_operation(
        lookup_op("Const"), graph.op_name(name, "Const"), (), {"value": array, "dtype": dtype}, [dtype]
    )
    return checked_outputs(op)[0]


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A constant tensor (`tf.constant`).

    Args:
        value: a number, a string, nested lists, or an array. A single value is repeated to fill `shape`, as
            is the last value of a flat list that is too short.
        dtype: the dtype, or None to follow the value (int32 and float32 for Python's numbers).
        shape: the shape, or None to follow the value.
        verify_shape: demand that the value has exactly this shape.

    Example:
        >>> tf.Session().run(tf.constant([1.0, 2.0]))
        array([1., 2.], dtype=float32)
    """
    array = tensor_util.convert_value(
        value,
        None if dtype is None else dtypes.as_dtype(dtype),
        None if shape is None else shapes.as_dims(shape),
        verify_shape=verify_shape,
    )
    if array is value and isinstance(array, np.ndarray):
        array = array.copy()
    return constant_node(array, name)


scoped_graph.serve_conversion(convert_to_tensor)
