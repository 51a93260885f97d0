"""The mathematical kernels beside plain NumPy and the `math` module, over their dtypes and shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorfleet.core import errors
from tests.kernels.harness import run_op

F16, BF16, F32, F64 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64
FLOATS = (F16, BF16, F32, F64)
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (0, 2))
PAIRS = (((), ()), ((3,), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((0, 2), (2,)))


def numbers(dtype: Any, shape: tuple[int, ...], seed: int = 0, low: float = 1, high: float = 9) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def close(result: Any, expected: Any) -> None:
    """Equal up to the rounding of the result's dtype."""
    if result.dtype.kind in "iub":
        np.testing.assert_array_equal(result, expected)
        return
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    rtol = 8 * float(ml_dtypes.finfo(result.real.dtype).eps)
    np.testing.assert_allclose(result.astype(wide), expected, rtol, rtol)


def exact(x: Any) -> Any:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}
FLOAT_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "RealDiv": np.divide,
    "FloorDiv": lambda x, y: np.floor(x / y),
    "Pow": np.power,
    "Atan2": np.arctan2,
    "SquaredDifference": lambda x, y: (x - y) ** 2,
    "Xlogy": lambda x, y: x * np.log(y),
    "Xlog1py": lambda x, y: x * np.log1p(y),
    "Xdivy": np.divide,
    "DivNoNan": np.divide,
    "MulNoNan": np.multiply,
}
COMPARISONS = {
    "Equal": np.equal,
    "NotEqual": np.not_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Log": np.log,
    "Log1p": np.log1p,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Tanh": np.tanh,
    "Asinh": np.arcsinh,
    "Atanh": np.arctanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, 0),
    "Relu6": lambda x: np.clip(x, 0, 6),
    "Elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "LeakyRelu": lambda x: np.where(x > 0, x, 0.2 * x),
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "Softsign": lambda x: x / (1 + abs(x)),
    "Reciprocal": lambda x: 1 / x,
    "Square": np.square,
    "Neg": np.negative,
    "Abs": np.abs,
    "Sign": np.sign,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Rint": np.rint,
}


@pytest.mark.parametrize("shapes", PAIRS)
@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic(op: str, dtype: Any, shapes: Any) -> None:
    x, y = numbers(dtype, shapes[0]), numbers(dtype, shapes[1], 1)
    expected = ARITHMETIC[op](exact(x), exact(y))
    if np.dtype(dtype).kind == "u":
        expected = np.where(expected < 0, expected + 2.0 ** (8 * np.dtype(dtype).itemsize), expected)
        if np.dtype(dtype).itemsize == 8:
            expected = ARITHMETIC[op](x, y)
    close(run_op(op, x, y), expected)


@pytest.mark.parametrize("shapes", PAIRS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FLOAT_BINARY)
def test_arithmetic_of_floats(op: str, dtype: Any, shapes: Any) -> None:
    x, y = numbers(dtype, shapes[0], 2, 0.5, 2), numbers(dtype, shapes[1], 3, 0.5, 2)
    if op == "FloorDiv" and np.any(np.abs(exact(x) / exact(y) - np.rint(exact(x) / exact(y))) < 0.01):
        y = np.asarray(y * dtype(1.03))[()]
    close(run_op(op, x, y), FLOAT_BINARY[op](exact(x), exact(y)))


