"""The functions of tf.raw_ops have TensorFlow's arguments."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

NAMES = [name for name in dir(fleet.raw_ops) if hasattr(real.raw_ops, name)]


def parameters(function: Any) -> list[tuple[str, bool]]:
    given = inspect.signature(function).parameters.values()
    return [(p.name, p.default is p.empty) for p in given]


def test_arguments() -> None:
    assert len(NAMES) > 900
    other = [
        name
        for name in NAMES
        if parameters(getattr(fleet.raw_ops, name)) != parameters(getattr(real.raw_ops, name))
    ]
    assert other == []
