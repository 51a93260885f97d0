"""tf.contrib.training.stratified_sample, rejection_sample, weighted_resample and resample_at_rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

training = tf.contrib.training


def fetched(fetches: Any, steps: int) -> list[Any]:
    """What some steps fetch, with the queues filled beside them."""
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            return [session.run(fetches) for _ in range(steps)]
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)


def fill_and_run(fetches: Any) -> None:
    """Runs once; raises what a queue's runner met, which closed the queue."""
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            session.run(fetches)
        except tf.errors.OutOfRangeError:
            coordinator.join(threads, stop_grace_period_secs=30)


def numbers(probabilities: Sequence[float], size: int) -> Any:
    """Random classes of these probabilities."""
    logits = tf.log(tf.constant([probabilities]))
    return tf.cast(tf.multinomial(logits, size, seed=5), tf.int32)[0]


@pytest.mark.parametrize("enqueue_many", [False, True])
@pytest.mark.parametrize("init", [[0.8, 0.15, 0.05], None])
def test_classes_come_in_the_proportions_that_are_wanted(enqueue_many: bool, init: Any) -> None:
    tf.set_random_seed(3)
    drawn = numbers([0.8, 0.15, 0.05], 4)
    labels = drawn if enqueue_many else drawn[0]
    data, classes = training.stratified_sample(
        [labels * 2, tf.stack([labels, labels], -1)],
        labels,
        tf.constant([0.2, 0.3, 0.5]),
        16,
        init_probs=init,
        enqueue_many=enqueue_many,
    )
    assert [x.shape.as_list() for x in (*data, classes)] == [[16], [16, 2], [16]]
    # While proportions are estimated, the first batches have others.
    found = fetched((data, classes), 24)[8:]
    for (twice, pairs), batch in found:
        np.testing.assert_array_equal(twice, batch * 2)
        np.testing.assert_array_equal(pairs, np.stack([batch, batch], -1))
    counts = np.bincount(np.concatenate([batch for _, batch in found]), minlength=3)
    # 256 draws: four standard deviations, and the error of an estimate.
    np.testing.assert_allclose(counts / counts.sum(), [0.2, 0.3, 0.5], atol=0.13 if init else 0.16)


def test_a_class_that_the_data_lacks_may_be_unwanted() -> None:
    label = numbers([0.5, 0.5, 1e-30], 1)[0]
    _, classes = training.stratified_sample([label], label, [0.9, 0.1, 0.0], 8, [0.5, 0.5, 0.0])
    drawn = np.concatenate(fetched(classes, 10))
    assert 0.75 < np.mean(drawn == 0) < 1


@pytest.mark.parametrize(
    ("label", "wanted", "given", "message"),
    [
        (0, [0.5, 0.5], [1.0, 0.0], "data does not have"),
        (0, [0.5, 0.6], [0.5, 0.5], "x < y"),
        (0, [1.5, -0.5], [0.5, 0.5], "x >= 0"),
        (2, [0.5, 0.5], [0.5, 0.5], "x < y"),
        (-1, [0.5, 0.5], [0.5, 0.5], "x >= 0"),
    ],
)
def test_wrong_numbers_fail_in_the_run(label: int, wanted: Any, given: Any, message: str) -> None:
    # What is fed is not checked before the graph runs.
    fed = tf.placeholder_with_default(label, [])
    chances = [tf.placeholder_with_default(tf.constant(p), [2]) for p in (wanted, given)]
    _, classes = training.stratified_sample([fed], fed, chances[0], 2, chances[1])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        fill_and_run(classes)


def test_wrong_shapes_are_refused() -> None:
    label = tf.constant(0)
    with pytest.raises(ValueError, match="same length"):
        training.stratified_sample([label], label, [0.5, 0.5], 2, [0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match="compatible"):
        training.stratified_sample([tf.zeros([3])], tf.zeros([4], tf.int32), [1.0], 2, [1.0], True)
    with pytest.raises(ValueError, match="rank"):
        training.stratified_sample([label], label, [0.5, 0.5], 2, [0.5, 0.5], enqueue_many=True)
    with pytest.raises(ValueError, match="compatible"):
        training.rejection_sample([tf.zeros([3]), tf.zeros([4])], lambda x: 0.5, 2, enqueue_many=True)


@pytest.mark.parametrize("enqueue_many", [False, True])
def test_examples_are_accepted_by_their_probability(enqueue_many: bool) -> None:
    tf.set_random_seed(4)
    values = tf.random_uniform([8])
    batch = training.rejection_sample(
        [values if enqueue_many else values[0]],
        lambda example: example[0],
        32,
        enqueue_many=enqueue_many,
        runtime_checks=True,
    )
    assert isinstance(batch, list)
    assert batch[0].shape.as_list() == [32]
    # The density of what is accepted is 2x, with the mean 2/3 and the standard deviation 0.24.
    drawn = np.concatenate([values for [values] in fetched(batch, 30)])
    assert abs(drawn.mean() - 2 / 3) < 4 * 0.24 / 960**0.5


def test_a_probability_above_1_fails_with_checks() -> None:
    chance = tf.placeholder_with_default(1.5, [])
    batch = training.rejection_sample([tf.constant(1)], lambda x: chance, 2, runtime_checks=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x <= y"):
        fill_and_run(batch)


def test_examples_are_repeated_at_their_rates() -> None:
    values, rows = tf.constant([1, 2, 3]), tf.constant([[1.0], [2.0], [3.0]])
    drawn, wide = training.resample_at_rate([values, rows], [3.0, 0.0, 0.5], seed=7)
    assert wide.shape.as_list() == [None, 1]
    counts = np.zeros(4)
    for found, same in fetched((drawn, wide), 400):
        np.testing.assert_array_equal(found, same[:, 0])
        assert (np.diff(found) >= 0).all()
        counts += np.bincount(found, minlength=4)
    # Of Poisson distributed counts the variance is the mean.
    assert abs(counts[1] - 1200) < 4 * 1200**0.5
    assert abs(counts[3] - 200) < 4 * 200**0.5
    assert counts[2] == 0
    assert tf.gradients(wide, rows)[0] is not None


def test_nothing_may_be_drawn() -> None:
    [drawn] = training.resample_at_rate([tf.constant([1, 2])], tf.constant([0.0, 0.0], tf.float64))
    assert fetched(drawn, 1)[0].shape == (0,)


def test_examples_are_drawn_by_their_weights() -> None:
    values, weights = tf.constant([0, 1, 2]), tf.constant([1.0, 2.0, 6.0])
    [drawn], rates = training.weighted_resample([values], weights, 0.5, mean_decay=0.9, seed=8)
    assert tf.local_variables()[0].op.name == "estimate_mean/estimated_mean"
    found = fetched((drawn, rates), 600)
    # The average without bias is the mean, 3, from the first step.
    for batch, rate in found:
        np.testing.assert_allclose(rate, np.array([1, 2, 6])[batch] * 0.5 / 3, rtol=1e-4)
    counts = np.bincount(np.concatenate([batch for batch, _ in found]), minlength=3)
    expected = 600 * np.array([1, 2, 6]) / 6
    assert (abs(counts - expected) < 4 * expected**0.5).all()
