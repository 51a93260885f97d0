"""Datasets that take each element from one of several datasets: `sample_from_datasets`, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims, compatible
from tensorfleet.data.structure import NestedValue, call_with
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill
from tensorfleet.ops.array.indexing import gather, one_hot
from tensorfleet.ops.array.shaping import size
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.comparison import greater_equal, less
from tensorfleet.ops.math.reduction import reduce_max, reduce_sum
from tensorfleet.ops.math.scan import cumsum

if TYPE_CHECKING:
    from tensorfleet.data.dataset import Dataset

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
SHARD_HINT = -1
"""The number of parts of `Dataset.shard` that TensorFlow's AutoShardPolicy.HINT replaces."""
_RANGE = 2.0**32  # Dataset.random gives integers in [0, _RANGE)
_TINY = 1e-300  # in place of a fraction of 0, by which nothing can be divided
_SMOOTHING = 10.0  # so many elements of each class are counted before the first one


def _directed(selector: Dataset, datasets: Sequence[Dataset], stop: bool) -> Dataset:
    first = datasets[0]._structure
    dims: list[Dims] = list(first.dims)
    for other in datasets[1:]:
        structure = other._structure
        if not first.agrees(structure):
            raise TypeError(
                f"All `datasets` must have compatible element specs. Got {first.output_types} and "
                f"{structure.output_types}."
            )
        dims = [
            None
            if a is None or b is None or len(a) != len(b)
            else tuple(x if x == y else None for x, y in zip(a, b, strict=True))
            for a, b in zip(dims, structure.dims, strict=True)
        ]
    made = first.with_dims(dims)
    variant = apply_op(
        "DirectedInterleaveDataset",
        selector._variant_tensor,
        [dataset._variant_tensor for dataset in datasets],
        stop_on_empty_dataset=stop,
        **made.attrs,
    )
    return selector._of(variant, made)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """A dataset that takes each element from the dataset whose index is the next in `choice_dataset`
    (`tf.data.experimental.choose_from_datasets`).

    Args:
        choice_dataset: a dataset of int64 scalars.
        stop_on_empty_dataset: end when a dataset is chosen that has ended; else skip this choice.

    Raises:
        TypeError: the choices are of another type, or the datasets of different types.
        ValueError: there are no datasets.
    """
    structure = choice_dataset._structure
    if structure.types != [dtypes.int64] or not compatible(structure.dims[0], ()):
        raise TypeError(
            "`choice_dataset` elements must be convertible to `tf.int64` scalars. Got: "
            f"{structure.output_types}."
        )
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    return _directed(choice_dataset, list(datasets), stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False
) -> Dataset:
    """A dataset that takes each element from a random one of several datasets
    (`tf.data.experimental.sample_from_datasets`).

    Args:
        weights: the relative probabilities of the datasets, as a list, a tensor, or a dataset of such; equal
            by default.
        seed: the seed of the draws, which differ from those of TensorFlow for the same seed.
        stop_on_empty_dataset: end when a dataset is drawn that has ended; else skip it.

    Raises:
        ValueError: there are no datasets, or not equally many weights.
        TypeError: the datasets are of different types.
    """
    datasets = list(datasets)
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if len(datasets) == 1 and not isinstance(weights, NestedValue):
        return datasets[0]
    source = type(datasets[0])
    given: Dataset
    if isinstance(weights, NestedValue):
        given = weights  # type: ignore[assignment]
    else:
        values = convert_to_tensor([1.0] * len(datasets) if weights is None else weights, name="weights")
        if values.dims is not None and values.dims != (len(datasets),):
            raise ValueError(
                f"Invalid `weights`. The shape of `weights` should be [{len(datasets)}] but is "
                f"{values.shape}."
            )
        known = static_value(values)
        if known is not None and np.any(known) and not np.all(known):
            # The draws would go on without an end once only those are left that are never drawn.
            datasets = [dataset for dataset, weight in zip(datasets, known, strict=True) if weight]
            return sample_from_datasets(datasets, known[known != 0], seed, stop_on_empty_dataset)
        given = source.from_tensors(values).repeat()

    def draw(number: Tensor, shares: Tensor) -> Tensor:
        ends = cumsum(cast(shares, dtypes.float64))
        place = cast(number, dtypes.float64) / _RANGE * ends[-1]
        return reduce_sum(cast(greater_equal(place, ends), dtypes.int64))

    selector = source.zip((source.random(seed), given)).map(draw)
    return _directed(selector, datasets, stop_on_empty_dataset)


def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """Pairs of class and element, with elements left out at random for the class distribution `target_dist`
    (`tf.data.experimental.rejection_resample`).

    Args:
        class_func: a function from an element to its class, a scalar int32.
        target_dist: the fraction of each class in the result.
        initial_dist: the fraction of each class in the input; if None, estimated from the elements so far.
        seed: the seed of the choices, which differ from those of TensorFlow for the same seed.
    """

    def resample(dataset: Dataset) -> Dataset:
        target = cast(convert_to_tensor(target_dist, name="target_dist"), dtypes.float64)
        separate = type(dataset._structure.shape_of) is tuple

        def with_class(*parts: Any) -> Any:
            element = parts if separate else parts[0]
            return call_with(class_func, element), element

        pairs = dataset.map(with_class)
        if initial_dist is None:
            counted = _with_counts(pairs, target)
        else:
            initial = cast(convert_to_tensor(initial_dist, name="initial_dist"), dtypes.float64)
            counted = pairs.map(lambda found, element: (initial, (found, element)))

        def keep(number: Tensor, weighed: Any) -> Tensor:
            shares, (found, _) = weighed
            wanted = target / maximum(shares, convert_to_tensor(_TINY, dtypes.float64))
            chance = gather(wanted / reduce_max(wanted), found)
            return less(cast(number, dtypes.float64) / _RANGE, chance)

        drawn = dataset.zip((dataset.random(seed), counted)).filter(keep)
        return drawn.map(lambda number, weighed: weighed[1])

    return resample


def _with_counts(pairs: Dataset, target: Tensor) -> Dataset:
    """Each pair of class and element, behind the fractions of the classes among the elements so far."""
    classes = size(target)

    def count(counts: Tensor, pair: Any) -> Any:
        counts = counts + one_hot(pair[0], classes, dtype=dtypes.float64)
        return counts, (counts / reduce_sum(counts), pair)

    return pairs.scan(fill([classes], convert_to_tensor(_SMOOTHING, dtypes.float64)), count)
