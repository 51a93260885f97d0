"""The structure of a dataset's elements, and functions that are called with elements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.core.type_specs import SparseTensorSpec, TensorSpec, TypeSpec, common_dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
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
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.ragged.row_partition import RowPartition
from tensorfleet.ops.ragged.spec import RaggedTensorSpec
from tensorfleet.ops.ragged.value import RaggedTensorValue


class NestedSpec(TypeSpec):
    """The spec of components that have elements themselves: datasets and optional values.

    In a dataset such a component is a variant tensor; of a batch of them, one with a shape.
    """

    __slots__ = ("_dims", "_structure")

    def __init__(self, structure: Structure, dims: Dims = ()) -> None:
        self._structure = structure
        self._dims = dims

    @abstractmethod
    def value(self, variant: Tensor) -> NestedValue:
        """The value that a variant tensor stands for."""

    def with_dims(self, dims: Dims) -> NestedSpec:
        """The spec of values in a tensor of another shape."""
        made: NestedSpec = type(self).__new__(type(self))
        made._structure, made._dims = self._structure, dims
        return made

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether the elements of both have the same types, and shapes that can be of one tensor."""
        other = spec_or_value._nested_spec() if isinstance(spec_or_value, NestedValue) else spec_or_value
        return (
            isinstance(other, NestedSpec)
            and self.agrees(other)
            and all(map(compatible, self._structure.dims, other._structure.dims))
        )

    def _common(self, other: NestedSpec) -> NestedSpec | None:
        mine, theirs = self._structure, other._structure
        if not mine.agrees(theirs):
            return None
        made: NestedSpec = type(self).__new__(type(self))
        made._structure = mine.with_dims(list(map(common_dims, mine.dims, theirs.dims)))
        made._dims = common_dims(self._dims, other._dims)
        return made

    @classmethod
    def from_value(cls, value: Any) -> NestedSpec:
        """The spec of a value.

        Raises:
            TypeError: it is of another kind.
        """
        spec = value._nested_spec() if isinstance(value, NestedValue) else None
        if not isinstance(spec, cls):
            raise TypeError(f"{cls.__name__} describes no {type(value).__name__}.")
        return spec

    def agrees(self, other: NestedSpec | None) -> bool:
        """Whether the elements of both have the same structure and types."""
        return type(self) is type(other) and self._structure.agrees(other._structure)

    @property
    def element_spec(self) -> Any:
        """The specs of the parts of an element, in the structure of elements."""
        return self._structure.element_spec

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class NestedValue:
    """A value that is a component of elements and has elements itself."""

    _variant_tensor: Tensor

    def _nested_spec(self) -> NestedSpec:
        raise NotImplementedError


class RaggedKind(NamedTuple):
    """What a ragged component has beside its shape and dtype.

    Attributes:
        inner: the number of its last dimensions that are of one size, without the first dimension.
        splits: the dtype of its row splits.
    """

    inner: int
    splits: DType

    def ragged_rank(self, dims: Dims) -> int:
        """The number of ragged dimensions of a value of this shape."""
        assert dims is not None
        if len(dims) <= self.inner:
            raise ValueError("Unbatching a ragged component without ragged dimensions is not supported.")
        return len(dims) - 1 - self.inner

    def spec(self, dims: Dims, dtype: DType) -> RaggedTensorSpec:
        return RaggedTensorSpec(TensorShape(dims), dtype, self.ragged_rank(dims), self.splits)

    def value(self, variant: Tensor, dims: Dims, dtype: DType) -> Any:
        """The value that a variant tensor of a dataset stands for: a tensor where nothing is ragged."""
        rank = self.ragged_rank(dims)
        splits, values = apply_op(
            "RaggedTensorFromVariant",
            variant,
            input_ragged_rank=-1,
            output_ragged_rank=rank,
            Tvalues=dtype,
            Tsplits=self.splits,
            name="RaggedFromVariant",
        )
        if not rank:
            values.set_shape(dims)
            return values
        assert dims is not None
        values.set_shape([None, *dims[1 + rank :]])
        if dims[0] is not None:
            splits[0].set_shape([dims[0] + 1])
        for row_splits, length in zip(reversed(splits), reversed(dims[1 : 1 + rank]), strict=True):
            uniform = None if length is None else convert_to_tensor(length, self.splits)
            values = RaggedTensor(values, RowPartition(row_splits, uniform=uniform), internal=True)
        return values


def _kind(part: Any) -> bool | RaggedKind:
    """The kind of a component by its spec or its class."""
    if isinstance(part, RaggedTensorSpec):
        return _ragged_kind(part)
    return part is SparseTensor or isinstance(part, SparseTensorSpec)


