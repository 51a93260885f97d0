"""The sliced Wasserstein distance of images (`tf.contrib.gan.eval.sliced_wasserstein_distance`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant
from tensorfleet.ops.array.batching import batch_to_space
from tensorfleet.ops.array.casting import to_float
from tensorfleet.ops.array.constants import range as number_range, zeros
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import top_k
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.linalg.linalg import svd
from tensorfleet.ops.math.elementwise import abs as absolute, rsqrt, sqrt, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_mean, reduce_sum
from tensorfleet.ops.nn.conv import conv2d
from tensorfleet.ops.nn.norm import moments
from tensorfleet.ops.random.random_ops import random_normal, random_uniform

_BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32).reshape(5, 5, 1, 1) / 256


def _blurred(batch: Any, gain: float) -> Any:
    """Each channel, convolved with binomial weights, mirrored at the borders."""
    count, height, width, channels = batch.shape.as_list()
    padded = transpose(pad(batch, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT"), [0, 3, 1, 2])
    single = reshape(padded, [-1, height + 4, width + 4, 1])
    found = conv2d(single, constant(_BINOMIAL * gain), [1, 1, 1, 1], "VALID")
    found = transpose(reshape(found, [-1, channels, height, width]), [0, 2, 3, 1])
    found.set_shape([count, height, width, channels])
    return found


def laplacian_pyramid(batch: Any, num_levels: int) -> list[Any]:
    """What each level has that half its resolution has not, from the finest to the coarsest, which is whole.

    Args:
        batch: `[batch, height, width, channels]`, sizes that can be halved `num_levels - 1` times.
    """
    pyramid = [to_float(batch)]
    for _ in range(1, num_levels):
        fine = pyramid[-1]
        coarse = _blurred(fine, 1.0)[:, ::2, ::2]
        pyramid.append(coarse)
        # Twice the size: each pixel with zeros beside and below it, whose blur has four times the weight.
        count, height, width, channels = coarse.shape.as_list()
        between = zeros([3 * (count or shape(coarse)[0]), height, width, channels])
        wide = batch_to_space(concat([coarse, between], 0), [[0, 0], [0, 0]], 2)
        wide.set_shape(fine.shape)
        pyramid[-2] = fine - _blurred(wide, 4.0)
    return pyramid


def _patches(batch: Any, per_image: int, size: int) -> Any:
    """Random squares of the first three channels, normalized, `[batch · per_image, size² · 3]`."""
    _, height, width, channels = batch.shape.as_list()
    half = size // 2
    count = shape(batch)[0] * per_image
    # The row of a pixel is (image · height + y) · width + x.
    image = reshape(number_range(count) // per_image, [-1, 1, 1])
    y = random_uniform([count, 1, 1], half, height - half, dtypes.int32)
    x = random_uniform([count, 1, 1], half, width - half, dtypes.int32)
    offsets = np.arange(-half, half + 1, dtype=np.int32)
    rows = (image * height + y + offsets[None, :, None]) * width + x + offsets[None, None, :]
    found = gather(reshape(batch, [-1, channels]), rows)[..., :3]
    mean, variance = moments(found, [1, 2, 3], keep_dims=True)
    return reshape((found - mean) / sqrt(variance), [-1, (2 * half + 1) ** 2 * 3])


def _sorted_columns(matrix: Any) -> Any:
    columns = transpose(matrix, [1, 0])
    return top_k(columns, shape(columns)[1])[0]


def _sliced(a: Any, b: Any, samplings: int, directions: int) -> Any:
    means = []
    for _ in range(samplings):
        projection = random_normal([shape(a)[1], directions])
        projection *= rsqrt(reduce_sum(square(projection), 0, keepdims=True))
        both = [_sorted_columns(matmul(each, projection)) for each in (a, b)]
        means.append(reduce_mean(absolute(both[0] - both[1])))
    return reduce_mean(means)


def _sliced_by_svd(a: Any, b: Any) -> Any:
    values, left, _ = svd(concat([a, b], 0))
    both = [_sorted_columns(each) for each in split(left * values, 2, axis=0)]
    return reduce_mean(absolute(both[0] - both[1]))


def sliced_wasserstein_distance(
    real_images: Any,
    fake_images: Any,
    resolution_min: int = 16,
    patches_per_image: int = 64,
    patch_size: int = 7,
    random_sampling_count: int = 1,
    random_projection_dim: int = 7 * 7 * 3,
    use_svd: bool = False,
) -> list[tuple[Any, Any]]:
    """How far random patches of images are apart along random directions, at each resolution
    (`tf.contrib.gan.eval.sliced_wasserstein_distance`; Karras et al., arXiv:1710.10196).

    Args:
        real_images, fake_images: `[batch, size, size, 3]`, the size known.
        resolution_min: the size of the coarsest resolution.
        random_sampling_count: how often directions are drawn.
        random_projection_dim: how many directions.
        use_svd: singular vectors instead of random directions.

    Returns:
        (distance among real images, distance of real and fake ones), from the finest resolution on.

    Raises:
        ValueError: the images are not square, have not three channels, or differ in size.
    """
    size = real_images.shape.as_list()[1]
    if size is None:
        raise ValueError("The height of the images must be known.")
    real_images.shape.assert_is_compatible_with([None, None, size, 3])
    fake_images.shape.assert_is_compatible_with(real_images.shape)
    levels = int(math.log2(size)) - int(math.log2(min(resolution_min, size))) + 1
    scores = []
    pyramids = (laplacian_pyramid(real_images, levels), laplacian_pyramid(fake_images, levels))
    for real, fake in zip(*pyramids, strict=True):
        first, other, faked = (_patches(each, patches_per_image, patch_size) for each in (real, real, fake))
        if use_svd:
            scores.append((_sliced_by_svd(first, other), _sliced_by_svd(first, faked)))
        else:
            options = (random_sampling_count, random_projection_dim)
            scores.append((_sliced(first, other, *options), _sliced(first, faked, *options)))
    return scores
