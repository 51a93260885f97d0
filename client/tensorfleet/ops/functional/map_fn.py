"""Functions over the rows of tensors: `tf.map_fn`, `tf.foldl`, `tf.foldr`, `tf.scan`."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.core import structures
from tensorfleet.core.dims import concatenate, merge
from tensorfleet.core.dtypes import as_dtype
from tensorfleet.core.shapes import as_dims
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray


def _check_callable(function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{function} is not callable. Please provide a callable function.")


@contextlib.contextmanager
def _variables_beside_users() -> Iterator[None]:
    """A scope in which variables of the function are read once, on their device, not in each iteration."""
    from tensorfleet.ops.state.variable_scope import get_variable_scope

    scope = get_variable_scope()
    was_none = scope.caching_device is None
    if was_none:
        scope.set_caching_device(lambda op: op.device)
    try:
        yield
    finally:
        if was_none:
            scope.set_caching_device(None)


def _is_ragged(value: Any) -> bool:
    return hasattr(value, "row_splits") and not isinstance(value, Tensor)


def _rows(tensors: list[Any]) -> tuple[int | None, Any]:
    """The number of rows of the tensors: the static one or None, and an int or a tensor."""
    static = None
    for tensor in tensors:
        dims = as_dims(tensor.shape)
        if dims is not None:
            if not dims:
                raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
            (static,) = merge((static,), dims[:1]) or (None,)
    if static is not None:
        return static, static
    return None, tensors[0].nrows() if _is_ragged(tensors[0]) else shape(tensors[0])[0]


def _readers(tensors: list[Any], count: Any) -> list[Callable[[Any], Any]]:
    """For each tensor or RaggedTensor the function from a number to the row."""
    return [
        functools.partial(operator.getitem, tensor)
        if _is_ragged(tensor)
        else _unstacked([tensor], count)[0].read
        for tensor in tensors
    ]


def _unstacked(tensors: list[Tensor], count: Any, element_shapes: bool = False) -> list[TensorArray]:
    """A TensorArray for each tensor, whose elements are its rows."""
    arrays = [
        TensorArray(
            dtype=tensor.dtype,
            size=count,
            dynamic_size=False,
            infer_shape=True,
            element_shape=tensor.dims[1:] if element_shapes and tensor.dims is not None else None,
        )
        for tensor in tensors
    ]
    return [array.unstack(tensor) for array, tensor in zip(arrays, tensors, strict=True)]


def _stacked(arrays: Any, count: int | None) -> list[Tensor]:
    results = [array.stack() for array in arrays]
    for result in results:
        result.dims = concatenate((count,), None if result.dims is None else result.dims[1:])
    return results


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The results of `fn` for each row of `elems`, stacked (`tf.map_fn`).

    Args:
        fn: a function from one row, in the structure of `elems`, to tensors.
        elems: tensors or RaggedTensors with equally many rows, in a nested structure.
        dtype, fn_output_signature: the structure and dtypes of the results; by default those of `elems`.
        infer_shape: whether all results have the same shape.

    Raises:
        TypeError, ValueError: the arguments, or the results of `fn`, do not fit together.

    Example:
        >>> tf.Session().run(tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])))
        array([1, 4, 9], dtype=int32)
    """
    _check_callable(fn)
    signature = fn_output_signature if fn_output_signature is not None else dtype
    flat = structures.PLAIN.flatten(elems)
    with framework.name_scope(name, "map", flat), _variables_beside_users():
        flat = [e if _is_ragged(e) else convert_to_tensor(e, name="elem") for e in flat]
        static, count = _rows(flat)
        rows = _readers(flat, count)
        first = constant(0)
        types = (
            [as_dtype(t) for t in structures.flatten(signature)]
            if signature is not None
            else [e.dtype for e in flat]
        )
        results = [
            TensorArray(dtype=t, size=count, dynamic_size=False, infer_shape=infer_shape) for t in types
        ]
        structure = elems if signature is None else signature

        def compute(i: Any, arrays: list[TensorArray]) -> Any:
            made = fn(structures.PLAIN.pack(elems, [row(i) for row in rows]))
            structures.assert_same_structure(structure, made)
            values = structures.flatten(made)
            return i + 1, [array.write(i, value) for array, value in zip(arrays, values, strict=True)]

        _, arrays = while_loop(
            lambda i, _: i < count,
            compute,
            (first, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return structures.pack(structure, _stacked(arrays, static))


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last of the values fn(value so far, row), taken over the rows from the first on (`tf.foldl`).

    Args:
        initializer: the value to begin with, by default the first row.

    Example:
        >>> tf.Session().run(tf.foldl(lambda total, x: total * 10 + x, tf.constant([1, 2, 3])))
        np.int32(123)
    """
    return _fold("foldl", fn, elems, initializer, (parallel_iterations, back_prop, swap_memory), name)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Like `foldl`, from the last row on (`tf.foldr`).

    Example:
        >>> tf.Session().run(tf.foldr(lambda total, x: total * 10 + x, tf.constant([1, 2, 3])))
        np.int32(321)
    """
    return _fold("foldr", fn, elems, initializer, (parallel_iterations, back_prop, swap_memory), name)


def _fold(
    kind: str,
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    options: tuple[Any, ...],
    name: Any,
) -> Any:
    _check_callable(fn)
    forwards = kind == "foldl"
    flat = structures.PLAIN.flatten(elems)
    with framework.name_scope(name, kind, flat), _variables_beside_users():
        flat = [convert_to_tensor(elem, name="elem") for elem in flat]
        _, count = _rows(flat)
        rows = structures.PLAIN.pack(elems, _unstacked(flat, count))

        def row(i: Any) -> Any:
            return structures.PLAIN.map_structure(lambda array: array.read(i), rows)

        if forwards:
            value = initializer if initializer is not None else row(0)
            first = constant(1 if initializer is None else 0)
        else:
            first = count - 1 if initializer is None else count
            value = initializer if initializer is not None else row(first)

        def compute(i: Any, value: Any) -> Any:
            if forwards:
                made = fn(value, row(i))
                return [i + 1, made]
            i = i - 1
            return [i, fn(value, row(i))]

        parallel_iterations, back_prop, swap_memory = options
        return while_loop(
            (lambda i, _: i < count) if forwards else (lambda i, _: i > 0),
            compute,
            [first, value],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )[1]


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values that `foldl` computes on its way, stacked (`tf.scan`).

    Args:
        initializer: the value to begin with; by default the first row, which then is the first value.
        reverse: from the last row on.

    Example:
        >>> tf.Session().run(tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])))
        array([1, 3, 6], dtype=int32)
    """
    _check_callable(fn)
    flat = structures.PLAIN.flatten(elems)
    with framework.name_scope(name, "scan", flat), _variables_beside_users():
        flat = [convert_to_tensor(elem, name="elem") for elem in flat]
        static, count = _rows(flat)
        rows = _unstacked(flat, count, element_shapes=True)
        structure = elems if initializer is None else initializer
        if initializer is None:
            values = [row.read(count - 1 if reverse else 0) for row in rows]
            skipped = 1
        else:
            values = [convert_to_tensor(value) for value in structures.flatten(initializer)]
            skipped = 0
        results = [
            TensorArray(
                dtype=value.dtype,
                size=count,
                element_shape=value.shape if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for value in values
        ]
        if initializer is None:
            at = count - 1 if reverse else 0
            results = [array.write(at, value) for array, value in zip(results, values, strict=True)]

        def compute(i: Any, values: list[Any], arrays: list[TensorArray]) -> Any:
            element = structures.PLAIN.pack(elems, [row.read(i) for row in rows])
            made = fn(structures.pack(structure, values), element)
            structures.assert_same_structure(structure, made)
            new = structures.flatten(made)
            arrays = [array.write(i, value) for array, value in zip(arrays, new, strict=True)]
            return (i - 1 if reverse else i + 1), new, arrays

        _, _, arrays = while_loop(
            (lambda i, _v, _a: i >= 0) if reverse else (lambda i, _v, _a: i < count),
            compute,
            (count - 1 - skipped if reverse else skipped, values, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return structures.pack(structure, _stacked(arrays, static))
