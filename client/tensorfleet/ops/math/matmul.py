"""Products of matrices: MatMul, its batched forms, tensordot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, shapes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant_node, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import rank, shape as shape_of
from tensorfleet.ops.common import COMPLEX, FLOATS, apply_one
from tensorfleet.ops.math.reduction import reduce_prod
from tensorfleet.ops.shape_rules import merge_dim, with_rank, with_rank_at_least


def _matmul_shape(operation: RuleNode) -> list[Dims]:
    a, b = (with_rank(t.dims, 2) for t in operation.inputs)
    assert a is not None
    assert b is not None
    if operation.attrs["transpose_a"]:
        a = a[::-1]
    if operation.attrs["transpose_b"]:
        b = b[::-1]
    merge_dim(a[1], b[0])
    return [(a[0], b[1])]


def _batch_matmul_shape(operation: RuleNode) -> list[Dims]:
    x, y = (with_rank_at_least(t.dims, 2) for t in operation.inputs)
    if x is None or y is None:
        return [None]
    rows, inner = x[-2:][::-1] if operation.attrs["adj_x"] else x[-2:]
    inner_y, columns = y[-2:][::-1] if operation.attrs["adj_y"] else y[-2:]
    if operation.type == "BatchMatMul":
        batch = shapes.merge(x[:-2], y[:-2])
    else:
        batch = shapes.broadcast(x[:-2], y[:-2])
    merge_dim(inner, inner_y)
    return [None if batch is None else (*batch, rows, columns)]


_ADJOINTS = ("adj_x: bool = false", "adj_y: bool = false", "grad_x: bool = false", "grad_y: bool = false")

op(
    "MatMul(a: T, b: T) -> (product: T)",
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    f"T: {{{FLOATS}, int32, int64, uint8, uint16, uint32, uint64, {COMPLEX}}}",
    "grad_a: bool = false",
    "grad_b: bool = false",
    shape=_matmul_shape,
)
op(
    "BatchMatMul(x: T, y: T) -> (output: T)",
    f"T: {{{FLOATS}, int32, int64, {COMPLEX}}}",
    *_ADJOINTS,
    shape=_batch_matmul_shape,
)
op(
    "BatchMatMulV2(x: T, y: T) -> (output: T)",
    f"T: {{{FLOATS}, int16, int32, int64, uint8, uint16, uint32, uint64, {COMPLEX}}}",
    *_ADJOINTS,
    shape=_batch_matmul_shape,
)
op(
    "BatchMatMulV3(x: Ta, y: Tb) -> (output: Tout)",
    f"Ta: {{{FLOATS}, uint8, int8, int16, int32, int64, {COMPLEX}}}",
    f"Tb: {{{FLOATS}, uint8, int8, int16, int32, int64, {COMPLEX}}}",
    f"Tout: {{{FLOATS}, int16, int32, int64, {COMPLEX}}}",
    *_ADJOINTS,
    shape=_batch_matmul_shape,
)


@takes_composites
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices, or of batches of matrices with broadcasting (`tf.matmul`).

    Args:
        a: shape [..., rows, inner], or [..., inner, rows] where it is to be transposed.
        b: shape [..., inner, columns], or [..., columns, inner] where it is to be transposed.
        adjoint_a, adjoint_b: transpose and conjugate.
        a_is_sparse, b_is_sparse: hints that are not used.
        output_type: the dtype of the product, if it is not that of `a`.
        grad_a, grad_b: whether the operand is a gradient; only kept as attributes of the node.

    Raises:
        ValueError: an operand is to be both transposed and adjoined, or the shapes do not fit.

    Example:
        >>> a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> tf.Session().run(tf.matmul(a, a, transpose_b=True))
        array([[ 5., 11.],
               [11., 25.]], dtype=float32)
    """
    if transpose_a and adjoint_a:
        raise ValueError(
            f"Only one of `transpose_a` and `adjoint_a` can be True. Received `transpose_a`={transpose_a}, "
            f"`adjoint_a`={adjoint_a}."
        )
    if transpose_b and adjoint_b:
        raise ValueError(
            f"Only one of `transpose_b` and `adjoint_b` can be True. Received `transpose_b`={transpose_b}, "
            f"`adjoint_b`={adjoint_b}."
        )
    with get_default_graph().name_scope(name or "MatMul") as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b", preferred_dtype=a.dtype.base)
        batched = (a.ndim is None or a.ndim > 2) and (b.ndim is None or b.ndim > 2)
        batched = batched or (a.ndim is not None and b.ndim is not None and max(a.ndim, b.ndim) > 2)
        wanted = None if output_type is None else dtypes.as_dtype(output_type)
        if batched or (wanted is not None and wanted is not a.dtype.base):
            a, adjoint_a = _adjointed(a, transpose_a, adjoint_a)
            b, adjoint_b = _adjointed(b, transpose_b, adjoint_b)
            flags = {"adj_x": adjoint_a, "adj_y": adjoint_b, "grad_x": grad_a, "grad_y": grad_b}
            if wanted is None or (wanted is a.dtype.base and wanted is b.dtype.base):
                return apply_one("BatchMatMulV2", a, b, name=scope, **flags)
            return apply_one("BatchMatMulV3", a, b, name=scope, Tout=wanted, **flags)
        if adjoint_a:
            a = _conjugate(a)
        if adjoint_b:
            b = _conjugate(b)
        return apply_one(
            "MatMul",
            a,
            b,
            name=scope,
            transpose_a=transpose_a or adjoint_a,
            transpose_b=transpose_b or adjoint_b,
            grad_a=grad_a,
            grad_b=grad_b,
        )


