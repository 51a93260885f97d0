"""Sizes that tensors give are checked before anything is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core import errors

HUGE = 2**31 - 2


def coefficients(number: Any, upper: float = 4000.0, count: int = 9) -> Any:
    spectrogram = tf.ones([1, 2, 2]) * tf.cast(number, tf.float32)
    return tf.raw_ops.Mfcc(
        spectrogram=spectrogram,
        sample_rate=8000,
        upper_frequency_limit=upper,
        filterbank_channel_count=count,
        dct_coefficient_count=count,
    )


MADE: dict[str, Callable[[Any], Any]] = {
    "array": lambda n: tf.TensorArray(tf.float32, n).write(0, 1.0).flow,
    "element": lambda n: tf.TensorArray(tf.float32, 1, dynamic_size=True).write(n, 1.0).flow,
    "list": lambda n: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListReserve(element_shape=[2], num_elements=n, element_dtype=tf.float32)
    ),
    "coefficients": lambda n: coefficients(n, count=HUGE),
}


@pytest.mark.parametrize("kind", MADE)
def test_huge_sizes_are_refused_before_memory_is_taken(kind: str) -> None:
    size = tf.placeholder(tf.int32, [])
    made = MADE[kind](size)
    with tf.Session() as session, pytest.raises(errors.ResourceExhaustedError, match="than"):
        session.run(made, {size: HUGE})


@pytest.mark.parametrize("upper", [np.inf, np.nan])
def test_bands_without_a_limit_are_refused(upper: float) -> None:
    one = tf.placeholder(tf.int32, [])
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError, match="no bands"):
        session.run(coefficients(one, upper), {one: 1})


def test_a_stack_larger_than_memory_is_refused_at_once() -> None:
    length = tf.placeholder(tf.int32, [])
    reserved = tf.raw_ops.TensorListReserve(
        element_shape=[1 << 20], num_elements=length, element_dtype=tf.float32
    )
    stacked = tf.raw_ops.TensorListStack(
        input_handle=reserved, element_shape=[1 << 20], element_dtype=tf.float32, num_elements=-1
    )
    with tf.Session() as session, pytest.raises(errors.ResourceExhaustedError):
        session.run(stacked, {length: 1 << 22})
    with tf.Session() as session:
        assert session.run(stacked, {length: 2}).shape == (2, 1 << 20)
