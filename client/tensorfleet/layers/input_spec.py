"""`tf.layers.InputSpec`: the requirements of a layer on its inputs."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, shapes, structures
from tensorfleet.graph.tensor import Tensor


class InputSpec:
    """Requirements on an input (`tf.layers.InputSpec`).

    Args:
        dtype: the dtype.
        shape: the shape, None for any size.
        ndim, min_ndim, max_ndim: the rank, and its bounds.
        axes: sizes by dimension.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        dims = shapes.as_dims(shape)
        self.shape = dims
        self.ndim = len(dims) if dims is not None else ndim
        self.min_ndim, self.max_ndim = min_ndim, max_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}


def check_inputs(spec: Any, inputs: Any, layer: str) -> None:
    """Raises ValueError if an input does not meet the layer's requirements."""
    if spec is None:
        return
    specs = list(spec) if isinstance(spec, (list, tuple)) else [spec]
    tensors = structures.flatten(inputs)
    if len(tensors) != len(specs):
        raise ValueError(
            f'Layer "{layer}" expects {len(specs)} input(s), but it received {len(tensors)} input tensors. '
            f"Inputs received: {inputs}"
        )
    for index, (one, tensor) in enumerate(zip(specs, tensors, strict=True)):
        found = _fault(one, tensor)
        if found:
            raise ValueError(f'Input {index} of layer "{layer}" is incompatible with the layer: {found}')


def _fault(spec: InputSpec, tensor: Tensor) -> str | None:
    dims = tensor.dims
    if spec.dtype is not None and tensor.dtype.base.name != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={tensor.dtype.base.name}"
    if dims is None:
        if spec.ndim is None and spec.min_ndim is None and spec.max_ndim is None:
            return None
        return "its rank is undefined, but the layer requires a defined rank."
    full = f"Full shape received: {dims}"
    if spec.ndim is not None and len(dims) != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={len(dims)}. {full}"
    if spec.max_ndim is not None and len(dims) > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={len(dims)}"
    if spec.min_ndim is not None and len(dims) < spec.min_ndim:
        return f"expected min_ndim={spec.min_ndim}, found ndim={len(dims)}. {full}"
    for axis, size in spec.axes.items():
        if size is not None and dims[axis] not in (size, None):
            return (
                f"expected axis {axis} of input shape to have value {size}, but received input with "
                f"shape {dims}"
            )
    for wanted, got in zip(spec.shape or (), dims, strict=False):
        if wanted is not None and got is not None and wanted != got:
            return f"expected shape={spec.shape}, found shape={dims}"
    return None
