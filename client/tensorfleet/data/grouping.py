"""The transformations of datasets that select, group and split elements: unbatch, scan, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.data.state_functions import trace_with_state
from tensorfleet.data.structure import Structure, components_of, normalize, trace_elements
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.func_graph import trace
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.data_flow import experimental_dataset_ops  # noqa: F401  the ops register themselves
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.math.comparison import greater_equal, less, less_equal, logical_and
from tensorfleet.ops.math.reduction import reduce_min

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset


class _Self(Protocol):
    """The methods of a dataset that these transformations need."""

    _variant_tensor: Tensor
    _structure: Structure
    _options: Any

    @staticmethod
    def _of(variant: Tensor, structure: Structure, options: Any = None) -> Dataset: ...

    def _next(self, op_type: str, *inputs: Any, dims: Any = None, **attrs: Any) -> Dataset: ...


class SelectingTransformations:
    """The methods of `Dataset` that select, group and split elements."""

    def unbatch(self: _Self, name: str | None = None) -> Dataset:
        """The rows of the elements, each as an element.

        Raises:
            ValueError: a component is a scalar.
        """
        structure = self._structure
        if () in structure.dims:
            raise ValueError("Cannot unbatch an input with scalar components.")
        rows = structure.with_dims([None if d is None else d[1:] for d in structure.dims])
        variant = self._variant_tensor
        if any(structure.sparse):
            # One variant stands for a whole SparseTensor; to be divided it needs one for each of its rows.
            of_rows = trace_elements(
                "unbatch", lambda *parts: parts, structure, lambda parts: components_of(parts, many=True)
            )
            variant = apply_op(
                "MapDataset", variant, of_rows.captured, f=of_rows.attr, **structure.attrs, name=name
            )
        variant = apply_op("UnbatchDataset", variant, **rows.attrs, name=name)
        return self._of(variant, rows, self._options)

    def unique(self: _Self, name: str | None = None) -> Dataset:
        """The distinct elements, in the order of their first appearance. All of them are kept in memory.

        Raises:
            TypeError: elements are not single tensors of integers or strings.
        """
        for dtype in self._structure.types:
            if dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
                raise TypeError(
                    "`tf.data.Dataset.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, "
                    "or `tf.string` component."
                )
        return self._next("UniqueDataset", name=name)

    def ignore_errors(self: _Self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements without those whose computation fails.

        Args:
            log_warning: whether the task logs each error.
        """
        return self._next("IgnoreErrorsDataset", log_warning=log_warning, name=name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first one for which `predicate` is false.

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

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements that `scan_func` computes: from the state and an element it returns the next state and
        an element of the result.

        Raises:
            TypeError: `scan_func` does not return a pair, or returns a state of other types.
        """
        dataset = cast("Dataset", self)
        state = normalize(initial_state)
        before = Structure.of(state)
        given = dataset._structure
        made: list[Structure] = []

        def call(old: Any, element: Any) -> tuple[Any, list[Tensor]]:
            found = scan_func(old, element)
            if not isinstance(found, (tuple, list)) or len(found) != 2:
                raise TypeError(
                    "The `scan_func` must return a pair comprising the new state and the output value."
                )
            output = normalize(found[1])
            made.append(Structure.of(output))
            return found[0], components_of(output)

        traced, _ = trace_with_state("scan", call, before, given)
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
        return dataset._of(variant, structure, dataset._options)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """The last state, as tensors; `reduce_func` computes the next state from the state and an element.

        Raises:
            TypeError: `reduce_func` returns a state of other types.
        """
        dataset = cast("Dataset", self)
        state = normalize(initial_state)
        before = Structure.of(state)
        given = dataset._structure

        def call(old: Any, element: Any) -> tuple[Any, list[Tensor]]:
            return reduce_func(old, element), []

        traced, free = trace_with_state("reduce", call, before, given)
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
        """The datasets that `reduce_func` makes from windows of elements of one key, one after the other.

        Args:
            key_func: a function from an element to its key, a scalar int64.
            reduce_func: a function from a key and the dataset of a window's elements to a dataset.
            window_size: the number of elements of a window.
            window_size_func: a function from a key to that number, instead of `window_size`.

        Raises:
            ValueError: both or none of the sizes are given, or a key is not a scalar int64.
        """
        dataset = cast("Dataset", self)
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be specified."
            )
        if window_size_func is None:

            def window_size_func(key: Any) -> Any:
                return convert_to_tensor(window_size, dtypes.int64)

        made: list[Structure] = []

        def reduced(key: Tensor, window: Tensor) -> list[Tensor]:
            result = reduce_func(key, dataset._of(window, dataset._structure))
            if not isinstance(result, SelectingTransformations):
                raise TypeError(
                    "Invalid `reduce_func`. `reduce_func` must return a single `tf.data.Dataset` object but "
                    f"its return type is {type(result)}."
                )
            found = cast("Dataset", result)
            made.append(found._structure)
            return [found._variant_tensor]

        key = trace_elements("key", key_func, dataset._structure, _scalars("key_func"))
        reduce = trace("Dataset_reduce", reduced, [(dtypes.int64, ()), (dtypes.variant, ())], list)
        size = trace(
            "Dataset_window_size", window_size_func, [(dtypes.int64, ())], _scalars("window_size_func")
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
        return dataset._of(variant, structure, dataset._options)

    def _group_by_reducer(
        self,
        key_func: Callable[..., Any],
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> Dataset:
        """One element for each key; see `tf.data.experimental.group_by_reducer`."""
        dataset = cast("Dataset", self)
        key = trace_elements("key", key_func, dataset._structure, _scalars("key_func"))
        begun: list[Structure] = []

        def first(number: Tensor) -> list[Tensor]:
            state = normalize(init_func(number))
            begun.append(Structure.of(state))
            return components_of(state)

        init = trace("Dataset_init", first, [(dtypes.int64, ())], list)

        def call(old: Any, element: Any) -> tuple[Any, list[Tensor]]:
            return reduce_func(old, element), []

        reduce, state = trace_with_state("reduce", call, begun[-1], dataset._structure)
        made: list[Structure] = []

        def outputs(result: Any) -> list[Tensor]:
            element = normalize(tuple(result) if isinstance(result, list) else result)
            made.append(Structure.of(element))
            return components_of(element)

        finalize = trace_elements("finalize", finalize_func, state, outputs)
        structure = made[-1]
        variant = apply_op(
            "GroupByReducerDataset",
            dataset._variant_tensor,
            *(traced.captured for traced in (key, init, reduce, finalize)),
            key_func=key.attr,
            init_func=init.attr,
            reduce_func=reduce.attr,
            finalize_func=finalize.attr,
            **structure.attrs,
        )
        return dataset._of(variant, structure, dataset._options)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batches of elements of similar length.

        Args:
            element_length_func: a function from an element to its length, a scalar int32.
            bucket_boundaries: the lengths at which the next bucket begins, ascending.
            bucket_batch_sizes: the batch size of each bucket, one more than boundaries.
            padded_shapes, padding_values: as for `padded_batch`.
            pad_to_bucket_boundary: pad unknown sizes to the bucket's boundary - 1, not to the longest one.
            no_padding: do not pad batches.
            drop_remainder: leave smaller batches out.

        Raises:
            ValueError: the number of batch sizes is not that of boundaries + 1.
        """
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
                f"`len(bucket_boundaries)={len(bucket_boundaries)}`."
            )
        sizes = constant(list(bucket_batch_sizes), dtypes.int64)
        largest = 2**31 - 1

        def bucket(*element: Any) -> Tensor:
            length = element_length_func(*element)
            starts = constant([-(2**31), *bucket_boundaries], dtypes.int32)
            ends = constant([*bucket_boundaries, largest], dtypes.int32)
            inside = logical_and(less_equal(starts, length), less(length, ends))
            return reduce_min(where(inside))

        def batched(key: Tensor, window: Dataset) -> Dataset:
            size = gather(sizes, key)
            if no_padding:
                return window.batch(size, drop_remainder)
            shapes = padded_shapes
            if shapes is None:
                shapes = window._structure.output_shapes
            if pad_to_bucket_boundary:
                ends = constant([*(end - 1 for end in bucket_boundaries), -1], dtypes.int64)
                end = gather(ends, key)
                check = Assert(
                    greater_equal(end, constant(0, dtypes.int64)),
                    ["When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."],
                )
                with framework.control_dependencies([check]):
                    end = identity(end)
                flat = nest.flatten_up_to(window._structure.shape_of, shapes)
                shapes = window._structure.pack([_filled(shape, end) for shape in flat])
            return window.padded_batch(size, shapes, padding_values, drop_remainder)

        return self.group_by_window(
            bucket, batched, window_size_func=lambda key: gather(sizes, key), name=name
        )

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """`batch_size` elements at a time, as a SparseTensor.

        Args:
            row_shape: the dense shape of each row; a size of -1 or None stands for the largest in the batch.
        """
        dataset = cast("Dataset", self)
        row = row_shape
        if isinstance(row_shape, TensorShape):
            row = [-1 if d is None else d for d in row_shape.as_list()]
        elif isinstance(row_shape, (list, tuple)):
            row = [-1 if d is None else d for d in row_shape]
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
        return dataset._of(variant, structure, dataset._options)

    def cardinality(self: _Self) -> Tensor:
        """The number of elements as a tensor: a number, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY."""
        made: Tensor = apply_op("DatasetCardinality", self._variant_tensor)
        return made

    def get_single_element(self: _Self, name: str | None = None) -> Any:
        """The only element, as tensors.

        Raises:
            InvalidArgumentError: in a run, if there is no element, or more than one.
        """
        structure = self._structure
        return structure.element(
            apply_op("DatasetToSingleElement", self._variant_tensor, name=name, **structure.attrs)
        )


def _scalars(function_name: str) -> Callable[[Any], list[Tensor]]:
    """Checks that a function's result is a scalar int64."""

    def outputs(result: Any) -> list[Tensor]:
        tensor = convert_to_tensor(result)
        if tensor.dtype.base is not dtypes.int64 or not compatible(tensor.dims, ()):
            raise ValueError(
                f"Invalid `{function_name}`. `{function_name}` must return a single `tf.int64` "
                f"scalar tensor but its return type is {tensor!r}."
            )
        return [tensor]

    return outputs


def _filled(shape: Any, end: Tensor) -> Any:
    """A shape with `end` in place of unknown sizes, as a tensor."""
    dims = as_dims(shape)
    if dims is None or None not in dims:
        return shape
    return stack([end if d is None else constant(d, dtypes.int64) for d in dims])
