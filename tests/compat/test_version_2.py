"""The parameters of `tensorflow.compat.v2` beside those of the real package."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow.compat.v2 as real

from tensorfleet.run.python.v2 import SIGNATURES, adapted


@pytest.mark.parametrize("path", SIGNATURES)
def test_parameters_are_in_the_order_of_the_real_function(path: str) -> None:
    function: Any = real
    for part in path.split("."):
        function = getattr(function, part)
    theirs, ours = (
        list(inspect.signature(function).parameters),
        list(inspect.signature(adapted(path)).parameters),
    )
    assert ours == theirs[: len(ours)]
