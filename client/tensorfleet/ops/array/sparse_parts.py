"""Parts and arrangements of SparseTensors: concat, slice, split, reshape, transpose, retain, empty rows."""

from __future__ import annotations

import builtins
import math
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range, zeros
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import renamed_argument, reshape, shape
from tensorfleet.ops.array.slicing import slice as dense_slice
from tensorfleet.ops.array.sparse_tensor import SparseTensor, as_sparse, sparse_reorder
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import add_dims, merge_dim, with_rank

# Shape rules


def _checked(op: RuleNode, first: int = 0) -> tuple[int | None, int | None]:
    """The number of elements and the rank of the indices, values and shape from input `first` on, checked."""
    indices = with_rank(op.inputs[first].dims, 2)
    values = with_rank(op.inputs[first + 1].dims, 1)
    sizes = with_rank(op.inputs[first + 2].dims, 1)
    return merge_dim(indices[0], values[0]), merge_dim(indices[1], sizes[0])


def _concat_shape(op: RuleNode) -> list[Dims]:
    count = op.attrs["N"]
    elements: int | None = 0
    dimensions: int | None = None
    for i in builtins.range(count):
        places = with_rank(op.inputs[i].dims, 2)
        values = with_rank(op.inputs[count + i].dims, 1)
        sizes = with_rank(op.inputs[2 * count + i].dims, 1)
        elements = add_dims(elements, merge_dim(places[0], values[0]))
        dimensions = merge_dim(dimensions, merge_dim(places[1], sizes[0]))
    return [(elements, dimensions), (elements,), (dimensions,)]


def _slice_shape(op: RuleNode) -> list[Dims]:
    _, dimensions = _checked(op)
    sizes = with_rank(op.inputs[2].dims, 1)
    return [(None, dimensions), (None,), sizes]


def _split_shape(op: RuleNode) -> list[Dims]:
    sizes = op.inputs[3].dims
    dimensions = None if sizes is None else with_rank(sizes, 1)[0]
    count = op.attrs["num_split"]
    return [(None, dimensions)] * count + [(None,)] * count + [sizes] * count


def _reshape_shape(op: RuleNode) -> list[Dims]:
    places, old, new = with_rank(op.inputs[0].dims, 2), op.inputs[1].dims, with_rank(op.inputs[2].dims, 1)
    with_rank(old, 1)
    return [(places[0], new[0]), (new[0],)]


def _filled_shape(op: RuleNode) -> list[Dims]:
    elements, dimensions = _checked(op)
    with_rank(op.inputs[3].dims, 0)
    sizes = static_dims(op.inputs[2])
    rows = None if sizes is None or not sizes else sizes[0]
    return [(None, dimensions), (None,), (rows,), (elements,)]


def _filled_grad_shape(op: RuleNode) -> list[Dims]:
    reverse = with_rank(op.inputs[0].dims, 1)
    with_rank(op.inputs[1].dims, 1)
    return [reverse, ()]


def _slice_grad_shape(op: RuleNode) -> list[Dims]:
    places = with_rank(op.inputs[1].dims, 2)
    return [(places[0],)]


op(
    "SparseConcat(indices: N * int64, values: N * T, shapes: N * int64) -> "
    "(output_indices: int64, output_values: T, output_shape: int64)",
    "concat_dim: int",
    "N: int >= 2",
    "T: type",
    shape=_concat_shape,
)
op(
    "SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64) -> "
    "(output_indices: int64, output_values: T, output_shape: int64)",
    "T: type",
    shape=_slice_shape,
)
op(
    "SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64)"
    " -> (val_grad: T)",
    "T: {number}",
    shape=_slice_grad_shape,
)
op(
    "SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64) -> (output_indices: "
    "num_split * int64, output_values: num_split * T, output_shape: num_split * int64)",
    "num_split: int >= 1",
    "T: type",
    shape=_split_shape,
)
op(
    "SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64) -> "
    "(output_indices: int64, output_shape: int64)",
    shape=_reshape_shape,
)
op(
    "SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T) -> "
    "(output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    "T: type",
    shape=_filled_shape,
)
op(
    "SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)",
    "T: type",
    shape=_filled_grad_shape,
)
# Functions


