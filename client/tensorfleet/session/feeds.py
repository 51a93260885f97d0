"""Feeds of `Session.run`: the tensors that a feed_dict names, and arrays made of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tensorfleet.core import dims, dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.session.fetches import expansion_of
from tensorfleet.session.tensor_handles import TensorHandle
from tensorfleet.session.transport import Value

Convert = Callable[[Any], Value]

_INT_LIMITS = {
    dtypes.int32: (-(2**31), 2**31 - 1),
    dtypes.int64: (-(2**63), 2**63 - 1),
    dtypes.float32: (-(2**100), 2**100),
    dtypes.float64: (-(2**1000), 2**1000),
}


def flat_items(feed_dict: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any, Any]]:
    """(part, its value, key, value): one for each tensor of each key, however nested or composite keys are.

    Raises:
        TypeError: `feed_dict` is no mapping.
        ValueError: a nested key and its value differ in structure, or a key appears twice.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(
            "FlattenDictItems: 'dict' must be a dictionary or collection.Mapping type object, instead of "
            f"'{type(feed_dict).__name__}'."
        )
    seen = set()
    for key, value in feed_dict.items():
        for part, part_value in _unnested(key, value):
            if isinstance(key, tuple) and part in seen:
                raise ValueError(
                    f"Could not flatten dictionary: key {part} is not unique among the flattened keys."
                )
            seen.add(part)
            expansion = expansion_of(part)
            if expansion is None:
                yield part, part_value, part, part_value
            elif expansion.feed is None:
                raise TypeError(f'{part} in argument `feed_dict` has invalid type "{type(part).__name__}"')
            else:
                for tensor, tensor_value in expansion.feed(part, part_value):
                    yield tensor, tensor_value, part, part_value


def _unnested(key: Any, value: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(key, tuple) or expansion_of(key) is not None:
        yield key, value
        return
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(values) != len(key):
        raise ValueError(
            f"Could not flatten dictionary. Key had {len(key)} elements, but value had {len(values)} "
            f"elements. Key: {list(key)}, value: {value}."
        )
    for inner_key, inner_value in zip(key, values, strict=True):
        yield from _unnested(inner_key, inner_value)


def feed_tensor(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of a feed_dict names. Raises TypeError."""
    try:
        tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (TypeError, ValueError, KeyError) as e:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {e.args[0]}") from None
    assert isinstance(tensor, Tensor)
    return tensor


def converter(tensor: Tensor) -> Convert:
    """A function from whatever may be fed for `tensor` to the array that is sent; it raises as `convert`.

    An array of the right dtype and shape is passed on as it is, without a copy.
    """
    dtype = tensor.dtype.base
    if not tensor.graph.is_feedable(tensor) or dtype.np is None or dtype.np.hasobject:
        return lambda value: convert(tensor, value)
    np_dtype = dtype.np
    scalar_type: Callable[[Any], np.generic] = np_dtype.type
    lowest, highest = _INT_LIMITS.get(dtype, (0, -1))
    takes_float = lowest < highest and dtype.is_floating

    def quick(value: Any) -> Value:
        kind = type(value)
        shape = tensor.dims
        if kind is np.ndarray:
            if value.dtype is np_dtype and value.shape:
                own = value.shape
                if shape is None or own == shape or dims.compatible(shape, own):
                    fits: Value = value
                    return fits
        elif shape:
            pass
        elif kind is scalar_type:
            scalar: Value = value
            return scalar
        elif (kind is int and lowest <= value <= highest) or (takes_float and kind is float):
            return scalar_type(value)
        return convert(tensor, value)

    return quick


def convert(tensor: Tensor, value: Any, key: Any = None, whole_value: Any = None) -> Value:
    """The array that is sent for `value`, by NumPy's rules for `np.asarray(value).astype(dtype)`.

    Args:
        key, whole_value: what the user wrote, if that was a composite.

    Raises:
        TypeError, ValueError: NumPy's own; `value` is a Tensor; an integer does not fit the dtype; the shape
            is not one that the tensor can have; the tensor may not be fed.
        InternalError: strings are expected and an element is none.
    """
    if isinstance(value, Tensor):
        key, whole_value = (tensor, value) if key is None else (key, whole_value)
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python "
            "scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
            f"{whole_value} which was passed to the argument `feed_dict` with key {key}."
        )
    if isinstance(value, TensorHandle):
        value = value.fed_to(tensor)
    dtype = tensor.dtype.base
    if isinstance(value, int) and not _holds(dtype, value):
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
            f"{dtype.as_numpy_dtype}. Try explicitly setting the type of the feed tensor to a larger type "
            "(e.g. int64)."
        )
    try:
        array = _as_array(value, dtype)
    except (TypeError, ValueError) as e:
        raise type(e)(
            f"{e}. It was fed for Tensor {tensor.name}, which has dtype {dtype.name} and shape {tensor.shape}"
        ) from None
    if not dims.compatible(tensor.dims, array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, "
            f"which has shape {tensor.shape}"
        )
    if not tensor.graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor.name} may not be fed.")
    if dtype is dtypes.string:
        return _bytes(array)
    result: Value = array if array.ndim else array[()]
    return result


def _holds(dtype: DType, value: int) -> bool:
    if dtype is dtypes.string:
        return False
    assert dtype.np is not None
    return bool(dtype.np.type(np.array(value).astype(dtype.np)) == value)


def _as_array(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    if dtype.np is not None and np.issubdtype(dtype.np, np.number):
        # In two steps, as TensorFlow does it, so that integers in a list wrap around as those of an array.
        return np.asarray(value).astype(dtype.np, copy=False)
    return np.asarray(value, dtype.np)


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    items = array.ravel().tolist() if array.ndim else [array.item()]
    if all(type(item) is bytes for item in items):
        return array
    result = np.empty(len(items), object)
    for i, item in enumerate(items):
        if isinstance(item, str):
            item = item.encode()
        elif not isinstance(item, bytes):
            kind = type(item)
            name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
            raise errors.InternalError(None, None, f"Unsupported object type {name}")
        result[i] = bytes(item)
    return result.reshape(array.shape)
