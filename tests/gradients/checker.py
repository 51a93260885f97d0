"""The gradient checker: what `tf.gradients` says of an op, against central differences in float64."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tensorfleet as tf
from tensorfleet.core import dtypes
from tensorfleet.graph.apply import apply_op
from tensorfleet.ops.array.identity import placeholder
from tests.gradients.cases import Case

STEP = 1e-5


class Built:
    """A case as a graph: its op on placeholders, seeds for its outputs, gradients of its inputs."""

    def __init__(self, case: Case, known_shapes: bool) -> None:
        self.case = case
        self.feeds: dict[Any, Any] = {}
        self.xs: list[Any] = []
        arguments = []
        for i, value in enumerate(case.inputs):
            if isinstance(value, list):
                arguments.append([self._input(x, known_shapes) for x in value])
            elif i in case.constant:
                arguments.append(tf.constant(value))
            else:
                arguments.append(self._input(value, known_shapes))
        make = case.op if callable(case.op) else functools.partial(apply_op, case.op)
        outputs = _flat(make(*arguments, **case.attrs))
        self.ys = [y for y in outputs if y.dtype.is_floating or y.dtype.is_complex]

    def _input(self, value: Any, known_shapes: bool) -> Any:
        if value.dtype != np.float64:
            return tf.constant(value)
        x = placeholder(dtypes.float64, value.shape if known_shapes or self.case.known_shapes else None)
        self.feeds[x] = value
        self.xs.append(x)
        return x


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _flat(item)]
    return [value]


def symbolic_and_numeric(case: Case, known_shapes: bool = True) -> list[tuple[Any, Any]]:
    """For each differentiated input: the gradient by `tf.gradients`, perhaps None, and the numeric one.

    Both are of the sum of all outputs, weighted by fixed numbers of no pattern.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        built = Built(case, known_shapes)
        base = session.run(built.ys, built.feeds)
        random = np.random.RandomState(7)
        weights = [_like(random, y) for y in base]
        grads = tf.gradients(built.ys, built.xs, grad_ys=weights)
        dense = [None if g is None else tf.convert_to_tensor(g) for g in grads]
        found = iter(session.run([g for g in dense if g is not None], built.feeds))
        symbolic = [None if g is None else next(found) for g in dense]

        def weighted(feeds: dict[Any, Any]) -> float:
            ys = session.run(built.ys, feeds)
            return float(sum(np.sum(np.real(np.conj(w) * y)) for w, y in zip(weights, ys, strict=True)))

        numeric = []
        for x in built.xs:
            value = built.feeds[x]
            slope = np.zeros(value.size)
            for i in range(value.size):
                moved = []
                for step in (STEP, -STEP):
                    changed = value.copy().reshape(-1)
                    changed[i] += step
                    moved.append(weighted({**built.feeds, x: changed.reshape(value.shape)}))
                slope[i] = (moved[0] - moved[1]) / (2 * STEP)
            numeric.append(slope.reshape(value.shape))
    return list(zip(symbolic, numeric, strict=True))


def _like(random: np.random.RandomState, y: Any) -> Any:
    weight = random.uniform(0.5, 1.5, np.shape(y)) * np.where(random.uniform(size=np.shape(y)) < 0.3, -1, 1)
    return (
        (weight + 1j * random.uniform(0.5, 1.5, np.shape(y))).astype(y.dtype)
        if np.iscomplexobj(y)
        else weight
    )


def faults(case: Case, known_shapes: bool = True, tolerance: float = 2e-6) -> list[str]:
    """The faults of the gradients of a case; empty if there are none."""
    result = []
    for i, (symbolic, numeric) in enumerate(symbolic_and_numeric(case, known_shapes)):
        if case.symmetric and symbolic is not None:
            symbolic, numeric = (
                symbolic + np.swapaxes(symbolic, -1, -2),
                numeric + np.swapaxes(numeric, -1, -2),
            )
        if symbolic is None:
            if not np.all(abs(numeric) <= tolerance):
                result.append(f"input {i}: no gradient, but {numeric}")
        elif np.shape(symbolic) != np.shape(numeric):
            result.append(f"input {i}: shape {np.shape(symbolic)} instead of {np.shape(numeric)}")
        elif not np.allclose(symbolic, numeric, rtol=tolerance, atol=tolerance):
            result.append(f"input {i}: {symbolic} instead of {numeric}")
    return result
