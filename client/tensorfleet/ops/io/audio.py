"""Sound: WAV files, spectrograms, and the coefficients that recognizers of speech use (`tf.audio`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import with_rank


def _decoded(node: RuleNode) -> list[Dims]:
    with_rank(node.inputs[0].dims, 0)
    sizes = [node.attrs[key] for key in ("desired_samples", "desired_channels")]
    for key, size in zip(("desired_samples", "desired_channels"), sizes, strict=True):
        if size < -1:
            raise ValueError(f"{key} must be non-negative or -1, got {size}")
    return [tuple(None if size == -1 else size for size in sizes), ()]


def _encoded(node: RuleNode) -> list[Dims]:
    with_rank(node.inputs[0].dims, 2)
    with_rank(node.inputs[1].dims, 0)
    return [()]


def _spectrogram(node: RuleNode) -> list[Dims]:
    dims = with_rank(node.inputs[0].dims, 2)
    window, stride = node.attrs["window_size"], node.attrs["stride"]
    if window < 1 or stride < 1:
        return [None]
    count, channels = dims or (None, None)
    frames = None if count is None else max(0, 1 + (count - window) // stride if count >= window else 0)
    return [(channels, frames, 1 + (1 << (window - 1).bit_length()) // 2)]


def _coefficients(node: RuleNode) -> list[Dims]:
    dims = with_rank(node.inputs[0].dims, 3) or (None, None, None)
    with_rank(node.inputs[1].dims, 0)
    return [(*dims[:2], node.attrs["dct_coefficient_count"])]


op(
    "DecodeWav(contents: string) -> (audio: float32, sample_rate: int32)",
    "desired_channels: int = -1",
    "desired_samples: int = -1",
    shape=_decoded,
)
op("EncodeWav(audio: float32, sample_rate: int32) -> (contents: string)", shape=_encoded)
op(
    "AudioSpectrogram(input: float32) -> (spectrogram: float32)",
    "window_size: int",
    "stride: int",
    "magnitude_squared: bool = false",
    shape=_spectrogram,
)
op(
    "Mfcc(spectrogram: float32, sample_rate: int32) -> (output: float32)",
    "upper_frequency_limit: float = 4000.0",
    "lower_frequency_limit: float = 20.0",
    "filterbank_channel_count: int = 40",
    "dct_coefficient_count: int = 13",
    shape=_coefficients,
)


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> Any:
    """The samples of a WAV file of 16 bits, in [-1, 1), and their number per second (`tf.audio.decode_wav`).

    Args:
        contents: the file, string [].
        desired_channels: how many; the last one stands for those that are missing. -1: as many as there are.
        desired_samples: how many; zeros stand for those that are missing. -1: as many as there are.

    Returns:
        `audio`, float32 [samples, channels], and `sample_rate`, int32 [].
    """
    return apply_op(
        "DecodeWav", contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name
    )


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """A WAV file of 16-bit samples (`tf.audio.encode_wav`).

    Args:
        audio: samples in [-1, 1], float32 [samples, channels]; others are clipped.
        sample_rate: their number per second, int32 [].
    """
    return apply_one("EncodeWav", audio, sample_rate, name=name)


def audio_spectrogram(
    input: Any, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Tensor:
    """The magnitudes of the frequencies in windows of a sound (`contrib_audio.audio_spectrogram`).

    Args:
        input: float32 [samples, channels].
        window_size, stride: the samples of a window, and those from one to the next.
        magnitude_squared: give energies.

    Returns:
        float32 [channels, windows, frequencies].
    """
    options = {"window_size": window_size, "stride": stride, "magnitude_squared": magnitude_squared}
    return apply_one("AudioSpectrogram", input, **options, name=name)


def mfcc(
    spectrogram: Any,
    sample_rate: Any,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:
    """The mel-frequency cepstral coefficients of a spectrogram of energies (`contrib_audio.mfcc`).

    Args:
        spectrogram: float32 [channels, windows, frequencies].
        sample_rate: of the sound, int32 [].

    Returns:
        float32 [channels, windows, dct_coefficient_count].
    """
    return apply_one(
        "Mfcc",
        spectrogram,
        sample_rate,
        upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count,
        name=name,
    )
