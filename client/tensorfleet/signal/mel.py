"""Spectra on the mel scale, as HTK has it: 1127 ln(1 + hertz / 700)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import split
from tensorfleet.ops.array.linspace import linspace
from tensorfleet.ops.array.padding import pad
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.elementwise import log, rsqrt
from tensorfleet.signal.cosine import dct
from tensorfleet.signal.framing import frame

_MEL_BREAK_HERTZ = 700.0
_MEL_FACTOR = 1127.0


def _mel(hertz: Tensor) -> Tensor:
    return _MEL_FACTOR * log(1.0 + hertz / _MEL_BREAK_HERTZ)


def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: Any = 125.0,
    upper_edge_hertz: Any = 3800.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The matrix from spectra in hertz to the mel scale (`tf.signal.linear_to_mel_weight_matrix`).

    Args:
        num_mel_bins: bands of the result, each a triangle on the mel scale.
        num_spectrogram_bins: frequencies of the spectra, fft_length / 2 + 1.
        sample_rate: samples per second.
        lower_edge_hertz: lower end of the lowest band.
        upper_edge_hertz: upper end of the highest band.

    Returns:
        [num_spectrogram_bins, num_mel_bins].

    Raises:
        ValueError: numbers of bands or frequencies that make no sense.
    """
    with framework.name_scope(name, "linear_to_mel_weight_matrix"):
        dtype = dtypes.as_dtype(dtype)
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        rate = cast(convert_to_tensor(sample_rate, name="sample_rate"), dtype)
        lower = convert_to_tensor(lower_edge_hertz, dtype, "lower_edge_hertz")
        upper = convert_to_tensor(upper_edge_hertz, dtype, "upper_edge_hertz")
        zero = convert_to_tensor(0.0, dtype)
        # The constant part is in no band.
        frequencies = linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]
        of_frequency = expand_dims(_mel(frequencies), 1)
        edges = frame(linspace(_mel(lower), _mel(upper), num_mel_bins + 2), frame_length=3, frame_step=1)
        begin, middle, end = (reshape(edge, [1, num_mel_bins]) for edge in split(edges, 3, axis=1))
        rising = (of_frequency - begin) / (middle - begin)
        falling = (end - of_frequency) / (end - middle)
        return pad(maximum(zero, minimum(rising, falling)), [[1, 0], [0, 0]])


def _check(bins: Any, rate: Any, lower: Any, upper: Any, dtype: dtypes.DType) -> None:
    if not is_tensor(bins) and bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if not is_tensor(lower) and lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if not is_tensor(lower) and not is_tensor(upper) and lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if not is_tensor(rate):
        if rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {rate}")
        if not is_tensor(upper) and upper > rate / 2:
            raise ValueError(
                f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got "
                f"{upper} for sample_rate: {rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients (`tf.signal.mfccs_from_log_mel_spectrograms`).

    Args:
        log_mel_spectrograms: [..., bands], the logarithms of the energies in the bands.

    Returns:
        [..., bands], a cosine transform of type 2, scaled as in HTK.
    """
    with framework.name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectra = convert_to_tensor(log_mel_spectrograms)
        bands = spectra.shape.as_list()[-1] if spectra.shape.ndims else None
        if bands == 0:
            raise ValueError("num_mel_bins must be positive. Got: 0")
        count = shape(spectra)[-1] if bands is None else bands
        return dct(spectra, type=2) * rsqrt(cast(count, spectra.dtype) * 2.0)
