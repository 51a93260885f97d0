"""Picking and placing by indices: gather, gather_nd, scatter_nd, tensor_scatter_nd_…, one_hot."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import Array, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import spelled_dims
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import with_rank, with_rank_at_least


def _gather_shape(op: RuleNode) -> list[Dims]:
    params = with_rank_at_least(op.inputs[0].dims, 1)
    indices = op.inputs[1].dims
    return [None if params is None or indices is None else (*indices, *params[1:])]


def _gather_v2_shape(op: RuleNode) -> list[Dims]:
    params = with_rank_at_least(op.inputs[0].dims, 1)
    indices = op.inputs[1].dims
    with_rank(op.inputs[2].dims, 0)
    axis, batch_dims = static_value(op.inputs[2]), op.attrs["batch_dims"]
    at = 0 if axis is None else int(axis)
    with_rank_at_least(params, -at if at < 0 else at + 1)
    if params is None or indices is None:
        return [None]
    batch_dims += len(indices) if batch_dims < 0 else 0
    if axis is None:
        return [(None,) * (len(params) - 1 + len(indices) - batch_dims)]
    at %= len(params)
    return [(*params[:at], *indices[batch_dims:], *params[at + 1 :])]


def _gather_nd_shape(op: RuleNode) -> list[Dims]:
    params = op.inputs[0].dims
    indices = with_rank_at_least(op.inputs[1].dims, 1)
    if params is None or indices is None or indices[-1] is None:
        return [None]
    if indices[-1] > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{dims_module.format_dims(indices)} and params shape: {dims_module.format_dims(params)}"
        )
    return [(*indices[:-1], *params[indices[-1] :])]


def _scatter_nd_shape(op: RuleNode) -> list[Dims]:
    return [_scattered(op.inputs[0].dims, op.inputs[1].dims, spelled_dims(op.inputs[2]))]


def _tensor_scatter_shape(op: RuleNode) -> list[Dims]:
    return [_scattered(op.inputs[1].dims, op.inputs[2].dims, op.inputs[0].dims)]


def _scattered(indices: Dims, updates: Dims, output: Dims) -> Dims:
    """`output`, after a check that `updates` has the shape that `indices` implies."""
    if output is not None and len(output) < 1:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if not indices or updates is None:
        return output
    depth, outer = indices[-1], len(indices) - 1
    _must_match(("indices", indices, 0, outer), ("updates", updates, 0, outer))
    if output is None or depth is None:
        return output
    if depth <= len(output):
        _must_match(("input", output, depth, len(output)), ("updates", updates, outer, len(updates)))
    return output


_Part = tuple[str, tuple[int | None, ...], int, int]
"""The name of an input, its dimensions, and the first and the end of the range of them to compare."""


def _must_match(a: _Part, b: _Part) -> None:
    """Raises ValueError where the two ranges of dimensions differ."""
    parts = [dims[first:end] for _, dims, first, end in (a, b)]
    try:
        dims_module.merge(*parts)
    except ValueError as e:
        (left, right) = (
            f"[{first},{end}) of {name}[shape={dims_module.format_dims(dims)}] = "
            f"{dims_module.format_dims(part)}"
            for (name, dims, first, end), part in zip((a, b), parts, strict=True)
        )
        raise ValueError(f"Dimensions {left} must match dimensions {right}: {e}") from None


def _one_hot_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 0)  # TensorFlow looks at the ranks of the values at run time only
    indices, depth, axis = op.inputs[0].dims, static_value(op.inputs[1]), op.attrs["axis"]
    if axis < -1:
        raise ValueError("axis must be >= -1")
    if depth is not None and depth < 0:
        raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {int(depth)}")
    if indices is None:
        return [None]
    place = len(indices) if axis == -1 else axis
    if place > len(indices):
        raise ValueError(f"axis must be in the range [-1, {len(indices)}], got {axis}")
    return [(*indices[:place], None if depth is None else int(depth), *indices[place:])]


op(
    "Gather(params: Tparams, indices: Tindices) -> (output: Tparams)",
    "validate_indices: bool = true",
    "Tparams: type",
    "Tindices: {int32, int64}",
    shape=_gather_shape,
)
op(
    "GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)",
    "batch_dims: int = 0",
    "Tparams: type",
    "Tindices: {int16, int32, int64}",
    "Taxis: {int32, int64}",
    shape=_gather_v2_shape,
)
op(
    "GatherNd(params: Tparams, indices: Tindices) -> (output: Tparams)",
    "Tparams: type",
    "Tindices: {int16, int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_gather_nd_shape,
)
op(
    "ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> (output: T)",
    "T: type",
    "Tindices: {int16, int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_scatter_nd_shape,
)
op(
    "TensorScatterUpdate(tensor: T, indices: Tindices, updates: T) -> (output: T)",
    "T: type",
    "Tindices: {int16, int32, int64, uint16}",
    'bad_indices_policy: string = ""',
    shape=_tensor_scatter_shape,
)
op(
    "TensorScatterAdd(tensor: T, indices: Tindices, updates: T) -> (output: T)",
    "T: type",
    "Tindices: {int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_tensor_scatter_shape,
)
op(
    "ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T) -> (output: T)",
    "T: {float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, qint16, quint16, uint16, complex128, float16, uint32, uint64, bool}",
    "Tindices: {int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_tensor_scatter_shape,
)
op(
    "TensorScatterSub(tensor: T, indices: Tindices, updates: T) -> (output: T)",
    "T: type",
    "Tindices: {int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_tensor_scatter_shape,
)
op(
    "TensorScatterMin(tensor: T, indices: Tindices, updates: T) -> (output: T)",
    "T: type",
    "Tindices: {int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_tensor_scatter_shape,
)
op(
    "TensorScatterMax(tensor: T, indices: Tindices, updates: T) -> (output: T)",
    "T: type",
    "Tindices: {int32, int64}",
    'bad_indices_policy: string = ""',
    shape=_tensor_scatter_shape,
)
op(
    "OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)",
    "axis: int = -1",
    "T: type",
    "TI: {uint8, int8, int32, int64} = int64",
    shape=_one_hot_shape,
)


@static_rule("GatherV2")
def _gather_value(op: RuleNode) -> Array | None:
    params, indices, axis = map(static_value, op.inputs)
    if params is None or indices is None or axis is None or op.attrs["batch_dims"]:
        return None
    size = params.shape[int(axis)]
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        return None  # the run will say so
    return params.take(indices, int(axis))


@takes_composites
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Slices of `params` along `axis`, in the order of `indices` (`tf.gather`).

    The result has the shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].

    Args:
        validate_indices: not used: indices are always checked.
        axis: a scalar, `batch_dims` by default; negative axes count from the end.
        batch_dims: how many leading dimensions `params` and `indices` share; each batch has its own indices.

    Raises:
        InvalidArgumentError: in a run, where an index is out of range.

    Example:
        >>> tf.Session().run(tf.gather([10, 20, 30], [2, 0]))
        array([30, 10], dtype=int32)
    """
    axis = batch_dims if axis is None else axis
    if isinstance(axis, int) and axis == 0 and getattr(params, "reads_slices", False):
        rows: Tensor = params.sparse_read(indices, name=name)
        return rows
    return apply_one("GatherV2", params, indices, axis, batch_dims=batch_dims, name=name)


