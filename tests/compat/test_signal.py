"""tf.signal beyond Fourier transforms: values, shapes and errors beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf

tensorflow.disable_v2_behavior()

RANDOM = np.random.RandomState(5)
WAVE = RANDOM.randn(2, 50).astype(np.float32)
DOUBLE = RANDOM.randn(3, 37)
LARGE = RANDOM.randn(4000).astype(np.float32)


def unknown(t: Any, value: Any) -> Any:
    return t.placeholder_with_default(value, None)


def partly(t: Any, value: np.ndarray) -> Any:
    return t.placeholder_with_default(value, [None] * value.ndim)


CASES: dict[str, Any] = {
    **{
        f"{window}({length})": lambda t, w=window, n=length: getattr(t.signal, w)(n)
        for window in ("hann_window", "hamming_window", "kaiser_window", "vorbis_window")
        for length in (1, 2, 7, 16)
    },
    "a symmetric window": lambda t: t.signal.hann_window(8, periodic=False),
    "a window in double precision": lambda t: t.signal.hamming_window(9, dtype=t.float64),
    "a window of unknown length": lambda t: t.signal.hann_window(t.placeholder_with_default(6, [])),
    "a derived window": lambda t: t.signal.kaiser_bessel_derived_window(12, beta=4.0),
    "a sharp window": lambda t: t.signal.kaiser_window(11, 3.0, t.float64),
    "frames": lambda t: t.signal.frame(WAVE, 7, 3),
    "filled frames": lambda t: t.signal.frame(WAVE, 7, 3, pad_end=True, pad_value=2),
    "frames of another dimension": lambda t: t.signal.frame(np.stack([WAVE, WAVE], 2), 9, 4, axis=1),
    "filled frames of the first": lambda t: t.signal.frame(DOUBLE.T, 9, 4, pad_end=True, axis=0),
    "apart": lambda t: t.signal.frame(WAVE, 3, 5),
    "longer than the signal": lambda t: t.signal.frame(WAVE, 60, 5),
    "filled, longer than the signal": lambda t: t.signal.frame(WAVE, 60, 25, pad_end=True),
    "frames of integers": lambda t: t.signal.frame(np.arange(10), 4, 2),
    "frames of unknown sizes": lambda t: t.signal.frame(partly(t, WAVE), 7, 3, pad_end=True),
    "frames of unknown rank": lambda t: t.signal.frame(unknown(t, WAVE), 7, 3, pad_end=True),
    "frames of unknown length": lambda t: t.signal.frame(WAVE, t.placeholder_with_default(7, []), 3),
    "overlaps": lambda t: t.signal.overlap_and_add(WAVE.reshape(2, 5, 10), 4),
    "overlaps of batches": lambda t: t.signal.overlap_and_add(RANDOM.__class__(1).randn(2, 3, 4, 6), 6),
    "gaps": lambda t: t.signal.overlap_and_add(np.ones((3, 2)), 4),
    "overlaps of unknown sizes": lambda t: t.signal.overlap_and_add(partly(t, WAVE), 25),
    "a step that is no integer": lambda t: t.signal.overlap_and_add(WAVE, 2.5),
    "one frame without a dimension": lambda t: t.signal.overlap_and_add([1.0, 2.0], 1),
    "stft": lambda t: t.signal.stft(LARGE, 400, 160),
    "stft of batches": lambda t: t.signal.stft(WAVE, 16, 8, 32),
    "stft, filled": lambda t: t.signal.stft(WAVE, 20, 8, pad_end=True),
    "stft without a window": lambda t: t.signal.stft(DOUBLE, 8, 4, window_fn=None),
    "stft of unknown sizes": lambda t: t.signal.stft(partly(t, WAVE), 16, 8),
    "there and back": lambda t: t.signal.inverse_stft(
        t.signal.stft(WAVE, 16, 4), 16, 4, window_fn=t.signal.inverse_stft_window_fn(4)
    ),
    "there and back, longer": lambda t: t.signal.inverse_stft(t.signal.stft(WAVE, 12, 4, 16), 12, 4, 16),
    "back, longer than the transform": lambda t: t.signal.inverse_stft(
        t.complex(WAVE[:, :9], WAVE[:, 1:10])[None], 20, 4, 16
    ),
    "back without a window": lambda t: t.signal.inverse_stft(
        t.signal.stft(DOUBLE, 8, 4), 8, 4, window_fn=None
    ),
    "the inverse's window": lambda t: t.signal.inverse_stft_window_fn(3, t.signal.hamming_window)(
        8, t.float32
    ),
    "mdct": lambda t: t.signal.mdct(WAVE, 8),
    "mdct, orthogonal": lambda t: t.signal.mdct(DOUBLE, 16, norm="ortho", pad_end=True),
    "mdct, other window": lambda t: t.signal.mdct(WAVE, 8, window_fn=t.signal.kaiser_bessel_derived_window),
    "mdct without a window": lambda t: t.signal.mdct(WAVE, 12, window_fn=None),
    "mdct there and back": lambda t: t.signal.inverse_mdct(t.signal.mdct(WAVE, 8)),
    "mdct there and back, orthogonal": lambda t: t.signal.inverse_mdct(
        t.signal.mdct(WAVE, 8, norm="ortho"), norm="ortho"
    ),
    "mdct of a wrong length": lambda t: t.signal.mdct(WAVE, 10),
    **{
        f"{way} {kind} {norm}": lambda t, w=way, k=kind, n=norm: getattr(t.signal, w)(DOUBLE, k, norm=n)
        for way in ("dct", "idct")
        for kind in (1, 2, 3, 4)
        for norm in (None, "ortho")
    },
    **{f"dct {k} of float32": lambda t, k=k: t.signal.dct(WAVE, k) for k in (1, 2, 3, 4)},
    "dct of fewer": lambda t: t.signal.dct(DOUBLE, 2, n=20),
    "dct of more": lambda t: t.signal.dct(DOUBLE, 3, n=50, norm="ortho"),
    "dct of unknown sizes": lambda t: t.signal.dct(partly(t, DOUBLE), 4, norm="ortho"),
    "dct of no type": lambda t: t.signal.dct(DOUBLE, 5),
    "dct of another axis": lambda t: t.signal.dct(DOUBLE, axis=0),
    "dct of one sample": lambda t: t.signal.dct(t.constant([1.0]), 1),
    "dct of no norm": lambda t: t.signal.dct(DOUBLE, norm="other"),
    "spectral": lambda t: t.spectral.idct(t.spectral.dct(DOUBLE)),
    "mel": lambda t: t.signal.linear_to_mel_weight_matrix(),
    "mel, other bands": lambda t: t.signal.linear_to_mel_weight_matrix(
        40, 257, 16000, 80.0, 7600.0, t.float64
    ),
    "mel beyond half the rate": lambda t: t.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0),
    "mel the wrong way": lambda t: t.signal.linear_to_mel_weight_matrix(lower_edge_hertz=4000.0),
    "mel without bands": lambda t: t.signal.linear_to_mel_weight_matrix(0),
    "mfcc": lambda t: t.signal.mfccs_from_log_mel_spectrograms(WAVE),
    "shifted": lambda t: t.signal.fftshift(np.arange(30).reshape(5, 6)),
    "shifted back": lambda t: t.signal.ifftshift(np.arange(30).reshape(5, 6)),
    "one axis shifted": lambda t: t.signal.fftshift(DOUBLE, axes=-1),
    "two axes shifted": lambda t: t.signal.ifftshift(DOUBLE, axes=[0, 1]),
    "gradients of frames": lambda t: t.gradients(t.signal.frame(x := t.constant(WAVE), 7, 3) ** 2, x)[0],
    "gradients of a spectrum": lambda t: t.gradients(t.abs(t.signal.stft(x := t.constant(WAVE), 16, 8)), x)[
        0
    ],
    "gradients of a transform": lambda t: t.gradients(t.signal.dct(x := t.constant(DOUBLE), 4) ** 2, x)[0],
}


def outcome(make: Any, t: Any) -> Any:
    with t.Graph().as_default(), t.Session() as session:
        try:
            made = make(t)
            return made.shape.as_list() if made.shape.ndims is not None else None, session.run(made)
        except Exception as e:
            return type(e).__name__, str(e)


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    wanted, ours = outcome(CASES[case], tensorflow), outcome(CASES[case], tf)
    if isinstance(wanted[0], str) or isinstance(ours[0], str):
        assert ours[0] == wanted[0], (wanted, ours)
        return
    assert ours[1].dtype == wanted[1].dtype
    tolerance = 1e-10 if wanted[1].dtype in (np.float64, np.complex128) else 2e-5
    np.testing.assert_allclose(
        ours[1], wanted[1], tolerance, tolerance * (1 + np.abs(wanted[1]).max(initial=0))
    )
    if wanted[0] is not None:  # what TensorFlow knows of the shape, we know
        assert ours[0] is not None
        assert all(w is None or w == o for w, o in zip(wanted[0], ours[0], strict=True)), (wanted[0], ours[0])
