"""Random numbers with a seed, made on a GPU: those of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet_service.kernels.random.cuda_philox import DISTRIBUTIONS, CudaSampler
from tensorfleet_service.state import philox
from tests.gpu.strict_array import Counters

Gpus = Callable[..., Any]

DTYPES = [tf.float32, tf.float64, tf.float16]


def check(name: str, found: Any, wanted: Any) -> None:
    """Uniform numbers are exact; the functions of the others may round otherwise in the last place."""
    if name.endswith("uniform"):
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if wanted.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_sampler_gives_the_numbers_of_the_cpu(xp: Any, name: str, dtype: tf.DType) -> None:
    sampler, wanted = CudaSampler(xp, name), getattr(philox, name)
    for counter in (0, 2**64 - 3, 2**128 - 2):  # that carry into the upper half, and begin anew
        for size in (0, 1, 3, 4, 5, 4099):
            stream = philox.Stream(0x123456789ABCDEF0, counter)
            check(name, xp.asnumpy(sampler(stream, size, dtype)), wanted(stream, size, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [tf.random_uniform, tf.random_normal, tf.truncated_normal])
def test_ops_with_a_seed(gpus: Gpus, op: Any, dtype: tf.DType) -> None:
    gpus()
    both = []
    for device in ("/gpu:0", "/cpu:0"):
        with tf.device(device):
            both.append(op([3, 7], dtype=dtype, seed=7))
    with tf.Session() as session:
        for _ in range(3):  # each step goes on where the last one ended
            check(op.__name__, *session.run(both))


@pytest.mark.parametrize(
    "op",
    [
        tf.random.stateless_uniform,
        tf.random.stateless_normal,
        tf.random.stateless_truncated_normal,
    ],
)
def test_stateless_ops(gpus: Gpus, op: Any) -> None:
    gpus()
    seed = tf.placeholder(tf.int64, [2])
    both = []
    for device in ("/gpu:0", "/cpu:0"):
        with tf.device(device):
            both.append(op([5, 3], seed))
    with tf.Session() as session:
        for value in ([1, 2], [-5, 2**62]):
            check(op.__name__, *session.run(both, {seed: value}))


def test_nothing_but_the_fetch_goes_over_the_bus(gpus: Gpus) -> None:
    machine = gpus()
    values = tf.random_normal([1000], seed=3)
    fetch = tf.reduce_max(values)
    with tf.Session() as session:
        session.run(fetch)
        machine.counters = Counters()
        session.run(fetch)
        assert machine.counters.to_device == []
        assert machine.counters.to_host == [()]
