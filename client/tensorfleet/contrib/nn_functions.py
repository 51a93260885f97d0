"""`tf.contrib.nn`: dropout that keeps the variance of SELU networks, a scaled softplus, flipped losses."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as range_of
from tensorfleet.ops.array.indexing import gather_nd
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.padding import pad, tile
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import minimum
from tensorfleet.ops.math.clip import clip_by_value
from tensorfleet.ops.math.elementwise import floor, rsqrt
from tensorfleet.ops.nn.activation import softplus
from tensorfleet.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from tensorfleet.ops.random.random_ops import random_uniform

_ALPHA = -1.7580993408473766  # the lowest value of SELU


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Sets elements to SELU's lowest value, and scales so that mean and variance stay
    (`tf.contrib.nn.alpha_dropout`; Klambauer et al., arXiv:1706.02515)."""
    with framework.name_scope(name, "alpha_dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1.0:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}"
            )
        if isinstance(keep_prob, (int, float)) and keep_prob == 1:
            return x
        keep = convert_to_tensor(keep_prob, dtype=x.dtype)
        drawn = random_uniform(shape(x) if noise_shape is None else noise_shape, seed=seed, dtype=x.dtype)
        kept = cast(drawn < keep, x.dtype)
        scale = rsqrt(keep * (1.0 + (1.0 - keep) * _ALPHA**2))
        shift = -scale * _ALPHA * (1.0 - keep)
        outputs = scale * (x * kept + _ALPHA * (1.0 - kept)) + shift
        outputs.set_shape(x.shape)
        return outputs


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Any:
    """alpha · log(1 + exp(x / alpha)), at most `clip` (`tf.contrib.nn.scaled_softplus`)."""
    with framework.name_scope(name, "scaled_softplus", [x, alpha]):
        x = convert_to_tensor(x, name="x")
        alpha = convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        outputs = alpha * softplus(x / alpha)
        return outputs if clip is None else minimum(outputs, convert_to_tensor(clip, dtype=x.dtype))


def flipped_softmax_loss(logits: Any, labels: Any, dim: int = -1, name: str | None = None) -> Any:
    """`tf.nn.softmax_cross_entropy_with_logits` with the logits first."""
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Any:
    """The element of this place in the order of each row (`tf.contrib.nn.nth_element`).

    Args:
        input: numbers, [..., size].
        n: the place, an int32 scalar from 0 to size - 1.
        reverse: whether the largest comes first.
    """
    return apply_one("NthElement", input, convert_to_tensor(n, dtypes.int32), reverse=reverse, name=name)


def flipped_sparse_softmax_loss(logits: Any, labels: Any, name: str | None = None) -> Any:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits` with the logits first."""
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def flipped_sigmoid_loss(logits: Any, targets: Any, name: str | None = None) -> Any:
    """`tf.nn.sigmoid_cross_entropy_with_logits` with the logits first."""
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """The values at places between pixels, bilinear, with zeros around the image
    (`tf.contrib.resampler.resampler`).

    Args:
        data: `[batch, height, width, channels]`.
        warp: the places (x, y), `[batch, …, 2]`.

    Returns:
        `[batch, …, channels]`.
    """
    with framework.name_scope(name, "resampler", [data, warp]):
        data, warp = convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp")
        # A border of two pixels: what lies farther outside is clipped to it.
        padded = pad(data, [[0, 0], [2, 2], [2, 2], [0, 0]])
        sizes, places = shape(data), shape(warp)
        points = reshape(warp, [places[0], -1, 2])
        rows = tile(expand_dims(range_of(places[0]), 1), [1, shape(points)[1]])

        def along(column: int, size: Any) -> tuple[Any, Any]:
            position = clip_by_value(points[:, :, column], -2.0, cast(size, points.dtype))
            begin = floor(position)
            return cast(begin, dtypes.int32) + 2, position - begin

        (x, dx), (y, dy) = along(0, sizes[2]), along(1, sizes[1])
        result: Any = 0.0
        for row, row_weight in ((0, 1.0 - dy), (1, dy)):
            for column, column_weight in ((0, 1.0 - dx), (1, dx)):
                picked = gather_nd(padded, stack([rows, y + row, x + column], 2))
                result += picked * expand_dims(row_weight * column_weight, 2)
        result = reshape(result, concat([places[:-1], sizes[3:]], 0))
        result.set_shape([*(warp.dims or [None])[:-1], (data.dims or [None])[-1]] if warp.dims else None)
        return result
