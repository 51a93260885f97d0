"""`tf.data.experimental`: transformations in the form that `Dataset.apply` takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.structures import ELEMENTS
from tensorfleet.data.dataset import Dataset
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import stack

Transformation = Callable[[Dataset], Dataset]


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """`shuffle`, then `repeat` (`tf.data.experimental.shuffle_and_repeat`)."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map` in parallel, then `batch` (`tf.data.experimental.map_and_batch`).

    Args:
        num_parallel_batches: the number of batches whose elements are computed at the same time.
        num_parallel_calls: the number of calls at the same time, instead of `num_parallel_batches`.

    Raises:
        ValueError: both are given.
    """
    if num_parallel_calls is not None and num_parallel_batches is not None:
        raise ValueError(
            "`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls`."
        )
    calls = num_parallel_calls
    if calls is None:
        calls = batch_size * (1 if num_parallel_batches is None else num_parallel_batches)
    return lambda dataset: dataset._mapped(map_func, calls, True, None).batch(batch_size, drop_remainder)


def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map_and_batch` by another name (`tf.data.experimental.map_and_batch_with_legacy_function`)."""
    return map_and_batch(map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """`interleave` with elements made ahead (`tf.data.experimental.parallel_interleave`).

    Args:
        sloppy, buffer_output_elements, prefetch_input_elements: ignored; the order is always that of
            `interleave`.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, cycle_length)


def enumerate_dataset(start: Any = 0) -> Transformation:
    """`Dataset.enumerate` (`tf.data.experimental.enumerate_dataset`)."""
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Transformation:
    """`Dataset.unbatch` (`tf.data.experimental.unbatch`)."""
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    """`Dataset.unique` (`tf.data.experimental.unique`)."""
    return lambda dataset: dataset.unique()


def ignore_errors(log_warning: bool = False) -> Transformation:
    """`Dataset.ignore_errors` (`tf.data.experimental.ignore_errors`)."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """`Dataset.take_while` (`tf.data.experimental.take_while`)."""
    return lambda dataset: dataset.take_while(predicate)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """`Dataset.scan` (`tf.data.experimental.scan`)."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """`Dataset.group_by_window` (`tf.data.experimental.group_by_window`)."""
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


class Reducer:
    """Three functions that make one element of all those of a key (`tf.data.experimental.Reducer`).

    Args:
        init_func: from the key, a scalar int64, to the first state.
        reduce_func: from a state and an element to the next state.
        finalize_func: from the last state to the element of the result.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        """Function from a key to the first state."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """Function from a state and an element to the next state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """Function from the last state to the result."""
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element for each key, made of all elements of the key (`tf.data.experimental.group_by_reducer`).

    They come in the order of the keys' first elements.

    Args:
        key_func: a function from an element to its key, a scalar int64.

    Raises:
        ValueError: a key is not a scalar int64.
        TypeError: the states are of different types.
    """
    return lambda dataset: dataset._group_by_reducer(
        key_func, reducer.init_func, reducer.reduce_func, reducer.finalize_func
    )


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """`Dataset.sparse_batch` (`tf.data.experimental.dense_to_sparse_batch`)."""
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


def dense_to_ragged_batch(
    batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = dtypes.int64
) -> Transformation:
    """`Dataset.ragged_batch` (`tf.data.experimental.dense_to_ragged_batch`)."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """`Dataset.bucket_by_sequence_length` (`tf.data.experimental.bucket_by_sequence_length`)."""
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """`Dataset.prefetch` (`tf.data.experimental.prefetch_to_device`).

    Elements stay in the host's memory and are copied to a device with the op that takes them.
    """
    del device
    return lambda dataset: dataset.prefetch(1 if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """The dataset, unchanged (`tf.data.experimental.copy_to_device`); see `prefetch_to_device`."""
    del target_device, source_device
    return lambda dataset: dataset


def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """The dataset, with FailedPreconditionError in a run if it has another number of elements
    (`tf.data.experimental.assert_cardinality`).
    """
    return lambda dataset: dataset._next(
        "AssertCardinalityDataset", convert_to_tensor(expected_cardinality, dtypes.int64)
    )


def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> Transformation:
    """The dataset, with elements of zeros after its own up to a number of elements
    (`tf.data.experimental.pad_to_cardinality`).

    Args:
        cardinality: the number of elements of the result; the dataset has no more.
        mask_key: the key under which elements say whether they are the dataset's own, a bool.

    Raises:
        ValueError: the elements are no dictionaries.
    """

    def pad(dataset: Dataset) -> Dataset:
        if not isinstance(dataset.element_spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        wanted = convert_to_tensor(cardinality, dtypes.int64)
        filler = ELEMENTS.map_structure(lambda spec: zeros(spec.shape, spec.dtype), dataset.element_spec)
        missing = (
            type(dataset).from_tensors({**filler, mask_key: False}).repeat(wanted - dataset.cardinality())
        )
        return dataset.map(lambda element: {**element, mask_key: True}).concatenate(missing)

    return pad


def cardinality(dataset: Dataset) -> Tensor:
    """`Dataset.cardinality` (`tf.data.experimental.cardinality`)."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """`Dataset.get_single_element` (`tf.data.experimental.get_single_element`)."""
    return dataset.get_single_element()


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """A dataset of the values in a list, of the same structure (`tf.data.experimental.from_list`).

    Raises:
        ValueError: the list is empty.
    """
    if not elements:
        raise ValueError("`elements` must not be empty.")
    flat = [ELEMENTS.flatten(element) for element in elements]
    columns = [list(column) for column in zip(*flat, strict=True)]
    return Dataset.from_tensor_slices(ELEMENTS.pack(elements[0], [stack(column) for column in columns]), name)


def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:
    """`Dataset.counter` (`tf.data.experimental.Counter`)."""
    return Dataset.counter(start, step, dtype)


class RandomDataset(Dataset):
    """Random 32-bit integers (`tf.data.experimental.RandomDataset`); see `Dataset.random`."""

    def __init__(
        self, seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> None:
        made = Dataset.random(seed, rerandomize_each_iteration, name)
        self._variant_tensor = made._variant_tensor
        self._structure = made._structure
        self._options = None
