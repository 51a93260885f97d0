"""Conversion of Python values to arrays: what `tf.constant(value, dtype, shape)` accepts and makes of it.

Inside the library a value is a numpy array or scalar of its type's numpy dtype; strings are object arrays
of bytes, of rank 0 for a single string.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType

# Python's classes of numbers are abstract: numpy's must be named beside them, and bool is integral.
_INTEGRAL = (numbers.Integral, np.integer)
_REAL = (numbers.Real, np.integer, np.floating)
_COMPLEX = (numbers.Complex, np.number)
_TEXT = (bytes, str)

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class Converted(NamedTuple):
    """A value after conversion, its elements not yet repeated to fill `shape`."""

    array: np.ndarray[Any, Any] | np.generic
    dtype: DType
    shape: tuple[int, ...]


def convert_value(
    values: Any,
    dtype: Any = None,
    shape: Iterable[Any] | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> np.ndarray[Any, Any] | np.generic:
    """The array that `tf.constant` makes of `values`, independent of later changes to them.

    Without `dtype`, Python floats become float32 and integers int32 (int64 if they need it); arrays keep
    their type. With `shape`, missing elements repeat the last one; a single value that fills a whole shape
    costs no memory (a read-only view with zero strides).

    Raises TypeError for values that cannot be of the type, ValueError for values that do not fit the shape.
    """
    if shape is None and not verify_shape:
        fast = _convert_scalar(values, dtype)
        if fast is not None:
            return fast
    array, _, dims = convert(values, dtype, shape, verify_shape, allow_broadcast)
    if array is values and isinstance(values, np.ndarray):
        array = values.copy(order="C")
    if array.shape == dims:
        return array
    return _fill(array.reshape(-1), dims)


def _convert_scalar(value: Any, dtype: Any) -> np.generic | None:
    """Python's own numbers with an obvious type; None for whatever needs the long way."""
    kind = type(value)
    if dtype is None:
        if kind is float:
            return np.float32(value) if -3.4e38 < value < 3.4e38 else None
        if kind is int:
            if _INT32_MIN <= value <= _INT32_MAX:
                return np.int32(value)
            return np.int64(value) if _INT64_MIN <= value <= _INT64_MAX else None
        return np.bool_(value) if kind is bool else None
    if type(dtype) is not DType or dtype.np is None:
        return None
    if (kind is float or kind is int) and dtype.is_floating:
        # Beyond the narrowest range, numpy is left to decide about overflow.
        return dtype.np.type(value) if -65000 < value < 65000 else None
    if kind is int and dtype.is_integer:
        return dtype.np.type(value) if 0 <= value <= 127 else None
    return np.bool_(value) if kind is bool and dtype.is_bool else None


def _fill(flat: np.ndarray[Any, Any], dims: tuple[int, ...]) -> np.ndarray[Any, Any]:
    missing = math.prod(dims) - flat.size
    if missing == 0:
        return flat.reshape(dims)
    if flat.size == 0:
        empty = b"" if flat.dtype.hasobject else np.zeros((), flat.dtype)
        return np.broadcast_to(np.array(empty, flat.dtype), dims)
    if flat.size == 1:
        return np.broadcast_to(flat.reshape(()), dims)
    return np.concatenate([flat, np.repeat(flat[-1:], missing)]).reshape(dims)


def convert(
    values: Any, dtype: Any, shape: Iterable[Any] | None, verify_shape: bool, allow_broadcast: bool
) -> Converted:
    """The checks and conversions of `tf.make_tensor_proto`; the array may be `values` itself."""
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    dims = None if shape is None else tuple([int(size) for size in shape])
    if _is_array_like(values):
        values = np.asarray(values)
    elif not isinstance(values, (np.ndarray, np.generic)):
        values = _as_lists(values)
    if isinstance(values, (np.ndarray, np.generic)):
        array = (
            values
            if wanted is None or wanted.np is None
            else np.asarray(values).astype(wanted.np, copy=False)
        )
        found = dtypes.from_numpy(array.dtype)
        if found is not dtypes.string and not array.dtype.isnative:
            array = array.astype(found.np)
    else:
        array = _from_python(values, wanted, dims)
        found = dtypes.from_numpy(array.dtype)
    if wanted is not None and wanted.base is not found:
        raise TypeError(f"`dtype` {wanted} is not compatible with {values} of dtype {array.dtype}.")
    if dims is None:
        dims = array.shape
    else:
        _check_shape(array, dims, verify_shape, allow_broadcast)
    if found is dtypes.string:
        array = _as_bytes_array(values, array)
    return Converted(array, found, dims)


