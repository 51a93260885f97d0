"""`tf.keras.preprocessing.image`: arrays, changes and batches of images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf

image = tf.keras.preprocessing.image
X = np.random.default_rng(0).uniform(0, 255, (10, 6, 5, 3)).astype(np.float32)


def test_images_of_pillow_and_arrays(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    path = tmp_path / "image.png"
    image.save_img(path, x, scale=False)
    np.testing.assert_array_equal(image.img_to_array(image.load_img(path)), x)
    assert image.img_to_array(image.load_img(path), data_format="channels_first").shape == (3, 2, 4)
    grey = image.img_to_array(image.load_img(path, color_mode="grayscale", target_size=(4, 2)))
    assert grey.shape == (4, 2, 1)
    stretched = image.img_to_array(image.array_to_img(x))
    assert (stretched.min(), stretched.max()) == (0, 255)
    with pytest.raises(ValueError, match="rank 3"):
        image.array_to_img(x[0])
    with pytest.raises(ValueError, match="interpolation"):
        image.load_img(path, target_size=(1, 1), interpolation="none")


def test_affine_changes_move_pixels() -> None:
    x = X[0]
    moved = image.apply_affine_transform(x, tx=1, ty=-2, fill_mode="constant", cval=7)
    np.testing.assert_allclose(moved[:-1, 2:], x[1:, :-2], rtol=1e-6)
    assert (moved[-1] == 7).all()
    assert (moved[:, :2] == 7).all()
    # Half a pixel lies between two.
    half = image.apply_affine_transform(x, tx=0.5)
    np.testing.assert_allclose(half[:-1], (x[:-1] + x[1:]) / 2, rtol=1e-5)
    turned = image.apply_affine_transform(x, theta=180)
    # The centre is a pixel beyond the middle, as Keras has it.
    np.testing.assert_allclose(turned[2:, 2:], x[2:, 2:][::-1, ::-1], rtol=1e-4)
    wrapped = image.apply_affine_transform(x, tx=2, fill_mode="reflect")
    np.testing.assert_allclose(wrapped[-2:], x[:-3:-1], rtol=1e-6)
    with pytest.raises(ValueError, match="fill_mode"):
        image.apply_affine_transform(x, tx=1, fill_mode="other")


def test_random_changes_repeat_with_their_seed() -> None:
    generator = image.ImageDataGenerator(
        rotation_range=20,
        width_shift_range=0.2,
        height_shift_range=[1, 2],
        shear_range=10,
        zoom_range=0.3,
        channel_shift_range=9,
        horizontal_flip=True,
        vertical_flip=True,
        brightness_range=(0.5, 1.5),
    )
    change = generator.get_random_transform(X[0].shape, seed=3)
    np.random.seed(3)
    assert change["theta"] == np.random.uniform(-20, 20)
    assert change["tx"] == np.random.choice([1, 2]) * np.random.choice([-1, 1])
    assert change["ty"] == np.random.uniform(-0.2, 0.2) * 5
    found = generator.random_transform(X[0], seed=3)
    assert found.shape == X[0].shape
    np.testing.assert_array_equal(found, generator.random_transform(X[0], seed=3))
    assert not np.allclose(found, generator.random_transform(X[0], seed=4))
    flipped = generator.apply_transform(X[0], {"flip_horizontal": True, "flip_vertical": True})
    np.testing.assert_array_equal(flipped, X[0][::-1, ::-1])


def test_batches_of_arrays() -> None:
    y = np.arange(10)
    generator = image.ImageDataGenerator(rescale=1 / 255, validation_split=0.3)
    batches = generator.flow(X, y, batch_size=4, shuffle=False, sample_weight=y / 10)
    assert len(batches) == 3
    sizes = []
    for _ in range(4):
        images, labels, weights = next(batches)
        np.testing.assert_allclose(images, X[labels] / 255, rtol=1e-6)
        np.testing.assert_allclose(weights, labels / 10)
        sizes.append(len(images))
    assert sizes == [4, 4, 2, 4]
    assert len(batches[2][0]) == 2
    parts = [
        set(generator.flow(X, y, subset=name, shuffle=True)[0][1]) for name in ("validation", "training")
    ]
    assert parts == [{0, 1, 2}, set(range(3, 10))]
    first, second = (next(generator.flow(X, y, seed=5))[1].tolist() for _ in range(2))
    assert first == second != sorted(first)
    with pytest.raises(ValueError, match="same length"):
        generator.flow(X, y[:3])


def test_scaling_by_what_was_fitted() -> None:
    generator = image.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    with pytest.warns(UserWarning, match="hasn't been fit"):
        generator.standardize(X[0])
    generator.fit(X)
    found = generator.standardize(X.copy())
    np.testing.assert_allclose(found.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(found.std((0, 1, 2)), 1, atol=1e-4)
    white = image.ImageDataGenerator(zca_whitening=True, zca_epsilon=1e-2)
    small = np.random.default_rng(1).normal(size=(200, 2, 2, 1))
    white.fit(small)
    flat = np.stack([white.standardize(x) for x in small.astype(np.float32)]).reshape(200, 4)
    np.testing.assert_allclose(flat.T @ flat / 200, np.eye(4), atol=0.05)


def test_a_model_learns_from_the_images_of_a_directory(tmp_path: Path) -> None:
    for number in range(12):
        directory = tmp_path / ("dark", "light")[number % 2]
        directory.mkdir(exist_ok=True)
        x = np.full((8, 8, 3), 40 + 150 * (number % 2) + number, np.float32)
        image.save_img(directory / f"{number:02}.png", x, scale=False)
    generator = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
    batches = generator.flow_from_directory(
        tmp_path, target_size=(4, 4), batch_size=5, class_mode="binary", seed=1
    )
    assert batches.class_indices == {"dark": 0, "light": 1}
    assert batches.classes.tolist() == [0] * 6 + [1] * 6
    assert (batches.samples, len(batches)) == (12, 3)
    assert batches.filenames[0] == "dark/00.png"
    images, labels = next(batches)
    np.testing.assert_array_equal(images.mean((1, 2, 3)) > 0.5, labels == 1)
    model = tf.keras.Sequential(
        [tf.keras.layers.Flatten(input_shape=(4, 4, 3)), tf.keras.layers.Dense(1, activation="sigmoid")]
    )
    model.compile(tf.keras.optimizers.Adam(0.05), "binary_crossentropy")
    losses = model.fit_generator(batches, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]
