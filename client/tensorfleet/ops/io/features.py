"""Descriptions of the features of Examples: FixedLenFeature, VarLenFeature, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.shapes import as_dims
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor


class VarLenFeature(NamedTuple):
    """A feature with any number of values, which becomes a SparseTensor (`tf.io.VarLenFeature`)."""

    dtype: Any


class FixedLenFeature(NamedTuple):
    """A feature that is an array of this shape in each Example (`tf.io.FixedLenFeature`).

    Attributes:
        default_value: the value for Examples without the feature; None if it is required.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A sequence of arrays of this shape, padded to the longest one (`tf.io.FixedLenSequenceFeature`).

    Attributes:
        allow_missing: whether an Example without the feature has an empty sequence.
        default_value: the value to pad shorter sequences with.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class _SparseFeature(NamedTuple):
    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool


class SparseFeature(_SparseFeature):
    """A SparseTensor whose indices and values are separate features (`tf.io.SparseFeature`).

    Attributes:
        index_key: the feature with the indices, or one for each dimension.
        value_key: the feature with the values.
        size: the size of the dimension, or of each dimension.
        already_sorted: whether the indices are in order.
    """

    __slots__ = ()

    def __new__(
        cls, index_key: Any, value_key: Any, dtype: Any, size: Any, already_sorted: bool = False
    ) -> SparseFeature:
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class ComposedFeature:
    """A feature that is made of several features with any number of values."""

    __slots__ = ()

    def parts(self, key: str) -> list[tuple[str, Any]]:
        """The keys and dtypes of the features that it is made of, of which `key` is its name."""
        raise NotImplementedError

    def compose(self, key: str, found: Mapping[str, SparseTensor], is_single: bool) -> Any:
        """The feature of SparseTensors by their keys, which are of one Example if `is_single`."""
        raise NotImplementedError


class Parameters:
    """The features of one kind of message in the form of the ops' arguments: ordered keys and lists.

    Attributes:
        sparse_keys, sparse_types: those of the features that become SparseTensors.
        dense_keys, dense_types, dense_shapes, dense_defaults: those of the features that become arrays.
    """

    def __init__(self, features: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
        """Raises ValueError if a feature is of another kind, or its description is incomplete."""
        self.sparse_keys: list[str] = []
        self.sparse_types: list[Any] = []
        self.dense_keys: list[str] = []
        self.dense_types: list[Any] = []
        self.dense_shapes: list[Dims] = []
        self.dense_defaults: dict[str, Any] = {}
        for key in sorted(features):
            feature = features[key]
            if not isinstance(feature, kinds):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
            self._add(key, feature)

    def _add(self, key: str, feature: Any) -> None:
        if isinstance(feature, SparseFeature):
            if not feature.index_key:
                raise ValueError(f"Missing index_key for SparseFeature {feature}.")
            if not feature.value_key:
                raise ValueError(f"Missing value_key for SparseFeature {feature}.")
            for index_key in sorted(index_keys(feature)):
                self._add_sparse(index_key, dtypes.int64, feature)
            self._add_sparse(feature.value_key, feature.dtype, feature)
            return
        if isinstance(feature, ComposedFeature):
            for part, dtype in feature.parts(key):
                self._add_sparse(part, dtype, feature)
            return
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}")
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, feature.dtype, feature)
            return
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
        dims = as_dims(feature.shape)
        if dims is None or None in dims[:1]:
            raise ValueError(
                f"First dimension of shape for feature {key} unknown. Consider using "
                f"FixedLenSequenceFeature. Received feature={feature}."
            )
        if None in dims:
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known but received {list(dims)}. "
                f"Received feature={feature}."
            )
        if isinstance(feature, FixedLenSequenceFeature):
            dims = (None, *dims)
        self.dense_keys.append(key)
        self.dense_types.append(feature.dtype)
        self.dense_shapes.append(dims)
        if isinstance(feature, FixedLenSequenceFeature) and feature.allow_missing:
            self.dense_defaults[key] = None
        if feature.default_value is not None:
            self.dense_defaults[key] = feature.default_value

    def _add_sparse(self, key: str, dtype: Any, feature: Any) -> None:
        if key in self.sparse_keys:
            known = self.sparse_types[self.sparse_keys.index(key)]
            if dtypes.as_dtype(known) is not dtypes.as_dtype(dtype):
                raise ValueError(
                    f"Conflicting type {known} vs {dtype} for feature {key}. Received feature={feature}."
                )
            return
        self.sparse_keys.append(key)
        self.sparse_types.append(dtype)

    def defaults(self) -> list[Tensor]:
        """The default of each dense feature; an empty tensor if the feature is required."""
        tensors: list[Tensor] = []
        for key, dtype, dims in zip(self.dense_keys, self.dense_types, self.dense_shapes, strict=True):
            value = self.dense_defaults.get(key)
            assert dims is not None
            if dims and dims[0] is None:
                if value is None:
                    value = b"" if dtypes.as_dtype(dtype) is dtypes.string else 0
                tensors.append(convert_to_tensor(value, dtype, _name(key)))
            elif value is None:
                tensors.append(constant([], dtype))
            else:
                if not isinstance(value, Tensor):
                    value = convert_to_tensor(value, dtype, _name(key))
                tensors.append(reshape(value, dims))
        return tensors


def _name(key: str) -> str:
    return "key_" + "".join(c if c.isascii() and (c.isalnum() or c in "_.\\-/") else "_" for c in key)


def index_keys(feature: SparseFeature) -> Sequence[str]:
    """The features with the indices, in the order of dimensions."""
    key = feature.index_key
    return [key] if isinstance(key, str) else list(key)


def sizes(feature: SparseFeature) -> list[Any]:
    """The sizes of the dimensions."""
    size = feature.size
    return list(size) if isinstance(size, (list, tuple)) else [size]
