"""The specs of values: `tf.type_spec_from_value`, and their older names in `tf.data.experimental`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.composite_specs import IndexedSlicesSpec, NoneTensorSpec, TensorArraySpec
from tensorfleet.core.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from tensorfleet.data.nested import DatasetSpec, OptionalSpec
from tensorfleet.data.structure import NestedValue
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.ragged.spec import RaggedTensorSpec
from tensorfleet.ops.state.variables import Variable

# The older names in tf.data.experimental.
Structure, DatasetStructure, OptionalStructure = TypeSpec, DatasetSpec, OptionalSpec


def type_spec_from_value(value: Any) -> TypeSpec:
    """The spec of a value (`tf.type_spec_from_value`).

    Args:
        value: a tensor or what converts to one, a SparseTensor, an IndexedSlices, a TensorArray, a dataset,
            an optional value, or None.

    Raises:
        TypeError: it is none of these.

    Example:
        >>> tf.type_spec_from_value(tf.zeros([2, 3]))
        TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)
    """
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, NestedValue):
        return value._nested_spec()
    if isinstance(value, IndexedSlices):
        return IndexedSlicesSpec.from_value(value)
    if isinstance(value, TensorArray):
        return TensorArraySpec.from_value(value)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec.from_value(value)
    if isinstance(value, (Tensor, Variable)):
        return TensorSpec(value.shape, value.dtype.base)
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {value} of unsupported type {type(value)}."
        ) from None
    return TensorSpec(tensor.shape, tensor.dtype)


def get_structure(dataset_or_iterator: Any) -> Any:
    """The specs of the elements of a dataset or of an iterator (`tf.data.experimental.get_structure`).

    Raises:
        TypeError: it is neither.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a `tf.data.Dataset` or "
            f"tf.data.Iterator object, but got {type(dataset_or_iterator)}."
        ) from None


def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """A TensorSpec by its older name (`tf.data.experimental.TensorStructure`)."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """A SparseTensorSpec by its older name (`tf.data.experimental.SparseTensorStructure`)."""
    return SparseTensorSpec(shape, dtype)


def RaggedTensorStructure(dtype: Any, shape: Any, ragged_rank: int) -> RaggedTensorSpec:
    """A RaggedTensorSpec by its older name (`tf.data.experimental.RaggedTensorStructure`)."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def TensorArrayStructure(
    dtype: Any, element_shape: Any, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """A TensorArraySpec by its older name (`tf.data.experimental.TensorArrayStructure`)."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def to_variant(dataset: Any) -> Tensor:
    """The variant tensor that stands for a dataset (`tf.data.experimental.to_variant`)."""
    variant: Tensor = dataset._variant_tensor
    return variant


def from_variant(variant: Tensor, structure: Any) -> Any:
    """The dataset that a variant tensor stands for (`tf.data.experimental.from_variant`).

    Args:
        variant: as from `to_variant`.
        structure: the specs of the elements, in their structure.
    """
    return DatasetSpec(structure).value(variant)