def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """SparseTensors joined along a dimension (`tf.sparse.concat`).

    Args:
        axis: the dimension; `concat_dim` is its older name.
        expand_nonconcat_dims: the other dimensions may differ, and become as large as the largest;
            `expand_nonconcat_dim` is its older name.

    Raises:
        InvalidArgumentError: in a run, where ranks or other dimensions differ.
    """
    expand = renamed_argument(
        "expand_nonconcat_dims", expand_nonconcat_dims, "expand_nonconcat_dim", expand_nonconcat_dim or None
    )
    axis = renamed_argument("axis", axis, "concat_dim", concat_dim)
    inputs = [as_sparse(each) for each in sp_inputs] if isinstance(sp_inputs, (list, tuple)) else None
    if inputs is None:
        raise TypeError("Inputs must be a list")
    if len(inputs) == 1:
        return inputs[0]
    shapes: list[Any] = [each.dense_shape for each in inputs]
    if expand:
        largest: Any = apply_one("Max", concat([reshape(each, [1, -1]) for each in shapes], 0), 0)
        shapes = [
            concat(
                [
                    largest[:axis],
                    each[-1:] if axis == -1 else each[axis : axis + 1],
                    [] if axis == -1 else largest[axis + 1 :],
                ],
                0,
            )
            for each in shapes
        ]
    indices, values, dense_shape = apply_op(
        "SparseConcat",
        [each.indices for each in inputs],
        [each.values for each in inputs],
        shapes,
        concat_dim=axis,
        name=name,
    )
    known = _joined_dims(inputs, axis, bool(expand))
    return SparseTensor(indices, values, dense_shape if known is None else _constant(known))


def _constant(dims: list[int]) -> Tensor:
    return convert_to_tensor(dims, dtypes.int64, "Const")


def _joined_dims(inputs: list[SparseTensor], axis: int, expand: bool) -> list[int] | None:
    """The static shape of the result, if all shapes are known and fit."""
    shapes = [_known(each) for each in inputs]
    first = shapes[0]
    if first is None or not -len(first) <= axis < len(first):
        return None
    axis %= len(first)
    joined = [*first]
    for dims in shapes[1:]:
        if dims is None or len(dims) != len(first):
            return None
        for i, d in enumerate(dims):
            if i == axis:
                joined[i] += d
            elif expand:
                joined[i] = max(joined[i], d)
            elif d != joined[i]:
                return None
    return joined


def _known(sparse: SparseTensor) -> list[int] | None:
    """The static shape, if all of it is known."""
    dims = static_dims(sparse.dense_shape)
    found = [d for d in dims or () if d is not None]
    return None if dims is None or len(found) < len(dims) else found


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """A part of a SparseTensor (`tf.sparse.slice`).

    Args:
        start: where it begins, [rank].
        size: its shape; what is beyond the end is left out.
    """
    sparse = as_sparse(sp_input)
    start = convert_to_tensor(start, dtypes.int64)
    size = convert_to_tensor(size, dtypes.int64)
    parts = apply_op("SparseSlice", sparse.indices, sparse.values, sparse.dense_shape, start, size, name=name)
    return SparseTensor(*parts)


