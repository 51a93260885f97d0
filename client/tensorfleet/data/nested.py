"""Datasets and optional values as components of elements: their specs, and `Optional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.type_specs import serve_value_type
from tensorfleet.data.structure import NestedSpec, NestedValue, Structure, components_of, normalize
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import optionals  # noqa: F401  the ops register themselves

_dataset_of: Callable[[Tensor, Structure], NestedValue]


def serve_datasets(make: Callable[[Tensor, Structure], NestedValue]) -> None:
    """Says how a dataset is made of a variant tensor and the structure of its elements."""
    global _dataset_of
    _dataset_of = make


class DatasetSpec(NestedSpec):
    """The spec of datasets that are components of elements (`tf.data.DatasetSpec`).

    Args:
        element_spec: the specs of the parts of an element, in the structure of elements.
        dataset_shape: the shape of a batch of datasets; scalar for one.
    """

    __slots__ = ()

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(Structure.from_specs(element_spec), as_dims(dataset_shape))

    @staticmethod
    def of(structure: Structure) -> DatasetSpec:
        """The spec of one dataset of elements of this structure."""
        made = DatasetSpec.__new__(DatasetSpec)
        NestedSpec.__init__(made, structure)
        return made

    def value(self, variant: Tensor) -> NestedValue:
        return _dataset_of(variant, self._structure)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {TensorShape(self._dims)!r})"


class OptionalSpec(NestedSpec):
    """The spec of optional values that are components of elements (`tf.OptionalSpec`)."""

    __slots__ = ()

    def __init__(self, element_spec: Any) -> None:
        super().__init__(Structure.from_specs(element_spec))

    @staticmethod
    def of(structure: Structure) -> OptionalSpec:
        """The spec of optional values of this structure."""
        made = OptionalSpec.__new__(OptionalSpec)
        NestedSpec.__init__(made, structure)
        return made

    def value(self, variant: Tensor) -> Optional:
        return Optional._of(variant, self._structure)

    def __repr__(self) -> str:
        return f"OptionalSpec({self.element_spec!r})"


class Optional(NestedValue):
    """A value, or the lack of one, which a step finds out (`tf.data.experimental.Optional`).

    Made by `from_value`, `empty` and `tf.data.experimental.get_next_as_optional`.
    """

    _structure: Structure

    def __init__(self) -> None:
        raise TypeError("Optional values are made by `Optional.from_value` and `Optional.empty`.")

    @staticmethod
    def _of(variant: Tensor, structure: Structure) -> Optional:
        made = Optional.__new__(Optional)
        made._variant_tensor = variant
        made._structure = structure
        return made

    def _nested_spec(self) -> NestedSpec:
        return OptionalSpec.of(self._structure)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An optional with a value: a nested structure of tensors, or of what converts to them."""
        element = normalize(value)
        variant = apply_op("OptionalFromValue", components_of(element))
        return Optional._of(variant, Structure.of(element))

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """An optional without a value.

        Args:
            element_spec: the specs of the parts of values, such as TensorSpec, in their structure.
        """
        return Optional._of(apply_op("OptionalNone"), Structure.from_specs(element_spec))

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value, as a tensor."""
        made: Tensor = apply_op("OptionalHasValue", self._variant_tensor, name=name)
        return made

    def get_value(self, name: str | None = None) -> Any:
        """The value, in its nested structure.

        Raises:
            InvalidArgumentError: in a run, there is none.
        """
        structure = self._structure
        return structure.element(
            apply_op("OptionalGetValue", self._variant_tensor, name=name, **structure.attrs)
        )

    @property
    def element_spec(self) -> Any:
        """The specs of the parts of the value, in their structure."""
        return self._structure.element_spec

    def __repr__(self) -> str:
        return f"<Optional element_spec={self.element_spec!r}>"


serve_value_type(OptionalSpec, Optional)
