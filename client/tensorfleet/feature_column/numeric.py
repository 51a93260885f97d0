"""Columns of numbers: as they are, and in buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.feature_column.base import (
    CategoricalColumn,
    ColumnVariables,
    DenseColumn,
    FeatureCache,
    IdWeightPair,
    check_key,
)
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as range_
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.padding import tile
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.io.features import FixedLenFeature


class _Numeric(NamedTuple):
    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None


class NumericColumn(_Numeric, DenseColumn):
    """What `tf.feature_column.numeric_column` makes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def parents(self) -> list[Any]:
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        value = transformation_cache.get(self.key, state_manager)
        if isinstance(value, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not "
                f"supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        return cast(value, dtypes.float32)

    def get_dense_tensor(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        return transformation_cache.get(self, state_manager)


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """A feature of numbers (`tf.feature_column.numeric_column`).

    Args:
        key: of the feature.
        shape: of one example's numbers.
        default_value: of Examples that lack the feature; one number, or as many as `shape` says. None: no
            Example may lack it.
        dtype: in Examples; the column is float32.
        normalizer_fn: a function from the feature to what the model takes.

    Raises:
        TypeError, ValueError: arguments that do not go together.

    Example:
        >>> price = tf.feature_column.numeric_column("price")
        >>> tf.Session().run(tf.feature_column.input_layer({"price": [[1.0], [2.0]]}, [price]))
        array([[1.],
               [2.]], dtype=float32)
    """
    dims = checked_shape(shape, key)
    as_dtype = checked_number_type(dtype, key)
    default = _checked_default(dims, default_value, as_dtype, key)
    check_normalizer(normalizer_fn)
    check_key(key)
    return NumericColumn(key, dims, default, as_dtype, normalizer_fn)


def checked_shape(shape: Any, key: Any) -> tuple[int, ...]:
    """The shape of a column's numbers.

    Raises:
        TypeError: a dimension is no integer.
        ValueError: a dimension is not positive.
    """
    dims: tuple[Any, ...] = tuple(shape) if isinstance(shape, (list, tuple, np.ndarray)) else (shape,)
    if isinstance(shape, TensorShape):
        dims = tuple(shape.as_list())
    for dim in dims:
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
            raise TypeError(f"shape dimensions must be integer. shape: {dims}, key: {key}")
        if dim < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {dims}, key: {key}")
    return tuple(int(dim) for dim in dims)


def checked_number_type(dtype: Any, key: Any) -> DType:
    """The dtype of a column's numbers. Raises ValueError: it has none."""
    as_dtype = dtypes.as_dtype(dtype)
    if not (as_dtype.is_integer or as_dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    return as_dtype


def check_normalizer(normalizer_fn: Any) -> None:
    """Raises TypeError: it can't be called."""
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")


def _checked_default(dims: tuple[int, ...], default: Any, dtype: DType, key: Any) -> Any:
    """The default of each number, as nested tuples of the shape."""
    if default is None:
        return None
    values = default.tolist() if isinstance(default, (np.ndarray, np.generic)) else default
    wrong = TypeError(
        f"default_value must be compatible with dtype. default_value: {default}, dtype: {dtype}, key: {key}"
    )
    if not isinstance(values, (list, tuple)):
        if not _fits(values, dtype):
            raise wrong
        for dim in reversed(dims):
            values = (values,) * dim
        return values
    if _nested_shape(values) != dims:
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {default}, shape: {dims}, key: {key}"
        )
    if not all(_fits(value, dtype) for value in _leaves(values)):
        raise wrong
    return _as_tuples(values)


def _fits(value: Any, dtype: DType) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, (int, np.integer)):
        return True
    return isinstance(value, (float, np.floating)) and dtype.is_floating


def _nested_shape(values: Any) -> tuple[int, ...] | None:
    """The shape of nested sequences; None where they are ragged."""
    if not isinstance(values, (list, tuple)):
        return ()
    shapes = {_nested_shape(value) for value in values}
    inner = shapes.pop() if len(shapes) == 1 else None
    return None if inner is None else (len(values), *inner)


def _leaves(values: Any) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        return [values]
    return [leaf for value in values for leaf in _leaves(value)]


def _as_tuples(values: Any) -> Any:
    return tuple(map(_as_tuples, values)) if isinstance(values, (list, tuple)) else values


class _Bucketized(NamedTuple):
    source_column: NumericColumn
    boundaries: tuple[float, ...]


class BucketizedColumn(_Bucketized, DenseColumn, CategoricalColumn):
    """What `tf.feature_column.bucketized_column` makes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        return [self.source_column]

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape((*self.source_column.shape, len(self.boundaries) + 1))

    @property
    def num_buckets(self) -> int:
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        numbers = transformation_cache.get(self.source_column, state_manager)
        return apply_one("Bucketize", numbers, boundaries=list(self.boundaries))

    def get_dense_tensor(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        buckets = transformation_cache.get(self, state_manager)
        return one_hot(
            cast(buckets, dtypes.int64), depth=len(self.boundaries) + 1, on_value=1.0, off_value=0.0
        )

    def get_sparse_tensors(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> IdWeightPair:
        buckets = transformation_cache.get(self, state_manager)
        sizes: Any = shape(buckets)
        batch_size = sizes[0]
        count = self.source_column.shape[0]
        rows = reshape(tile(expand_dims(range_(0, batch_size), 1), [1, count]), (-1,))
        columns = tile(range_(0, count), [batch_size])
        # Each number of an example has buckets of its own.
        ids = reshape(buckets, (-1,)) + (len(self.boundaries) + 1) * columns
        indices = cast(transpose(stack((rows, columns))), dtypes.int64)
        dense_shape = cast(stack([batch_size, count]), dtypes.int64)
        return IdWeightPair(SparseTensor(indices, ids, dense_shape), None)


def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> BucketizedColumn:
    """Numbers by the buckets that they fall in (`tf.feature_column.bucketized_column`).

    Args:
        source_column: a numeric column of one dimension.
        boundaries: b0 < b1 < …: of the buckets (-inf, b0), [b0, b1), …, [bn, inf).

    Raises:
        ValueError: another column, or boundaries that do not rise.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(low >= high for low, high in pairwise(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))