@takes_composites
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """`gather` whose batch dimensions are all but the last of `indices` (`tf.batch_gather`)."""
    with get_default_graph().name_scope(name or "BatchGather"):
        indices = convert_to_tensor(indices, name="indices")
        if indices.dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(params, indices, batch_dims=len(indices.dims) - 1)


@takes_composites
def gather_nd(
    params: Any, indices: Any, name: str | None = None, batch_dims: int = 0, bad_indices_policy: str = ""
) -> Tensor:
    """Elements or slices of `params` at the coordinates in the last dimension of `indices` (`tf.gather_nd`).

    Args:
        indices: shape […, n]; n coordinates leave a slice of rank(params) - n dimensions.
        batch_dims: how many leading dimensions `params` and `indices` share.
        bad_indices_policy: "" or "ERROR" to fail in a run, "IGNORE" to read zeros.

    Example:
        >>> tf.Session().run(tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]))
        array([2, 3], dtype=int32)
    """
    if batch_dims == 0:
        return apply_one("GatherNd", params, indices, bad_indices_policy=bad_indices_policy, name=name)
    with get_default_graph().name_scope(name or "BatchGatherND"):
        return _batch_gather_nd(params, indices, batch_dims, bad_indices_policy)


def _batch_gather_nd(params: Any, indices: Any, batch_dims: int, bad_indices_policy: str) -> Tensor:
    """`gather_nd` with the coordinates of its batch put in front of every index."""
    from tensorfleet.ops.array.casting import cast
    from tensorfleet.ops.array.constants import range as range_
    from tensorfleet.ops.array.joining import concat
    from tensorfleet.ops.array.shaping import broadcast_to, reshape, shape

    indices = convert_to_tensor(indices, name="indices")
    rank = None if indices.dims is None else len(indices.dims)
    if rank is None or batch_dims >= rank:
        raise ValueError(f"Argument `batch_dims` = {batch_dims} must be less than rank(`indices`) = {rank}")
    outer = shape(indices)[:-1]
    columns = []
    for axis in range(batch_dims):
        sizes = [1] * rank
        sizes[axis] = -1
        column = reshape(cast(range_(outer[axis]), indices.dtype.base), sizes)
        columns.append(broadcast_to(column, concat([outer, [1]], 0)))
    coordinates = concat([*columns, indices], -1)
    return apply_one("GatherNd", params, coordinates, bad_indices_policy=bad_indices_policy)


