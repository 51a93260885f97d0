"""Functions of `tf.nn` and their gradients on a GPU of the stand-in, beside those on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.core.device import parse
from tests.compat.nn_cases import CASES
from tests.gpu.strict_array import Machine

ON_CPU = ("depthwise", "separable")
"""Functions whose ops have no kernels for GPUs yet."""


def _run(name: str, gpus: int) -> tuple[Any, set[str]]:
    function, inputs = CASES[name]
    with tf.Graph().as_default():
        fed = [tf.placeholder(x.dtype, x.shape) for x in inputs]
        outputs = function(tf.nn, *fed)
        floats = [x for x in fed if x.dtype.is_floating]
        first = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
        found = tf.gradients(first, floats) if first.dtype.is_floating else []
        gradients = [g for g in found if g is not None]
        metadata = tf.RunMetadata()
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": gpus})) as session:
            fetched = session.run(
                [outputs, gradients],
                dict(zip(fed, inputs, strict=True)),
                tf.RunOptions(output_partition_graphs=True),
                metadata,
            )
        nodes = [node for graph in metadata.partition_graphs for node in graph.node]
        return fetched, {node.op for node in nodes if parse(node.device).type == "GPU"}


@pytest.mark.parametrize("name", CASES)
def test_a_function_and_its_gradients(gpus: Callable[..., Machine], name: str) -> None:
    gpus()
    expected, _ = _run(name, 0)
    found, on_gpu = _run(name, 1)
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, 1e-4, 1e-5), found, expected)
    if not name.startswith(ON_CPU):
        assert on_gpu - {"_Arg", "_Retval", "Const"}, "all of it ran on the CPU"
