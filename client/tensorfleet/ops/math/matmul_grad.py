"""Gradients of `matmul`."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, shape_of

Factor = tuple[Tensor, bool]
"""A matrix, and whether it is transposed (in batches: the adjoint is taken) before multiplication."""


def _factors(a: Factor, b: Factor, grad: Tensor) -> tuple[tuple[Factor, Factor], tuple[Factor, Factor]]:
    """The factors of the gradients of a and b, which are products: for a·b, grad·bᵀ and aᵀ·grad."""
    (x, x_turned), (y, y_turned) = a, b
    x_grad = ((y, y_turned), (grad, True)) if x_turned else ((grad, False), (y, not y_turned))
    y_grad = ((grad, True), (x, x_turned)) if y_turned else ((x, not x_turned), (grad, False))
    return x_grad, y_grad


@gradient("MatMul")
def _matmul(op: Operation, grad: Tensor) -> list[Tensor]:
    a, b = (conj(x) for x in op.inputs)
    return [
        apply_one("MatMul", x, y, transpose_a=x_turned, transpose_b=y_turned)
        for (x, x_turned), (y, y_turned) in _factors(
            (a, op.attrs["transpose_a"]), (b, op.attrs["transpose_b"]), grad
        )
    ]


@gradient("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y = op.inputs
    op_type = "BatchMatMul" if op.type == "BatchMatMul" else "BatchMatMulV2"
    x_grad, y_grad = (
        apply_one(op_type, a, b, adj_x=a_turned, adj_y=b_turned, name="MatMul")
        for (a, a_turned), (b, b_turned) in _factors((x, op.attrs["adj_x"]), (y, op.attrs["adj_y"]), grad)
    )
    if op.type == "BatchMatMul" or _same_batches(x, y):
        return [x_grad, y_grad]
    # The batch dimensions were broadcast.
    shapes = shape_of(x), shape_of(y)
    batches = (apply_one("StridedSlice", s, ints([0]), ints([-2]), ints([1]), begin_mask=1) for s in shapes)
    found = apply_one("BroadcastGradientArgs", *batches)
    return [
        apply_one("Reshape", apply_one("Sum", g, axes), shape)
        for g, axes, shape in zip((x_grad, y_grad), found, shapes, strict=True)
    ]


def _same_batches(x: Tensor, y: Tensor) -> bool:
    if x.dims is None or y.dims is None:
        return False
    return x.dims[:-2] == y.dims[:-2] and None not in x.dims[:-2]
