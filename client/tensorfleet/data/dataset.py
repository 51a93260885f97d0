"""`tf.data.Dataset`: sources of datasets, and transformations of datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, merge
from tensorfleet.core.structures import ELEMENTS as nest
from tensorfleet.core.type_specs import common_dims, serve_value_type
from tensorfleet.data import iterator as iterators, sampling
from tensorfleet.data.batching import BatchingTransformations
from tensorfleet.data.functional import FunctionalTransformations
from tensorfleet.data.generator import generate
from tensorfleet.data.grouping import SelectingTransformations
from tensorfleet.data.nested import DatasetSpec, serve_datasets
from tensorfleet.data.options import Options
from tensorfleet.data.structure import NestedSpec, Structure, components_of, normalize
from tensorfleet.data.windowing import WindowingTransformations
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.seeds import get_seed
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import size as size_of
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.io.logging import Assert
from tensorfleet.ops.io.readers import matching_files
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.comparison import greater

AUTOTUNE = -1
"""A number that stands for the runtime's choice."""


class Dataset(
    BatchingTransformations, SelectingTransformations, WindowingTransformations, FunctionalTransformations
):
    """A sequence of elements, each a nested structure of tensors (`tf.data.Dataset`, of TensorFlow 1.x).

    `from_tensor_slices` and other class methods make datasets; each transformation returns a new dataset.
    Elements are computed when an iterator requests them.

    Example:
        >>> numbers = tf.data.Dataset.range(5).map(lambda x: x * 10).batch(2)
        >>> batch = tf.data.make_one_shot_iterator(numbers).get_next()
        >>> with tf.Session() as session:
        ...     [session.run(batch) for _ in range(3)]
        [array([ 0, 10]), array([20, 30]), array([40])]
    """

    def __init__(self) -> None:
        raise TypeError("Datasets are made by `tf.data.Dataset.from_tensor_slices` and other class methods.")

    @staticmethod
    def _of(variant: Tensor, structure: Structure, options: Options | None = None) -> Dataset:
        made = Dataset.__new__(Dataset)
        made._variant_tensor = variant
        made._structure = structure
        made._options = options
        return made

    def _nested_spec(self) -> NestedSpec:
        return DatasetSpec.of(self._structure)

    def _next(self, op_type: str, *inputs: Any, dims: Sequence[Dims] | None = None, **attrs: Any) -> Dataset:
        """A dataset made from this one, with the same structure and dtypes, and with shapes `dims`."""
        structure = self._structure if dims is None else self._structure.with_dims(dims)
        variant = apply_op(op_type, self._variant_tensor, *inputs, **structure.attrs, **attrs)
        return Dataset._of(variant, structure, self._options)

    # Sources

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of one element."""
        element = normalize(tensors)
        structure = Structure.of(element)
        flat = components_of(element)
        variant = apply_op("TensorDataset", flat, output_shapes=structure.component_dims, name=name)
        return Dataset._of(variant, structure)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset whose elements are the slices of tensors along their first dimension.

        Raises:
            ValueError: a tensor is a scalar, or the tensors differ in length.
        """
        element = normalize(tensors)
        whole = Structure.of(element)
        size: tuple[int | None, ...] | None = (None,)
        for shape in whole.dims:
            if shape == ():
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            if shape is not None:
                try:
                    size = merge(size, shape[:1])
                except ValueError:
                    lengths = [d[0] for d in whole.dims if d]
                    raise ValueError(
                        f"Dimensions {lengths} are not compatible: all tensors must have as many slices"
                    ) from None
        structure = whole.with_dims([None if shape is None else shape[1:] for shape in whole.dims])
        flat = components_of(element, many=True)
        variant = apply_op("TensorSliceDataset", flat, output_shapes=structure.component_dims, name=name)
        return Dataset._of(variant, structure)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """A dataset of the rows of a SparseTensor: tuples of a row's indices, values and dense shape.

        Raises:
            TypeError: another value than a SparseTensor.
            UnimplementedError: in a run, the values are not ordered by rows.
        """
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(
                "Invalid `sparse_tensor`. `sparse_tensor` must be a `tf.sparse.SparseTensor`. Got "
                f"{type(sparse_tensor)}."
            )
        parts = sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
        rank = sparse_tensor.shape.ndims
        row = None if rank is None else rank - 1
        structure = Structure(
            (None, None, None), [part.dtype.base for part in parts], [(None, row), (None,), (row,)]
        )
        return Dataset._of(apply_op("SparseTensorSliceDataset", *parts), structure)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """`tf.data.experimental.choose_from_datasets`, which ends when a chosen dataset has ended."""
        return sampling.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """`tf.data.experimental.sample_from_datasets`."""
        return sampling.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """The integers `range(stop)`, `range(start, stop)` or `range(start, stop, step)`, as scalars.

        Args:
            output_type: the dtype, int64 by default.
            name: the name of the operation.
        """
        output_type = dtypes.as_dtype(kwargs.pop("output_type", dtypes.int64))
        name = kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"Dataset.range() got an unexpected keyword argument {sorted(kwargs)[0]!r}")
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3: {args!r}.")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        structure = Structure(None, [output_type], [()])
        variant = apply_op(
            "RangeDataset",
            _int64(start, "start"),
            _int64(stop, "stop"),
            _int64(step, "step"),
            **structure.attrs,
            name=name,
        )
        return Dataset._of(variant, structure)

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """The names of the files that match a pattern, or one of several, on the task that reads them.

        Args:
            shuffle: whether the order is random, and another one in each iteration; True by default.
            seed: the seed of the order.

        Raises:
            InvalidArgumentError: in a run, no file matches.
        """
        names = matching_files(convert_to_tensor(file_pattern, dtypes.string, "file_pattern"))
        found = greater(size_of(names), 0, name="match_not_empty")
        text = convert_to_tensor("No files matched pattern: ", name="message")
        with framework.control_dependencies(
            [Assert(found, [text, file_pattern], 1, name="assert_not_empty")]
        ):
            names = identity(names)
        dataset = Dataset.from_tensor_slices(names, name=name)
        if shuffle or shuffle is None:
            count = maximum(size_of(names, out_type=dtypes.int64), convert_to_tensor(1, dtypes.int64))
            dataset = dataset.shuffle(count, seed)
        return dataset

    @staticmethod
    def random(
        seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """An endless dataset of random 32-bit integers as int64, equal in each iteration for equal seeds."""
        seed, seed2 = _seeds(seed)
        structure = Structure(None, [dtypes.int64], [()])
        inputs = _int64(seed, "seed"), _int64(seed2, "seed2")
        return Dataset._of(apply_op("RandomDataset", *inputs, **structure.attrs, name=name), structure)

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64, name: str | None = None) -> Dataset:
        """The endless dataset `start`, `start + step`, …"""
        last = -(2**62) if step < 0 else 2**62
        counted = Dataset.range(start, last, step, name=name)
        return counted if dtypes.as_dtype(dtype) is dtypes.int64 else counted.map(lambda x: cast(x, dtype))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Tuples of the elements of several datasets, as many as the shortest one has.

        Args:
            args: datasets, or one nested structure of them.
            datasets: the nested structure, under its older name.

        Raises:
            TypeError: an argument is not a dataset.
        """
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        if isinstance(datasets, list):
            raise TypeError(
                "Invalid `datasets`. `datasets` is expected to be a (nested) structure of `tf.data.Dataset` "
                "objects. Python `list` is not supported and you should use `tuple` instead."
            )
        parts: list[Dataset] = nest.flatten(datasets)
        for part in parts:
            if not isinstance(part, Dataset):
                raise TypeError(
                    "Invalid `datasets`. `datasets` is expected to be a (nested) structure of "
                    f"`tf.data.Dataset` objects but encountered object of type {type(part)}."
                )
        structure = Structure.joined(datasets, [part._structure for part in parts])
        variants = [part._variant_tensor for part in parts]
        return Dataset._of(apply_op("ZipDataset", variants, **structure.attrs, name=name), structure)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of a Python generator in this process, so only for sessions without a target.

        Args:
            generator: a function of `args` that returns an iterable.
            output_types: dtypes, in the nested structure of elements.
            output_shapes: shapes, in the same structure; None for any shapes.
            args: tensors; the generator gets their values.
            output_signature: a structure of objects with a dtype and a shape, instead of both.

        Raises:
            TypeError: neither types nor a signature are given, or both.
            InvalidArgumentError: in a run, an element has another structure.
        """
        if (output_types is None) == (output_signature is None):
            raise TypeError("from_generator takes either `output_types` or `output_signature`.")
        if output_signature is not None:
            output_types = nest.map_structure(lambda spec: spec.dtype, output_signature)
            output_shapes = nest.map_structure(lambda spec: spec.shape, output_signature)
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        structure = Structure.from_types(output_types, output_shapes)
        flat_args = () if args is None else tuple(convert_to_tensor(arg, name="args") for arg in args)
        make = generate(generator, structure)
        return Dataset.from_tensors(flat_args or 0).flat_map(
            lambda *values: Dataset._of(make(values if flat_args else ()), structure)
        )

    # Transformations

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this dataset, then those of another one.

        Raises:
            TypeError: the elements have different types.
        """
        own, other = self._structure, dataset._structure
        if not own.agrees(other) or nest.pack(own.shape_of, own.types) != nest.pack(
            other.shape_of, other.types
        ):
            raise TypeError(
                f"Incompatible types of input datasets: {own.output_types} vs. {other.output_types}."
            )
        dims = [common_dims(a, b) for a, b in zip(own.dims, other.dims, strict=True)]
        return self._next("ConcatenateDataset", dataset._variant_tensor, dims=dims, name=name)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The dataset, with up to `buffer_size` elements made before they are requested."""
        size = _int64(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size")
        return self._next("PrefetchDataset", size, name=name)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The dataset repeated `count` times; endlessly for None or -1."""
        return self._next("RepeatDataset", _int64(-1 if count is None else count, "count"), name=name)

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """The elements in random order, each drawn from a buffer of the next `buffer_size` elements.

        The order is the same as TensorFlow's for the same seeds of graph and operation.
        """
        seed, seed2 = _seeds(seed)
        return self._next(
            "ShuffleDataset",
            _int64(buffer_size, "buffer_size"),
            _int64(seed, "seed"),
            _int64(seed2, "seed2"),
            reshuffle_each_iteration=True if reshuffle_each_iteration is None else reshuffle_each_iteration,
            name=name,
        )

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """The dataset, which is kept in memory after an iterator has read it to its end."""
        return self._next("CacheDataset", convert_to_tensor(filename, dtypes.string, "filename"), name=name)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements; all of them for -1."""
        return self._next("TakeDataset", _int64(count, "count"), name=name)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """The elements after the first `count`; none for -1."""
        return self._next("SkipDataset", _int64(count, "count"), name=name)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from the one at `index` on, so that each worker gets a part.

        An `index` outside of [0, num_shards) is an InvalidArgumentError once an iterator is made.
        """
        shards, number = _int64(num_shards, "num_shards"), _int64(index, "index")
        return self._next("ShardDataset", shards, number, name=name)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """The result of `transformation_func` for this dataset.

        Raises:
            TypeError: the result is not a dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(made)}."
            )
        return made

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The dataset with other options."""
        return Dataset._of(self._variant_tensor, self._structure, options)

    def options(self) -> Options:
        """The options that `with_options` gave."""
        return self._options or Options()

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """`tf.data.experimental.rejection_resample` of this dataset."""
        return sampling.rejection_resample(class_func, target_dist, initial_dist, seed)(self)

    # Iterators and the types of elements

    def as_numpy_iterator(self) -> iterators.NumpyIterator:
        """The elements as arrays, which only eager mode gives (`tf.data.Dataset.as_numpy_iterator`).

        Raises:
            RuntimeError: always: graphs take elements by `make_one_shot_iterator`.
        """
        raise RuntimeError(
            "`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode. Take elements by "
            "`tf.data.make_one_shot_iterator(dataset).get_next()`, and run it for each one."
        )

    def make_one_shot_iterator(self) -> iterators.Iterator:
        """`tf.data.make_one_shot_iterator` for this dataset."""
        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> iterators.Iterator:
        """`tf.data.make_initializable_iterator` for this dataset."""
        return iterators.make_initializable_iterator(self, shared_name)

    @property
    def output_types(self) -> Any:
        """The dtype of each part of an element, in the structure of elements."""
        return self._structure.output_types

    @property
    def output_shapes(self) -> Any:
        """The TensorShape of each part of an element, in the structure of elements."""
        return self._structure.output_shapes

    @property
    def output_classes(self) -> Any:
        """The class of each part of an element, in the structure of elements."""
        return self._structure.output_classes

    @property
    def element_spec(self) -> Any:
        """The specs of the parts of an element, such as `tf.TensorSpec`, in the structure of elements."""
        return self._structure.element_spec

    def __repr__(self) -> str:
        return f"<Dataset shapes: {self.output_shapes}, types: {self.output_types}>"


serve_datasets(Dataset._of)


def _int64(value: Any, name: str) -> Tensor:
    made: Tensor = convert_to_tensor(value, dtypes.int64, name)
    return made


def _seeds(seed: Any) -> tuple[int, Any]:
    """The two seeds of a shuffle; 0 and 0 if it differs from run to run."""
    first, second = get_seed(seed)
    if first is None:
        return 0, 0
    return first, second


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the elements, in their structure (`tf.data.get_output_types`)."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The static shapes of the elements, in their structure (`tf.data.get_output_shapes`)."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of the components, in their structure (`tf.data.get_output_classes`)."""
    return dataset_or_iterator.output_classes


serve_value_type(DatasetSpec, Dataset)
