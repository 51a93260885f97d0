"""Gradients of If, Case and While, which control flow v2 makes, beside TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf
from tests.gradients.functional_flow_cases import PROGRAMS, Program, flat, run


@pytest.fixture(autouse=True)
def graphs() -> None:
    tensorflow.disable_eager_execution()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_as_tensorflow_has_them(program: Program) -> None:
    ours, theirs = flat(run(tf, program)), flat(run(tensorflow, program))
    assert len(ours) == len(theirs)
    for own, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=2e-5, atol=1e-6)
        assert np.asarray(own).dtype == np.asarray(wanted).dtype
