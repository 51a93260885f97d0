"""What is known of a value before there is one: `tf.TypeSpec`, `tf.TensorSpec`, `tf.SparseTensorSpec`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims

_value_types: dict[type, type] = {}


def serve_value_type(spec: type[TypeSpec], value_type: type) -> None:
    """Says of which class the values of a spec are; called by the module of that class."""
    _value_types[spec] = value_type


class TypeSpec(ABC):
    """What is known of a value before there is one (`tf.TypeSpec`): the base class of all specs."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        """The class of the values."""
        return _value_types[type(self)]

    @abstractmethod
    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether the spec is that of the value, or of values that the other spec describes."""

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """The spec of all values that one of both describes.

        Raises:
            ValueError: there is none.
        """
        found = self._common(other) if type(self) is type(other) else None
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    def _common(self, other: Any) -> TypeSpec | None:
        """The spec of all values that this spec, or another one of the same class, describes."""
        return self if self == other else None


def common_dims(first: Dims, second: Dims) -> Dims:
    """The most specific shape that both shapes are compatible with."""
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(a if a == b else None for a, b in zip(first, second, strict=True))


class TensorSpec(TypeSpec):
    """The shape and dtype of a tensor, and perhaps its name (`tf.TensorSpec`)."""

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape = TensorShape(as_dims(shape))
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """A TensorSpec with the shape and dtype of another spec."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The shape and dtype of a tensor, with its operation's name."""
        return cls(tensor.shape, tensor.dtype.base, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether the dtype is the same, and the shapes can be those of one tensor."""
        if isinstance(spec_or_tensor, TypeSpec):
            if not isinstance(spec_or_tensor, TensorSpec):
                return False
        elif not hasattr(spec_or_tensor, "dtype") or hasattr(spec_or_tensor, "indices"):
            return False
        return self._dtype is dtypes.as_dtype(spec_or_tensor.dtype).base and self._shape.is_compatible_with(
            spec_or_tensor.shape
        )

    def _common(self, other: TensorSpec) -> TensorSpec | None:
        if self._dtype is not other._dtype or self._name != other._name:
            return None
        return TensorSpec(common_dims(as_dims(self._shape), as_dims(other._shape)), self._dtype, self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (
            (as_dims(self._shape), self._dtype, self._name)
            == (as_dims(other._shape), other._dtype, other._name)
        )

    def __hash__(self) -> int:
        return hash((as_dims(self._shape), self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class SparseTensorSpec(TypeSpec):
    """The dense shape and the dtype of a SparseTensor (`tf.SparseTensorSpec`)."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape = TensorShape(as_dims(shape))
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether the dtype is the same, and the shapes can be those of one tensor."""
        if not isinstance(spec_or_value, SparseTensorSpec):
            if not hasattr(spec_or_value, "dense_shape"):
                return False
            spec_or_value = SparseTensorSpec.from_value(spec_or_value)
        return self._dtype is spec_or_value.dtype.base and self._shape.is_compatible_with(spec_or_value.shape)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The spec of a SparseTensor, or of a SparseTensorValue.

        Raises:
            TypeError: it is neither.
        """
        if not all(hasattr(value, part) for part in ("indices", "values", "dense_shape")):
            raise TypeError(f"Expected SparseTensor or SparseTensorValue. Received: {value!r}")
        if hasattr(value, "dtype"):
            return cls(value.shape, value.dtype)
        found = np.asarray(value.values)
        return cls(tuple(int(length) for length in value.dense_shape), dtypes.from_numpy(found.dtype))

    def _common(self, other: SparseTensorSpec) -> SparseTensorSpec | None:
        if self._dtype is not other._dtype:
            return None
        return SparseTensorSpec(common_dims(as_dims(self._shape), as_dims(other._shape)), self._dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseTensorSpec) and (
            (as_dims(self._shape), self._dtype) == (as_dims(other._shape), other._dtype)
        )

    def __hash__(self) -> int:
        return hash((as_dims(self._shape), self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"