@pytest.mark.parametrize("shapes", PAIRS)
@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(op: str, dtype: Any, shapes: Any) -> None:
    x, y = numbers(dtype, shapes[0], 4, 1, 3), numbers(dtype, shapes[1], 5, 1, 3)
    result = run_op(op, x, y)
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, COMPARISONS[op](exact(x), exact(y)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_tensor(op: str, dtype: Any, shape: Any) -> None:
    x = numbers(dtype, shape, 6, 0.05, 0.95)
    close(run_op(op, x), UNARY[op](exact(x)))


@pytest.mark.parametrize(
    ("op", "x", "y", "expected"),
    [
        ("FloorDiv", [-7, 7, -7, 7], [2, -2, -2, 2], [-4, -4, 3, 3]),
        ("FloorMod", [-7, 7, -7, 7], [2, -2, -2, 2], [1, -1, -1, 1]),
        ("TruncateDiv", [-7, 7, -7, 7], [2, -2, -2, 2], [-3, -3, 3, 3]),
        ("TruncateMod", [-7, 7, -7, 7], [2, -2, -2, 2], [-1, 1, -1, 1]),
        ("Div", [-7, 7, -7, 7], [2, -2, -2, 2], [-3, -3, 3, 3]),
        ("Pow", [2, -3, 0, 5], [3, 3, 0, 0], [8, -27, 1, 1]),
        ("LeftShift", [1, 1, -1, 3], [4, 40, -1, 0], [16, -(2**31), -1, 3]),
        ("RightShift", [16, 16, -8, -8], [2, 40, -1, 1], [4, 0, -8, -4]),
        ("BitwiseXor", [6, 5, 0, -1], [3, 5, 7, 1], [5, 0, 7, -2]),
    ],
)
def test_integers(op: str, x: Any, y: Any, expected: Any) -> None:
    np.testing.assert_array_equal(run_op(op, np.array(x, np.int32), np.array(y, np.int32)), expected)


@pytest.mark.parametrize("axes", [0, 1, -1, [0], [0, 1], []])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int32, np.int64])
@pytest.mark.parametrize("op", ["Sum", "Prod", "Max", "Min", "Mean"])
def test_reductions(op: str, dtype: Any, keep: bool, axes: Any) -> None:
    x = numbers(dtype, (3, 4), 7, 1, 2)
    function = {"Sum": np.sum, "Prod": np.prod, "Max": np.max, "Min": np.min, "Mean": np.mean}[op]
    axis = tuple(axes) if isinstance(axes, list) else axes
    expected: Any = function(exact(x), axis=axis, keepdims=keep)
    if np.dtype(dtype).kind == "i":
        expected = np.trunc(expected)
    close(run_op(op, x, np.array(axes, np.int32), keep_dims=keep), expected)


def test_small_floats_are_summed_in_float32() -> None:
    assert run_op("Sum", np.ones(5000, F16), np.int32(0)) == 5000
    assert run_op("Mean", np.full(5000, 3, BF16), np.int32(0)) == 3


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.complex64])
@pytest.mark.parametrize(("rows", "inner", "columns"), [(2, 3, 4), (1, 1, 1), (2, 0, 3), (0, 2, 3)])
def test_matrix_products(dtype: Any, rows: int, inner: int, columns: int) -> None:
    a, b = numbers(dtype, (rows, inner)), numbers(dtype, (inner, columns), 1)
    expected = exact(a) @ exact(b)
    close(run_op("MatMul", a, b), expected)
    close(run_op("MatMul", a.T, b.T, transpose_a=True, transpose_b=True), expected)
    close(run_op("BatchMatMulV2", a[None], np.stack([b, b])), np.stack([expected, expected]))


@pytest.mark.parametrize("dtype", [F32, F64, np.int32])
def test_segments(dtype: Any) -> None:
    data = numbers(dtype, (6, 2))
    sorted_ids, ids = np.array([0, 0, 2, 2, 2, 4], np.int32), np.array([4, 0, 2, -1, 2, 0], np.int32)
    for op, ids_, more in (("SegmentSum", sorted_ids, ()), ("UnsortedSegmentSum", ids, (np.int32(5),))):
        expected = np.stack([exact(data)[ids_ == i].sum(axis=0) for i in range(5)])
        close(run_op(op, data, ids_, *more), expected)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_decompositions_multiply_back(dtype: Any) -> None:
    x = (numbers(dtype, (2, 3, 3)) + 20 * np.eye(3)).astype(dtype)
    definite = x @ x.swapaxes(-1, -2)
    tolerance = 2000 * np.finfo(dtype).eps

    def same(a: Any, b: Any) -> None:
        np.testing.assert_allclose(a, b, tolerance, tolerance * np.abs(definite).max())

    same(run_op("MatrixInverse", x) @ x, np.broadcast_to(np.eye(3), x.shape))
    same(x @ run_op("MatrixSolve", x, definite), definite)
    same(np.tril(x) @ run_op("MatrixTriangularSolve", x, definite), definite)
    factor = run_op("Cholesky", definite)
    same(factor @ factor.swapaxes(-1, -2), definite)
    q, r = run_op("Qr", x)
    same(q @ r, x)
    s, u, v = run_op("Svd", x)
    same((u * s[:, None]) @ v.swapaxes(-1, -2), x)
    e, v = run_op("SelfAdjointEigV2", definite)
    same((v * e[:, None]) @ v.swapaxes(-1, -2), definite)
    sign, logarithm = run_op("LogMatrixDeterminant", x)
    same(sign * np.exp(logarithm), run_op("MatrixDeterminant", x))


