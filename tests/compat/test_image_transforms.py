"""tf.contrib.image against TensorFlow's op ImageProjectiveTransformV2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow as real

import tensorfleet as fleet

image = fleet.contrib.image
RNG = np.random.default_rng(4)
IMAGES = RNG.normal(size=(2, 5, 6, 3)).astype(np.float32)
TRANSFORMS = np.array(
    [[1.1, 0.2, -0.7, -0.1, 0.9, 0.4, 0.01, -0.02], [0, 1, 0, 1, 0, 0.5, 0, 0]], dtype=np.float32
)


def expected(images: Any, transforms: Any, kind: str, size: Any) -> np.ndarray:
    op = real.raw_ops.ImageProjectiveTransformV2
    with real.Graph().as_default(), real.compat.v1.Session() as session:
        made = op(images=images, transforms=transforms, output_shape=size, interpolation=kind)
        return np.asarray(session.run(made))


def run(tensor: Any) -> Any:
    with fleet.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("kind", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("size", [[5, 6], [7, 3]])
@pytest.mark.parametrize("count", [1, 2])
def test_transform(kind: str, size: list[int], count: int) -> None:
    ours = image.transform(IMAGES, TRANSFORMS[:count], kind, output_shape=size)
    theirs = expected(IMAGES, TRANSFORMS[:count], kind, size)
    assert ours.shape.as_list() == [2, *size, 3]
    np.testing.assert_allclose(run(ours), theirs, rtol=1e-5, atol=1e-5)


def test_integers_and_fewer_dimensions() -> None:
    values = RNG.integers(0, 255, (5, 6)).astype(np.uint8)
    theirs = expected(values[None, ..., None], TRANSFORMS[:1], "BILINEAR", [5, 6])[0, ..., 0]
    np.testing.assert_array_equal(run(image.transform(values, TRANSFORMS[0], "BILINEAR")), theirs)


def test_rotations_and_moves() -> None:
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert run(image.rotate(square, np.pi / 2)).tolist() == [[2, 5, 8], [1, 4, 7], [0, 3, 6]]
    assert run(image.translate(square, [1, -1])).tolist() == [[0, 3, 4], [0, 6, 7], [0, 0, 0]]
    both = image.compose_transforms(TRANSFORMS[0], TRANSFORMS[1])
    first, second = (np.append(row, 1).reshape(3, 3) for row in TRANSFORMS)
    product = first @ second
    np.testing.assert_allclose(run(both)[0], (product / product[2, 2]).ravel()[:8], rtol=1e-5)


def test_gradients_reach_the_pixels() -> None:
    given = fleet.constant(IMAGES)
    moved = image.translate(given, [1.0, 0.0])
    [gradient] = fleet.gradients(fleet.reduce_sum(moved), given)
    expected = np.ones_like(IMAGES)
    expected[:, :, -1] = 0
    np.testing.assert_array_equal(run(gradient), expected)


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="rank between 2 and 4"):
        image.transform([1.0], TRANSFORMS[0])
    with pytest.raises(TypeError, match="Transforms should have rank 1 or 2"):
        image.transform(IMAGES, 1.0)
    with pytest.raises(ValueError, match='"NEAREST" or "BILINEAR"'):
        image.transform(IMAGES, TRANSFORMS[0], "CUBIC")