def scatter_nd(
    indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Zeros of a shape, to which `updates` are added at `indices` (`tf.scatter_nd`).

    Args:
        indices: shape […, n]; each names an element or slice of the result by n coordinates.
        updates: shape indices.shape[:-1] + shape[n:].

    Example:
        >>> tf.Session().run(tf.scatter_nd([[1], [3]], [7, 9], [4]))
        array([0, 7, 0, 9], dtype=int32)
    """
    return apply_one("ScatterNd", indices, updates, shape, bad_indices_policy=bad_indices_policy, name=name)


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` in the places of `indices` (`tf.tensor_scatter_nd_update`).

    The arguments are those of `scatter_nd`.
    """
    return apply_one("TensorScatterUpdate", tensor, indices, updates, name=name)


def tensor_scatter_nd_add(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`tensor` with `updates` added at `indices` (`tf.tensor_scatter_nd_add`)."""
    return _scatter("TensorScatterAdd", tensor, indices, updates, bad_indices_policy, name)


def tensor_scatter_nd_sub(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`tensor` with `updates` subtracted at `indices` (`tf.tensor_scatter_nd_sub`)."""
    return _scatter("TensorScatterSub", tensor, indices, updates, bad_indices_policy, name)


def tensor_scatter_nd_min(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`tensor` with the lesser of it and `updates` at `indices` (`tf.tensor_scatter_nd_min`)."""
    return _scatter("TensorScatterMin", tensor, indices, updates, bad_indices_policy, name)


def tensor_scatter_nd_max(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`tensor` with the greater of it and `updates` at `indices` (`tf.tensor_scatter_nd_max`)."""
    return _scatter("TensorScatterMax", tensor, indices, updates, bad_indices_policy, name)


def _scatter(op_type: str, tensor: Any, indices: Any, updates: Any, policy: str, name: str | None) -> Tensor:
    return apply_one(op_type, tensor, indices, updates, bad_indices_policy=policy, name=name)


tensor_scatter_update = tensor_scatter_nd_update
tensor_scatter_add = tensor_scatter_nd_add
tensor_scatter_sub = tensor_scatter_nd_sub


@takes_composites
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """A vector of `depth` numbers for each index, `on_value` at the index, else `off_value` (`tf.one_hot`).

    Args:
        on_value, off_value: scalars of one dtype, 1 and 0 by default.
        axis: where the new dimension goes; by default it is the last.
        dtype: of the result; by default that of the values, or else float32.

    Raises:
        TypeError: the values' dtypes differ, or are not `dtype`.

    Example:
        >>> tf.Session().run(tf.one_hot([0, 2], 3))
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    with get_default_graph().name_scope(name or "one_hot") as scope:
        on = None if on_value is None else convert_to_tensor(on_value, dtype_hint=dtype)
        off = None if off_value is None else convert_to_tensor(off_value, dtype_hint=dtype)
        found = [t.dtype.base for t in (on, off) if t is not None]
        wanted = dtypes.as_dtype(dtype).base if dtype is not None else found[0] if found else dtypes.float32
        for label, tensor in (("on_value", on), ("off_value", off)):
            if tensor is not None and tensor.dtype.base is not wanted:
                raise TypeError(
                    f"dtype {tensor.dtype.base} of {label} does not match dtype parameter {wanted}"
                )
        on = convert_to_tensor(1, wanted, "on_value") if on is None else on
        off = convert_to_tensor(0, wanted, "off_value") if off is None else off
        return apply_one("OneHot", indices, depth, on, off, axis=axis, name=scope)
