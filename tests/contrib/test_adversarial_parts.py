"""tf.contrib.gan.features and tf.contrib.gan.eval against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

features, evaluation = tf.contrib.gan.features, tf.contrib.gan.eval
RNG = np.random.default_rng(5)


def run(*tensors: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(tensors))  # type: ignore[no-any-return]


def test_conditions() -> None:
    x, condition = RNG.normal(size=(3, 2, 2)).astype("f"), RNG.normal(size=(3, 5)).astype("f")
    found = features.condition_tensor(tf.constant(x), tf.constant(condition))
    hot = features.condition_tensor_from_onehot(tf.constant(x), tf.one_hot([2, 0, 2], 3), 4)
    weights = {v.op.name: v for v in tf.global_variables()}
    got, of_hot, kernel = run(found, hot, weights["fully_connected/weights"])
    np.testing.assert_allclose(got, x + (condition @ kernel).reshape(3, 2, 2), rtol=1e-4)
    moved = of_hot - x
    np.testing.assert_allclose(moved[0], moved[2], rtol=1e-3, atol=1e-5)
    assert np.abs(moved[0] - moved[1]).max() > 1e-3
    with pytest.raises(ValueError, match="at least 2D"):
        features.condition_tensor(tf.constant(x), tf.constant([1.0]))


def test_pool_keeps_tensors_together() -> None:
    count = tf.Variable(0, trainable=False)
    number = tf.assign_add(count, 1)
    pooled = features.tensor_pool([number, tf.cast(number, tf.float32) * 2], 3, 1.0)
    never = features.tensor_pool(number, 2, 0.0)
    assert features.tensor_pool(number, 0) is number
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        drawn = [session.run(pooled) for _ in range(30)]
        newest = [session.run(never) for _ in range(5)]
    assert [int(a) for a, _ in drawn[:3]] == [1, 2, 3]
    assert all(b == 2 * a for a, b in drawn)
    later = [int(a) for a, _ in drawn[3:]]
    # From then on each is an older one, and none comes twice.
    assert all(a < n for n, a in enumerate(later, 4))
    assert len(set(later)) == len(later)
    assert newest == [31, 32, 33, 34, 35]
    with pytest.raises(ValueError, match="negative"):
        features.tensor_pool(number, -1)


def test_weights_are_clipped() -> None:
    w = tf.get_variable("w", initializer=np.array([0.5, -0.05], "f"))
    optimizer = features.clip_variables(tf.train.GradientDescentOptimizer(1.0), [w], 0.1)
    step = optimizer.minimize(tf.reduce_sum(w * 0.01))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(w), [0.1, -0.06], rtol=1e-5)
    with pytest.raises(ValueError, match="positive"):
        features.clip_variables(optimizer, [w], -1)


def test_spectral_norms() -> None:
    kernel = RNG.normal(size=(3, 2, 5)).astype("f")
    norm = features.compute_spectral_norm(tf.constant(kernel))
    with tf.variable_scope("d", custom_getter=features.spectral_normalization_custom_getter()):
        weights = tf.get_variable("kernel", initializer=kernel)
        bias = tf.get_variable("bias", [5])
    assert isinstance(bias, tf.Variable)
    scaled = features.spectral_norm_regularizer(0.5, power_iteration_rounds=50)(tf.constant(kernel))
    expected = np.linalg.norm(kernel.reshape(6, 5), 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(60):  # each run goes on from the vector of the one before
            last, normalized = session.run([norm, weights])
        np.testing.assert_allclose(last, expected, rtol=1e-4)
        np.testing.assert_allclose(normalized, kernel / expected, rtol=1e-3)
        np.testing.assert_allclose(session.run(scaled), 0.5 * expected, rtol=1e-4)
    for scale in (1, -0.5):
        with pytest.raises(ValueError, match="scale"):
            features.spectral_norm_regularizer(scale)
    assert features.spectral_norm_regularizer(0.0)(kernel) is None


@pytest.mark.parametrize("axis", [-1, 1])
def test_virtual_batch_normalization(axis: int) -> None:
    reference, x = RNG.normal(size=(4, 3, 5)).astype("f"), RNG.normal(size=(2, 3, 5)).astype("f")
    vbn = features.VBN(
        tf.constant(reference), axis, 1e-3, gamma_initializer=tf.constant_initializer(2.0), name="v"
    )
    got, own = run(vbn(tf.constant(x)), vbn.reference_batch_normalization())
    assert [v.op.name for v in tf.global_variables()] == ["v/beta", "v/gamma"]
    other = 2 if axis == 1 else 1
    mean, squares = (f.mean((0, other), keepdims=True) for f in (reference, reference**2))
    np.testing.assert_allclose(
        own, 2 * (reference - mean) / np.sqrt(squares - mean**2 + 1e-3), rtol=1e-4, atol=1e-5
    )
    weight = 1 / 5
    m = weight * x.mean(other, keepdims=True) + (1 - weight) * mean
    s = weight * (x**2).mean(other, keepdims=True) + (1 - weight) * squares
    np.testing.assert_allclose(got, 2 * (x - m) / np.sqrt(s - m**2 + 1e-3), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="cannot be the same"):
        features.VBN(tf.constant(reference), 0)
    with pytest.raises(ValueError, match="out of range"):
        features.VBN(tf.constant(reference), 3)


def frechet(a: Any, b: Any) -> float:
    values = np.linalg.eigvals(np.cov(a.T) @ np.cov(b.T))
    spread = np.trace(np.cov(a.T) + np.cov(b.T)) - 2 * np.sqrt(np.maximum(values.real, 0)).sum()
    return float(spread + ((a.mean(0) - b.mean(0)) ** 2).sum())


def discrepancy(a: Any, b: Any) -> float:
    def kernel(x: Any, y: Any) -> Any:
        return (x @ y.T / x.shape[1] + 1) ** 3

    def own(x: Any) -> Any:
        k, n = kernel(x, x), len(x)
        return (k.sum() - np.trace(k)) / (n * (n - 1))

    return float(own(a) + own(b) - 2 * kernel(a, b).mean())


def test_scores_of_classifiers() -> None:
    a, b = RNG.normal(size=(20, 4)), RNG.normal(size=(20, 4)) @ RNG.normal(size=(4, 4)) + 1
    kernel_mean, error = evaluation.kernel_classifier_distance_and_std_from_activations(
        tf.constant(a), tf.constant(b), max_block_size=7
    )
    got = run(
        evaluation.classifier_score_from_logits(tf.constant(a)),
        evaluation.frechet_classifier_distance_from_activations(tf.constant(a), tf.constant(b)),
        evaluation.mean_only_frechet_classifier_distance_from_activations(a, b),
        evaluation.diagonal_only_frechet_classifier_distance_from_activations(a, b),
        evaluation.kernel_classifier_distance_from_activations(tf.constant(a), tf.constant(b)),
        kernel_mean,
        error,
    )
    p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    np.testing.assert_allclose(got[0], np.exp((p * np.log(p / p.mean(0))).sum(1).mean()))
    np.testing.assert_allclose(got[1], frechet(a, b), rtol=1e-6)
    np.testing.assert_allclose(got[2], ((a.mean(0) - b.mean(0)) ** 2).sum())
    np.testing.assert_allclose(got[3], got[2] + ((a.std(0) - b.std(0)) ** 2).sum())
    np.testing.assert_allclose(got[4], discrepancy(a, b))
    parts = [discrepancy(a[s], b[s]) for s in (slice(0, 6), slice(6, 13), slice(13, 20))]
    np.testing.assert_allclose(got[5:], [np.mean(parts), np.std(parts, ddof=1) / np.sqrt(3)])


def test_images_in_batches() -> None:
    real, fake = RNG.normal(size=(12, 4, 4, 1)).astype("f"), RNG.normal(size=(12, 4, 4, 1)).astype("f") * 2

    def classifier(images: Any) -> Any:
        return tf.reduce_mean(images, [1])[..., 0]

    got = run(
        evaluation.classifier_score(tf.constant(real), classifier, 3),
        evaluation.classifier_score_from_logits(tf.constant(real.mean(1)[..., 0])),
        evaluation.frechet_classifier_distance(tf.constant(real), tf.constant(fake), classifier, 2),
        evaluation.kernel_classifier_distance(tf.constant(real), tf.constant(fake), classifier, 2),
    )
    assert got[0].dtype == np.float32
    np.testing.assert_allclose(got[0], got[1], rtol=1e-6)
    activations = [images.mean(1)[..., 0].astype("d") for images in (real, fake)]
    np.testing.assert_allclose(got[2], frechet(*activations), rtol=1e-4)
    np.testing.assert_allclose(got[3], discrepancy(*activations), rtol=1e-4)


def test_frozen_classifier() -> None:
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 8, 8, 3], name="Mul")
        tf.reduce_mean(images, [1, 2], name="logits")
        tf.identity(images, name="pool_3")
    definition = graph.as_graph_def()
    x = RNG.uniform(0, 255, size=(2, 4, 4, 3)).astype("f")
    prepared = evaluation.preprocess_image(tf.constant(x), 8, 8)
    arguments: dict[str, Any] = {"graph_def": definition, "image_size": 8}
    names = [evaluation.INCEPTION_OUTPUT, evaluation.INCEPTION_FINAL_POOL]
    logits, pooled = evaluation.run_inception(prepared, output_tensor=names, **arguments)
    score = evaluation.inception_score(
        prepared, classifier_fn=lambda i: evaluation.run_inception(i, **arguments)
    )
    got = run(prepared, logits, pooled, score)
    assert got[0].min() >= -1
    assert got[0].max() <= 1
    np.testing.assert_allclose(got[1], got[0].mean((1, 2)), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(got[2], got[0].reshape(2, -1))
    assert got[3] >= 1
    with pytest.raises(ValueError, match="graph_def"):
        evaluation.run_inception(prepared, image_size=8)
    with pytest.raises(ValueError, match="299"):
        evaluation.run_inception(prepared, definition)


def test_images_side_by_side() -> None:
    images = RNG.normal(size=(6, 2, 3, 1)).astype("f")
    grid, rows = run(
        evaluation.image_grid(tf.constant(images), (2, 3), (2, 3), 1),
        evaluation.image_reshaper([tf.constant(i) for i in images[:5]], 3),
    )
    expected = np.concatenate([np.concatenate(list(images[r : r + 3]), 1) for r in (0, 3)], 0)
    np.testing.assert_array_equal(grid, expected[None])
    expected[2:, 6:] = 0
    np.testing.assert_array_equal(rows, expected[None])
    with pytest.raises(ValueError, match="incompatible with minibatch"):
        evaluation.image_grid(tf.constant(images), (2, 2), (2, 3), 1)


def test_summaries_of_models() -> None:
    images = [tf.constant(RNG.normal(size=(4, 5, 5, 1)), tf.float32) for _ in range(3)]
    model = SimpleNamespace(
        generator_inputs=images[0],
        generated_data=images[1],
        real_data=images[2],
        generator_variables=[tf.get_variable("g", [])],
        discriminator_variables=[tf.get_variable("d", [])],
    )
    evaluation.add_gan_model_image_summaries(model, grid_size=2)
    evaluation.add_image_comparison_summaries(model, display_diffs=True)
    cycle = tf.contrib.gan.CycleGANModel(model, model, None, None)
    evaluation.add_gan_model_summaries(cycle)
    [merged] = run(tf.summary.merge_all())
    values = {value.tag: value for value in tf.Summary.FromString(merged).value}
    assert {"real_data/image", "generated_data/image", "image_comparison/image"} <= set(values)
    assert (values["real_data/image"].image.height, values["image_comparison/image"].image.height) == (10, 20)
    assert {"generator_variables/g", "cyclegan_x2y_summaries/discriminator_variables/d"} <= set(values)


@pytest.mark.parametrize("use_svd", [False, True])
def test_sliced_distances(use_svd: bool) -> None:
    smooth = np.cumsum(np.cumsum(RNG.normal(size=(6, 32, 32, 3)), 1), 2).astype("f")
    noise = RNG.normal(size=(6, 32, 32, 3)).astype("f")
    scores = evaluation.sliced_wasserstein_distance(
        tf.constant(smooth), tf.constant(noise), patches_per_image=32, patch_size=5, use_svd=use_svd
    )
    assert len(scores) == 2
    for among, between in run(*[tf.stack(pair) for pair in scores]):
        assert 0 < among < between
    with pytest.raises(ValueError, match="ncompatible"):
        evaluation.sliced_wasserstein_distance(tf.zeros([2, 32, 16, 3]), tf.zeros([2, 32, 16, 3]))


def test_levels_of_a_pyramid_make_the_image_again() -> None:
    from tensorfleet.contrib.adversarial.sliced_wasserstein import _blurred, laplacian_pyramid

    image = tf.constant(RNG.normal(size=(2, 8, 8, 3)), tf.float32)
    fine, coarse = laplacian_pyramid(image, 2)
    even = np.zeros((2, 8, 8, 3), "f")
    got, small, whole = run(fine, coarse, image)
    even[:, ::2, ::2] = small
    [wide] = run(_blurred(tf.constant(even), 4.0))
    np.testing.assert_allclose(got + wide, whole, atol=1e-5)
    [flat] = run(laplacian_pyramid(tf.ones([1, 8, 8, 1]), 2)[0])
    np.testing.assert_allclose(flat, 0, atol=1e-6)