def _ragged_kind(spec: RaggedTensorSpec) -> RaggedKind:
    if spec.shape.rank is None:
        raise ValueError("The shape of a ragged component must have a known rank.")
    return RaggedKind(spec.shape.rank - 1 - spec.ragged_rank, spec.row_splits_dtype)


class Structure:
    """The structure of a dataset's elements: nesting, dtypes and shapes.

    Attributes:
        shape_of: the nested structure of an element, with any values at its leaves.
        types, dims: the dtypes and static shapes of the components, from left to right.
        sparse: for each component whether it is a SparseTensor, which in a dataset is a variant tensor; of a
            RaggedTensor, which is one too, its RaggedKind.
        nested: for each component the spec of a dataset or an optional value, or None for tensors.
    """

    __slots__ = ("dims", "nested", "shape_of", "sparse", "types")

    def __init__(
        self,
        shape_of: Any,
        types: Sequence[DType],
        dims: Sequence[Dims],
        sparse: Sequence[bool | RaggedKind] | None = None,
        nested: Sequence[NestedSpec | None] | None = None,
    ) -> None:
        self.shape_of = nest.map_structure(lambda leaf: None, shape_of)
        self.types = list(types)
        self.dims = list(dims)
        self.sparse = [False] * len(self.types) if sparse is None else list(sparse)
        self.nested = [
            None if spec is None else spec.with_dims(d)
            for spec, d in zip(nested or [None] * len(self.types), self.dims, strict=True)
        ]

    @staticmethod
    def of(tensors: Any) -> Structure:
        """The structure of an element of tensors."""
        flat = [_Leaf(value) for value in nest.flatten(tensors)]
        return Structure(
            tensors,
            [leaf.dtype for leaf in flat],
            [leaf.dims for leaf in flat],
            [leaf.sparse for leaf in flat],
            [leaf.nested for leaf in flat],
        )

    @staticmethod
    def from_specs(element_spec: Any) -> Structure:
        """The structure of nested specs.

        Raises:
            TypeError: there is something else than specs.
        """
        specs: list[Any] = nest.flatten(element_spec)
        for spec in specs:
            if not isinstance(spec, (TensorSpec, SparseTensorSpec, RaggedTensorSpec, NestedSpec)):
                raise TypeError(f"Expected a nested structure of specs such as tf.TensorSpec, got {spec!r}.")
        nested = [spec if isinstance(spec, NestedSpec) else None for spec in specs]
        return Structure(
            element_spec,
            [spec.dtype if n is None else dtypes.variant for spec, n in zip(specs, nested, strict=True)],
            [as_dims(s.shape) if n is None else n._dims for s, n in zip(specs, nested, strict=True)],
            [_kind(spec) for spec in specs],
            nested,
        )

    @staticmethod
    def joined(shape_of: Any, parts: Sequence[Structure]) -> Structure:
        """The structure with other structures in place of leaves."""
        return Structure(
            nest.pack(shape_of, [part.shape_of for part in parts]),
            [dtype for part in parts for dtype in part.types],
            [dims for part in parts for dims in part.dims],
            [sparse for part in parts for sparse in part.sparse],
            [spec for part in parts for spec in part.nested],
        )

    @staticmethod
    def from_types(output_types: Any, output_shapes: Any, output_classes: Any = None) -> Structure:
        """The structure of nested dtypes, with shapes in the same structure; None for any shapes.

        Args:
            output_classes: Tensor or SparseTensor, in the same structure; None if all are tensors.

        Raises:
            TypeError, ValueError: the structures differ.
        """
        flat = nest.flatten(output_types)
        nested = [part if isinstance(part, NestedSpec) else None for part in flat]
        types = [
            dtypes.as_dtype(dtype) if spec is None else dtypes.variant
            for dtype, spec in zip(flat, nested, strict=True)
        ]
        classes = [] if output_classes is None else nest.flatten_up_to(output_types, output_classes)
        sparse = [_kind(part) for part in classes] or None
        dims: list[Dims] = [None if spec is None else spec._dims for spec in nested]
        if output_shapes is not None:
            shapes = nest.flatten_up_to(output_types, _without_shape_tuples(output_types, output_shapes))
            dims = [
                as_dims(shape) if spec is None else spec._dims
                for shape, spec in zip(shapes, nested, strict=True)
            ]
        return Structure(output_types, types, dims, sparse, nested)

    def with_dims(self, dims: Sequence[Dims]) -> Structure:
        return Structure(self.shape_of, self.types, dims, self.sparse, self.nested)

    def agrees(self, other: Structure) -> bool:
        """Whether components have the same types, and those that have elements, the same ones."""
        return (self.types, self.sparse) == (other.types, other.sparse) and all(
            a is b is None or (a is not None and a.agrees(b))
            for a, b in zip(self.nested, other.nested, strict=True)
        )

    def pack(self, leaves: Sequence[Any]) -> Any:
        """The components, or other leaves, in the nested structure of an element."""
        return nest.pack(self.shape_of, leaves)

    @property
    def output_types(self) -> Any:
        return self._packed(self.types)

    @property
    def output_shapes(self) -> Any:
        return self._packed([TensorShape(dims) for dims in self.dims])

    @property
    def output_classes(self) -> Any:
        return self._packed(
            [
                kind.spec(dims, dtype) if isinstance(kind, RaggedKind) else (SparseTensor if kind else Tensor)
                for kind, dims, dtype in zip(self.sparse, self.dims, self.types, strict=True)
            ]
        )

    @property
    def element_spec(self) -> Any:
        """The specs of the components, in the structure of elements."""
        return self._packed(
            [
                kind.spec(dims, dtype)
                if isinstance(kind, RaggedKind)
                else (SparseTensorSpec(dims, dtype) if kind else TensorSpec(dims, dtype))
                for dims, dtype, kind in zip(self.dims, self.types, self.sparse, strict=True)
            ]
        )

    def _packed(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the structure of elements, with the specs of datasets and optional values in place."""
        return self.pack(
            [leaf if spec is None else spec for leaf, spec in zip(leaves, self.nested, strict=True)]
        )

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
        values: list[Any] = []
        for tensor, dtype, dims, sparse, spec in zip(
            flat, self.types, self.dims, self.sparse, self.nested, strict=True
        ):
            if spec is not None:
                values.append(spec.value(tensor))
            elif isinstance(sparse, RaggedKind):
                values.append(sparse.value(tensor, dims, dtype))
            elif sparse:
                values.append(deserialize_sparse(tensor, dtype, None if dims is None else len(dims)))
            else:
                values.append(tensor)
        return self.pack(values)


class _Leaf:
    """What is static of one component of an element."""

    __slots__ = ("dims", "dtype", "nested", "sparse")

    def __init__(self, value: Any) -> None:
        self.nested = value._nested_spec() if isinstance(value, NestedValue) else None
        self.sparse: bool | RaggedKind = isinstance(value, SparseTensor)
        if isinstance(value, RaggedTensor):
            self.sparse = _ragged_kind(RaggedTensorSpec.from_value(value))
        tensor = value if self.nested is None else value._variant_tensor
        self.dtype: DType = tensor.dtype.base
        self.dims: Dims = as_dims(tensor.shape)


def components_of(element: Any, many: bool = False) -> list[Tensor]:
    """The components of an element as tensors of a dataset.

    Args:
        many: whether `element` is a batch of elements along the first dimension.
    """
    serialize = serialize_many_sparse if many else serialize_sparse
    found: list[Tensor] = []
    for value in nest.flatten(element):
        if isinstance(value, NestedValue):
            found.append(value._variant_tensor)
        elif isinstance(value, RaggedTensor):
            parts = list(value.nested_row_splits), value.flat_values
            found.append(
                apply_op("RaggedTensorToVariant", *parts, batched_input=many, name="RaggedToVariant")
            )
        else:
            found.append(
                serialize(value, out_type=dtypes.variant) if isinstance(value, SparseTensor) else value
            )
    return found


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
    if isinstance(output_types, (tuple, dict, NestedSpec)):
        return shapes
    return TensorShape(as_dims(shapes))


def normalize(element: Any) -> Any:
    """An element's values as tensors, SparseTensors, datasets and optional values."""
    with get_default_graph().name_scope("normalize_element"):
        flat = [
            value
            if isinstance(value, (Tensor, RaggedTensor, NestedValue))
            else ragged_constant_of(value)
            if isinstance(value, RaggedTensorValue)
            else convert_to_tensor_or_sparse_tensor(value, name=f"component_{i}")
            for i, value in enumerate(nest.flatten(element))
        ]
    return nest.pack(element, flat)


def ragged_constant_of(value: RaggedTensorValue) -> RaggedTensor:
    """The constant RaggedTensor of a value."""
    splits = list(value.nested_row_splits)
    return RaggedTensor.from_nested_row_splits(value.flat_values, splits, validate=False)


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
