"""`tensorflow.python.data.util.structure`: elements of datasets as lists of tensors, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.core.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from tensorfleet.data import specs
from tensorfleet.data.structure import Structure, components_of, normalize
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.data_flow.tensor_array import TensorArray

normalize_element = normalize


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """The specs of an element's values, in its structure.

    Args:
        use_fallback: unused: what is no tensor is always converted to one.

    Raises:
        TypeError: a value has no spec.
    """
    return nest.map_structure(specs.type_spec_from_value, element)


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """The specs for a dataset's `output_types`, `output_shapes` and `output_classes`.

    Raises:
        TypeError: there is no spec for one of the classes.
    """
    triples = zip(
        nest.flatten(output_types), nest.flatten(output_shapes), nest.flatten(output_classes), strict=True
    )
    return nest.pack(output_classes, [_spec(*triple) for triple in triples])


def _spec(dtype: Any, shape: Any, kind: Any) -> TypeSpec:
    if isinstance(kind, TypeSpec):
        return kind
    if issubclass(kind, SparseTensor):
        return SparseTensorSpec(shape, dtype)
    if issubclass(kind, Tensor):
        return TensorSpec(shape, dtype)
    if issubclass(kind, TensorArray):
        # Two dimensions that tell of the array come before those of its elements.
        dynamic, infers = (bool(size) for size in TensorShape(shape).as_list()[:2])
        return specs.TensorArrayStructure(dtype, TensorShape(shape)[2:], dynamic, infers)
    raise TypeError(f"Could not build a structure for output class {kind!r}")


def get_flat_tensor_specs(element_spec: Any) -> list[TensorSpec]:
    """The specs of the tensors that hold an element; a SparseTensor is a variant tensor."""
    structure = Structure.from_specs(element_spec)
    pairs = zip(structure.component_dims, structure.component_types, strict=True)
    return [TensorSpec(dims, dtype) for dims, dtype in pairs]


def get_flat_tensor_shapes(element_spec: Any) -> list[TensorShape]:
    """The shapes of the tensors that hold an element."""
    return [spec.shape for spec in get_flat_tensor_specs(element_spec)]


def get_flat_tensor_types(element_spec: Any) -> list[Any]:
    """The dtypes of the tensors that hold an element."""
    return [spec.dtype for spec in get_flat_tensor_specs(element_spec)]


def _tensors(element_spec: Any, element: Any, encode: Callable[[Any], list[Tensor]]) -> list[Tensor]:
    nest.assert_same_structure(element_spec, element)
    for spec, value in zip(nest.flatten(element_spec), nest.flatten(element), strict=True):
        if not spec.is_compatible_with(value):
            raise ValueError(f"The value {value!r} is not convertible to {spec!r}.")
    return encode(normalize(element))


def to_tensor_list(element_spec: Any, element: Any) -> list[Tensor]:
    """The tensors that hold an element.

    Raises:
        ValueError, TypeError: the element has not these specs.
    """
    return _tensors(element_spec, element, components_of)


def to_batched_tensor_list(element_spec: Any, element: Any) -> list[Tensor]:
    """The tensors that hold a batch of elements, whose first dimension is the batch.

    Raises:
        ValueError: a value is a scalar, or has another spec.
        TypeError: the structures differ.
    """

    def encode(values: Any) -> list[Tensor]:
        tensors = components_of(values, many=True)
        if any(tensor.shape.ndims == 0 for tensor in tensors):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return tensors

    return _tensors(element_spec, element, encode)


def _element(structure: Structure, tensors: Sequence[Tensor]) -> Any:
    if len(tensors) != len(structure.types):
        raise ValueError(f"Expected {len(structure.types)} tensors but got {len(tensors)}.")
    return structure.element(list(tensors))


def from_compatible_tensor_list(element_spec: Any, tensor_list: Sequence[Tensor]) -> Any:
    """The element that tensors hold, which get the static shapes of the specs.

    Raises:
        ValueError: there are more tensors, or fewer.
    """
    structure = Structure.from_specs(element_spec)
    element = _element(structure, tensor_list)
    for value, spec in zip(nest.flatten(element), nest.flatten(element_spec), strict=True):
        if isinstance(spec, TensorSpec):
            value.set_shape(spec.shape)
    return element


def from_tensor_list(element_spec: Any, tensor_list: Sequence[Tensor]) -> Any:
    """The element that tensors hold, after a check of their dtypes and shapes.

    Raises:
        ValueError: there are more tensors, or fewer, or they do not have the specs.
    """
    structure = Structure.from_specs(element_spec)
    if len(tensor_list) == len(structure.types):
        for tensor, spec in zip(tensor_list, get_flat_tensor_specs(element_spec), strict=True):
            if not spec.is_compatible_with(tensor):
                raise ValueError(f"Tensor {tensor!r} is not compatible with the spec {spec!r}.")
    return _element(structure, tensor_list)


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Whether two structures of specs are alike, and their specs compatible in both directions."""
    try:
        nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    pairs = zip(nest.flatten(spec1), nest.flatten(spec2), strict=True)
    return all(a.is_compatible_with(b) and b.is_compatible_with(a) for a, b in pairs)
