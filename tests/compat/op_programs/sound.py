"""WAV files, spectrograms and cepstral coefficients."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F, I = np.float32, np.int32  # noqa: E741


def wav(
    samples: Any,
    channels: int = 1,
    rate: int = 8000,
    form: int = 1,
    bits: int = 16,
    between: bytes = b"",
    claimed: int | None = None,
) -> bytes:
    data = np.asarray(samples, "<i2").tobytes()
    layout = struct.pack("<HHIIHH", form, channels, rate, rate * channels * 2, channels * 2, bits)
    size = len(data) if claimed is None else claimed
    body = b"WAVEfmt " + struct.pack("<I", 16) + layout + between + b"data" + struct.pack("<I", size) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


PLAIN = wav([0, 100, -100, 32767, -32768, 5])
STEREO = wav([1, 2, 3, 4, 5, 6], 2, 44100)
LIST = b"LIST" + struct.pack("<I", 4) + b"abcd"
for _file in (PLAIN, STEREO, wav([1, 2, 3], between=LIST)):
    node("DecodeWav", _file)
for _channels, _samples in ((1, -1), (2, -1), (4, 2), (-1, 5), (-1, 0), (1, 100)):
    node("DecodeWav", STEREO, desired_channels=_channels, desired_samples=_samples)
    node("DecodeWav", PLAIN, desired_channels=_channels, desired_samples=_samples)
for _file in (
    *(
        b"",
        b"RIFF",
        b"RIFX" + PLAIN[4:],
        PLAIN[:8] + b"WAVX" + PLAIN[12:],
        PLAIN[:20],
        PLAIN[:36],
        PLAIN[:44],
    ),
    *(wav([1, 2], form=3), wav([1, 2], bits=8), wav([1], 0), wav([1, 2], claimed=1 << 31)),
    *(wav([1, 2], claimed=100), PLAIN[:12] + PLAIN[36:], wav([], 1)),
):
    node("DecodeWav", _file)
node("DecodeWav", np.array([PLAIN], object))
for _channels, _samples in ((0, -1), (-2, -1), (1, -2)):
    node("DecodeWav", PLAIN, desired_channels=_channels, desired_samples=_samples)

_SOUND = F([[0.0, 0.5], [-0.5, 1.0], [1.5, -1.0], [-2.0, 1 / 65536], [3 / 65536, -1 / 65536]])
node("EncodeWav", _SOUND, I(16000))
node("EncodeWav", _SOUND[:, :1], I(1))
node("EncodeWav", np.zeros((0, 1), F), I(8000))
for _audio, _rate in ((_SOUND[0], I(1)), (_SOUND, I([1])), (_SOUND, I(0)), (np.zeros((3, 0), F), I(1))):
    node("EncodeWav", _audio, _rate)

_WAVE = np.sin(np.arange(400) * np.array([[0.1], [0.7]])).T.astype(F)
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4}
for _window, _stride in ((64, 32), (100, 37), (400, 1), (401, 5), (2, 100), (31, 31)):
    for _squared in (False, True):
        node(
            "AudioSpectrogram",
            _WAVE,
            window_size=_window,
            stride=_stride,
            magnitude_squared=_squared,
            settings=CLOSE,
        )
node("AudioSpectrogram", _WAVE[:, 0], window_size=8, stride=8)
node("AudioSpectrogram", _WAVE, window_size=1, stride=8)
node("AudioSpectrogram", _WAVE, window_size=8, stride=0)


@program("Mfcc", "AudioSpectrogram", rtol=1e-3, atol=1e-3)
def coefficients_of_speech(make: Maker) -> Any:
    spectrogram = make("AudioSpectrogram", _WAVE, window_size=128, stride=64, magnitude_squared=True)
    return [
        make("Mfcc", spectrogram, I(16000)),
        make("Mfcc", spectrogram, I(8000), lower_frequency_limit=100.0, dct_coefficient_count=5),
        make("Mfcc", spectrogram, I(16000), upper_frequency_limit=7600.0, filterbank_channel_count=12),
    ]


node("Mfcc", F([[[1, 2, 3, 4]]]), I(16000), settings=CLOSE)
for _rate in (I(0), I(-5), I([1, 2])):
    node("Mfcc", F([[[1, 2, 3, 4]]]), _rate)
node("Mfcc", F([[1, 2, 3, 4]]), I(16000))
node("Mfcc", F([[[1, 2, 3, 4]]]), I(16000), upper_frequency_limit=10.0)
node("Mfcc", F([[[1, 2, 3, 4]]]), I(16000), dct_coefficient_count=0)
