"""Kernels of optimizers' ops against TensorFlow's: variables and slots after several updates."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

from tensorfleet.core import dtypes, errors
from tensorfleet.graph import op_def
from tensorfleet.graph.graph import lookup_op
from tensorfleet_service.kernels.training.training_ops import FORMS
from tensorfleet_service.state.variables import Variable
from tests.kernels.harness import run_op

real.disable_v2_behavior()

OP_TYPES = [form for form in FORMS if op_def.lookup(form) is not None]
DIMS = (5, 3)
INDICES = [3, 0, 3, 1]
NUMBERS = {
    "lr": 0.1,
    "alpha": 0.05,
    "rho": 0.9,
    "epsilon": 1e-3,
    "beta": 0.9,
    "beta1": 0.8,
    "beta2": 0.95,
    "beta1_power": 0.64,
    "beta2_power": 0.9,
    "momentum": 0.7,
    "l1": 0.02,
    "l2": 0.3,
    "l2_shrinkage": 0.1,
    "lr_power": -0.5,
    "logbase": 1.0,
    "sign_decay": 0.6,
}
ATTRS: list[dict[str, Any]] = [
    {},
    {"use_nesterov": True},
    {"multiply_linear_by_lr": True},
    {"update_slots": False},
]


def cases() -> list[tuple[str, dict[str, Any], dict[str, float]]]:
    found: list[tuple[str, dict[str, Any], dict[str, float]]] = []
    for op_type in OP_TYPES:
        known, names = lookup_op(op_type).attrs, [arg.name for arg in lookup_op(op_type).inputs]
        found += [(op_type, attrs, {}) for attrs in ATTRS if set(attrs) <= set(known)]
        if "l1" in names:
            found.append((op_type, {}, {"l1": 0.0}))
        if "lr_power" in names:
            found.append((op_type, {}, {"lr_power": -0.3}))
    return found


def made(op_type: str, numbers: dict[str, float], dtype: str) -> tuple[list[np.ndarray], dict[str, Any]]:
    """The variables' first values, and the other inputs by name."""
    generator = np.random.default_rng(7)
    states: list[np.ndarray] = []
    others: dict[str, Any] = {}
    for arg in lookup_op(op_type).inputs:
        if arg.is_ref or arg.dtype is dtypes.resource:
            # Accumulators are sums of squares.
            positive = arg.name not in ("var", "m", "mom", "mg", "linear", "gradient_accumulator")
            value = generator.normal(size=DIMS).astype(dtype)
            states.append(np.abs(value) + np.array(2, dtype) if positive else value)
        elif arg.name in ("grad", "delta"):
            rows = len(INDICES) if "Sparse" in op_type else DIMS[0]
            others[arg.name] = generator.normal(size=(rows, *DIMS[1:])).astype(dtype)
        elif arg.name == "indices":
            others[arg.name] = np.array(INDICES, np.int32)
        elif arg.name == "global_step":
            others[arg.name] = np.int64(3)
        else:
            others[arg.name] = np.array({**NUMBERS, **numbers}[arg.name], dtype)[()]
    return states, others


def ours(op_type: str, attrs: dict[str, Any], states: list[np.ndarray], others: dict[str, Any]) -> list[Any]:
    variables = []
    for i, state in enumerate(states):
        variables.append(Variable(f"v{i}", dtypes.from_numpy(state.dtype), state.shape))
        variables[-1].assign(state)
    inputs = [*variables, *others.values()]
    for _ in range(3):
        run_op(op_type, *inputs, T=dtypes.from_numpy(states[0].dtype), **attrs)
    return [variable.read() for variable in variables]


