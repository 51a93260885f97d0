"""`tf.contrib.signal`: frames, windows and spectra, as in `tf.signal`."""

from tensorfleet.signal.framing import frame as frame, overlap_and_add as overlap_and_add
from tensorfleet.signal.mel import (
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from tensorfleet.signal.spectra import (
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    stft as stft,
)
from tensorfleet.signal.windows import hamming_window as hamming_window, hann_window as hann_window

__all__ = [
    "frame",
    "hamming_window",
    "hann_window",
    "inverse_stft",
    "inverse_stft_window_fn",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "stft",
]