def _from_python(values: Any, wanted: DType | None, dims: tuple[int, ...] | None) -> np.ndarray[Any, Any]:
    if values is None:
        raise ValueError("None values not supported.")
    np_dtype = None if wanted is None else wanted.np
    if dims is not None and math.prod(dims) == 0:
        # TensorFlow looks at no value where none is needed, so an untyped empty constant is a float.
        return np.empty(dims, np_dtype or np.float32)
    _check_leaves(values, wanted)
    if wanted in dtypes.SMALL_INTEGER_DTYPES or (np_dtype is not None and np.issubdtype(np_dtype, np.number)):
        array = np.array(values).astype(np_dtype, copy=False)  # in two steps, so that integers wrap around
    else:
        array = np.array(values, np_dtype)
    if list(array.shape) != (lengths := _nested_lengths(values)) and not (wanted and wanted.is_quantized):
        raise ValueError(
            f"Expected values {values} to be a dense tensor with shape {lengths}, "
            f"but got shape {list(array.shape)}."
        )
    if wanted is None and array.dtype == np.float64:
        return array.astype(np.float32)
    if wanted is None and array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def _as_lists(values: Any) -> Any:
    """Ranges and other sequences as lists, also those in a list or tuple; in Python 2 `range` gave one."""
    if isinstance(values, (list, tuple)):
        # Numbers and texts, of which there may be many, are not looked at one by one.
        kinds = set(map(type, values))
        if not any(issubclass(kind, Sequence) and not issubclass(kind, (str, bytes)) for kind in kinds):
            return values
        made = [_as_lists(value) for value in values]
        return values if all(map(operator.is_, made, values)) else made
    if isinstance(values, range) and not values:
        return np.empty(0, np.int32)  # an empty list would be of floats
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return [_as_lists(value) for value in values]
    return values


def _is_array_like(value: Any) -> bool:
    """Whether numpy should make the array: it has the array interface or exposes its memory."""
    if isinstance(value, (np.ndarray, np.generic)):
        return False  # one already
    if isinstance(value, (int, float, complex, str, bytes, list, tuple)) or _is_tensor(value):
        return False
    if callable(getattr(value, "__array__", None)) or isinstance(
        getattr(value, "__array_interface__", None), dict
    ):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _is_tensor(value: Any) -> bool:
    # By what only a graph's tensors have, because the module that defines them imports this one.
    return hasattr(type(value), "consumers")


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, (list, tuple, range)):
        for inner in values:
            yield from _leaves(inner)
    else:
        yield values


def _nested_lengths(values: Any) -> list[int]:
    lengths = []
    while isinstance(values, (list, tuple)):
        lengths.append(len(values))
        if not values:
            break
        values = values[0]
    return lengths


def _check_leaves(values: Any, wanted: DType | None) -> None:
    """Raises TypeError at the first element that may not become the wanted type without a cast."""
    if wanted is None or wanted.np is None:
        if any(map(_is_tensor, _leaves(values))):
            expected = "any non-tensor type" if wanted is None else wanted.name
            raise TypeError(f"Expected {expected}, but got a tensor instead.")
        return
    if wanted.is_quantized:
        mismatch = _quantized_mismatch(values)
    else:
        mismatch = _mismatch(_leaves(values), _leaf_types(wanted))
    if mismatch:
        raise TypeError(
            f"Expected {wanted.name}, but got {mismatch[0]} of type '{type(mismatch[0]).__name__}'."
        )


def _leaf_types(wanted: DType) -> tuple[type, ...]:
    if wanted.is_floating:
        return _REAL
    if wanted.is_integer:
        from tensorfleet.core.dimension import Dimension

        return (*_INTEGRAL, Dimension)
    if wanted.is_complex:
        return _COMPLEX
    return (bool,) if wanted.is_bool else _TEXT


def _mismatch(leaves: Iterable[Any], expected: tuple[type, ...]) -> list[Any]:
    for leaf in leaves:
        if not isinstance(leaf, expected) and not (
            isinstance(leaf, np.ndarray) and issubclass(leaf.dtype.type, expected)
        ):
            return [leaf]
    return []


def _quantized_mismatch(values: Any) -> list[Any]:
    """Quantized values come as tuples of one integer, inside lists."""
    if isinstance(values, tuple):
        return _mismatch(_leaves(values), _INTEGRAL)
    if not isinstance(values, list):
        return [values]
    for inner in values:
        if mismatch := _quantized_mismatch(inner):
            return mismatch
    return []


def _check_shape(
    array: np.ndarray[Any, Any] | np.generic, dims: tuple[int, ...], verify: bool, allow_broadcast: bool
) -> None:
    size = math.prod(dims)
    if allow_broadcast:
        mismatch = array.shape not in ((), (1,)) and array.size != size
    else:
        mismatch = verify and array.shape != dims
    if mismatch:
        raise TypeError(f"Expected Tensor's shape: {dims}, but got {array.shape}.")
    if not allow_broadcast and array.size > size:
        raise ValueError(f"Too many elements provided. Takes at most {size}, but got {array.size}.")
    if any(dim < 0 for dim in dims):
        raise ValueError(f"Dimension {min(dims)} must be >= 0")


def _as_bytes_array(values: Any, array: np.ndarray[Any, Any] | np.generic) -> np.ndarray[Any, Any]:
    """The elements as bytes. Those of Python values are taken as given, for numpy drops trailing NULs."""
    if isinstance(values, (np.ndarray, np.generic)):
        encoded = [as_bytes(item) for item in np.asarray(array).ravel().tolist()]
    elif array.size == 0:
        encoded = []
    else:
        try:
            encoded = [as_bytes(item) for item in _leaves(values)]
        except TypeError:
            raise TypeError(
                f"Failed to convert elements of {values} to Tensor. Consider casting elements to a "
                "supported type. See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported "
                "TF dtypes."
            ) from None
    result = np.empty(len(encoded), object)
    result[:] = encoded
    return result.reshape(array.shape)


def as_bytes(bytes_or_text: Any) -> bytes:
    """`str` as UTF-8; bytes and bytearrays as they are (`tf.compat.as_bytes`). Raises TypeError."""
    if isinstance(bytes_or_text, bytes):
        return bytes(bytes_or_text)  # numpy's and others' subclasses become plain
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode()
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")
