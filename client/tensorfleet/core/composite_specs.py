"""What is known of values that consist of several tensors: `tf.IndexedSlicesSpec`, `tf.TensorArraySpec`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.type_specs import TypeSpec, common_dims


class _Fields(TypeSpec):
    """A spec that is what its fields are: the first is a shape, and so may be the last."""

    __slots__ = ("_fields",)

    def __init__(self, *fields: Any) -> None:
        self._fields = fields

    def is_compatible_with(self, other: Any) -> bool:
        if not isinstance(other, TypeSpec):
            try:
                other = type(self).from_value(other)
            except TypeError:
                return False
        return type(self) is type(other) and all(map(_fits, self._fields, other._fields))

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """The spec of a value; raises TypeError if it is of another class."""
        raise NotImplementedError

    def _common(self, other: _Fields) -> TypeSpec | None:
        fields = []
        for mine, theirs in zip(self._fields, other._fields, strict=True):
            if isinstance(mine, TensorShape):
                fields.append(TensorShape(common_dims(as_dims(mine), as_dims(theirs))))
            elif mine == theirs:
                fields.append(mine)
            else:
                return None
        return type(self)(*fields)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._fields))})"


def _fits(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, TensorShape):
        return mine.is_compatible_with(theirs)
    return bool(mine == theirs)


class IndexedSlicesSpec(_Fields):
    """The spec of rows of a tensor, as gradients of `tf.gather` are (`tf.IndexedSlicesSpec`).

    Args:
        shape: of the whole tensor.
        dtype: of the rows.
        indices_dtype: int32 or int64.
        dense_shape_dtype: of the tensor `dense_shape`, or None if there is none.
        indices_shape: of the indices, a vector.
    """

    __slots__ = ()

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        super().__init__(
            TensorShape(as_dims(shape)),
            dtypes.as_dtype(dtype),
            dtypes.as_dtype(indices_dtype),
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype),
            TensorShape((None,) if indices_shape is None else as_dims(indices_shape)),
        )

    @classmethod
    def from_value(cls, value: Any) -> IndexedSlicesSpec:
        if not all(hasattr(value, part) for part in ("indices", "values", "dense_shape", "consumers")):
            raise TypeError(f"{value!r} is no IndexedSlices.")
        dense, rows = value.dense_shape, as_dims(value.values.shape)
        return cls(
            value.shape if dense is not None else None if rows is None else (None, *rows[1:]),
            value.dtype.base,
            value.indices.dtype.base,
            None if dense is None else dense.dtype.base,
            value.indices.shape,
        )


class TensorArraySpec(_Fields):
    """The spec of a TensorArray (`tf.TensorArraySpec`).

    Args:
        element_shape: of the elements.
        dtype: of the elements.
        dynamic_size: whether the array grows.
        infer_shape: whether all elements have the shape of the first one.
    """

    __slots__ = ()

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        super().__init__(
            TensorShape(as_dims(element_shape)), dtypes.as_dtype(dtype), dynamic_size, infer_shape
        )

    def is_compatible_with(self, other: Any) -> bool:
        """Whether the spec is that of the array, or of arrays that the other spec describes."""
        if isinstance(other, TensorArraySpec):
            # Whether shapes are checked is no property of the elements.
            shape, dtype, grows, _ = other._fields
            other = TensorArraySpec(shape, dtype, grows, self._fields[3])
        return super().is_compatible_with(other)

    @classmethod
    def from_value(cls, value: Any) -> TensorArraySpec:
        """The spec of a TensorArray; raises TypeError if it is none."""
        if not (hasattr(value, "flow") and hasattr(value, "element_shape")):
            raise TypeError(f"Expected value to be a TensorArray, but got: `{type(value)}`.")
        return cls(value.element_shape, value.dtype.base, value._dynamic_size, value._infer_shape)


class NoneTensorSpec(TypeSpec):
    """The spec of None (`tf.NoneTensorSpec`)."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        return type(None)

    @staticmethod
    def from_value(value: Any) -> NoneTensorSpec:
        """The spec."""
        return NoneTensorSpec()

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def most_specific_compatible_shape(self, other: NoneTensorSpec) -> NoneTensorSpec:
        """The spec of all values that one of both describes; raises ValueError if `other` is another spec."""
        if type(self) is not type(other):
            raise ValueError(f"No `TypeSpec` is compatible with both {self} and {other}.")
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def __repr__(self) -> str:
        return "NoneTensorSpec()"