def _conjugate(x: Tensor) -> Tensor:
    return apply_one("Conj", x) if x.dtype.base.is_complex else x


def _adjointed(x: Tensor, transpose: bool, adjoint: bool) -> tuple[Tensor, bool]:
    """`x`, and whether to take its adjoint. Batched ops have only the adjoint: x transposed is the adjoint of
    the conjugate of x.
    """
    return (_conjugate(x), True) if transpose else (x, adjoint)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """A matrix [..., rows, inner] times a vector [..., inner] (`tf.linalg.matvec`)."""
    with get_default_graph().name_scope(name or "MatVec"):
        a = convert_to_tensor(a, name="a")
        column = apply_one("ExpandDims", convert_to_tensor(b, dtype=a.dtype.base, name="b"), -1)
        product = matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return apply_one("Squeeze", product, squeeze_dims=[-1])


def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """The products of two batches of matrices of equal batch shapes (`tf.batch_matmul` of TensorFlow 0.x)."""
    return apply_one("BatchMatMul", x, y, name=name, adj_x=adj_x, adj_y=adj_y)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products of `a` and `b` over pairs of axes (`tf.tensordot`).

    Args:
        axes: a number n, for the last n axes of `a` with the first n of `b`; or one axis of each, or two
            lists of equally many axes.

    Returns:
        The other axes of `a`, then the other axes of `b`.

    Raises:
        ValueError: axes that do not pair up or do not exist.

    Example:
        >>> a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> tf.Session().run(tf.tensordot(a, [1.0, 10.0], axes=1))
        array([21., 43.], dtype=float32)
    """
    with get_default_graph().name_scope(name or "Tensordot") as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, dtype=a.dtype.base, name="b")
        a_axes, b_axes = _paired_axes(a, b, axes)
        left, a_free = _as_matrix(a, a_axes, summed_last=True)
        right, b_free = _as_matrix(b, b_axes, summed_last=False)
        product = matmul(left, right)
        shape = _joined(a_free, b_free)
        if isinstance(shape, np.ndarray) and product.dims == tuple(shape.tolist()):
            return product
        if isinstance(shape, np.ndarray):
            shape = constant_node(shape, "shape")
        result = apply_one("Reshape", product, shape, name=scope)
        free = _free_dims(a, a_axes), _free_dims(b, b_axes)
        if free[0] is not None and free[1] is not None:
            result.set_shape(free[0] + free[1])
        return result


def _free_dims(x: Tensor, axes: list[int] | Tensor) -> list[int | None] | None:
    """The sizes of the axes that are not summed, where it is known which these are."""
    if x.dims is None or isinstance(axes, Tensor):
        return None
    return [d for i, d in enumerate(x.dims) if i not in axes]


def _paired_axes(a: Tensor, b: Tensor, axes: Any) -> tuple[list[int] | Tensor, list[int] | Tensor]:
    """The summed axes of both operands, at least 0; a tensor where the rank or the axes are not known yet."""
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        if a.ndim is None:
            last = _numbers(rank(a), "rank")
            return apply_one("Range", last - axes, last, 1), list(range(axes))
        if axes > a.ndim:
            raise ValueError(
                f"`axes` must not be larger than the number of dimensions of tensor a. Received {axes} axes, "
                f"but a has {a.ndim} dimensions."
            )
        return list(range(a.ndim - axes, a.ndim)), list(range(axes))
    if isinstance(axes, Tensor):
        return _axes_of(a, axes[0]), _axes_of(b, axes[1])
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    a_axes, b_axes = ([x] if isinstance(x, int) else list(x) for x in axes)
    if len(a_axes) != len(b_axes):
        raise ValueError(
            f"Different number of contraction axes `a` and `b`, {len(a_axes)} != {len(b_axes)}. "
            f"Received: {axes}."
        )
    return _axes_of(a, a_axes), _axes_of(b, b_axes)


def _axes_of(x: Tensor, axes: Any) -> list[int] | Tensor:
    if x.ndim is not None and not isinstance(axes, Tensor):
        return [shapes.normalize_axis(axis, x.ndim) for axis in axes]
    numbers = _numbers(axes, "axes")
    return where_v2(numbers < 0, numbers + rank(x), numbers)


def _numbers(value: Any, name: str) -> Tensor:
    return convert_to_tensor(value, dtype=dtypes.int32, name=name)


def _as_matrix(x: Tensor, axes: list[int] | Tensor, summed_last: bool) -> tuple[Tensor, Any]:
    """`x` as a matrix whose dimensions are its free and its summed axes, and the sizes of the free ones."""
    if x.dims is None or isinstance(axes, Tensor):
        chosen = _numbers(axes, "axes")
        every = apply_one("Range", 0, rank(x), 1)
        return _reshaped(x, {"axes": chosen, "free": apply_op("ListDiff", every, chosen)[0]}, summed_last)
    free = [i for i in range(len(x.dims)) if i not in axes]
    order = free + axes if summed_last else axes + free
    if shapes.num_elements(x.dims) is not None:
        in_order = order == list(range(len(x.dims)))
        transposed = x if in_order else transpose(x, np.array(order, np.int32))
        free_dims, summed_dims = ([x.dims[i] or 0 for i in which] for which in (free, axes))
        sizes: Any = np.array(free_dims, np.int32)
        count, summed = (math.prod(d) for d in (free_dims, summed_dims))
        shape: Any = [count, summed] if summed_last else [summed, count]
        if tuple(shape) == transposed.dims:
            return transposed, sizes
        return apply_one("Reshape", transposed, np.array(shape, np.int32)), sizes
    which = {
        name: constant_node(np.array(found, np.int32), name)
        for name, found in (("axes", axes), ("free", free))
    }
    return _reshaped(x, which, summed_last)


def _reshaped(x: Tensor, which: dict[str, Tensor], summed_last: bool) -> tuple[Tensor, Tensor]:
    """What `_as_matrix` returns, from sizes that are known when the graph runs."""
    everything = shape_of(x)
    sizes, others = (apply_one("GatherV2", everything, which[name], 0) for name in ("free", "axes"))
    pair = [reduce_prod(part) for part in (sizes, others)]
    names = ("free", "axes") if summed_last else ("axes", "free")
    turned = concat([which[name] for name in names], 0)
    shape = stack(pair if summed_last else pair[::-1])
    return apply_one("Reshape", transpose(x, turned), shape), sizes


def _joined(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.concatenate([a, b])
    return concat([_constant(a), _constant(b)], 0)


def _constant(sizes: Any) -> Tensor:
    return constant_node(sizes, "Const") if isinstance(sizes, np.ndarray) else sizes
