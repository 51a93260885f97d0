"""Elements in another order: transpose, reverse, roll, meshgrid, space_to_depth."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import Array, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import ones
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import rank, renamed_argument, reshape, size
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, unchanged, with_rank, with_rank_at_least, with_rank_at_most


def _transpose_shape(op: RuleNode) -> list[Dims]:
    dims, perm = op.inputs[0].dims, static_value(op.inputs[1])
    (count,) = with_rank(op.inputs[1].dims, 1)
    count = len(dims) if count is None and dims is not None else count
    if count is None:
        return [None]
    if dims is not None and len(dims) != count:
        raise ValueError(f"Dimension must be {len(dims)} but is {count}")
    dims = with_rank(dims, count)
    if perm is None:
        return [(None,) * count]
    order = perm.tolist()
    for axis in order:
        if not -count <= axis < count:
            raise ValueError(f"perm dim {axis} is out of range of input rank {count}")
    return [tuple(dims[axis] for axis in order)]


def _reverse_shape(op: RuleNode) -> list[Dims]:
    (count,) = with_rank(op.inputs[1].dims, 1)
    dims = op.inputs[0].dims
    return [dims if count is None else with_rank(dims, count)]


def _reverse_v2_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 1)
    dims, axes = op.inputs[0].dims, static_value(op.inputs[1])
    if dims is not None and axes is not None:
        seen = set()
        for axis in axes.tolist():
            if not -len(dims) <= axis < len(dims):
                raise ValueError(
                    f"'axis'[{axes.tolist().index(axis)}] = {axis} is out of valid range [0, {len(dims) - 1}"
                )
            if axis % len(dims) in seen:
                raise ValueError(f"axis {axis % len(dims)} specified more than once.")
            seen.add(axis % len(dims))
    return [dims]


def _reverse_sequence_shape(op: RuleNode) -> list[Dims]:
    dims, (count,) = op.inputs[0].dims, with_rank(op.inputs[1].dims, 1)
    batch, seq = op.attrs["batch_dim"], op.attrs["seq_dim"]
    if dims is None:
        return [None]
    for label, axis in (("batch_dim", batch), ("seq_dim", seq)):
        if axis >= len(dims):
            raise ValueError(f"{label} must be < input rank: {axis} vs. {len(dims)}")
    return [(*dims[:batch], merge_dim(dims[batch], count), *dims[batch + 1 :])]


def _roll_shape(op: RuleNode) -> list[Dims]:
    with_rank_at_least(op.inputs[0].dims, 1)
    dims_module.merge(*(with_rank_at_most(t.dims, 1) for t in op.inputs[1:]))
    return unchanged(op)


def _image_axes(op: RuleNode) -> tuple[int, int, int]:
    """The axes of channels, height and width."""
    return (3, 1, 2) if op.attrs["data_format"] == b"NHWC" else (1, 2, 3)


def _space_to_depth_shape(op: RuleNode) -> list[Dims]:
    dims, block = list(with_rank(op.inputs[0].dims, 4)), op.attrs["block_size"]
    channels, *space = _image_axes(op)
    for axis in space:
        dims[axis] = _divided(dims[axis], block)
    depth = dims[channels]
    dims[channels] = None if depth is None else depth * block * block
    return [tuple(dims)]


def _depth_to_space_shape(op: RuleNode) -> list[Dims]:
    dims, block = list(with_rank(op.inputs[0].dims, 4)), op.attrs["block_size"]
    channels, *space = _image_axes(op)
    for axis in space:
        extent = dims[axis]
        dims[axis] = None if extent is None else extent * block
    dims[channels] = _divided(dims[channels], block * block)
    return [tuple(dims)]


def _divided(extent: int | None, by: int) -> int | None:
    if extent is None:
        return None
    if extent % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {extent}")
    return extent // by


def _vector(op: RuleNode) -> list[Dims]:
    return [with_rank(op.inputs[0].dims, 1)]


op(
    "Transpose(x: T, perm: Tperm) -> (y: T)",
    "T: type",
    "Tperm: {int32, int64} = int32",
    shape=_transpose_shape,
)
op(
    "ConjugateTranspose(x: T, perm: Tperm) -> (y: T)",
    "T: type",
    "Tperm: {int32, int64} = int32",
    shape=_transpose_shape,
)
op("InvertPermutation(x: T) -> (y: T)", "T: {int32, int64} = int32", shape=_vector)
op(
    "Reverse(tensor: T, dims: bool) -> (output: T)",
    "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, float16, "
    "float32, float64, complex64, complex128, string}",
    shape=_reverse_shape,
)
op(
    "ReverseV2(tensor: T, axis: Tidx) -> (output: T)",
    "Tidx: {int32, int64} = int32",
    "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, float16, "
    "float32, float64, complex64, complex128, string}",
    shape=_reverse_v2_shape,
)
op(
    "ReverseSequence(input: T, seq_lengths: Tlen) -> (output: T)",
    "seq_dim: int",
    "batch_dim: int = 0",
    "T: type",
    "Tlen: {int32, int64} = int64",
    shape=_reverse_sequence_shape,
)
op(
    "Roll(input: T, shift: Tshift, axis: Taxis) -> (output: T)",
    "T: type",
    "Tshift: {int32, int64}",
    "Taxis: {int32, int64}",
    shape=_roll_shape,
)
op(
    "SpaceToDepth(input: T) -> (output: T)",
    "T: type",
    "block_size: int >= 2",
    'data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"',
    shape=_space_to_depth_shape,
)
op(
    "DepthToSpace(input: T) -> (output: T)",
    "T: type",
    "block_size: int >= 2",
    'data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"',
    shape=_depth_to_space_shape,
)


@static_rule("Transpose")
def _transpose_value(op: RuleNode) -> Array | None:
    value, perm = map(static_value, op.inputs)
    return None if value is None or perm is None else value.transpose(perm.tolist())


@static_rule("InvertPermutation")
def _invert_permutation_value(op: RuleNode) -> Array | None:
    value = static_value(op.inputs[0])
    return None if value is None else np.argsort(value).astype(value.dtype)


def transpose(a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False) -> Tensor:
    """`a` with its dimensions in the order `perm`, reversed by default (`tf.transpose`).

    Args:
        perm: dimension i of the result is dimension perm[i] of `a`.
        conjugate: also conjugate complex numbers.

    Example:
        >>> tf.Session().run(tf.transpose([[1, 2], [3, 4]]))
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    with get_default_graph().name_scope(name or "transpose") as scope:
        a = convert_to_tensor(a, name="a")
        op_type = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        if perm is None:
            if a.dims is None:
                perm = apply_one("Range", rank(a) - 1, -1, -1)
            else:
                perm = np.arange(len(a.dims) - 1, -1, -1, dtype=np.int32)
        return apply_one(op_type, a, perm, name=scope)


