"""Gradients of Fourier transforms against differences; complex inputs are made of two real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tests.gradients.cases import Case, values
from tests.gradients.checker import faults

KINDS = {"Treal": dtypes.float64, "Tcomplex": dtypes.complex128}


def _case(op: str, shape: tuple[int, ...], *length: int) -> Case:
    attrs: dict[str, Any] = KINDS if length else {"Tcomplex": dtypes.complex128}
    given = [np.array(length, np.int32)] if length else []

    def of_complex(real: Any, imaginary: Any) -> Any:
        return apply_op(op, apply_op("Complex", real, imaginary, Tout=dtypes.complex128), *given, **attrs)

    def of_real(real: Any) -> Any:
        return apply_op(op, real, *given, **attrs)

    first, second = values(*shape), values(*shape, seed=1)
    if op.startswith("RFFT"):
        return Case(of_real, (first,))  # type: ignore[arg-type]
    return Case(of_complex, (first, second))  # type: ignore[arg-type]


CASES = {
    "FFT": _case("FFT", (2, 3)),
    "IFFT": _case("IFFT", (2, 3)),
    "FFT2D": _case("FFT2D", (2, 2, 3)),
    "IFFT2D": _case("IFFT2D", (2, 3)),
    "FFT3D": _case("FFT3D", (2, 2, 2)),
    "IFFT3D": _case("IFFT3D", (2, 1, 3)),
    "RFFT of an even length": _case("RFFT", (2, 4), 4),
    "RFFT of an odd length": _case("RFFT", (2, 5), 5),
    "RFFT of a part": _case("RFFT", (2, 5), 4),
    "RFFT2D": _case("RFFT2D", (2, 3, 4), 3, 4),
    "RFFT2D of a part": _case("RFFT2D", (3, 5), 2, 3),
    "IRFFT of an even length": _case("IRFFT", (2, 3), 4),
    "IRFFT of an odd length": _case("IRFFT", (2, 3), 5),
    "IRFFT of a part": _case("IRFFT", (2, 4), 4),
    "IRFFT2D": _case("IRFFT2D", (3, 3), 3, 4),
    "IRFFT2D of an odd length": _case("IRFFT2D", (2, 2, 3), 2, 5),
}


@pytest.mark.parametrize("known_shapes", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_gradient_agrees_with_differences(name: str, known_shapes: bool) -> None:
    assert not faults(CASES[name], known_shapes)
