"""The transformations of a dataset that pick, group and take apart its elements: unbatch, enumerate, scan, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.structure import Structure, call_with, components_of, normalize, trace_elements
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.func_graph import trace
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import more_dataset_ops  # noqa: F401  the ops register themselves

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset


class _Self(Protocol):
    """What these methods need of a dataset."""

    _variant_tensor: Tensor
    _structure: Structure

    def _next(self, op_type: str, *inputs: Any, dims: Any = None, **attrs: Any) -> Dataset: ...


class SelectingTransformations:
    """The part of `Dataset` that picks, groups and takes apart elements."""

    def unbatch(self: _Self, name: str | None = None) -> Dataset:
        """The rows of the elements, each an element.

        Raises:
            ValueError: a component is a scalar.
        """
        for dims in self._structure.dims:
            if dims == ():
                raise ValueError("Cannot unbatch an input with scalar components.")
        dims = [None if d is None else d[1:] for d in self._structure.dims]
        return self._next("UnbatchDataset", dims=dims, name=name)

    def unique(self: _Self, name: str | None = None) -> Dataset:
        """The elements without those that were there before. All of them are kept in memory.

        Raises:
            TypeError: elements are not one tensor each, of integers or strings.
        """
        for dtype in self._structure.types:
            if dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
                raise TypeError(
                    "`tf.data.Dataset.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or "
                    "`tf.string` component."
                )
        return self._next("UniqueDataset", name=name)

    def ignore_errors(self: _Self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that can be made: errors leave one out.

        Args:
            log_warning: the task logs each.
        """
        return self._next("IgnoreErrorsDataset", log_warning=log_warning, name=name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which a function is false.

        Raises:
            ValueError: `predicate` does not return a scalar boolean.
        """
        dataset = cast("Dataset", self)

        def outputs(result: Any) -> list[Tensor]:
            tensor = convert_to_tensor(result)
            if tensor.dtype.base is not dtypes.bool or not compatible(tensor.dims, ()):
                raise ValueError(
                    "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor but its return "
                    f"type is {tensor!r}."
                )
            return [tensor]

        traced = trace_elements("take_while", predicate, dataset._structure, outputs)
        return dataset._made("TakeWhileDataset", traced, dataset._structure, predicate=traced.attr, name=name)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, from `start` on, and an element."""
        dataset = cast("Dataset", self)
        return type(dataset).zip((type(dataset).range(start, 2**63 - 1), dataset), name=name)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """What a function makes of a state and each element: `scan_func(state, element)` gives the next state, and
        an element of the result.

        Raises:
            TypeError: `scan_func` does not return a pair, or a state of other types.
        """
        from tensorfleet.data.dataset import Dataset

        dataset = cast("Dataset", self)
        state = normalize(initial_state)
        before = Structure.of(state)
        given = dataset._structure
        made: list[Structure] = []

        def call(*components: Tensor) -> list[Tensor]:
            count = len(before.types)
            old = before.element(components[:count])
            found = scan_func(old, given.element(components[count:]))
            if not isinstance(found, (tuple, list)) or len(found) != 2:
                raise TypeError(
                    "The `scan_func` must return a pair comprising the new state and the output value."
                )
            new, output = normalize(found[0]), normalize(found[1])
            _check_state(before, Structure.of(new), "scan_func")
            made.append(Structure.of(output))
            return [*components_of(new), *components_of(output)]

        arguments = _arguments(before.with_dims([None] * len(before.dims)), given)
        traced = trace("Dataset_scan", call, arguments, list)
        structure = made[-1]
        variant = apply_op(
            "ScanDataset",
            dataset._variant_tensor,
            components_of(state),
            traced.captured,
            f=traced.attr,
            **structure.attrs,
            preserve_cardinality=True,
            name=name,
        )
        return Dataset._of(variant, structure, dataset._options)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """The last state, of those that a function makes of a state and each element, as tensors of a step.

        Raises:
            TypeError: `reduce_func` returns a state of other types.
        """
        dataset = cast("Dataset", self)
        state = normalize(initial_state)
        before = Structure.of(state)
        given = dataset._structure

        def call(*components: Tensor) -> list[Tensor]:
            count = len(before.types)
            old = before.element(components[:count])
            new = normalize(reduce_func(old, given.element(components[count:])))
            _check_state(before, Structure.of(new), "reduce_func")
            return components_of(new)

        arguments = _arguments(before.with_dims([None] * len(before.dims)), given)
        traced = trace("Dataset_reduce", call, arguments, list)
        free = before.with_dims([None] * len(before.dims))
        flat = apply_op(
            "ReduceDataset",
            dataset._variant_tensor,
            components_of(state),
            traced.captured,
            f=traced.attr,
            **free.attrs,
            name=name,
        )
        return free.element(flat)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The datasets that a function makes of windows of elements of one key, one after the other.

        Args:
            key_func: gives the key of an element, a scalar int64.
            reduce_func: makes a dataset of a key, and of the dataset of the elements of a window.
            window_size: how many elements a window has; or
            window_size_func: gives that number for a key.

        Raises:
            ValueError: both or none of the sizes are given, or a key is no scalar int64.
        """
        from tensorfleet.data.dataset import Dataset

        dataset = cast("Dataset", self)
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be specified."
            )
        if window_size_func is None:

            def window_size_func(key: Any) -> Any:
                return convert_to_tensor(window_size, dtypes.int64)

        def scalars(function_name: str) -> Callable[[Any], list[Tensor]]:
            def outputs(result: Any) -> list[Tensor]:
                tensor = convert_to_tensor(result)
                if tensor.dtype.base is not dtypes.int64 or not compatible(tensor.dims, ()):
                    raise ValueError(
                        f"Invalid `{function_name}`. `{function_name}` must return a single `tf.int64` "
                        f"scalar tensor but its return type is {tensor!r}."
                    )
                return [tensor]

            return outputs

        made: list[Structure] = []

        def reduced(key: Tensor, window: Tensor) -> list[Tensor]:
            result = reduce_func(key, Dataset._of(window, dataset._structure))
            if not isinstance(result, Dataset):
                raise TypeError(
                    "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object but its "
                    f"return type is {type(result)}."
                )
            made.append(result._structure)
            return [result._variant_tensor]

        key = trace_elements("key", key_func, dataset._structure, scalars("key_func"))
        reduce = trace("Dataset_reduce", reduced, [(dtypes.int64, ()), (dtypes.variant, ())], list)
        size = trace(
            "Dataset_window_size", window_size_func, [(dtypes.int64, ())], scalars("window_size_func")
        )
        structure = made[-1]
        variant = apply_op(
            "GroupByWindowDataset",
            dataset._variant_tensor,
            key.captured,
            reduce.captured,
            size.captured,
            key_func=key.attr,
            reduce_func=reduce.attr,
            window_size_func=size.attr,
            **structure.attrs,
            name=name,
        )
        return Dataset._of(variant, structure, dataset._options)

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """`batch_size` elements at a time, as a SparseTensor.

        Args:
            row_shape: the shape of each element's place; -1 or None as a size means the largest in the batch.
        """
        from tensorfleet.core.shapes import as_dims
        from tensorfleet.data.dataset import Dataset

        dataset = cast("Dataset", self)
        row = row_shape if isinstance(row_shape, Tensor) else [-1 if d is None else d for d in as_dims(row_shape) or ()]
        shape = convert_to_tensor(row, dtypes.int64, "row_shape")
        known = static_value(shape)
        dims: Dims = None
        if known is not None:
            dims = (None, *(None if d < 0 else int(d) for d in known))
        given = dataset._structure
        structure = Structure(given.shape_of, given.types, [dims], [True])
        size = convert_to_tensor(batch_size, dtypes.int64, "batch_size")
        variant = apply_op(
            "DenseToSparseBatchDataset", dataset._variant_tensor, size, shape, **structure.attrs, name=name
        )
        return Dataset._of(variant, structure, dataset._options)

    def cardinality(self: _Self) -> Tensor:
        """How many elements there are, as a tensor: INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, or the number."""
        made: Tensor = apply_op("DatasetCardinality", self._variant_tensor)
        return made

    def get_single_element(self: _Self, name: str | None = None) -> Any:
        """The only element, as tensors of a step.

        Raises:
            InvalidArgumentError: in a run, there is none, or more than one.
        """
        structure = self._structure
        return structure.element(
            apply_op("DatasetToSingleElement", self._variant_tensor, name=name, **structure.attrs)
        )


def _arguments(state: Structure, element: Structure) -> list[tuple[Any, Any]]:
    return [
        *zip(state.component_types, state.component_dims, strict=True),
        *zip(element.component_types, element.component_dims, strict=True),
    ]


def _check_state(before: Structure, after: Structure, name: str) -> None:
    if before.types != after.types or before.sparse != after.sparse:
        raise TypeError(
            f"The element types for the new state must match the initial state. Expected {before.output_types}; "
            f"got {after.output_types} from `{name}`."
        )


