"""`tf.contrib.signal`: the older place of `tf.signal`."""

import typing as _typing

from tensorfleet.signal import (
    dct as dct,
    fft as fft,
    frame as frame,
    hamming_window as hamming_window,
    hann_window as hann_window,
    idct as idct,
    ifft as ifft,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    irfft as irfft,
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
    overlap_and_add as overlap_and_add,
    rfft as rfft,
    stft as stft,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
