"""The nodes that calls of the public API make, by name, op type and inputs, beside those of TensorFlow.

Of calls that differentiate or train, the nodes count that their results depend on: TensorFlow leaves some in
its graphs that it made to look at their shapes or values. Two things are taken as 1.15 has them: the axes of
a sum of rank 0 are a constant, and not the range of a constant rank; and the branch around an Assert, which
there is there as well, is not looked at.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import numpy as np
from tensorflow.python.ops import math_ops

from tests.compat import name_cases
from tests.compat.name_exceptions import EXCEPTIONS
from tests.compat.side_by_side import Outcome, evaluate, ours, real

Nodes = list[tuple[str, str, tuple[str, ...]]]

_GUARD = re.compile(
    r".*/AssertGuard/(Switch|switch_t|switch_f|pred_id|NoOp|control_dependency(_1)?|Merge|Assert/Switch(_\d+)?)"
)


def _lines(text: str) -> list[str]:
    return text.strip().split("\n")


VARIABLE = 'tf.get_variable("v", [2, 3])'
WHOLE = [
    expression
    for table in (
        name_cases.REDUCTIONS,
        name_cases.ARRAYS,
        name_cases.CHECKS,
        name_cases.NN,
        name_cases.LOSSES,
        name_cases.METRICS,
        name_cases.DECAYS,
        name_cases.INITIALIZERS,
    )
    for expression in _lines(table)
]
USED = [
    *(f"tf.gradients({expression}, [m, p, u])" for expression in _lines(name_cases.GRADIENTS)),
    *(f"tf.gradients({expression}, img)" for expression in _lines(name_cases.IMAGE_GRADIENTS)),
    *(
        f"[v := {VARIABLE}, {optimizer}.minimize({loss})]"
        for optimizer in _lines(name_cases.OPTIMIZERS)
        for loss in _lines(name_cases.MINIMIZED)
    ),
    *name_cases.TRAINING,
]


@pytest.fixture(autouse=True)
def axes_of_version_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has TensorFlow's package make a constant of the axes of a sum of rank 0."""
    today = math_ops._ReductionDims

    def axes(x: Any, axis: Any) -> Any:
        if axis is None and isinstance(x, real.Tensor) and x.shape.rank == 0:
            return real.constant(np.arange(0, dtype=np.int32))
        return today(x, axis)

    monkeypatch.setattr(math_ops, "_ReductionDims", axes)


def nodes(outcome: Outcome, used: bool) -> Nodes:
    """Names, op types and inputs, sorted, without the branches around asserts."""
    inputs = {name: given for name, _, given, _ in outcome.nodes}
    kept = {name: op_type for name, op_type, _, _ in outcome.nodes if not _GUARD.fullmatch(name)}

    def source(tensor: str) -> str:
        name = tensor.partition(":")[0]
        return source(inputs[name][0]) if name in inputs and name not in kept else tensor

    found = {name: tuple(source(tensor) for tensor in inputs[name]) for name in kept}
    if used:
        controls = {name: given for name, _, _, given in outcome.nodes}
        reached, stack = set(), list(outcome.results)
        while stack:
            name = stack.pop()
            if name in found and name not in reached:
                reached.add(name)
                stack += [tensor.partition(":")[0] for tensor in found[name]]
                stack += [control for control in controls[name] if not _GUARD.fullmatch(control)]
        found = {name: given for name, given in found.items() if name in reached}
    return sorted((name, kept[name], given) for name, given in found.items())


def both_nodes(expression: str, used: bool) -> tuple[Nodes, Nodes]:
    """TensorFlow's outcome of the expression, and ours."""
    theirs, mine = evaluate(real, expression, False), evaluate(ours, expression, False)
    assert (theirs.error, mine.error) == ("", ""), theirs.text + mine.text
    return nodes(theirs, used), nodes(mine, used)


@pytest.mark.parametrize("expression", [e for e in WHOLE if e not in EXCEPTIONS])
def test_same_nodes(expression: str) -> None:
    theirs, mine = both_nodes(expression, used=False)
    assert mine == theirs


@pytest.mark.parametrize("expression", [e for e in USED if e not in EXCEPTIONS])
def test_same_nodes_that_results_depend_on(expression: str) -> None:
    theirs, mine = both_nodes(expression, used=True)
    assert mine == theirs


@pytest.mark.parametrize("expression", sorted(EXCEPTIONS))
def test_exceptions_are_needed(expression: str) -> None:
    theirs, mine = both_nodes(expression, used=expression in USED)
    assert mine != theirs, f"{expression} is no exception any more: {EXCEPTIONS[expression]}"


def test_exceptions_are_in_the_table() -> None:
    assert set(EXCEPTIONS) <= {*WHOLE, *USED}
