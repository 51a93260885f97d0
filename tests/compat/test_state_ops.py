"""Kernels of random and logging ops against TensorFlow's: seeded numbers, and texts."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as real

from tensorfleet.core import dtypes
from tensorfleet_service.kernels.io.summarize import both_ends, first_elements
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import make_node

real.disable_v2_behavior()

SEEDS = {"seed": 3, "seed2": 5}
PAIR = np.array([12, -5], np.int64)
DIMS = np.array([7, 31], np.int32)
LOGITS = np.float32([[0, 1, 2], [3, 0, 0.1]])


def three_runs_ours(op_type: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> list[np.ndarray]:
    node, values = make_node(op_type, *inputs, **attrs)
    run = make_kernel(node)
    assert callable(run)
    return [np.asarray(run(*values)) for _ in range(3)]


def three_runs_real(op_type: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> list[np.ndarray]:
    with real.Graph().as_default(), real.Session() as session:
        named = {k: getattr(real, v.name) if isinstance(v, dtypes.DType) else v for k, v in attrs.items()}
        result = getattr(real.raw_ops, op_type)(**dict(zip(_names(op_type), inputs, strict=True)), **named)
        return [np.asarray(session.run(result)) for _ in range(3)]


def _names(op_type: str) -> list[str]:
    from tensorfleet.graph.graph import lookup_op

    return [arg.name for arg in lookup_op(op_type).inputs]


FLOATS = [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs"),
    [
        ("RandomUniform", (DIMS,), SEEDS),
        ("RandomStandardNormal", (DIMS,), SEEDS),
        ("TruncatedNormal", (DIMS,), SEEDS),
        ("StatelessRandomUniform", (DIMS, PAIR), {}),
        ("StatelessRandomNormal", (DIMS, PAIR), {}),
        ("StatelessTruncatedNormal", (DIMS, PAIR), {}),
    ],
)
def test_seeded_floats(
    op_type: str, inputs: tuple[Any, ...], attrs: dict[str, Any], dtype: dtypes.DType
) -> None:
    attrs = {**attrs, "dtype": dtype}
    got, expected = three_runs_ours(op_type, inputs, attrs), three_runs_real(op_type, inputs, attrs)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        if dtype in (dtypes.float32, dtypes.float64) and "Normal" in op_type:
            # The C library's log, sin and cos, or NumPy's, err by up to one unit in the last place, on some
            # processors.
            np.testing.assert_array_max_ulp(ours, theirs, 4)
            assert (ours == theirs).mean() > 0.9
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [dtypes.int32, dtypes.int64], ids=lambda t: t.name)
@pytest.mark.parametrize("bounds", [(-7, 1000), (0, 1), (-(2**31), 2**31 - 1)])
def test_seeded_integers(dtype: dtypes.DType, bounds: tuple[int, int]) -> None:
    limits = tuple(np.array(b, dtype.as_numpy_dtype) for b in bounds)
    for op_type, inputs, attrs in (
        ("RandomUniformInt", (DIMS, *limits), SEEDS),
        ("StatelessRandomUniformInt", (DIMS, PAIR, *limits), {}),
    ):
        got, expected = three_runs_ours(op_type, inputs, attrs), three_runs_real(op_type, inputs, attrs)
        for ours, theirs in zip(got, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs"),
    [
        ("RandomShuffle", (np.arange(50),), SEEDS),
        ("RandomShuffle", (np.arange(50).reshape(10, 5),), SEEDS),
        ("Multinomial", (LOGITS, np.int32(9)), SEEDS),
        ("StatelessMultinomial", (LOGITS, np.int32(9), PAIR), {}),
    ],
)
def test_seeded_choices(op_type: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    got, expected = three_runs_ours(op_type, inputs, attrs), three_runs_real(op_type, inputs, attrs)
    for ours, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_stateless_with_key_and_counter() -> None:
    with real.Graph().as_default(), real.Session() as session:
        key, counter = session.run(real.raw_ops.StatelessRandomGetKeyCounter(seed=PAIR))
        expected = session.run(
            real.raw_ops.StatelessRandomUniformV2(shape=DIMS, key=key, counter=counter, alg=1)
        )
    node, values = make_node("StatelessRandomGetKeyCounter", PAIR)
    ours = make_kernel(node)(*values)  # type: ignore[operator]
    np.testing.assert_array_equal(ours[0], key)
    np.testing.assert_array_equal(ours[1], counter)
    node, values = make_node(
        "StatelessRandomUniformV2", DIMS, key, counter, np.int32(1), dtype=dtypes.float32
    )
    np.testing.assert_array_equal(make_kernel(node)(*values), expected)  # type: ignore[operator]


VALUES = [
    np.float32(0.1),
    np.array([1e-9, 0.1, 1 / 3, 1e20, 123456789, np.nan, -np.inf], np.float32),
    np.array([0.1, 1 / 3, 1e6, 12345678.0, 1e-300]),
    np.array([0.1, 2], np.float16),
    np.array([True, False]),
    np.array([-1, 200], np.int64),
    np.array([1 + 2j]),
    np.array([b"a", "é".encode(), b""], object),
    np.zeros((0, 3), np.float32),
    np.arange(30),
    np.arange(24).reshape(2, 3, 4),
    np.arange(8).reshape(8, 1, 1),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{v.dtype}{v.shape}")
@pytest.mark.parametrize("summarize", [-1, 1, 3, 5, 24])
def test_values_are_shown_as_tensorflow_shows_them(value: Any, summarize: int) -> None:
    with real.Graph().as_default(), real.Session() as session:
        fed = real.placeholder(real.string if value.dtype == object else value.dtype, value.shape)
        shown = session.run(
            real.raw_ops.StringFormat(inputs=[fed], template="%", placeholder="%", summarize=summarize),
            {fed: value},
        )
        check = real.raw_ops.Assert(condition=real.constant(False), data=[fed], summarize=summarize)
        with pytest.raises(real.errors.InvalidArgumentError) as caught:
            session.run(check, {fed: value})
    assert "".join(both_ends(value, summarize)) == shown.decode()
    assert f"assertion failed: [{''.join(first_elements(value, summarize))}]\n" in str(caught.value)
