"""The additions to variables, of AssignAdd and its likes: large arrays of float32 on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet_service.devices.native import takes
from tensorfleet_service.kernels.math.compiled import FULL, UPDATED, compile_steps, is_compiled

DIVIDED_FROM = 1 << 21
"""Number of elements from which several threads pay: smaller arrays are in the cache of one core."""


def in_place(ufunc: Any) -> Callable[..., Any]:
    """A ufunc of two arrays of one shape, for `Variable.update`; values are NumPy's bit by bit."""
    if not isinstance(ufunc, np.ufunc) or not is_compiled({ufunc.__name__}, np.float32):
        return ufunc  # type: ignore[no-any-return]  # CuPy's is one, too
    steps = compile_steps([(ufunc.__name__, "o0", ("o0", "x0"))], {"x0": FULL}, ["o0"], 0, UPDATED)
    assert steps is not None

    def update(current: Any, value: Any, out: Any = None) -> Any:
        if out is not current or not takes(current, value, least=DIVIDED_FROM):
            return ufunc(current, value, out=out)
        steps.run((value,), (current,), current.size, 1)
        return current

    return update
