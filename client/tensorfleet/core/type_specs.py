"""What is known of a tensor before there is one: `tf.TensorSpec`, `tf.SparseTensorSpec`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims


class TensorSpec:
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
        return self._dtype is spec_or_tensor.dtype.base and self._shape.is_compatible_with(
            spec_or_tensor.shape
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (
            (as_dims(self._shape), self._dtype, self._name)
            == (as_dims(other._shape), other._dtype, other._name)
        )

    def __hash__(self) -> int:
        return hash((as_dims(self._shape), self._dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class SparseTensorSpec:
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
        return self._dtype is spec_or_value.dtype.base and self._shape.is_compatible_with(spec_or_value.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseTensorSpec) and (
            (as_dims(self._shape), self._dtype) == (as_dims(other._shape), other._dtype)
        )

    def __hash__(self) -> int:
        return hash((as_dims(self._shape), self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"
