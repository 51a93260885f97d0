"""Windows: factors for the samples of a frame, so that it fades in and out."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, range
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.math.arithmetic import pow
from tensorfleet.ops.math.bessel import bessel_i0e
from tensorfleet.ops.math.elementwise import cos, exp, sin, sqrt, square
from tensorfleet.ops.math.scan import cumsum
from tensorfleet.ops.nn.activation import relu


def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Hann's window, a raised cosine (`tf.signal.hann_window`).

    Args:
        window_length: number of samples.
        periodic: the window for spectra, whose period is its length; else the symmetric one, for filters.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Hamming's window, a raised cosine that ends above 0 (`tf.signal.hamming_window`).

    The arguments are those of `hann_window`.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None, scope: str, window_length: Any, periodic: Any, dtype: Any, a: float, b: float
) -> Tensor:
    with framework.name_scope(name, scope, [window_length, periodic]):
        dtype = _floating(dtype)
        window_length = _length(window_length)
        if static_value(window_length) == 1:
            return ones([1], dtype)
        periodic = cast(convert_to_tensor(periodic, dtypes.bool, "periodic"), dtypes.int32)
        even = 1 - window_length % 2
        intervals = cast(window_length + periodic * even - 1, dtype)
        angles = constant(2 * math.pi, dtype) * cast(range(window_length), dtype) / intervals
        return a - b * cos(angles)


def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Kaiser's window (`tf.signal.kaiser_window`).

    Args:
        window_length: number of samples.
        beta: the higher, the lower the side lobes, and the wider the main one.
    """
    with framework.name_scope(name, "kaiser_window", [window_length]):
        dtype = _floating(dtype)
        window_length = _length(window_length)
        if static_value(window_length) == 1:
            return ones([1], dtype)
        half = (cast(window_length, dtype) - 1) / 2
        distance = cast(range(window_length), dtype) - half
        beta = cast(convert_to_tensor(beta), dtype)
        argument = beta * sqrt(relu(1 - square(distance / half)))
        return exp(argument - beta) * (bessel_i0e(argument) / bessel_i0e(beta))


def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """The window derived from Kaiser's, for the MDCT (`tf.signal.kaiser_bessel_derived_window`).

    Args:
        window_length: number of samples, which is even.
        beta: as for `kaiser_window`.
    """
    with framework.name_scope(name, "kaiser_bessel_derived_window", [window_length]):
        half = _length(window_length) // 2
        sums = cumsum(kaiser_window(half + 1, beta, dtype))
        rising = sqrt(sums[:-1] / sums[-1])
        return concat((rising, rising[::-1]), 0)


def vorbis_window(window_length: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """The window of Vorbis, for the MDCT (`tf.signal.vorbis_window`).

    Args:
        window_length: number of samples, which is even.
    """
    with framework.name_scope(name, "vorbis_window", [window_length]):
        dtype = _floating(dtype)
        window_length = _length(window_length)
        places = cast(range(window_length), dtype) + 0.5
        rising = sin(constant(math.pi, dtype) / cast(window_length, dtype) * places)
        return sin(math.pi / 2 * pow(rising, 2))


def _floating(dtype: Any) -> dtypes.DType:
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {found}")
    return found


def _length(window_length: Any) -> Tensor:
    length = convert_to_tensor(window_length, dtypes.int32, "window_length")
    if length.shape.ndims not in (0, None):
        raise ValueError(f"window_length must be a scalar, not of shape {length.shape}")
    return length
