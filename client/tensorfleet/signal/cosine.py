"""Cosine transforms, by Fourier transforms of longer signals.

Source: Makhoul, A Fast Cosine Transform in One and Two Dimensions, 1980.
"""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range, zeros
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.shaping import rank, shape
from tensorfleet.ops.math.complex_numbers import complex, real
from tensorfleet.ops.math.elementwise import exp, rsqrt, sqrt
from tensorfleet.ops.math.fourier import irfft, rfft


def dct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The discrete cosine transform of the last dimension (`tf.signal.dct`).

    Args:
        input: [..., samples]. float32, float64.
        type: 1, 2, 3 or 4.
        n: number of samples to take; missing ones are 0. None: all.
        norm: None or "ortho", with which the transform is an orthogonal matrix (types 2 to 4).

    Raises:
        NotImplementedError: another dimension than the last.
        ValueError: another type or norm.
    """
    _check(input, type, n, axis, norm)
    with framework.name_scope(name, "dct", [input]):
        input = convert_to_tensor(input, name="input")
        if n is not None:
            input = _of_length(input, n)
        size: Any = input.shape.as_list()[-1] if input.shape.ndims else None
        size = shape(input)[-1] if size is None else size
        transform = {1: _first, 2: _second, 3: _third, 4: _fourth}[type]
        return transform(input, size, norm)


def idct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The inverse of `dct`, but for a factor without a norm (`tf.signal.idct`).

    `idct(dct(x))` is x times 2 (samples - 1) for type 1, else times 2 samples; with "ortho" it is x.
    """
    _check(input, type, n, axis, norm)
    return dct(input, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, axis, norm, name)


def _check(input: Any, type: int, n: Any, axis: int, norm: str | None) -> None:
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        known = convert_to_tensor(input).shape
        if known.ndims and (known.as_list()[-1] or 2) < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if n is not None and isinstance(n, int) and n < 1:
        raise ValueError("n should be a positive integer or None")
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _of_length(x: Tensor, n: Any) -> Tensor:
    x = x[..., :n]
    missing = n - shape(x)[-1]
    ranks = x.shape.ndims
    dims = None if ranks is None else [*x.shape.as_list()[:-1], n if isinstance(n, int) else None]
    before = zeros([(rank(x) if ranks is None else ranks) - 1, 2], dtypes.int32)
    x = pad(x, concat([before, [[0, missing]]], 0))
    if dims is not None:
        x.set_shape(dims)
    return x


def _rotation(x: Tensor, size: Any, sign: int) -> Tensor:
    """2 exp(± iπk / 2 size), for each frequency k."""
    frequencies = cast(range(size), x.dtype)
    angles = frequencies * (sign * math.pi * 0.5) / cast(size, x.dtype)
    return 2.0 * exp(complex(constant(0, x.dtype), angles))


def _weights(first: Tensor, others: Tensor, size: Any) -> Tensor:
    """One number for the constant part, another for all other frequencies."""
    return concat([[first], others + zeros([size - 1], others.dtype)], 0)


def _first(x: Tensor, size: Any, norm: str | None) -> Tensor:
    return real(rfft(concat([x, x[..., -2:0:-1]], -1)))


def _second(x: Tensor, size: Any, norm: str | None) -> Tensor:
    found = real(rfft(x, fft_length=[2 * size])[..., :size] * _rotation(x, size, -1))
    if norm != "ortho":
        return found
    first = 0.5 * rsqrt(cast(size, x.dtype))
    return found * _weights(first, first * math.sqrt(2), size)


def _third(x: Tensor, size: Any, norm: str | None) -> Tensor:
    count = cast(size, x.dtype)
    if norm == "ortho":
        x = x * _weights(sqrt(count), sqrt(count) * math.sqrt(0.5), size)
    else:
        x = x * count
    rotated = _rotation(x, size, 1) * complex(x, constant(0, x.dtype))
    return irfft(rotated, fft_length=[2 * size])[..., :size]


def _fourth(x: Tensor, size: Any, norm: str | None) -> Tensor:
    # The odd frequencies of twice as many samples, the second half of which is 0.
    found = _second(_of_length(x, 2 * size), 2 * size, None)[..., 1::2]
    return found * (math.sqrt(0.5) * rsqrt(cast(size, x.dtype))) if norm == "ortho" else found
