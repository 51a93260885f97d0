"""One expression, evaluated with either library in a graph of its own: what it builds, gives and refuses."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as real

import tensorfleet as ours

real.disable_v2_behavior()

Node = tuple[str, str, list[str], list[str]]
"""Name, op type, inputs, control inputs."""

_HIDDEN = frozenset(
    (
        "_output_shapes",
        "allowed_devices",
        "shared_name",
        "_has_manual_control_dependencies",
        "_unchanged",
        "_scaled",
        "_known_0",
        "_known_1",
    )
)


@dataclass
class Outcome:
    """The outcome of an expression; `error` is the exception's class, of building it or of running it."""

    error: str = ""
    text: str = ""
    results: list[str] = field(default_factory=list)
    """The names of the operations that give the result."""
    shapes: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    attrs: dict[str, dict[str, bytes]] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


def evaluate(tf: Any, expression: str, run: bool = True) -> Outcome:
    """Evaluates `expression` over `tf`, `np`, and the tensors m [2, 3], p [?, 3], u of unknown shape, img."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        names = {
            "tf": tf,
            "np": np,
            "m": tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="m"),
            "p": tf.placeholder_with_default(np.ones((2, 3), np.float32), [None, 3], name="p"),
            "u": tf.placeholder_with_default(np.ones((2, 3), np.float32), None, name="u"),
            "img": tf.ones([1, 2, 2, 1], name="img"),
        }
        before = len(graph.get_operations())
        try:
            result = _flat(eval(expression, names))
        except Exception as error:
            return Outcome(type(error).__name__, str(error))
        made = graph.get_operations()[before:]
        outcome = Outcome(
            results=[getattr(t, "op", t).name for t in result if hasattr(t, "name")],
            shapes=[str(t.shape) for t in result if hasattr(t, "shape")],
            nodes=[
                (op.name, op.type, [t.name for t in op.inputs], [c.name for c in op.control_inputs])
                for op in made
            ],
            attrs={
                op.name: {
                    key: value.SerializeToString(deterministic=True)
                    for key, value in op.node_def.attr.items()
                    if key not in _HIDDEN
                }
                for op in made
            },
        )
        if run:
            fetches = [t for t in result if hasattr(t, "op")]
            try:
                with tf.Session(graph=graph) as session:
                    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                    outcome.values = session.run(fetches)
            except tf.errors.OpError as error:
                outcome.error, outcome.text = type(error).__name__, str(error)
        return outcome


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [item for part in result for item in _flat(part)]
    return [result]


def both(expression: str, run: bool = True) -> tuple[Outcome, Outcome]:
    """TensorFlow's outcome of the expression, and ours."""
    return evaluate(real, expression, run), evaluate(ours, expression, run)


def check_values(mine: Outcome, theirs: Outcome) -> None:
    """The same values, dtypes and shapes, up to the rounding of sums."""
    assert len(mine.values) == len(theirs.values)
    for value, expected in zip(mine.values, theirs.values, strict=True):
        if expected is None:
            assert value is None
            continue
        value, expected = np.asarray(value), np.asarray(expected)
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind in "fc":
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
        else:
            assert value.tolist() == expected.tolist()
