"""Every op type has a gradient rule or says that it has none; every rule agrees with central differences."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tensorfleet.ops
from tensorfleet.graph import gradient_registry, op_def
from tensorfleet.graph.function_calls import GRADIENT_RULE
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.common import apply_one
from tests.gradients import volume_cases  # noqa: F401 - adds to the cases
from tests.gradients.cases import CASES, Case
from tests.gradients.checker import faults

for _module in pkgutil.walk_packages(tensorfleet.ops.__path__, "tensorfleet.ops."):
    importlib.import_module(_module.name)

# Rules that no table of float64 inputs can check; most have tests of their own in test_gradients.
_ELSEWHERE = {
    **dict.fromkeys(
        ("MatrixDiagV2", "MatrixDiagPartV2", "MatrixSetDiagV2"), "the rules of V3, with another default"
    ),
    "PreventGradient": "raises",
    "EagerPyFunc": "tests/kernels/io/test_py_function.py",
    "ApproxTopK": "float32 at most: tests/compat/test_rare_functions.py",
    "Conj": "complex",
    "Real": "complex",
    "Imag": "complex",
    "Angle": "complex",
    "ComplexAbs": "complex",
    "ReadVariableOp": "variables",
    "ResourceGather": "variables",
    "ResourceGatherNd": "variables",
    "RandomGamma": "random",
    "LRN": "float32 only: compared with TensorFlow",
    "MaxPool3D": "float32 only: compared with TensorFlow",
    "MaxPool3DGrad": "float32 only: compared with TensorFlow",
    "MaxPool3DGradGrad": "float32 only: compared with TensorFlow",
    "CheckNumericsV2": "the rule of CheckNumerics",
    "ScatterNdNonAliasingAdd": "the rule of TensorScatterAdd",
    **dict.fromkeys(("Round", "Rint", "Ceil", "Floor", "FloorDiv", "TruncateDiv"), "steps: None"),
}
# Families whose rules are compared with TensorFlow's instead, or run in loops.
_FAMILIES_ELSEWHERE = (
    *("conv", "cross_entropy", "norm", "pool", "control_flow", "tensor_array"),
    *(
        "tensor_lists",
        "optionals",
        "solving",
        "quantize",
        "ragged",
        "buffers",
        "morphology",
        "fractional_pool",
        "references",
        "stateful",
        "function_ops",
    ),
    *("recurrent", "ctc", "fourier", "image", "quantization", "sparse_arithmetic", "sparse_parts"),
)


def _family(rule: gradient_registry.Rule) -> str:
    return rule.__module__.rpartition(".")[2].removesuffix("_grad")


def test_every_op_type_is_in_the_table() -> None:
    known = set(gradient_registry.registered()) | gradient_registry.without_rule()
    # Other tests register ops of their own.
    ours = {name for name in op_def.registered() if not name.startswith("Test")}
    missing = sorted(ours - known)
    assert not missing, (
        "Op types without a gradient rule: add @gradient(…), not_differentiable(…) or no_rule(…) for "
        f"them to ops/<family>_grad.py: {missing}"
    )


def test_the_table_has_no_other_op_types() -> None:
    # Other tests register functions of their own. A tf.py_function is a PyFunc with the rule of the other,
    # and calls of functions, whose types are the functions' names, share one.
    rules = gradient_registry.registered().items()
    known = {op for op, rule in rules if rule is None or rule.__module__.startswith("tensorfleet.ops.")}
    assert sorted((known | gradient_registry.without_rule()) - set(op_def.registered())) == [
        "EagerPyFunc",
        GRADIENT_RULE,
    ]


def test_no_op_type_is_declared_in_two_ways() -> None:
    assert not gradient_registry.without_rule() & set(gradient_registry.registered())


def test_every_rule_has_a_case() -> None:
    rules = gradient_registry.registered().items()
    ours = {
        op
        for op, rule in rules
        if rule is not None
        and rule.__module__.startswith("tensorfleet.ops.")  # calls of functions have rules elsewhere
        and _family(rule) not in _FAMILIES_ELSEWHERE
    }
    assert not sorted(ours - {case.op for case in CASES} - set(_ELSEWHERE))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule_agrees_with_differences(case: Case) -> None:
    assert not faults(case)


@pytest.mark.parametrize("case", [c for c in CASES if not c.known_shapes], ids=str)
def test_rule_agrees_with_differences_where_shapes_are_unknown(case: Case) -> None:
    assert not faults(case, known_shapes=False)


# The checker itself: it must find gradients that are wrong.

Damage = Callable[[Operation, list[Any]], list[Any]]


def _each(change: Callable[[Any, Any], Any]) -> Damage:
    def damage(op: Operation, grads: list[Any]) -> list[Any]:
        return [
            g if g is None else change(tensorfleet.convert_to_tensor(g), x)
            for g, x in zip(grads, op.inputs, strict=True)
        ]

    return damage


def _dropped(op: Operation, grads: list[Any]) -> list[Any]:
    return [None, *grads[1:]]


DAMAGES: dict[str, Damage] = {
    "twice": _each(lambda g, x: g * 2.0),
    "scaled by a hair": _each(lambda g, x: g * 1.0001),
    "negated": _each(lambda g, x: -g),
    "zero": _each(lambda g, x: apply_one("ZerosLike", g)),
    "reversed": _each(
        lambda g, x: apply_one(
            "Reshape", apply_one("ReverseV2", apply_one("Reshape", g, [-1]), [0]), apply_one("Shape", g)
        )
    ),
    "missing": _dropped,
    "shifted": _each(lambda g, x: g + 0.001),
}

_SAMPLE_OPS = (
    *("Mul", "RealDiv", "Tanh", "MatMul", "Sum", "Mean", "Max", "Softmax", "Relu", "BiasAdd", "Transpose"),
    *(
        "GatherV2",
        "ConcatV2",
        "StridedSlice",
        "Cumsum",
        "Cholesky",
        "SegmentSum",
        "Pow",
        "Digamma",
        "TanhGrad",
    ),
)
# More than one element, and not the same one everywhere.
_SAMPLE = [
    next(
        c
        for c in CASES
        if c.op == op and all(isinstance(i, list) or i.dtype.kind != "f" or i.size > 1 for i in c.inputs)
    )
    for op in _SAMPLE_OPS
]


@contextmanager
def damaged(op_type: str, damage: Damage) -> Iterator[None]:
    """Within, the rule of the op type gives damaged gradients."""
    gradient_registry.load()
    rule = gradient_registry._rules[op_type]
    assert rule is not None

    def wrong(op: Operation, *grads: Any) -> list[Any]:
        dense = [tensorfleet.convert_to_tensor(g) for g in grads]
        result = rule(op, *dense)
        return damage(op, list(result) if isinstance(result, (list, tuple)) else [result])

    gradient_registry._rules[op_type] = wrong
    try:
        yield
    finally:
        gradient_registry._rules[op_type] = rule


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("case", _SAMPLE, ids=str)
def test_checker_finds_wrong_gradients(case: Case, name: str) -> None:
    assert not faults(case)
    with damaged(case.op, DAMAGES[name]):
        assert faults(case), f"The checker takes a gradient that is {name} for a right one"


def test_checker_finds_a_missing_reduction() -> None:
    case = next(
        c for c in CASES if c.op == "Mul" and c.inputs[0].shape == (2, 3) and c.inputs[1].shape == (3,)
    )

    def unreduced(op: Operation, grad: Any) -> list[Any]:
        x, y = op.inputs
        return [grad * y, apply_one("GatherV2", x * grad, 0, 0)]

    gradient_registry.load()
    rule = gradient_registry._rules["Mul"]
    gradient_registry._rules["Mul"] = unreduced
    try:
        assert faults(case)
    finally:
        gradient_registry._rules["Mul"] = rule


def test_checker_finds_a_transposed_gradient() -> None:
    case = next(c for c in CASES if c.op == "MatrixInverse" and not c.attrs["adjoint"])
    with damaged("MatrixInverse", _each(lambda g, x: apply_one("Transpose", g, [0, 2, 1]))):
        assert faults(case)
