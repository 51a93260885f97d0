"""Sound: WAV files, spectrograms, and the coefficients that recognizers of speech use."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import host_kernel, invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

_SCALE = 1 << 15
_PCM, _BITS = 1, 16
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHIIHH")
_MAX_SAMPLES = 1 << 28
"""Limit on the samples that are made of one file, also where more are wanted than it has."""
_LEAST = 1e-12
"""The floor under an energy, before its logarithm."""

Array = np.ndarray[Any, Any]


def _parsed(text: bytes) -> tuple[Array, int]:
    """The samples of a WAV file, [samples, channels] of int16, and their number per second.

    Raises:
        InvalidArgumentError: it is no WAV file of 16-bit samples.
    """
    if text[:4] != b"RIFF":
        found = text[:4].decode("latin-1")
        raise invalid(f"Header mismatch: Expected RIFF but found {found}")
    if text[8:12] != b"WAVE":
        raise invalid(f"Header mismatch: Expected WAVE but found {text[8:12].decode('latin-1')}")
    layout: tuple[int, ...] | None = None
    at = 12
    while at + _CHUNK.size <= len(text):
        kind, size = _CHUNK.unpack_from(text, at)
        at += _CHUNK.size
        if kind == b"fmt ":
            if size < _FORMAT.size or at + size > len(text):
                raise invalid(f"Bad size for fmt chunk: {size} bytes")
            layout = _FORMAT.unpack_from(text, at)
            _check(layout)
        elif kind == b"data":
            if layout is None:
                raise invalid("Data chunk found before fmt chunk")
            if at + size > len(text):
                raise invalid(f"Data too short: {len(text) - at} bytes of the {size} that the header names")
            channels = layout[1]
            count = size // (2 * channels)
            samples = np.frombuffer(text, "<i2", count * channels, at)
            return samples.reshape(count, channels), layout[2]
        at += size + size % 2
    raise invalid("No data chunk found in WAV" if layout else "No fmt chunk found in WAV")


def _check(layout: tuple[int, ...]) -> None:
    form, channels, rate, per_second, per_frame, bits = layout
    if form != _PCM:
        raise invalid(f"Bad audio format for WAV: Expected {_PCM} (PCM), but got {form}")
    if not channels:
        raise invalid("Bad number of channels for WAV: Expected 1 or more, but got 0")
    if bits != _BITS:
        raise invalid(f"Can only read 16-bit WAV files, but received {bits}")
    if per_frame != 2 * channels or per_second != rate * per_frame:
        raise invalid(f"Bad bytes per sample in WAV header: {per_frame} per sample, {per_second} per second")


@host_kernel("DecodeWav")
def decode_wav(node: KernelNode) -> Kernel:
    wanted, length = node.attrs["desired_channels"], node.attrs["desired_samples"]

    def run(contents: Any) -> Any:
        if contents.ndim:
            raise invalid(f"contents must be scalar, got shape {shape_text(contents.shape)}")
        samples, rate = _parsed(contents[()])
        count, channels = samples.shape
        rows, columns = (have if want < 0 else want for have, want in ((count, length), (channels, wanted)))
        if rows * columns > _MAX_SAMPLES:
            text = f"{rows} samples of {columns} channels are more than the {_MAX_SAMPLES} allowed"
            raise errors.ResourceExhaustedError(None, None, text)
        audio = np.zeros((rows, columns), np.float32)
        taken = samples[:rows].astype(np.float32) / np.float32(_SCALE)
        audio[: len(taken), :channels] = taken[:, :columns]
        if columns > channels:  # the last channel stands for those that are missing
            audio[: len(taken), channels:] = taken[:, -1:]
        return audio, np.int32(rate)

    return run


@host_kernel("EncodeWav")
def encode_wav(node: KernelNode) -> Kernel:
    def run(audio: Any, rate: Any) -> bytes:
        if audio.ndim != 2:
            raise invalid(f"audio must be 2-dimensional but got shape {shape_text(audio.shape)}")
        if rate.ndim:
            raise invalid(f"Input sample_rate should be a scalar tensor, got {shape_text(rate.shape)}")
        channels = audio.shape[1]
        if not 0 < channels < 1 << 16:
            raise invalid(f"channel_count must be in [1, 65535], got {channels}")
        if rate <= 0:
            raise invalid(f"sample_rate must be positive, got {int(rate)}")
        size, per_second = audio.size * 2, int(rate) * channels * 2
        if size + _HEADER.size >= 1 << 32 or per_second >= 1 << 32:
            raise invalid(f"{size} bytes of samples, {per_second} per second, do not fit into a WAV file")
        with np.errstate(invalid="ignore"):
            scaled = audio * np.float32(_SCALE)
            rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
            samples = np.clip(np.nan_to_num(rounded, nan=0.0), -_SCALE, _SCALE - 1).astype("<i2")
        layout = _PCM, channels, int(rate), per_second, channels * 2, _BITS
        header = _HEADER.pack(b"RIFF", size + 36, b"WAVE", b"fmt ", _FORMAT.size, *layout, b"data", size)
        return header + bytes(samples.tobytes())

    return run


@host_kernel("AudioSpectrogram", lasting=True)
def audio_spectrogram(node: KernelNode) -> Kernel:
    window, stride, squared = (node.attrs[key] for key in ("window_size", "stride", "magnitude_squared"))
    if window < 2 or stride < 1 or window > _MAX_SAMPLES:
        raise invalid(f"window_size must be at least 2 and stride at least 1, got {window} and {stride}")
    length = 1 << (window - 1).bit_length()

    def run(audio: Any) -> Any:
        if audio.ndim != 2:
            raise invalid(f"input must be 2-dimensional, got shape {shape_text(audio.shape)}")
        count, channels = audio.shape
        frames = 1 + (count - window) // stride if count >= window else 0
        size = channels * frames * (length // 2 + 1)
        if size > _MAX_SAMPLES:
            text = f"A spectrogram of {size} elements is larger than the {_MAX_SAMPLES} allowed"
            raise errors.ResourceExhaustedError(None, None, text)
        result = np.empty((channels, frames, length // 2 + 1), np.float32)
        if not size:
            return result
        shape = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
        for channel in range(channels):
            for frame in range(frames):
                check_step()
                piece = audio[frame * stride : frame * stride + window, channel].astype(np.float64)
                spectrum = np.fft.rfft(piece * shape, length)
                power = spectrum.real**2 + spectrum.imag**2
                result[channel, frame] = power if squared else np.sqrt(power)
        return result

    return run


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def _filters(bins: int, rate: float, low: float, high: float, count: int) -> Array:
    """The weights of the bins of a spectrum in triangular bands of equal width in mel: [bins, count]."""
    edges = _mel(low) + (_mel(high) - _mel(low)) / (count + 1) * np.arange(count + 2)
    per_bin = 0.5 * rate / (bins - 1)
    weights = np.zeros((bins, count + 1))
    places = np.arange(min(int(1.5 + low / per_bin), bins), min(int(high / per_bin), bins - 1) + 1)
    pitch = _mel(places * per_bin)
    band = np.clip(np.searchsorted(edges[1:], pitch, side="left"), 0, count)
    part = (edges[band + 1] - pitch) / (edges[band + 1] - edges[band])
    above = band > 0
    weights[places[above], band[above] - 1] += part[above]
    weights[places, band] += 1 - part
    return weights[:, :count]


@host_kernel("Mfcc")
def mfcc(node: KernelNode) -> Kernel:
    attrs = node.attrs
    low, high = attrs["lower_frequency_limit"], attrs["upper_frequency_limit"]
    bands, wanted = attrs["filterbank_channel_count"], attrs["dct_coefficient_count"]

    def run(spectrogram: Any, rate: Any) -> Any:
        if spectrogram.ndim != 3:
            raise invalid(f"spectrogram must be 3-dimensional, got shape {shape_text(spectrogram.shape)}")
        if rate.size != 1:
            raise invalid(f"Input sample_rate should be a scalar, got {shape_text(rate.shape)}")
        bins = spectrogram.shape[2]
        if bins < 2 or rate <= 0 or not 0 <= low < high < np.inf:
            text = f"{bins} bins at {int(rate)} samples a second, from {low} to {high}"
            raise invalid(f"Mfcc initialization failed: no bands can be made of {text}")
        if not 1 <= wanted <= bands:
            raise invalid(f"{bands} bands give no {wanted} coefficients")
        if bands * max(bins, wanted, *spectrogram.shape[:2], spectrogram.size // bins) > _MAX_SAMPLES:
            text = f"{wanted} coefficients of {bands} bands of a spectrogram {shape_text(spectrogram.shape)}"
            text = f"{text} take more than the {_MAX_SAMPLES} elements allowed"
            raise errors.ResourceExhaustedError(None, None, text)
        filters = _filters(bins, float(rate), low, high, bands)
        energy = np.sqrt(np.maximum(spectrogram.astype(np.float64), 0)) @ filters
        cosines = np.cos(np.pi / bands * np.outer(np.arange(bands) + 0.5, np.arange(wanted)))
        found = np.log(np.maximum(energy, _LEAST)) @ (cosines * np.sqrt(2.0 / bands))
        return found.astype(np.float32)

    return run
