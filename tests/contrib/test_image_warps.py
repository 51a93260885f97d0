"""Warps of images and splines of `tf.contrib.image`; the numbers are TensorFlow 1.15's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

image = tf.contrib.image
RNG = np.random.RandomState(0)
IMAGES = RNG.normal(size=(2, 5, 6, 3)).astype("f")
FLOW = (RNG.normal(size=(2, 5, 6, 2)) * 2).astype("f")


def warped(images: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """Pixel by pixel."""
    result = np.zeros(images.shape)
    for n, i, j in np.ndindex(*images.shape[:3]):
        row = np.clip(i - flow[n, i, j, 0], 0, images.shape[1] - 1)
        column = np.clip(j - flow[n, i, j, 1], 0, images.shape[2] - 1)
        top, left = min(int(row), images.shape[1] - 2), min(int(column), images.shape[2] - 2)
        down, right = row - top, column - left
        result[n, i, j] = (
            images[n, top, left] * (1 - down) * (1 - right)
            + images[n, top, left + 1] * (1 - down) * right
            + images[n, top + 1, left] * down * (1 - right)
            + images[n, top + 1, left + 1] * down * right
        )
    return result


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_pixels_are_moved_by_a_flow(dtype: str) -> None:
    given = tf.placeholder(np.dtype(dtype), [None, None, None, 3])
    flow = tf.placeholder(tf.float32, [None, None, None, 2])
    result = image.dense_image_warp(given, flow)
    with tf.Session() as session:
        found = session.run(result, {given: IMAGES, flow: FLOW})
        with pytest.raises(tf.errors.InvalidArgumentError, match="height must be at least 2"):
            session.run(result, {given: IMAGES[:, :1], flow: FLOW[:, :1]})
    assert found.dtype == dtype
    np.testing.assert_allclose(found, warped(IMAGES, FLOW), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="4 dimensional"):
        image.dense_image_warp(IMAGES[0], FLOW[0])


def test_warps_have_gradients() -> None:
    given, flow = tf.constant(IMAGES, tf.float64), tf.constant(FLOW, tf.float64)
    result = image.dense_image_warp(given, flow)
    gradients = tf.gradients(tf.reduce_sum(result * tf.sin(result)), [given, flow])
    random = np.random.RandomState(1)
    directions = random.normal(size=IMAGES.shape), random.normal(size=FLOW.shape)

    def value(step: float) -> float:
        y = warped(IMAGES + step * directions[0], FLOW + step * directions[1])
        return float(np.sum(y * np.sin(y)))

    with tf.Session() as session:
        found = session.run(gradients)
    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    assert sum(np.sum(g * d) for g, d in zip(found, directions, strict=True)) == pytest.approx(
        slope, rel=1e-4
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_splines_pass_through_known_values(order: int) -> None:
    random = np.random.RandomState(2)
    points, values = random.uniform(0, 5, size=(2, 7, 2)), random.normal(size=(2, 7, 3))
    at_points = image.interpolate_spline(points, values, points, order)
    smooth = image.interpolate_spline(points, values, points, order, regularization_weight=0.1)
    linear = points @ np.ones((2, 1)) + 3.0
    queries = random.uniform(0, 5, size=(2, 4, 2))
    on_plane = image.interpolate_spline(points, linear, queries, order)
    with tf.Session() as session:
        found, off, plane = session.run([at_points, smooth, on_plane])
    np.testing.assert_allclose(found, values, atol=1e-4)
    assert np.abs(off - values).max() > 1e-3
    np.testing.assert_allclose(plane, queries @ np.ones((2, 1)) + 3.0, atol=1e-6)


def test_splines_of_four_points() -> None:
    points = [[[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]]
    values = [[[0.0], [1.0], [1.0], [4.0]]]
    found = [
        image.interpolate_spline(tf.constant(points), tf.constant(values), [[[1.0, 0.5]]], order)
        for order in (1, 2, 3)
    ]
    with tf.Session() as session:
        numbers = [float(value[0, 0, 0]) for value in session.run(found)]
    np.testing.assert_allclose(numbers, [0.9999998807907104, 1.0, 1.0], rtol=1e-4)


@pytest.mark.parametrize("edges", [0, 1, 2, 3])
def test_points_of_images_are_moved(edges: int) -> None:
    source = [[[1.0, 1.0], [3.0, 4.0], [4.0, 0.0]]] * 2
    target = [[[1.5, 1.2], [3.0, 3.0], [4.0, 1.0]]] * 2
    result, flow = image.sparse_image_warp(IMAGES, source, target, num_boundary_points=edges)
    assert result.shape.as_list() == [2, 5, 6, 3]
    assert flow.shape.as_list() == [2, 5, 6, 2]
    with tf.Session() as session:
        found, moved = session.run([result, flow])
    # The flow at the targets is what leads there; the corners stay where they are.
    np.testing.assert_allclose(moved[0, 3, 3], [0.0, -1.0], atol=1e-3)
    np.testing.assert_allclose(moved[0, 4, 1], [0.0, 1.0], atol=1e-3)
    np.testing.assert_allclose(found[:, 4, 1], IMAGES[:, 4, 0], atol=1e-2)
    if edges:
        np.testing.assert_allclose(moved[:, [0, 0, 4, 4], [0, 5, 0, 5]], 0.0, atol=1e-3)
    if edges == 2:
        np.testing.assert_allclose(moved[:, [2, 2], [0, 5]], 0.0, atol=1e-3)


@pytest.mark.parametrize("which", ["points", "values"])
def test_sizes_have_to_be_known(which: str) -> None:
    given: dict[str, Any] = {"points": np.zeros((1, 3, 2), "f"), "values": np.zeros((1, 3, 1), "f")}
    given[which] = tf.placeholder(tf.float32, [1, 3, None])
    with pytest.raises(ValueError, match="must be statically-inferrable"):
        image.interpolate_spline(given["points"], given["values"], np.zeros((1, 1, 2), "f"), 2)
