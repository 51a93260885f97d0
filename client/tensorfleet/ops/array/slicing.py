"""Slicing: slice, strided_slice, and what `tensor[...]` means."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dimension import Dimension
from tensorfleet.core.dims import Dims
from tensorfleet.core.slice_spec import SliceSpec
from tensorfleet.graph.convert import constant
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import Array, static_dims, static_dims_rule, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import nothing, unchanged, with_rank

newaxis = None

_INDEX_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors "
    "are valid indices"
)


def _slice_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    (begin_rank,), (size_rank,) = with_rank(op.inputs[1].dims, 1), with_rank(op.inputs[2].dims, 1)
    rank = begin_rank if begin_rank is not None else size_rank
    if rank is None:
        rank = None if dims is None else len(dims)
    if rank is None:
        return [None]
    dims = with_rank(dims, rank)
    begin, size = static_dims(op.inputs[1]), static_value(op.inputs[2])
    sizes = static_dims(op.inputs[2])
    result = list((None,) * rank if sizes is None else sizes)
    if size is not None and begin is not None:
        for i, (d, b, s) in enumerate(zip(dims, begin, size.tolist(), strict=True)):
            if s == -1 and d is not None and b is not None:
                if b > d:
                    raise ValueError(
                        f"Negative dimension size caused by subtracting {b} from {d}, in dimension {i}"
                    )
                result[i] = d - b
    return [tuple(result)]


def _strided_slice_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    vector: Dims = None
    for tensor in op.inputs[1:4]:
        vector = dims_module.merge(vector, with_rank(tensor.dims, 1))
    begin, end, strides = (static_value(t) for t in op.inputs[1:4])
    if dims is None or strides is None:
        return [None]
    return [_spec(op).output_dims(dims, _ints(begin), _ints(end), strides.tolist())]


def _ints(value: Array | None) -> list[int] | None:
    return None if value is None else value.tolist()


def _spec(op: RuleNode) -> SliceSpec:
    return SliceSpec.of_attrs(op.attrs)


def _strided_slice_grad_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    return [static_dims(op.inputs[0])]


op(
    "Slice(input: T, begin: Index, size: Index) -> (output: T)",
    "T: type",
    "Index: {int32, int64}",
    shape=_slice_shape,
)
op(
    "StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> (output: T)",
    "T: type",
    "Index: {int16, int32, int64}",
    "begin_mask: int = 0",
    "end_mask: int = 0",
    "ellipsis_mask: int = 0",
    "new_axis_mask: int = 0",
    "shrink_axis_mask: int = 0",
    shape=_strided_slice_shape,
)
for _signature in (
    "StridedSliceAssign(ref: Ref(T), begin: Index, end: Index, strides: Index, value: T) -> (output_ref: "
    "Ref(T))",
    "ResourceStridedSliceAssign(ref: resource, begin: Index, end: Index, strides: Index, value: T) -> ()",
):
    op(
        _signature,
        "T: type",
        "Index: {int32, int64}",
        "begin_mask: int = 0",
        "end_mask: int = 0",
        "ellipsis_mask: int = 0",
        "new_axis_mask: int = 0",
        "shrink_axis_mask: int = 0",
        shape=unchanged if _signature.startswith("Strided") else nothing,
        stateful=_signature.startswith("Resource"),
    )
op(
    "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T)",
    "T: type",
    "Index: {int32, int64}",
    "begin_mask: int = 0",
    "end_mask: int = 0",
    "ellipsis_mask: int = 0",
    "new_axis_mask: int = 0",
    "shrink_axis_mask: int = 0",
    shape=_strided_slice_grad_shape,
)
op(
    "TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T) -> (output: T)",
    "T: type",
    "Index: {int32, int64}",
    "begin_mask: int = 0",
    "end_mask: int = 0",
    "ellipsis_mask: int = 0",
    "new_axis_mask: int = 0",
    "shrink_axis_mask: int = 0",
    shape=unchanged,
)


@static_rule("Slice")
def _slice_value(op: RuleNode) -> Array | None:
    value, begin, size = map(static_value, op.inputs)
    if value is None or begin is None or size is None:
        return None
    return value[
        tuple(
            np.s_[b : None if s == -1 else b + s] for b, s in zip(begin.tolist(), size.tolist(), strict=True)
        )
    ]


@static_rule("StridedSlice")
def _strided_slice_value(op: RuleNode) -> Array | None:
    begin, end, strides = (static_value(t) for t in op.inputs[1:4])
    if begin is None or end is None or strides is None:
        return None
    index = _spec(op).index(begin.tolist(), end.tolist(), strides.tolist())
    value = static_value(op.inputs[0])
    if value is not None:
        return np.asarray(value[index])
    # Some sizes of a shape may be known, though not all of them are.
    dims = static_dims(op.inputs[0])
    if dims is None:
        return None
    picked = np.asarray(np.array(dims, object)[index])
    if any(d is None for d in picked.flat):
        return None
    return picked.astype(op.outputs[0].dtype.np)


@static_dims_rule("StridedSlice")
def _strided_slice_dims(op: RuleNode) -> Dims:
    begin, end, strides = (static_value(t) for t in op.inputs[1:4])
    dims = static_dims(op.inputs[0])
    if begin is None or end is None or strides is None or dims is None:
        return None
    picked = np.array(dims, object)[_spec(op).index(begin.tolist(), end.tolist(), strides.tolist())]
    return tuple(picked) if isinstance(picked, np.ndarray) and picked.ndim == 1 else None


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The part of `input_` that starts at `begin` and has the sizes `size` (`tf.slice`).

    Args:
        begin, size: integer vectors with one element for each dimension; a size of -1 reaches to the end.

    Example:
        >>> tf.Session().run(tf.slice([1, 2, 3, 4], [1], [2]))
        array([2, 3], dtype=int32)
    """
    return apply_one("Slice", input_, begin, size, name=name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """`input_[begin:end:strides]` in each dimension (`tf.strided_slice`).

    Args:
        begin, end, strides: integer vectors of one length; without `strides`, ones.
        begin_mask, end_mask: bit i set: the slice reaches to that end of the dimension.
        ellipsis_mask: bit i set: position i stands for all dimensions that no other position refers to.
        new_axis_mask: bit i set: position i makes a new dimension of size 1.
        shrink_axis_mask: bit i set: position i picks the index begin[i], and the dimension goes.
        var: the variable that was sliced: the result gets a method `assign`, which sets the slice of it.
    """
    result = apply_one(
        "StridedSlice",
        input_,
        begin,
        end,
        ones_like(begin) if strides is None else strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )
    return result if var is None else SlicedVariable.replace(result, var)


class SlicedVariable(Tensor):
    """A slice of a variable, `variable[…]`, which can be assigned to."""

    __slots__ = ("_sliced",)

    _sliced: Any

    @classmethod
    def replace(cls, part: Tensor, variable: Any) -> SlicedVariable:
        """A SlicedVariable that replaces `part` as the output of the StridedSlice `part.op`."""
        result = cls(part.op, 0, part.dtype, part.dims)
        result._sliced = variable
        part.op.outputs[0] = result
        return result

    def assign(self, value: Any, name: str | None = None) -> Any:
        """Sets the slice of the variable to `value`, of the slice's shape or one that broadcasts to it.

        Returns the variable as the assignment leaves it.
        """
        begin, end, strides = self.op.inputs[1:4]
        if name is None:
            name = f"{self.op.name}/_assign/"  # with a slash at its end a name counts from the root
        return self._sliced._assign_slice(begin, end, strides, self.op.attrs, value, name)


def _slice_helper(tensor: Any, slice_spec: Any, var: Any = None) -> Tensor:
    """`tensor[slice_spec]`: as NumPy's basic indexing, with scalar tensors as indices, or a boolean mask.

    Raises:
        TypeError: an index of another kind.
    """
    if _is_mask(slice_spec):
        from tensorfleet.ops.array.selection import boolean_mask

        return boolean_mask(tensor, slice_spec)
    items = slice_spec if isinstance(slice_spec, (list, tuple)) else [slice_spec]
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks: dict[str, Any] = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    for i, item in enumerate(items):
        bit = 1 << i
        if isinstance(item, _SLICE):
            bounds: tuple[Any, ...] = (item.start, item.stop, item.step)
            dtype = _widest([t.dtype.base for t in bounds if isinstance(t, Tensor)])
            for part, given, mask in ((begin, item.start, "begin_mask"), (end, item.stop, "end_mask")):
                part.append(_bound(given, 0, dtype))
                if _is_open(given):
                    masks[mask] |= bit
            strides.append(_bound(item.step, 1, dtype))
        elif item is Ellipsis or item is None:
            masks["ellipsis_mask" if item is Ellipsis else "new_axis_mask"] |= bit
            begin.append(0)
            end.append(0)
            strides.append(1)
        else:
            _check_index(item)
            masks["shrink_axis_mask"] |= bit
            begin.append(item)
            end.append(item + 1)
            kind = item.dtype.base if isinstance(item, Tensor) else dtypes.int32
            strides.append(1 if kind is dtypes.int32 else constant(1, kind))
    with get_default_graph().name_scope("strided_slice") as scope:
        if not begin:
            vectors = [constant([], dtypes.int32)] * 3
        else:
            vectors = [stack(begin), stack(end), stack(strides)]
            if any(v.dtype.base is dtypes.int64 for v in vectors):
                vectors = [cast(v, dtypes.int64) for v in vectors]
        first, last, steps = vectors
        return strided_slice(tensor, first, last, steps, var=var, name=scope, **masks)


_SLICE = type(np.s_[:])


def _is_mask(spec: Any) -> bool:
    if isinstance(spec, bool):
        return True
    if isinstance(spec, Tensor):
        return spec.dtype.base is dtypes.bool
    return isinstance(spec, np.ndarray) and spec.dtype == np.bool_


def _is_open(bound: Any) -> bool:
    return bound is None or (isinstance(bound, Dimension) and bound.value is None)


def _bound(value: Any, default: int, dtype: dtypes.DType | None) -> Any:
    if _is_open(value):
        return default if dtype is None else constant(default, dtype)
    _check_index(value)
    return value


def _widest(found: list[dtypes.DType]) -> dtypes.DType | None:
    return next((t for t in (dtypes.int64, dtypes.int32, dtypes.int16) if t in found), None)


def _check_index(index: Any) -> None:
    if isinstance(index, (numbers.Integral, Dimension)):
        return
    dtype = getattr(index, "dtype", None)
    integers = (dtypes.int16, dtypes.int32, dtypes.int64)
    if (
        dtype is None
        or dtypes.as_dtype(dtype).base not in integers
        or (index.shape and len(index.shape) == 1)
    ):
        raise TypeError(f"{_INDEX_ERROR}, got {index!r}")
