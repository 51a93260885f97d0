"""Functions and losses of small namespaces of `tf.contrib` against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

contrib = tf.contrib
RNG = np.random.default_rng(11)


def run(*tensors: Any) -> list[Any]:
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        return session.run(list(tensors))


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = tf.constant(RNG.normal(size=(200, 500)), tf.float32)
    [dropped, same] = run(contrib.nn.alpha_dropout(x, 0.8, seed=1), contrib.nn.alpha_dropout(x, 1.0))
    assert abs(dropped.mean()) < 0.02
    assert abs(dropped.var() - 1) < 0.03
    values, counts = np.unique(dropped, return_counts=True)
    assert 0.18 < counts.max() / dropped.size < 0.22  # all dropped ones have one value
    assert same.shape == (200, 500)
    assert values.min() < -1
    with pytest.raises(ValueError, match="range"):
        contrib.nn.alpha_dropout(x, 1.5)


def test_small_functions_of_nn() -> None:
    x = RNG.normal(size=(3, 4)).astype("f")
    labels = np.eye(4, dtype="f")[[0, 1, 3]]
    got = run(
        contrib.nn.scaled_softplus(x, 2.0, clip=1.5),
        contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits(x, labels),
        contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(x, [0, 1, 3]),
    )
    np.testing.assert_allclose(got[0], np.minimum(2 * np.log1p(np.exp(x / 2)), 1.5), rtol=1e-5)
    expected = np.log(np.exp(x).sum(1)) - x[range(3), [0, 1, 3]]
    np.testing.assert_allclose(got[1], expected, rtol=1e-4)
    np.testing.assert_allclose(got[2], expected, rtol=1e-4)


def bilinear(image: Any, x: float, y: float) -> Any:
    height, width, channels = image.shape
    total = np.zeros(channels)
    for row in range(height):
        for column in range(width):
            weight = max(0.0, 1 - abs(x - column)) * max(0.0, 1 - abs(y - row))
            total += weight * image[row, column]
    return total


def test_resampler_and_its_gradients() -> None:
    data = RNG.normal(size=(2, 3, 4, 2)).astype("f")
    warp = RNG.uniform(-1.6, 4.6, size=(2, 5, 3, 2)).astype("f")
    warp[0, 0] = [[0, 0], [3, 2], [-9, 50]]
    places, images = tf.constant(warp), tf.constant(data)
    out = contrib.resampler.resampler(images, places)
    got, by_data, by_warp = run(out, *tf.gradients(out, [images, places]))
    expected = [[[bilinear(data[b], *warp[b, i, j]) for j in range(3)] for i in range(5)] for b in range(2)]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    assert out.shape.as_list() == [2, 5, 3, 2]
    step = 1e-2
    moved = bilinear(data[1], warp[1, 2, 1, 0] + step, warp[1, 2, 1, 1])
    slope = (moved - bilinear(data[1], *warp[1, 2, 1])).sum() / step
    np.testing.assert_allclose(by_warp[1, 2, 1, 0], slope, rtol=1e-2, atol=1e-3)
    weights = [bilinear(np.ones((3, 4, 1)), *warp[0, i, j])[0] for i in range(5) for j in range(3)]
    np.testing.assert_allclose(by_data[0, :, :, 0].sum(), sum(weights), rtol=1e-4)


def test_differential_equations_against_their_solutions() -> None:
    times = np.linspace(0, 3, 7)
    t = tf.constant(times, tf.float64)
    decay, details = contrib.integrate.odeint(
        lambda y, t: -0.5 * y, tf.constant([1.0, 2.0], tf.float64), t, full_output=True
    )
    turning = contrib.integrate.odeint(
        lambda y, t: tf.stack([y[1], -y[0]]), tf.constant([0.0, 1.0], tf.float64), t, rtol=1e-9
    )
    backward = contrib.integrate.odeint(lambda y, t: 2 * t, tf.constant(9.0, tf.float64), t[::-1])
    fixed = contrib.integrate.odeint_fixed(lambda y, t: -y, tf.constant(1.0), tf.linspace(0.0, 1.0, 21))
    middle = contrib.integrate.odeint_fixed(
        lambda y, t: 2 * t, tf.constant(0.0), [0.0, 1.0], dt=0.25, method="midpoint"
    )
    got = run(decay, turning, backward, fixed, middle, details["num_func_evals"])
    np.testing.assert_allclose(got[0], np.exp(-0.5 * times)[:, None] * [1, 2], rtol=1e-5)
    np.testing.assert_allclose(got[1], np.stack([np.sin(times), np.cos(times)], 1), atol=1e-7)
    np.testing.assert_allclose(got[2], times[::-1] ** 2, atol=1e-5)
    np.testing.assert_allclose(got[3], np.exp(-np.linspace(0, 1, 21)), rtol=1e-5)
    np.testing.assert_allclose(got[4], np.arange(0, 1, 0.25) ** 2, atol=1e-6)
    assert got[5] % 6 == 1
    with pytest.raises(ValueError, match="invalid method"):
        contrib.integrate.odeint(lambda y, t: y, 1.0, [0.0, 1.0], method="euler")


def triplet(labels: Any, points: Any, margin: float) -> float:
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    total, pairs = 0.0, 0
    for a in range(len(labels)):
        others = distances[a][labels != labels[a]]
        for p in np.flatnonzero(labels == labels[a]):
            if p == a:
                continue
            farther = others[others > distances[a, p]]
            negative = farther.min() if len(farther) else others.max()
            total += max(0.0, margin + distances[a, p] - negative)
            pairs += 1
    return total / pairs


def test_losses_of_metric_learning() -> None:
    labels = np.array([0, 1, 0, 2, 1, 2, 0])
    points, others = RNG.normal(size=(2, 7, 3)).astype("f")
    learning = contrib.losses.metric_learning
    alike = np.array([1, 0, 1, 0, 0, 1, 1])
    lifted = learning.lifted_struct_loss(labels, points, margin=2.0)
    got = run(
        learning.triplet_semihard_loss(labels, points, margin=0.7),
        learning.contrastive_loss(alike, points, others, margin=3.0),
        learning.npairs_loss(labels, points, others, reg_lambda=0.1),
        lifted,
    )
    distance = np.sqrt(((points - others) ** 2).sum(1))
    contrast = (alike * distance**2 + (1 - alike) * np.maximum(3 - distance, 0) ** 2).mean()
    same = (labels[:, None] == labels).astype("f")
    logits = points @ others.T
    entropy = -(same / same.sum(1, keepdims=True) * (logits - np.log(np.exp(logits).sum(1, keepdims=True))))
    penalty = 0.025 * ((points**2).sum(1).mean() + (others**2).sum(1).mean())
    d = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    far = np.where(same == 0, np.exp(2.0 - d), 0).sum(1)
    values = [
        max(0.0, np.log(far[i] + far[j]) + d[i, j]) ** 2
        for i in range(7)
        for j in range(7)
        if i != j and same[i, j]
    ]
    np.testing.assert_allclose(got[0], triplet(labels, points, 0.7), rtol=1e-4)
    np.testing.assert_allclose(got[1], contrast, rtol=1e-4)
    np.testing.assert_allclose(got[2], entropy.sum(1).mean() + penalty, rtol=1e-4)
    np.testing.assert_allclose(got[3], 0.25 * sum(values) / (len(values) / 2), rtol=1e-4)


def test_tensors_combined_over_devices() -> None:
    values = RNG.normal(size=(2, 3, 4)).astype("f")
    tensors = []
    for number, value in enumerate(values):
        with tf.device(f"/cpu:{number}"):
            tensors.append(tf.constant(value))
    summed = contrib.nccl.all_sum(tensors)
    assert [t.device for t in summed] == ["/device:CPU:0", "/device:CPU:1"]
    ring = contrib.all_reduce.build_ring_all_reduce(tensors, 1, 1, [0, 1], tf.add, lambda t: t / 2)
    shuffled = contrib.all_reduce.build_shuffle_all_reduce(
        tensors, ["/cpu:0", "/cpu:1"], lambda parts: tf.reduce_max(tf.stack(parts), 0)
    )
    added = contrib.all_reduce.build_shuffle_all_reduce(tensors, ["/cpu:1"], tf.add_n)
    halving = contrib.all_reduce.build_recursive_hd_all_reduce(tensors, tf.add)
    got = run(*summed, *ring, *shuffled, *added, halving[0], contrib.nccl.all_min(tensors)[1])
    for found, expected in zip(
        got,
        [
            *[values.sum(0)] * 2,
            *[values.mean(0)] * 2,
            *[values.max(0)] * 2,
            *[values.sum(0)] * 3,
            values.min(0),
        ],
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="power of 2"):
        contrib.all_reduce.build_recursive_hd_all_reduce(tensors * 2 + tensors[:1], tf.add)
