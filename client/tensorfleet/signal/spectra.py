"""Spectra of short frames: STFT and MDCT, with their inverses; spectra with their middle at frequency 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range, zeros
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat, split
from tensorfleet.ops.array.padding import pad, tile
from tensorfleet.ops.array.rearranging import reverse, roll
from tensorfleet.ops.array.shaping import rank, reshape, shape
from tensorfleet.ops.math.arithmetic import maximum, pow
from tensorfleet.ops.math.elementwise import ceil, log, square
from tensorfleet.ops.math.fourier import irfft, rfft
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.signal.cosine import dct
from tensorfleet.signal.framing import frame, overlap_and_add
from tensorfleet.signal.windows import hann_window, vorbis_window

Window = Callable[..., Tensor]
"""A function of the length and the dtype."""


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform (`tf.signal.stft`).

    Args:
        signals: [..., samples]. float32, float64.
        frame_length: samples of a frame.
        frame_step: samples from the beginning of one frame to that of the next.
        fft_length: samples of the transform; None: the next power of 2.
        window_fn: a function of the length and `dtype`; None: no window.
        pad_end: fill up the last frames with zeros.

    Returns:
        [..., frames, fft_length / 2 + 1] of complex numbers.
    """
    with framework.name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        length = convert_to_tensor(frame_length, name="frame_length")
        step = convert_to_tensor(frame_step, name="frame_step")
        frames = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            frames *= window_fn(length, dtype=frames.dtype)
        return rfft(frames, [_fft_length(fft_length, length)])


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signals of short-time Fourier transforms (`tf.signal.inverse_stft`).

    They are those that were transformed where the squares of the windows sum to 1, as with
    `inverse_stft_window_fn`.

    Args:
        stfts: [..., frames, fft_length / 2 + 1]. complex64, complex128.
        frame_length, frame_step, fft_length: as in `stft`.
        window_fn: the window of the synthesis.
    """
    with framework.name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        length = convert_to_tensor(frame_length, dtypes.int32, "frame_length")
        step = convert_to_tensor(frame_step, dtypes.int32, "frame_step")
        transformed = _fft_length(fft_length, length)
        frames = irfft(stfts, [transformed])[..., :length]
        missing = maximum(0, length - transformed)
        if static_value(missing) != 0:
            before = zeros([rank(frames) - 1, 2], dtypes.int32)
            frames = pad(frames, concat([before, [[0, missing]]], 0))
        if window_fn is not None:
            frames *= window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, step)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """The window with which `inverse_stft` inverts `stft` (`tf.signal.inverse_stft_window_fn`).

    Args:
        frame_step: as in `stft`.
        forward_window_fn: the window of `stft`.
    """

    def window(frame_length: Any, dtype: Any) -> Tensor:
        with framework.name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            length = convert_to_tensor(frame_length, dtypes.int32, "frame_length")
            step = convert_to_tensor(frame_step, dtypes.int32, "frame_step")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            weights = pad(square(forward), [[0, overlaps * step - length]])
            weights = reduce_sum(reshape(weights, [overlaps, step]), 0, keepdims=True)
            weights = reshape(tile(weights, [overlaps, 1]), [overlaps * step])
            return forward / weights[:length]

    return window


def _fft_length(fft_length: Any, frame_length: Tensor) -> Tensor:
    """The length of the transform: that of a frame, or the next power of 2."""
    if fft_length is not None:
        return convert_to_tensor(fft_length, dtypes.int32, "fft_length")
    known = static_value(frame_length)
    if known is not None:
        return convert_to_tensor(1 << max(int(known) - 1, 0).bit_length(), dtypes.int32, "fft_length")
    exponent = ceil(log(cast(frame_length, dtypes.float32)) / math.log(2))
    return cast(pow(2.0, exponent), dtypes.int32)


def mdct(
    signals: Any,
    frame_length: Any,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform (`tf.signal.mdct`).

    Args:
        signals: [..., samples]. float32, float64.
        frame_length: samples of a frame, a multiple of 4. Frames overlap by half of it.
        window_fn: a window whose squares sum to 1 over frames, such as `vorbis_window`; None: 1 / √2.
        norm: as in `dct`.

    Returns:
        [..., frames, frame_length / 2].
    """
    with framework.name_scope(name, "mdct", [signals, frame_length]):
        signals = convert_to_tensor(signals, name="signals")
        length = convert_to_tensor(frame_length, dtypes.int32, "frame_length")
        if length.shape.ndims not in (0, None):
            raise ValueError(f"frame_length must be a scalar, not of shape {length.shape}")
        known = static_value(length)
        if known is not None and (known < 1 or known % 4):
            raise ValueError("The frame length must be a multiple of 4.")
        frames = frame(signals, length, length // 2, pad_end=pad_end)
        frames *= 1 / math.sqrt(2) if window_fn is None else window_fn(length, dtype=frames.dtype)
        a, b, c, d = split(frames, 4, axis=-1)
        folded = concat((-reverse(c, [-1]) - d, a - reverse(b, [-1])), -1)
        return dct(folded, type=4, norm=norm)


def inverse_mdct(
    mdcts: Any,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signals of modified discrete cosine transforms (`tf.signal.inverse_mdct`).

    The first and the last half of a frame, which nothing overlaps, are not those that were transformed.

    Args:
        mdcts: [..., frames, frame_length / 2].
        window_fn, norm: as in `mdct`.
    """
    with framework.name_scope(name, "inverse_mdct", [mdcts]):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        half = shape(mdcts)[-1]
        unfolded = dct(mdcts, type=4, norm=norm)
        if norm is None:
            unfolded = 0.5 / cast(half, mdcts.dtype) * unfolded
        first, second = split(unfolded, 2, axis=-1)
        frames = concat((second, -reverse(second, [-1]), -reverse(first, [-1]), -first), -1)
        frames *= 1 / math.sqrt(2) if window_fn is None else window_fn(2 * half, dtype=frames.dtype)
        return overlap_and_add(frames, half)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Spectra with frequency 0 in the middle (`tf.signal.fftshift`).

    Args:
        x: any shape.
        axes: dimensions; None: all.
    """
    return _shifted(x, axes, 1, "fftshift", name)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift` (`tf.signal.ifftshift`)."""
    return _shifted(x, axes, -1, "ifftshift", name)


def _shifted(x: Any, axes: Any, sign: int, scope: str, name: str | None) -> Tensor:
    with framework.name_scope(name, scope, [x]):
        x = convert_to_tensor(x)
        if axes is None:
            axes = range(rank(x))
            shift = shape(x) // 2
        else:
            axes = convert_to_tensor(axes, dtypes.int32)
            axes = axes % rank(x)
            shift = gather(shape(x), axes) // 2
        return roll(x, sign * shift, axes)
