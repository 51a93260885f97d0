"""Batches of examples that are drawn by their classes, probabilities or weights (`tf.contrib.training`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array import constants
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.identity import identity, stop_gradient
from tensorfleet.ops.array.indexing import gather, one_hot
from tensorfleet.ops.array.shaping import expand_dims, shape, squeeze
from tensorfleet.ops.control_flow.control import with_dependencies
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.debugging.checks import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_non_negative,
    assert_positive,
)
from tensorfleet.ops.debugging.type_checks import assert_integer
from tensorfleet.ops.io.logging import Assert, Print
from tensorfleet.ops.math.arithmetic import div_no_nan, truediv
from tensorfleet.ops.math.comparison import equal, less, logical_or, not_equal
from tensorfleet.ops.math.counting import repeat
from tensorfleet.ops.math.reduction import reduce_all, reduce_max, reduce_mean, reduce_sum
from tensorfleet.ops.random.random_ops import random_poisson, random_uniform
from tensorfleet.ops.state.get_variable import get_local_variable
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.batches import batch
from tensorfleet.train.maybe_batches import maybe_batch
from tensorfleet.train.moving_averages import assign_moving_average

# How far the sum of probabilities may be from 1.
_TOLERANCE = 1e-6
# Examples that each class begins with where the data's proportions are estimated, so that none is zero.
_FIRST_COUNT = 10


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: Any,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Batches of the examples that are accepted by chance (`tf.contrib.training.rejection_sample`).

    Args:
        tensors: of one example, or with `enqueue_many` of several, by their first dimension.
        accept_prob_fn: gets the tensors of one example, and returns the probability to accept it, a scalar.
        queue_threads: how many threads fill the queue of accepted examples.
        prebatch_capacity: of the queue that takes `enqueue_many` inputs apart, in examples.
        prebatch_threads: how many threads fill it.
        runtime_checks: whether each probability is checked to be from 0 to 1.

    Returns:
        The tensors with `batch_size` accepted examples, a list also of one.

    Raises:
        ValueError: with `enqueue_many`, a tensor without a first dimension, or with another one.
    """
    with variable_scope(name, "rejection_sample", list(tensors)):
        example = [convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            for tensor in example:
                _check_batched(tensor, example[0])
            example = _one_by_one(example, prebatch_threads, prebatch_capacity)
        probability = convert_to_tensor(accept_prob_fn(example))
        if runtime_checks:
            checks = [assert_less_equal(0.0, probability), assert_less_equal(probability, 1.0)]
            probability = identity(with_dependencies(checks, probability), name="prob_with_checks")
        return _accepted(example, probability, batch_size, queue_threads)


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: Any,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """Batches with given proportions of the classes (`tf.contrib.training.stratified_sample`).

    Examples of classes that the data has too many of are dropped, by chance.

    Args:
        tensors: of one example, or with `enqueue_many` of several, by their first dimension.
        labels: the class of the example, an integer scalar; with `enqueue_many` a vector.
        target_probs: the proportions in the batches, a float32 vector with one number for each class.
        init_probs: those of the data; None estimates them from the labels, in the variable `class_count`.
        queue_capacity: of the queue of examples before some are dropped.
        threads_per_queue: how many threads fill each of the two queues.

    Returns:
        The tensors with `batch_size` examples, a list, and their labels.

    Raises:
        ValueError: shapes do not fit, the proportions have different lengths, or an unknown one.
        InvalidArgumentError: in the run: proportions are negative or do not add up to 1, a class that
            the data does not have is wanted, or a label is outside of the classes.
    """
    with framework.name_scope(name, "stratified_sample", [*tensors, labels]):
        examples = [convert_to_tensor(tensor) for tensor in tensors]
        classes = convert_to_tensor(labels)
        wanted = convert_to_tensor(target_probs, dtype=dtypes.float32)
        if not enqueue_many:
            examples = [expand_dims(tensor, 0) for tensor in examples]
            classes = expand_dims(classes, 0)
        if init_probs is None:
            wanted.shape.assert_is_fully_defined()
            given = _estimated_proportions(classes, wanted.shape.num_elements())
        else:
            given = convert_to_tensor(init_probs, dtype=dtypes.float32)
        given, wanted = _checked_proportions(given), _checked_proportions(wanted)
        if given.shape.num_elements() != wanted.shape.num_elements():
            raise ValueError("Probability parameters must have the same length.")
        examples, classes = _checked_examples(examples, classes, wanted.shape.num_elements())
        obtainable = Assert(
            reduce_all(logical_or(not_equal(given, 0.0), equal(wanted, 0.0))),
            ["Classes that the data does not have are wanted; proportions:", given, "wanted:", wanted],
        )
        rates = _acceptance(with_dependencies([obtainable], given), wanted)
        *example, label = _one_by_one([*examples, classes], threads_per_queue, queue_capacity)
        drawn = _accepted([*example, label], gather(rates, label), batch_size, threads_per_queue)
        return drawn[:-1], drawn[-1]


def resample_at_rate(
    inputs: Sequence[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Any]:
    """Each example repeated by chance, on average as often as its rate says
    (`tf.contrib.training.resample_at_rate`).

    Args:
        inputs: tensors, [batch size, ...].
        rates: [batch size], of a floating-point dtype; how often an example comes is Poisson distributed.
        back_prop: changes nothing, as indices have no gradient; the inputs always have theirs.

    Returns:
        The inputs with another number of examples, which may be 0, in the order of the inputs.
    """
    with framework.name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = convert_to_tensor(rates, name="rates")
        counts = cast(random_poisson(rates, [], rates.dtype, seed=seed), dtypes.int32)
        chosen = stop_gradient(repeat(constants.range(shape(counts)[0]), counts, axis=0))
        return [gather(tensor, chosen) for tensor in inputs]


def weighted_resample(
    inputs: Sequence[Any],
    weights: Any,
    overall_rate: Any,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Any], Any]:
    """Examples repeated or dropped by chance, in proportion to their weights
    (`tf.contrib.training.weighted_resample`).

    The weights' mean is estimated over the batches: a moving average, the local variable `estimated_mean`.

    Args:
        inputs: tensors, [batch size, ...].
        weights: [batch size], of a floating-point dtype.
        overall_rate: how many examples come, on average, for one that goes in.

    Returns:
        The inputs with another number of examples, and the rate of each of these examples.
    """
    with framework.name_scope(scope, "weighted_resample", list(inputs)) as place:
        weights = convert_to_tensor(weights)
        with variable_scope(scope, "estimate_mean", list(inputs)):
            mean = get_local_variable(
                "estimated_mean", initializer=cast(0, weights.dtype), dtype=weights.dtype
            )
            average = assign_moving_average(mean, reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / average
        drawn_rates, *drawn = resample_at_rate([rates, *inputs], rates, scope=place, seed=seed)
        return drawn, drawn_rates


def _one_by_one(tensors: list[Any], threads: int, capacity: int) -> list[Any]:
    """Each example of batched tensors by itself, by a queue."""
    taken = batch(tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True)
    return [squeeze(tensor, [0]) for tensor in _as_list(taken)]


def _accepted(example: list[Any], probability: Any, batch_size: Any, threads: int) -> list[Any]:
    """Batches of the examples that are accepted with a probability."""
    keep = less(random_uniform([]), probability)
    return _as_list(maybe_batch(example, keep_input=keep, batch_size=batch_size, num_threads=threads))


def _as_list(tensors: Any) -> list[Any]:
    # Queues give one tensor by itself.
    return list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]


def _estimated_proportions(labels: Any, num_classes: Any) -> Any:
    """The proportions of the classes among the labels seen until now, float32 [classes]."""
    counts: Any = Variable(
        [_FIRST_COUNT] * num_classes, trainable=False, name="class_count", dtype=dtypes.int64
    )
    seen = counts.assign_add(reduce_sum(one_hot(labels, num_classes, dtype=dtypes.int64), 0))
    # A copy: another thread that counts meanwhile would change the numbers between the sum and the quotient.
    seen = seen + 0
    return cast(truediv(seen, reduce_sum(seen)), dtypes.float32)


def _acceptance(given: Any, wanted: Any) -> Any:
    """The probability to accept an example of each class, the greatest that give what is wanted."""
    ratios = div_no_nan(wanted, given)
    rates = ratios / reduce_max(ratios)
    rejected = reduce_sum((1.0 - rates) * given)
    message = "Proportion of examples rejected by sampler is high."
    return cond(
        less(rejected, 0.5),
        lambda: rates,
        lambda: Print(rates, [rates], message=message, first_n=10),
    )


def _checked_proportions(probabilities: Any) -> Any:
    probabilities.shape.assert_is_fully_defined()
    probabilities.shape.assert_has_rank(1)
    total = reduce_sum(probabilities)
    checks = [
        assert_non_negative(probabilities),
        assert_less(total, 1.0 + _TOLERANCE),
        assert_less(1.0 - _TOLERANCE, total),
    ]
    return with_dependencies(checks, probabilities)


def _check_batched(tensor: Any, other: Any) -> None:
    """Checks that both tensors have the same number of examples, as far as it is known."""
    known = [TensorShape(x.shape).with_rank_at_least(1) for x in (tensor, other)]
    if all(x.ndims is not None for x in known):
        known[0][:1].assert_is_compatible_with(known[1][:1])


def _checked_examples(tensors: list[Any], labels: Any, num_classes: int) -> tuple[list[Any], Any]:
    """The tensors and the labels with checks that run before them."""
    labels.shape.assert_has_rank(1)
    for tensor in tensors:
        _check_batched(tensor, labels)
    count = shape(labels)[0]
    some = assert_positive(count)
    checked = [with_dependencies([some, assert_equal(shape(tensor)[0], count)], tensor) for tensor in tensors]
    within = [
        assert_integer(labels),
        assert_non_negative(labels),
        assert_less(labels, cast(num_classes, labels.dtype)),
    ]
    return checked, with_dependencies([some, *(check for check in within if check is not None)], labels)
