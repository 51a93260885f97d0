"""Common work of kernels on their values."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors, string_arrays
from tensorfleet.core.dims import Dims, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet_service.kernels.registry import AsyncKernel, Expression, Factory, Kernel, KernelNode, kernel
from tensorfleet_service.threads.running import check as check_step

STRINGS_PART = string_arrays.PART
"""Number of strings taken out of an array, or put into one, at a time; it holds the interpreter's lock."""


def invalid(text: str) -> errors.InvalidArgumentError:
    """The error for a value that an op cannot take."""
    return errors.InvalidArgumentError(None, None, text)


def array_kernel(*op_types: str, lasting: bool = False, moves: bool = False) -> Callable[[Factory], Factory]:
    """Like `kernel`, for kernels that treat strings as other values: they see arrays, never plain bytes.

    With `moves` they only put elements elsewhere: of many strings, they get the numbers.
    """

    def register(factory: Factory) -> Factory:
        def make(node: KernelNode) -> Kernel | Expression | AsyncKernel:
            made = factory(node)
            if dtypes.variant in node.input_types and callable(made):
                return _with_variant_arrays(made)
            if dtypes.string not in [t.base for t in node.input_types] or not callable(made):
                return made
            return _with_string_arrays(_moving(made) if moves else made)

        kernel(*op_types, lasting=lasting)(make)
        return factory

    return register


def _with_string_arrays(made: Kernel) -> Kernel:
    def run(*inputs: Any) -> Any:
        return made(*(string_array(v) if isinstance(v, bytes) else v for v in inputs))

    return run


def _moving(made: Kernel) -> Kernel:
    def run(*inputs: Any) -> Any:
        count = 0
        for x in inputs:
            if x.dtype == object:
                count += x.size
        return made(*inputs) if count < string_arrays.LARGE else string_arrays.moved(made, inputs)

    return run


def _with_variant_arrays(made: Kernel) -> Kernel:
    return lambda *inputs: made(*map(boxed, inputs))


def boxed(value: Any) -> Any:
    """A value as it is if it has a shape, else an array of rank 0 with the object."""
    if hasattr(value, "shape"):
        return value
    array = np.empty((), object)
    array[()] = value
    return array


def no_strings(node: KernelNode) -> None:
    """Raises InvalidArgumentError for strings: NumPy takes them for objects, and would compute with them."""
    if dtypes.string in node.output_types:
        raise invalid(f"No OpKernel was registered to support Op '{node.op}' with T=DT_STRING")


def string_array(value: Any) -> np.ndarray[Any, Any]:
    """A string value as an object array of bytes, of rank 0 for plain bytes."""
    return np.asarray(value, object)


def string_vector(items: Sequence[bytes]) -> np.ndarray[Any, Any]:
    """An object array of rank 1 of the items, which it takes by parts: each holds the interpreter's lock."""
    return string_arrays.vector(items)


def each_string(texts: np.ndarray[Any, Any], step: int = 1024) -> Iterator[Any]:
    """The elements of an array, of strings mostly; looks at the step now and then.

    Raises:
        OpError: the step has ended.
    """
    flat = texts.reshape(-1)
    for begin in range(0, flat.size, STRINGS_PART):
        part = flat[begin : begin + STRINGS_PART].tolist()
        for first in range(0, len(part), step):
            check_step()
            yield from part[first : first + step]


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """Any value as an array in host memory; plain bytes as an object array of rank 0."""
    if isinstance(value, bytes):
        return string_array(value)
    return np.asarray(value if isinstance(value, (np.ndarray, np.generic)) else value.get())


def own(value: Any) -> Any:
    """A value that stays as it is: the memory of an array may be the caller's, who writes to it later."""
    return value.copy() if isinstance(value, np.ndarray) else value


def host_kernel(
    *op_types: str, lasting: bool = False
) -> Callable[[Callable[[KernelNode], Kernel]], Callable[[KernelNode], Kernel]]:
    """Like `array_kernel`, for kernels that compute in host memory on every device; values are copied."""

    def register(factory: Callable[[KernelNode], Kernel]) -> Callable[[KernelNode], Kernel]:
        def make(node: KernelNode) -> Kernel:
            made = factory(node)
            return made if node.xp is np else functools.partial(_through_host, node.xp, made)

        array_kernel(*op_types, lasting=lasting)(make)
        return factory

    return register


