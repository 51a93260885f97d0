"""Gradients of `slicing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph.convert import constant_node
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import shape_of


@gradient("Slice")
def _slice(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, begin, _ = op.inputs
    shape, result, start = x.dims, op.outputs[0].dims, static_value(begin)
    if start is not None and shape is not None and result is not None and None not in shape + result:
        after = np.array(shape) - start - np.array(result)
        paddings = constant_node(np.stack([start, after], axis=1).astype(np.int32), "Const")
    else:
        dtype = begin.dtype.base.as_numpy_dtype
        after_in_run = shape_of(x, dtype) - begin - shape_of(op.outputs[0], dtype)
        paddings = apply_one("Pack", [begin, after_in_run], axis=1)
    return [apply_one("Pad", grad, paddings), None, None]


def _masks(op: Operation) -> dict[str, Any]:
    return {key: value for key, value in op.attrs.items() if key.endswith("_mask")}


@gradient("StridedSlice")
def _strided_slice(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, *bounds = op.inputs
    if bounds[0].dtype.base.name == "int16":
        bounds = [apply_one("Cast", bound, DstT=np.int32) for bound in bounds]
    shape = shape_of(x, bounds[0].dtype.base.as_numpy_dtype)
    return [apply_one("StridedSliceGrad", shape, *bounds, grad, **_masks(op)), None, None, None]


@gradient("StridedSliceGrad")
def _strided_slice_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, None, None, None, apply_one("StridedSlice", grad, *op.inputs[1:4], **_masks(op))]


@gradient("TensorStridedSliceUpdate")
def _strided_slice_update(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, *bounds, value = op.inputs
    kept = apply_one("TensorStridedSliceUpdate", grad, *bounds, zeros_like(value), **_masks(op))
    return [kept, None, None, None, apply_one("StridedSlice", grad, *bounds, **_masks(op))]