POINTS = np.random.default_rng(8).uniform


@pytest.mark.parametrize(
    ("op", "reference", "x"),
    [
        ("Erf", math.erf, POINTS(-6, 6, 9000)),
        ("Erf", math.erf, 10.0 ** POINTS(-200, 0, 500)),
        ("Erfc", math.erfc, POINTS(-6, 26, 500)),
        ("Ndtri", NormalDist().inv_cdf, POINTS(0.001, 0.999, 500)),
        ("Lgamma", math.lgamma, POINTS(3, 1000, 500)),
        ("Lgamma", math.lgamma, POINTS(0.001, 0.6, 500)),
        ("Lgamma", math.lgamma, np.array([-0.5, -1.5, -7.25])),
    ],
)
def test_error_and_gamma_functions(op: str, reference: Callable[[float], float], x: Any) -> None:
    expected = np.array([reference(v) for v in x.tolist()])
    np.testing.assert_allclose(run_op(op, x), expected, 2e-15)
    small = x.astype(F32)
    expected = np.array([reference(v) for v in small.tolist()])
    np.testing.assert_allclose(run_op(op, small), expected, 2e-7, float(np.finfo(F32).tiny))


def test_gamma_functions_near_their_zeros_and_inverses() -> None:
    # log Γ(1 + h) = -γh + ζ(2)/2 h² - …
    h = 1 + np.array([1e-3, -1e-5, 1e-9]) - 1
    zeta3 = 1.2020569031595942
    series = -0.5772156649015329 * h + math.pi**2 / 12 * h**2 - zeta3 / 3 * h**3 + math.pi**4 / 360 * h**4
    np.testing.assert_allclose(run_op("Lgamma", 1 + h), series, 1e-11)
    x = POINTS(-2, 2, 500)
    np.testing.assert_allclose(run_op("Erfinv", run_op("Erf", x)), x, 1e-13)
    step = 1e-5
    slope = (run_op("Lgamma", 2 + x / 2 + step) - run_op("Lgamma", 2 + x / 2 - step)) / (2 * step)
    np.testing.assert_allclose(run_op("Digamma", 2 + x / 2), slope, 1e-7, 1e-8)


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        ("AddV2", (np.ones(2, F32), np.ones(3, F32)), "Incompatible shapes: [2] vs. [3]"),
        ("FloorDiv", (np.int32(1), np.int32(0)), "Integer division by zero"),
        ("Pow", (np.int32(2), np.int32(-1)), "Integers to negative integer powers are not allowed"),
        (
            "Sum",
            (np.ones((2, 2), F32), np.int32(5)),
            "Invalid reduction dimension (5 for input with 2 dimension(s)",
        ),
        (
            "MatMul",
            (np.ones((2, 3), F32), np.ones((2, 2), F32)),
            "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,2]",
        ),
        ("MatrixInverse", (np.ones((2, 2), F32),), "Input is not invertible."),
        (
            "UnsortedSegmentSum",
            (np.ones(2, F32), np.array([0, 9], np.int32), np.int32(3)),
            "segment_ids[1] = 9 is out of range [0, 3)",
        ),
    ],
)
def test_errors(op: str, inputs: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        run_op(op, *inputs)
    assert caught.value.message == message