class KeywordRequired:
    """The default of a first argument that exists so that callers give the others by name."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


_keyword_required = KeywordRequired()


def sparse_split(
    keyword_required: Any = _keyword_required,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """`num_split` parts of a SparseTensor along a dimension (`tf.sparse.split`); the first ones are longer if
    it does not divide evenly. All arguments are given by name."""
    if keyword_required is not _keyword_required:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    if axis is None and split_dim is None:
        raise ValueError("axis is required")
    axis = renamed_argument("axis", axis, "split_dim", split_dim)
    sparse = as_sparse(sp_input)
    parts = apply_op(
        "SparseSplit",
        axis,
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
        num_split=num_split,
        name=name,
    )
    return [SparseTensor(*each) for each in zip(*parts, strict=True)]


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """A SparseTensor of another shape, whose elements keep their row-major order (`tf.sparse.reshape`).

    Args:
        shape: the new shape; one size may be -1, and follows from the others.

    Raises:
        ValueError: the static shapes have different numbers of elements, or several sizes are -1.
    """
    sparse = as_sparse(sp_input)
    new = cast(shape, dtypes.int64)
    with framework.name_scope(name, "SparseReshape", [sparse.indices]) as scope:
        indices, dense_shape = apply_op("SparseReshape", sparse.indices, sparse.dense_shape, new, name=scope)
        known = _reshaped(sparse, static_value(new))
        if known is not None:
            dense_shape = _constant(known)
        return SparseTensor(indices, identity(sparse.values), dense_shape)


def _reshaped(sparse: SparseTensor, wanted: Any) -> list[int] | None:
    """The new static shape, if it is known."""
    if wanted is None:
        return None
    sizes = [int(size) for size in wanted.tolist()]
    dims = _known(sparse)
    if sizes.count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {wanted}")
    if dims is None:
        return None
    total, rest = math.prod(dims), math.prod(d for d in sizes if d != -1)
    if -1 in sizes:
        if not rest or total % rest:
            raise ValueError(f"Cannot reshape a tensor with {total} elements to shape {sizes}.")
        sizes[sizes.index(-1)] = total // rest
    elif rest != total:
        raise ValueError(f"Cannot reshape a tensor with {total} elements to shape {sizes} ({rest} elements).")
    return sizes


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor with its dimensions in the order `perm`, by default the reverse
    (`tf.sparse.transpose`)."""
    with framework.name_scope(name, "SparseTranspose"):
        sparse = as_sparse(sp_input)
        if perm is None:
            perm = _reversed_axes(sparse)
        places = transpose(gather(transpose(sparse.indices), perm))
        dims, order = _known(sparse), static_value(convert_to_tensor(perm))
        if dims is not None and order is not None:
            moved: Any = [dims[i] for i in order.tolist()]
            found = sparse_reorder(SparseTensor(places, sparse.values, moved))
            return SparseTensor(found.indices, found.values, moved)
        moved = gather(sparse.dense_shape, perm)
        found = sparse_reorder(SparseTensor(places, sparse.values, moved))
        return SparseTensor(found.indices, found.values, identity(moved))


def _reversed_axes(sparse: SparseTensor) -> Any:
    count = with_rank(sparse.dense_shape.dims, 1)[0]
    if count is not None:
        return list(reversed(builtins.range(count)))
    found: Any = rank_of_sparse(sparse)
    return (found - 1) - range(0, found, 1)


def rank_of_sparse(sparse: SparseTensor) -> Tensor:
    """The rank as an int32 scalar."""
    sizes: Any = shape(sparse.dense_shape)
    found: Tensor = sizes[0]
    return found


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor with one more dimension of size 1 at `axis`, by default the last one
    (`tf.sparse.expand_dims`)."""
    sparse = as_sparse(sp_input)
    rank_known = sparse.shape.ndims
    with framework.name_scope(name, "expand_dims", [sparse]):
        count: Any = rank_known if rank_known is not None else rank_of_sparse(sparse)
        at: Any = convert_to_tensor(-1 if axis is None else axis, name="axis")
        at = apply_one("SelectV2", apply_one("GreaterEqual", at, 0), at, at + count + 1)
        elements: Any = shape(sparse.indices)
        column = zeros([elements[0], 1], dtypes.int64)
        before = dense_slice(sparse.indices, [0, 0], [-1, at])
        after = dense_slice(sparse.indices, [0, at], [-1, -1])
        places = concat([before, column, after], 1)
        sizes = sparse.dense_shape
        one = convert_to_tensor([1], dtypes.int64, name="new_shape")
        whole = concat([dense_slice(sizes, [0], [at]), one, dense_slice(sizes, [at], [-1])], 0)
        if rank_known is not None:
            whole.set_shape([rank_known + 1])
        return SparseTensor(places, sparse.values, whole)


def as_int64(value: Any, name: str) -> Any:
    if isinstance(value, Tensor):
        return cast(value, dtypes.int64)
    return convert_to_tensor(value, dtypes.int64, name=name)
