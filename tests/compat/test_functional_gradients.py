"""Gradients of If, Case and While, which control flow v2 makes, beside TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tensorflow

import tensorfleet as tf
from tests.gradients.functional_flow_cases import (
    PROGRAMS,
    Program,
    arrays,
    branches_by_number,
    conditional,
    flat,
    functions,
    loop,
    nested,
    run,
    variables,
)


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


@pytest.mark.parametrize(
    "program",
    [conditional, branches_by_number, loop, nested, arrays, variables, functions],
    ids=lambda program: program.__name__,
)
def test_tensorflow_runs_our_gradients(program: Program) -> None:
    ours = flat(run(tf, program))
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            fetches, feeds = program(tf)
            names = [tensor.name for tensor in flat(fetches)]
            initializer = tf.global_variables_initializer().name
            named = [{tensor.name: value for tensor, value in feed.items()} for feed in feeds]
            message = tensorflow.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    finally:
        tf.disable_control_flow_v2()
    with tensorflow.Graph().as_default(), tensorflow.Session() as session:
        tensorflow.import_graph_def(message, name="")
        session.run(initializer)
        theirs = [number for feed in named for number in session.run(names, feed)]
    for own, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=2e-5, atol=1e-6)
