"""tf.contrib.training.bucket and bucket_by_sequence_length."""

from __future__ import annotations

from typing import Any

import pytest

import tensorfleet as tf

training = tf.contrib.training


def batches(fetches: Any) -> list[Any]:
    """All that come until the input ends."""
    found = []
    with tf.Session() as session:
        session.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                found.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=30)
    return found


@pytest.mark.parametrize("smaller", [False, True])
def test_examples_of_a_bucket_come_together(smaller: bool) -> None:
    number = tf.train.range_input_producer(11, num_epochs=1, shuffle=False).dequeue()
    which, outputs = training.bucket(
        {"n": number, "twice": tf.as_string(number * 2)},
        tf.mod(number, 2),
        2,
        2,
        allow_smaller_final_batch=smaller,
        keep_input=tf.not_equal(number, 4),
    )
    assert outputs["n"].shape.as_list() == [None if smaller else 2]
    found = batches((which, outputs))
    seen = []
    for place, batch in found:
        assert (batch["n"] % 2 == place).all()
        assert [int(text) for text in batch["twice"]] == [2 * n for n in batch["n"]]
        seen.append(list(batch["n"]))
    even, odd = ([b for b in seen if b[0] % 2 == rest] for rest in (0, 1))
    assert even == [[0, 2], [6, 8], *([[10]] if smaller else [])]
    assert odd == [[1, 3], [5, 7], *([[9]] if smaller else [])]


def test_sequences_of_similar_lengths() -> None:
    length = tf.train.input_producer(
        tf.constant([1, 7, 2, 8, 3, 5, 9, 4]), num_epochs=1, shuffle=False
    ).dequeue()
    lengths, [sequence] = training.bucket_by_sequence_length(
        length, [tf.range(1, length + 1)], [2, 2, 3], [4, 7], dynamic_pad=True, allow_smaller_final_batch=True
    )
    assert sequence.shape.as_list() == [None, None]
    found = sorted((sorted(a.tolist()), b.shape) for a, b in batches((lengths, sequence)))
    assert found == [([1, 2], (2, 2)), ([3], (1, 3)), ([4, 5], (2, 5)), ([7, 8, 9], (3, 9))]


def test_sparse_tensors_in_buckets() -> None:
    number = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    sparse = tf.SparseTensor([[0]], tf.reshape(number, [1]), [3])
    _, [together] = training.bucket([sparse], 0, 4, 1)
    [(_, values, dims)] = [(s.indices, s.values.tolist(), s.dense_shape.tolist()) for s in batches(together)]
    assert (values, dims) == ([0, 1, 2, 3], [4, 3])


def test_bad_arguments() -> None:
    x = tf.constant(1)
    for call, kind, text in (
        (lambda: training.bucket([x], 0, [1], 2), ValueError, "num_buckets elements"),
        (lambda: training.bucket([x], 0, 1, 2, bucket_capacities=[1]), ValueError, "bucket_capacities"),
        (lambda: training.bucket([], 0, 1, 2), ValueError, "at least one tensor"),
        (lambda: training.bucket([tf.placeholder(tf.int32)], 0, 1, 2), ValueError, "rank"),
        (lambda: training.bucket_by_sequence_length(x, [x], 1, 5), TypeError, "list or tuple"),
        (lambda: training.bucket_by_sequence_length(x, [x], 1, []), ValueError, "must not be empty"),
        (lambda: training.bucket_by_sequence_length(x, [x], 1, [1.5]), TypeError, "not an integer"),
        (lambda: training.bucket_by_sequence_length(x, [x], 1, [3, 3]), ValueError, "increasing"),
    ):
        with pytest.raises(kind, match=text):
            call()
