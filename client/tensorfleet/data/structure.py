"""The structure of a dataset's elements, and functions that are called with elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.func_graph import Traced, trace
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor


class Structure:
    """The structure of a dataset's elements: nesting, dtypes and shapes.

    Attributes:
        shape_of: a nested structure like that of an element, with anything at its leaves.
        types, dims: dtypes and static shapes of the components, from left to right.
    """

    __slots__ = ("dims", "shape_of", "types")

    def __init__(self, shape_of: Any, types: Sequence[DType], dims: Sequence[Dims]) -> None:
        self.shape_of = nest.map_structure(lambda leaf: None, shape_of)
        self.types = list(types)
        self.dims = list(dims)

    @staticmethod
    def of(tensors: Any) -> Structure:
        """The structure of an element of tensors."""
        flat: list[Tensor] = nest.flatten(tensors)
        return Structure(tensors, [t.dtype.base for t in flat], [t.dims for t in flat])

    @staticmethod
    def from_types(output_types: Any, output_shapes: Any) -> Structure:
        """The structure of nested dtypes, with shapes nested alike; None stands for any shapes.

        Raises:
            TypeError, ValueError: the structures differ.
        """
        types = [dtypes.as_dtype(dtype) for dtype in nest.flatten(output_types)]
        if output_shapes is None:
            return Structure(output_types, types, [None] * len(types))
        shapes = nest.flatten_up_to(output_types, _without_shape_tuples(output_types, output_shapes))
        return Structure(output_types, types, [as_dims(shape) for shape in shapes])

    def with_dims(self, dims: Sequence[Dims]) -> Structure:
        return Structure(self.shape_of, self.types, dims)

    def pack(self, leaves: Sequence[Any]) -> Any:
        """An element, or something like it, of its components."""
        return nest.pack(self.shape_of, leaves)

    @property
    def output_types(self) -> Any:
        return self.pack(self.types)

    @property
    def output_shapes(self) -> Any:
        return self.pack([TensorShape(dims) for dims in self.dims])

    @property
    def output_classes(self) -> Any:
        return self.pack([Tensor] * len(self.types))

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that say this of most of the ops."""
        return {"output_types": self.types, "output_shapes": self.dims}


def _without_shape_tuples(output_types: Any, shapes: Any) -> Any:
    """Shapes that are written as tuples, where the types say that they are leaves."""
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
    """An element's values as tensors."""
    with get_default_graph().name_scope("normalize_element"):
        flat = [
            value if isinstance(value, Tensor) else convert_to_tensor(value, name=f"component_{i}")
            for i, value in enumerate(nest.flatten(element))
        ]
    return nest.pack(element, flat)


def call_with(function: Callable[..., Any], element: Any) -> Any:
    """Calls a user's function with an element: a tuple's parts are arguments of their own."""
    return function(*element) if type(element) is tuple else function(element)


def trace_elements(
    label: str, function: Callable[..., Any], structure: Structure, outputs_of: Callable[[Any], list[Tensor]]
) -> Traced:
    """A function of the graph's library from a Python function of an element."""

    def of_components(*components: Tensor) -> Any:
        return call_with(function, structure.pack(components))

    of_components.__name__ = getattr(function, "__name__", type(function).__name__)
    arguments = list(zip(structure.types, structure.dims, strict=True))
    return trace(f"Dataset_{label}", of_components, arguments, outputs_of)