def _through_host(xp: Any, kernel: Kernel, *inputs: Any) -> Any:
    found = kernel(*map(host_array, inputs))
    outputs = found if isinstance(found, tuple) else (found,)
    moved = tuple(x if getattr(x, "dtype", None) in (None, object) else xp.asarray(x) for x in outputs)
    return moved if isinstance(found, tuple) else moved[0]


def results(values: Sequence[Any]) -> Any:
    """The outputs of a list argument in the form that a kernel returns."""
    return values[0] if len(values) == 1 else tuple(values) or None


MOST_NUMBERS = 1 << 12
"""The most numbers of a shape, of axes or the like; an array has 64 dimensions at most.

The product of a million numbers has as many digits, and takes minutes.
"""


MAX_NAME = 1 << 16
"""Limit on the bytes of a name in a file: of a tensor, of a part of it, of a summary."""


def name_text(name: bytes) -> str:
    """A name of a tensor in a file. Raises InvalidArgumentError for one that no tensor has."""
    check_name(name)
    return os.fsdecode(name)


def check_name(name: bytes) -> None:
    """Raises InvalidArgumentError for what is too long for a name in a file."""
    if len(name) > MAX_NAME:
        raise invalid(f"A name of {len(name)} bytes is too long: {MAX_NAME} bytes at most")


def ints(value: Any) -> list[Any]:
    """The elements of a small integer tensor: a shape, axes; nested lists for a rank above 1.

    Raises:
        InvalidArgumentError: it is not small. A list of millions is made, and looked at, in the
            interpreter.
    """
    if value.size > MOST_NUMBERS:
        raise invalid(
            f"A tensor of {value.size} elements is given in place of a shape, axes or the like, which have "
            f"at most {MOST_NUMBERS}"
        )
    found = value.tolist()
    return found if isinstance(found, list) else [found]


def array_module(xp: ModuleType, value: Any) -> ModuleType:
    """NumPy for a value in host memory, such as a shape, else the device's own module."""
    return np if xp is np or isinstance(value, (np.ndarray, np.generic)) else xp


def shape_text(shape: Sequence[int]) -> str:
    """A shape as TensorFlow's messages write it: "[2,3]"."""
    return format_dims(tuple(shape))


def partial_shape_text(dims: Dims) -> str:
    """A shape of which not all is known, as TensorFlow's messages write it."""
    return "<unknown>" if dims is None else format_dims(dims)


_TYPE_NAMES = {dtypes.float32: "float", dtypes.float64: "double", dtypes.float16: "half"}


def type_text(dtype: DType) -> str:
    """A dtype as TensorFlow's messages write it."""
    return _TYPE_NAMES.get(dtype, dtype.name)


def check_scalar(value: Any, name: str) -> int:
    """The number in an integer tensor of rank 0. Raises InvalidArgumentError for another rank."""
    if value.ndim:
        raise invalid(f"{name} must be a scalar, not shape {shape_text(value.shape)}")
    return int(value)


def check_vector(value: Any, name: str) -> None:
    """Raises InvalidArgumentError where a shape argument is not a vector."""
    if value.ndim != 1:
        raise invalid(f"{name} must be a vector, got shape {shape_text(value.shape)}")


def check_handle(value: Any, kind: type) -> None:
    """Raises InvalidArgumentError if the resource on an edge is of another kind: handles have no types."""
    if not isinstance(value, kind):
        raise invalid(
            f"Trying to access a resource using the wrong type. Expected {kind.__name__}, "
            f"got {type(value).__name__}"
        )


def of_handle(kind: type, function: Kernel) -> Kernel:
    """A kernel function whose first input is checked to be the handle of a resource of this kind."""

    def run(handle: Any, *inputs: Any) -> Any:
        check_handle(handle, kind)
        return function(handle, *inputs)

    return run