def theirs(
    op_type: str, attrs: dict[str, Any], states: list[np.ndarray], others: dict[str, Any]
) -> list[Any]:
    with real.Graph().as_default(), real.Session() as session:
        is_resource = op_type.startswith("Resource")
        variables = [real.Variable(state, use_resource=is_resource) for state in states]
        names = [arg.name for arg in lookup_op(op_type).inputs]
        handles = [v.handle if is_resource else v._ref() for v in variables]
        inputs = dict(zip(names, handles, strict=False)) | others
        update = getattr(real.raw_ops, op_type)(**inputs, **attrs)
        session.run(real.global_variables_initializer())
        for _ in range(3):
            session.run(update if is_resource else update.op)
        return session.run([v.read_value() for v in variables])  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op_type", "attrs", "numbers"), cases())
def test_updates(op_type: str, attrs: dict[str, Any], numbers: dict[str, float], dtype: str) -> None:
    states, others = made(op_type, numbers, dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-12
    for got, expected in zip(
        ours(op_type, attrs, states, others), theirs(op_type, attrs, states, others), strict=True
    ):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op_type", ["ApplyAdam", "ApplyGradientDescent", "ApplyMomentum"])
def test_half_precision(op_type: str) -> None:
    states, others = made(op_type, {}, "float16")
    for got, expected in zip(
        ours(op_type, {}, states, others), theirs(op_type, {}, states, others), strict=True
    ):
        assert got.dtype == np.float16
        np.testing.assert_allclose(got, expected, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("op_type", ["ApplyMomentum", "ResourceApplyAdam", "ApplyFtrl"])
def test_large_arrays_are_updated_as_small_ones(op_type: str) -> None:
    states, others = made(op_type, {}, "float32")
    shape = (1001, 317)
    large = [np.resize(state, shape) for state in states]
    large_others = {k: np.resize(v, shape) if v.ndim else v for k, v in others.items()}
    for got, expected in zip(
        ours(op_type, {}, large, large_others), ours(op_type, {}, states, others), strict=True
    ):
        np.testing.assert_array_equal(got, np.resize(expected, shape))


def test_readers_keep_what_they_have_read() -> None:
    variable = Variable("w", dtypes.float32, (3,))
    variable.assign(np.ones(3, np.float32))
    before = variable.read()
    run_op("ApplyGradientDescent", variable, np.float32(0.5), np.ones(3, np.float32), T=dtypes.float32)
    assert before.tolist() == [1, 1, 1]
    assert variable.read().tolist() == [0.5, 0.5, 0.5]


def test_the_update_is_in_place_where_nobody_reads() -> None:
    variable = Variable("w", dtypes.float32, (3,))
    variable.assign(np.ones(3, np.float32))
    address = variable.read().ctypes.data
    run_op("ApplyGradientDescent", variable, np.float32(0.5), np.ones(3, np.float32), T=dtypes.float32)
    assert variable.read().ctypes.data == address


def test_errors_leave_the_variable_as_it_was() -> None:
    variable, slot = Variable("w", dtypes.float32, None), Variable("m", dtypes.float32, None)
    variable.assign(np.ones(3, np.float32))
    one = np.float32(1)
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value m"):
        run_op("ApplyMomentum", variable, slot, one, np.ones(3, np.float32), one, T=dtypes.float32)
    assert variable.read().tolist() == [1, 1, 1]
    slot.assign(np.ones(3, np.float32))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"var and grad do not have the same shape\[3\] \[2\]"
    ):
        run_op("ApplyMomentum", variable, slot, one, np.ones(2, np.float32), one, T=dtypes.float32)
    grad, indices = np.ones(2, np.float32), np.array([0, 3], np.int32)
    with pytest.raises(errors.InvalidArgumentError, match="Index 3 at offset 1 in indices is out of range"):
        run_op("SparseApplyMomentum", variable, slot, one, grad, indices, one, T=dtypes.float32)
    with pytest.raises(errors.InvalidArgumentError, match="must all be different"):
        run_op("ApplyMomentum", variable, variable, one, np.ones(3, np.float32), one, T=dtypes.float32)
    assert variable.read().tolist() == [1, 1, 1]
    assert slot.read().tolist() == [1, 1, 1]
