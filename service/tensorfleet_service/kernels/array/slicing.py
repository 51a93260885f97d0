"""Slice and StridedSlice: views of their input."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from tensorfleet.core import string_arrays
from tensorfleet.core.slice_spec import Index, SliceSpec
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import (
    array_kernel,
    ints,
    invalid,
    shape_text,
)
from tensorfleet_service.state.variables import Variable
from tensorfleet_service.threads.running import check as check_step


@array_kernel("Slice")
def slice_(node: KernelNode) -> Kernel:
    def run(x: Any, begin: Any, size: Any) -> Any:
        starts, sizes = ints(begin), ints(size)
        if begin.ndim != 1 or size.ndim != 1 or len(starts) != x.ndim or len(sizes) != x.ndim:
            raise invalid(
                f"Expected begin and size arguments to be 1-D tensors of size {x.ndim}, but got shapes "
                f"{shape_text(begin.shape)} and {shape_text(size.shape)} instead."
            )
        index = []
        for i, (dim, start, count) in enumerate(zip(x.shape, starts, sizes, strict=True)):
            if count == -1:
                count = dim - start
            if not 0 <= start <= dim:
                raise invalid(f"Expected begin[{i}] in [0, {dim}], but got {start}")
            if not 0 <= count <= dim - start:
                raise invalid(f"Expected size[{i}] in [0, {dim - start}], but got {count}")
            index.append(slice(start, start + count))
        return x[tuple(index)]

    return run


@array_kernel("StridedSlice")
def strided_slice(node: KernelNode) -> Kernel:
    spec = spec_of(node)

    def run(x: Any, begin: Any, end: Any, strides: Any) -> Any:
        try:
            return x[spec.index(ints(begin), ints(end), ints(strides))]
        except (IndexError, ValueError, TypeError) as e:
            raise index_error(e, spec, x.shape, begin, end, strides) from None

    return run


@array_kernel("TensorStridedSliceUpdate")
def tensor_strided_slice_update(node: KernelNode) -> Kernel:
    xp, spec = node.xp, spec_of(node)

    def run(x: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
        result = xp.array(x)  # of a scalar, too: NumPy's cannot be written to
        _assign(result, _view(slice_index(spec, x.shape, begin, end, strides)), value, xp)
        return result[()]

    return run


@kernel("StridedSliceAssign", "ResourceStridedSliceAssign")
def strided_slice_assign(node: KernelNode) -> Kernel:
    xp, spec = node.xp, spec_of(node)

    def assign(array: Any, begin: Any, end: Any, strides: Any, value: Any) -> None:
        _assign(array, _view(slice_index(spec, array.shape, begin, end, strides)), value, xp)

    def run(ref: Variable, begin: Any, end: Any, strides: Any, value: Any) -> Variable:
        ref.modify(assign, begin, end, strides, value)
        return ref

    if node.op == "StridedSliceAssign":
        return run
    return lambda *inputs: inputs[0].modify(assign, *inputs[1:])


def _assign(array: Any, index: Index, value: Any, xp: ModuleType) -> None:
    part = array[index]
    try:
        array[index] = xp.broadcast_to(value, part.shape)
    except ValueError:
        raise invalid(
            f"Cannot broadcast input shape {shape_text(value.shape)} into final shape "
            f"{shape_text(part.shape)}"
        ) from None


@array_kernel("StridedSliceGrad", moves=True)
def strided_slice_grad(node: KernelNode) -> Kernel:
    xp, spec = node.xp, spec_of(node)

    def run(shape: Any, begin: Any, end: Any, strides: Any, dy: Any) -> Any:
        if shape.ndim != 1:
            raise invalid(f"shape must be 1-D, got shape.shape = {shape_text(shape.shape)}")
        dims = ints(shape)
        if min(dims, default=0) < 0:
            raise invalid(f"Dimension {min(dims)} must be >= 0")
        if dy.dtype == object:
            result = string_arrays.filled(dims, b"", check_step)
        else:
            result = xp.zeros(dims, dy.dtype)  # 0 is the number of the empty string
        index = _view(slice_index(spec, dims, begin, end, strides))
        if result[index].shape != dy.shape:
            raise invalid(
                f"shape of dy was {shape_text(dy.shape)} instead of {shape_text(result[index].shape)}"
            )
        result[index] = dy
        return result[()]

    return run


def slice_into(attrs: dict[str, Any]) -> Callable[..., Any]:
    """The view of an array that a slice with the attributes of a StridedSliceGrad takes.

    The function it returns takes the array and begin, end and strides, and raises InvalidArgumentError where
    they do not fit.
    """
    spec = SliceSpec.of_attrs(attrs)
    return lambda array, begin, end, strides: array[
        _view(slice_index(spec, array.shape, begin, end, strides))
    ]


def _view(index: Index) -> Index:
    """The index with an ellipsis, with which NumPy gives a view even of a single element."""
    return index if Ellipsis in index else (*index, ...)


def spec_of(node: KernelNode) -> SliceSpec:
    """The masks of a node. Raises InvalidArgumentError where they contradict themselves."""
    try:
        return SliceSpec.of_attrs(node.attrs)
    except ValueError as e:
        raise invalid(str(e)) from None


def slice_index(spec: SliceSpec, shape: Any, begin: Any, end: Any, strides: Any) -> Index:
    """The NumPy index into an array of this shape. Raises InvalidArgumentError in TensorFlow's words."""
    try:
        index = spec.index(ints(begin), ints(end), ints(strides))
        spec.output_dims(tuple(shape), ints(begin), ints(end), ints(strides))
        return index
    except (IndexError, ValueError, TypeError) as e:
        raise index_error(e, spec, shape, begin, end, strides) from None


def index_error(e: Exception, spec: SliceSpec, shape: Any, begin: Any, end: Any, strides: Any) -> Exception:
    """The error for an index that NumPy refused with `e`."""
    if not begin.ndim == end.ndim == strides.ndim == 1 or not begin.size == end.size == strides.size:
        shapes = ", ".join(shape_text(v.shape) for v in (begin, end))
        return invalid(
            f"Expected begin, end, and strides to be 1D equal size tensors, but got shapes {shapes}, and "
            f"{shape_text(strides.shape)} instead."
        )
    if not shape:
        return invalid("Attempting to slice scalar input.")
    try:
        spec.output_dims(tuple(shape), ints(begin), ints(end), ints(strides))
    except ValueError as found:
        return invalid(str(found))
    return e
