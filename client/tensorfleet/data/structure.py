"""The structure of a dataset's elements, and functions that are called with elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.graph.func_graph import Traced, trace
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor,
    convert_to_tensor_or_sparse_tensor,
    deserialize_sparse,
    serialize_many_sparse,
    serialize_sparse,
)


class Structure:
    """The structure of a dataset's elements: nesting, dtypes and shapes.

    Attributes:
        shape_of: the nested structure of an element, with any values at its leaves.
        types, dims: the dtypes and static shapes of the components, from left to right.
        sparse: for each component whether it is a SparseTensor, which in a dataset is a variant tensor.
    """

    __slots__ = ("dims", "shape_of", "sparse", "types")

    def __init__(
        self,
        shape_of: Any,
        types: Sequence[DType],
        dims: Sequence[Dims],
        sparse: Sequence[bool] | None = None,
    ) -> None:
        self.shape_of = nest.map_structure(lambda leaf: None, shape_of)
        self.types = list(types)
        self.dims = list(dims)
        self.sparse = [False] * len(self.types) if sparse is None else list(sparse)

    @staticmethod
    def of(tensors: Any) -> Structure:
        """The structure of an element of tensors."""
        flat: list[Any] = nest.flatten(tensors)
        return Structure(
            tensors,
            [t.dtype.base for t in flat],
            [as_dims(t.shape) for t in flat],
            [isinstance(t, SparseTensor) for t in flat],
        )

    @staticmethod
    def from_types(output_types: Any, output_shapes: Any, output_classes: Any = None) -> Structure:
        """The structure of nested dtypes, with shapes in the same structure; None for any shapes.

        Args:
            output_classes: Tensor or SparseTensor, in the same structure; None if all are tensors.

        Raises:
            TypeError, ValueError: the structures differ.
        """
        types = [dtypes.as_dtype(dtype) for dtype in nest.flatten(output_types)]
        classes = [] if output_classes is None else nest.flatten_up_to(output_types, output_classes)
        sparse = [kind is SparseTensor for kind in classes] or None
        if output_shapes is None:
            return Structure(output_types, types, [None] * len(types), sparse)
        shapes = nest.flatten_up_to(output_types, _without_shape_tuples(output_types, output_shapes))
        return Structure(output_types, types, [as_dims(shape) for shape in shapes], sparse)

    def with_dims(self, dims: Sequence[Dims]) -> Structure:
        return Structure(self.shape_of, self.types, dims, self.sparse)

    def pack(self, leaves: Sequence[Any]) -> Any:
        """The components, or other leaves, in the nested structure of an element."""
        return nest.pack(self.shape_of, leaves)

    @property
    def output_types(self) -> Any:
        return self.pack(self.types)

    @property
    def output_shapes(self) -> Any:
        return self.pack([TensorShape(dims) for dims in self.dims])

    @property
    def output_classes(self) -> Any:
        return self.pack([SparseTensor if sparse else Tensor for sparse in self.sparse])

    @property
    def component_types(self) -> list[DType]:
        """The dtypes of the components as tensors of a dataset."""
        return [dtypes.variant if sparse else t for t, sparse in zip(self.types, self.sparse, strict=True)]

    @property
    def component_dims(self) -> list[Dims]:
        """The static shapes of the components as tensors of a dataset."""
        return [None if sparse else d for d, sparse in zip(self.dims, self.sparse, strict=True)]

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the structure that most of the ops have."""
        return {"output_types": self.component_types, "output_shapes": self.component_dims}

    def element(self, components: Any) -> Any:
        """The element with the given components as tensors of a dataset."""
        flat = components if isinstance(components, (list, tuple)) else [components]
        values = [
            deserialize_sparse(tensor, dtype, None if dims is None else len(dims)) if sparse else tensor
            for tensor, dtype, dims, sparse in zip(flat, self.types, self.dims, self.sparse, strict=True)
        ]
        return self.pack(values)


def components_of(element: Any, many: bool = False) -> list[Tensor]:
    """The components of an element as tensors of a dataset.

    Args:
        many: whether `element` is a batch of elements along the first dimension.
    """
    serialize = serialize_many_sparse if many else serialize_sparse
    return [
        serialize(value, out_type=dtypes.variant) if isinstance(value, SparseTensor) else value
        for value in nest.flatten(element)
    ]


def common_dims(first: Dims, second: Dims) -> Dims:
    """The most specific shape that both shapes are compatible with."""
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(a if a == b else None for a, b in zip(first, second, strict=True))


def _without_shape_tuples(output_types: Any, shapes: Any) -> Any:
    """The shapes with tuples converted to TensorShapes where the types have leaves."""
    if isinstance(output_types, dict) and isinstance(shapes, dict):
        return {
            key: _without_shape_tuples(output_types[key], value) if key in output_types else value
            for key, value in shapes.items()
        }
    if isinstance(output_types, tuple) and isinstance(shapes, tuple) and len(shapes) == len(output_types):
        parts = [_without_shape_tuples(t, s) for t, s in zip(output_types, shapes, strict=True)]
        return type(shapes)(*parts) if hasattr(shapes, "_fields") else tuple(parts)
    return TensorShape(as_dims(shapes)) if not isinstance(output_types, (tuple, dict)) else shapes


def normalize(element: Any) -> Any:
    """An element's values as tensors and SparseTensors."""
    with get_default_graph().name_scope("normalize_element"):
        flat = [
            value
            if isinstance(value, Tensor)
            else convert_to_tensor_or_sparse_tensor(value, name=f"component_{i}")
            for i, value in enumerate(nest.flatten(element))
        ]
    return nest.pack(element, flat)


def call_with(function: Callable[..., Any], element: Any) -> Any:
    """Calls a user's function with an element; the parts of a tuple are separate arguments."""
    return function(*element) if type(element) is tuple else function(element)


def trace_elements(
    label: str, function: Callable[..., Any], structure: Structure, outputs_of: Callable[[Any], list[Tensor]]
) -> Traced:
    """A function of the graph's library, traced from a Python function of an element."""

    def of_components(*components: Tensor) -> Any:
        return call_with(function, structure.element(components))

    of_components.__name__ = getattr(function, "__name__", type(function).__name__)
    arguments = list(zip(structure.component_types, structure.component_dims, strict=True))
    return trace(f"Dataset_{label}", of_components, arguments, outputs_of)
