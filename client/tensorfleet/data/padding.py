"""The arguments of `Dataset.padded_batch`: padded shapes and padding values."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.structure import Structure
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor


def padded_shape(shape: Any, component: Dims) -> Tensor:
    """A padded shape as an int64 vector, with -1 for sizes that depend on the batch.

    Raises:
        ValueError: another rank than the component's, or a size smaller than the component's.
        TypeError: a tensor that is not an int64 vector.
    """
    if isinstance(shape, Tensor):
        if shape.dtype.base is not dtypes.int64 or shape.dims is None or len(shape.dims) != 1:
            raise TypeError(f"Padded shape {shape} must be an int64 vector tensor.")
        return shape
    dims = as_dims(shape if isinstance(shape, TensorShape) else _with_unknown(shape))
    if dims is None:
        raise ValueError(
            "You must provide `padded_shapes` for components whose rank is unknown: they cannot be padded "
            "to their static shapes."
        )
    if component is not None:
        fits = len(dims) == len(component) and all(
            a is None or b is None or b <= a for a, b in zip(dims, component, strict=False)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {TensorShape(dims)} is not compatible with the shape "
                f"{TensorShape(component)} of the corresponding input component."
            )
    made: Tensor = convert_to_tensor([-1 if d is None else d for d in dims], dtypes.int64, "padded_shapes")
    return made


def _with_unknown(shape: Any) -> Any:
    if shape is None:
        return None
    return [None if size is None or (isinstance(size, int) and size < 0) else size for size in shape]


def padding_values_of(values: Any, structure: Structure) -> list[Tensor]:
    """The padding value of each component.

    Raises:
        TypeError: a value has another dtype than its component.
        ValueError: a value is not a scalar.
    """
    if values is None or not isinstance(values, (tuple, dict)):
        given = [values] * len(structure.types)
    else:
        given = nest.flatten_up_to(structure.shape_of, values)
    return [_value(value, dtype) for value, dtype in zip(given, structure.types, strict=True)]


def _value(value: Any, dtype: DType) -> Tensor:
    if value is None:
        value = "" if dtype is dtypes.string else False if dtype is dtypes.bool else 0
    tensor: Tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else dtype, "padding_value")
    if tensor.dims not in ((), None):
        raise ValueError(f"Padding value should be a scalar, but got {value}.")
    if tensor.dtype.base is not dtype:
        raise TypeError(f"Padding value tensor {tensor} does not match output type {dtype}.")
    return tensor
