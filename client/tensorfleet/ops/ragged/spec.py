"""What is known of a RaggedTensor before there is one: `tf.RaggedTensorSpec`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.type_specs import TensorSpec
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.ragged.row_partition import INDEX_DTYPES
from tensorfleet.ops.ragged.value import RaggedTensorValue


class RaggedTensorSpec:
    """The shape, dtype and ragged rank of a RaggedTensor (`tf.RaggedTensorSpec`)."""

    __slots__ = ("_dtype", "_flat_values_spec", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.int64,
        flat_values_spec: Any = None,
    ) -> None:
        """Makes a spec.

        Args:
            shape: the shape, with None for ragged dimensions.
            ragged_rank: the number of ragged dimensions; by default all but the first.
            flat_values_spec: the spec of the flat values, in place of `dtype`.

        Raises:
            ValueError: both `dtype` and `flat_values_spec`, or a ragged rank that the shape cannot have.
        """
        self._shape = TensorShape(as_dims(shape))
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        if self._row_splits_dtype not in INDEX_DTYPES:
            raise ValueError(
                f"Argument `row_splits_dtype` must be int32 or int64. Received {row_splits_dtype}."
            )
        if flat_values_spec is not None:
            if dtype is None:
                dtype = flat_values_spec.dtype
            elif dtypes.as_dtype(dtype) is not flat_values_spec.dtype:
                raise ValueError("dtype must be the same as flat_values_spec.dtype")
        elif dtype is None:
            raise ValueError("At least one of dtype or flat_values_spec must be provided")
        self._dtype = dtypes.as_dtype(dtype)
        self._flat_values_spec = flat_values_spec
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._ragged_rank = ragged_rank

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self._shape

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """int32 or int64: the dtype of row splits."""
        return self._row_splits_dtype

    @property
    def flat_values_spec(self) -> Any:
        """The spec of the flat values, or None for a tensor's."""
        return self._flat_values_spec

    @property
    def value_type(self) -> type:
        """The class of what has this spec: RaggedTensor, or Tensor where nothing is ragged."""
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """The spec of a RaggedTensor or of the value of one.

        Raises:
            TypeError: it is neither.
        """
        if not isinstance(value, (RaggedTensor, RaggedTensorValue)):
            raise TypeError(f"Expected a RaggedTensor or RaggedTensorValue, got {type(value).__name__}")
        dtype = value.dtype if isinstance(value, RaggedTensor) else dtypes.as_dtype(value.dtype)
        splits = dtypes.as_dtype(value.row_splits.dtype)
        return cls(TensorShape(value.shape), dtype, value.ragged_rank, splits)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or a value has the same dtypes and ragged rank, and a shape that can be this."""
        if isinstance(spec_or_value, (RaggedTensor, RaggedTensorValue)):
            spec_or_value = self.from_value(spec_or_value)
        if isinstance(spec_or_value, TensorSpec) and self._ragged_rank == 0:
            return self._dtype is spec_or_value.dtype and self._shape.is_compatible_with(spec_or_value.shape)
        return (
            isinstance(spec_or_value, RaggedTensorSpec)
            and self._parts() == spec_or_value._parts()
            and self._shape.is_compatible_with(spec_or_value._shape)
        )

    def _parts(self) -> tuple[Any, ...]:
        return self._dtype, self._ragged_rank, self._row_splits_dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RaggedTensorSpec)
            and as_dims(self._shape) == as_dims(other._shape)
            and self._parts() == other._parts()
            and self._flat_values_spec == other._flat_values_spec
        )

    def __hash__(self) -> int:
        return hash((as_dims(self._shape), *self._parts()))

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, "
            f"{self._row_splits_dtype!r})"
        )