def matrix_transpose(a: Any, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """`a` with its last two dimensions exchanged (`tf.matrix_transpose`).

    Raises:
        ValueError: `a` has fewer than two dimensions.
    """
    with get_default_graph().name_scope(name or "matrix_transpose"):
        a = convert_to_tensor(a, name="a")
        perm: Any
        if a.dims is None:
            last = rank(a) - 1
            perm = concat([apply_one("Range", 0, last - 1, 1), [last, last - 1]], 0)
        else:
            count = len(a.dims)
            if count < 2:
                raise ValueError(
                    f"Argument `a` should be a (batch) matrix with rank >= 2. Received `a` = {a} with shape: "
                    f"{a.shape}"
                )
            perm = [*np.arange(count - 2).tolist(), count - 1, count - 2]
        return transpose(a, perm, conjugate=conjugate)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation y with y[x[i]] = i (`tf.math.invert_permutation`)."""
    return apply_one("InvertPermutation", x, name=name)


@takes_composites
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """`tensor` backwards along the dimensions in `axis` (`tf.reverse`).

    A bool for each dimension, as before TensorFlow 1.0, is understood too.

    Example:
        >>> tf.Session().run(tf.reverse([1, 2, 3], [0]))
        array([3, 2, 1], dtype=int32)
    """
    if _is_bools(axis):
        return apply_one("Reverse", tensor, axis, name=name)
    return apply_one("ReverseV2", tensor, axis, name=name)


reverse_v2 = reverse


def _is_bools(axis: Any) -> bool:
    if isinstance(axis, Tensor):
        return axis.dtype.is_bool
    return np.asarray(axis).dtype == np.bool_ if not isinstance(axis, int) else False


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """`input` with the first seq_lengths[i] elements of batch i backwards (`tf.reverse_sequence`).

    Args:
        seq_axis: the dimension that is reversed; `seq_dim` is its older name.
        batch_axis: the dimension of batches, 0 by default; `batch_dim` is its older name.
    """
    seq_axis = renamed_argument("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = renamed_argument("batch_axis", batch_axis, "batch_dim", batch_dim)
    return apply_one("ReverseSequence", input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis, name=name)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """`input` moved along `axis` by `shift` places, around from the end to the front (`tf.roll`)."""
    return apply_one("Roll", input, shift, axis, name=name)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Vectors as coordinates of a grid (`tf.meshgrid`): tensor i varies along dimension i alone.

    Args:
        args: tensors of rank 1.
        indexing: "xy" (the default) exchanges the first two dimensions, "ij" does not.
        name: the name scope.
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    with get_default_graph().name_scope(name):
        count = len(args)
        columns = []
        for i, vector in enumerate(args):
            sizes = [1] * count
            sizes[i] = -1
            columns.append(reshape(vector if isinstance(vector, Tensor) else stack(vector), sizes))
        if not columns:
            return []
        extents: list[Any] = [size(vector) for vector in args]
        dtype = convert_to_tensor(args[0]).dtype.base
        if indexing == "xy" and count > 1:
            for i in (0, 1):
                sizes = [1] * count
                sizes[1 - i] = -1
                columns[i] = reshape(columns[i], sizes)
            extents[:2] = extents[1::-1]
        full = ones(extents, dtype)
        return [column * full for column in columns]


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Blocks of block_size × block_size pixels as channels of one pixel (`tf.space_to_depth`)."""
    return apply_one("SpaceToDepth", input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Channels as blocks of block_size × block_size pixels (`tf.depth_to_space`)."""
    return apply_one("DepthToSpace", input, block_size=block_size, data_format=data_format, name=name)
