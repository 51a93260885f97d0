"""The inputs on which `test_math_ops` compares TensorFlow's kernels with ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import tensorfleet_service.kernels  # noqa: F401 - registers the ops' kernels
from tensorfleet.core import dtypes
from tensorfleet.graph.graph import lookup_op
from tests.kernels import harness  # noqa: F401 - registers all ops

FAMILIES = frozenset(
    (
        *("arithmetic", "reduction", "matmul", "einsum", "scan", "extrema", "comparison", "complex_numbers"),
        *(
            "elementwise",
            "special",
            "bessel",
            "incomplete",
            "counting",
            "add_n",
            "activation",
            "segment",
            "linalg",
            "matrix_parts",
        ),
    )
)
"""The kernels of mathematical ops: modules of the service's `kernels`."""
F16, BF16, F32, F64 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64
FLOATS = (F16, BF16, F32, F64)
COMPLEX = (np.complex64, np.complex128)
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


@dataclass
class Case:
    op: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = ", ".join(
            "[…]" if isinstance(x, list) else f"{x.dtype}{x.shape}" + (f"={x}" if x.size <= 4 else "")
            for x in self.inputs
        )
        return f"{self.op}({shown}, {self.attrs})"


CASES: dict[str, list[Case]] = {}
SHAPE_CASES: dict[str, list[tuple[Case, Any]]] = {}

# Tolerances in units of the dtype's precision, where they are not 4: sums in another order, other algorithms.
LOOSE: dict[str, float] = {
    **dict.fromkeys(("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D"), 64),
    **dict.fromkeys(("RFFT", "IRFFT", "RFFT2D", "IRFFT2D", "RFFT3D", "IRFFT3D"), 64),
    **dict.fromkeys(("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient"), 32),
    **dict.fromkeys(("Lu", "MatrixSquareRoot", "MatrixLogarithm"), 2000),
    **dict.fromkeys(("BesselJ0", "BesselJ1", "BesselY0", "BesselY1", "Dawsn", "Expint"), 64),
    **dict.fromkeys(("BesselK0", "BesselK0e", "BesselK1", "BesselK1e"), 32),
    **dict.fromkeys(("BesselI0", "BesselI0e", "BesselI1", "BesselI1e"), 32),
    **dict.fromkeys(("FresnelCos", "FresnelSin", "Spence", "CumulativeLogsumexp"), 64),
    **dict.fromkeys(("Igamma", "Igammac", "IgammaGradA", "Betainc"), 2000),
    **dict.fromkeys(("Sum", "Prod", "Mean", "EuclideanNorm", "Cumsum", "Cumprod", "L2Loss"), 64),
    **dict.fromkeys(("MatMul", "Einsum", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), 64),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Sigmoid", "Softplus", "Selu", "Elu"), 16),
    **dict.fromkeys(("MatrixInverse", "MatrixSolve", "Cholesky", "MatrixDeterminant"), 2000),
    **dict.fromkeys(("LogMatrixDeterminant", "MatrixTriangularSolve", "Qr", "Svd", "SelfAdjointEigV2"), 2000),
    **dict.fromkeys(
        ("SegmentSum", "SegmentMean", "SegmentProd", "UnsortedSegmentSum", "UnsortedSegmentProd"), 16
    ),
    **dict.fromkeys(("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"), 16),
    **dict.fromkeys(("SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments"), 16),
    "SparseSegmentSqrtNWithNumSegments": 16,
    **dict.fromkeys(("AddN", "AccumulateNV2"), 8),
    **dict.fromkeys(("Tan", "Sinh", "Cosh", "Asin", "Acos", "Atanh", "Asinh", "Acosh", "Expm1", "Log1p"), 16),
    **dict.fromkeys(("Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Digamma"), 32),
    **dict.fromkeys(
        ("Pow", "Rsqrt", "Xlogy", "Xlog1py", "Tanh", "Exp", "Log", "Sin", "Cos", "Atan2", "Atan"), 8
    ),
}


def _accepts(op: str, inputs: tuple[Any, ...]) -> bool:
    """Whether the op is defined for these dtypes: tables of dtypes serve ops that do not know them all."""
    definition = lookup_op(op)
    for arg, value in zip(definition.inputs, inputs, strict=True):
        attr = definition.attrs.get(arg.type_attr)
        dtype = dtypes.from_numpy(value[0].dtype if isinstance(value, list) else value.dtype)
        if attr is not None and attr.allowed is not None and dtype not in attr.allowed:
            return False
    return True


def case(op: str, *inputs: Any, **attrs: Any) -> None:
    arrays = tuple(x if isinstance(x, list) else np.asarray(x) for x in inputs)
    if not _accepts(op, arrays):
        return
    CASES.setdefault(op, []).append(Case(op, arrays, attrs))


def shapes(op: str, inputs: tuple[Any, ...], *dims: Any, **attrs: Any) -> None:
    made = Case(op, tuple(x if isinstance(x, list) else np.asarray(x) for x in inputs), attrs)
    SHAPE_CASES.setdefault(op, []).extend((made, d) for d in dims)


def edges(dtype: Any) -> Any:
    """The numbers at which functions and dtypes have their corners."""
    if np.dtype(dtype).kind == "c":
        return np.array([0, 1, -1, 1j, 2 - 3j, 0.5 + 0.25j], dtype)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, 2, 7], dtype)
    return np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3.5, np.inf, -np.inf, np.nan], dtype)


def numbers(dtype: Any, shape: Any, seed: int = 0, low: float = -4, high: float = 4) -> Any:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    if np.dtype(dtype).kind == "u":
        low = max(low, 0)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def unary(ops: str, types: Any, low: float = -4, high: float = 4, corners: bool = True, **attrs: Any) -> None:
    for op in ops.split():
        for dtype in types:
            for seed, shape in enumerate([(), (3,), (2, 3), (0,), (64,)]):
                case(op, numbers(dtype, shape, seed, low, high), **attrs)
            if corners:
                case(op, edges(dtype), **attrs)
        x = numbers(types[0], (2, 3))
        shapes(op, (x,), [(2, 3)], [(None, 3)], [None], [()], **attrs)


_PAIRS = [((), ()), ((3,), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((0,), ()), ((64,), (64,)), ((2,), (3,))]
_PAIR_DIMS = [
    [(2, 3), (2, 3)],
    [(2, 1), (3,)],
    [(None, 3), (2, 1)],
    [None, (2,)],
    [(), (4,)],
    [(2,), (3,)],
    [(None,), (None,)],
    [(None,), (1,)],
    [(None,), (5,)],
]


def binary(
    ops: str, types: Any, low: float = -4, high: float = 4, corners: bool = True, **attrs: Any
) -> None:
    for op in ops.split():
        for dtype in types:
            for seed, (a, b) in enumerate(_PAIRS):
                case(op, numbers(dtype, a, seed, low, high), numbers(dtype, b, seed + 50, low, high), **attrs)
            if corners:
                x = edges(dtype)
                case(op, x[:, None], x[None, :], **attrs)
        x = numbers(np.int32 if np.int32 in types else types[0], (2,))
        shapes(op, (x, x), *_PAIR_DIMS, **attrs)


# Arithmetic
binary("Add AddV2 Sub Mul", FLOATS + INTS)
# Of NaNs, 1.15 has others than today's package: tests/kernels/math/test_not_numbers.py.
binary("Maximum Minimum", INTS)
binary("Maximum Minimum", FLOATS, corners=False)
for _op in ("Maximum", "Minimum"):
    for _type in FLOATS:
        _x = edges(_type)[:-1]
        case(_op, _x[:, None], _x[None, :])
binary("Add AddV2 Sub Mul", COMPLEX)
case("Add", np.array([b"a", b"bc"], object), np.array(b"-", object))
binary("RealDiv Div DivNoNan", FLOATS)
binary("RealDiv Div DivNoNan", COMPLEX, corners=False)
binary("Div TruncateDiv FloorDiv FloorMod Mod TruncateMod", INTS, low=1, corners=False)
for _op in ("Div", "TruncateDiv", "FloorDiv", "FloorMod", "Mod", "TruncateMod"):
    for _type in (np.int8, np.int32, np.int64):
        case(_op, np.array([-7, -6, 7, 6, 5, -128, 0], _type), np.array([2, -4, -2, 3, -5, -1, 9], _type))
        if not _op.startswith("Truncate"):  # where TensorFlow reports an internal error
            case(_op, np.array([1, 2], _type), np.array([1, 0], _type))
        case(_op, np.array([], _type), np.array(0, _type))
binary("FloorDiv FloorMod TruncateMod Mod", FLOATS)
binary("MulNoNan Xlogy Xlog1py Xdivy", FLOATS)
binary("MulNoNan Xlogy Xlog1py Xdivy", COMPLEX, corners=False)
binary("Pow", FLOATS, low=0.1, high=3)
binary("Pow", COMPLEX, corners=False)
binary("Pow", (np.int32, np.int64, np.int16, np.int8), low=0, high=3, corners=False)
case("Pow", np.array([2, 1], np.int32), np.array([2, -1], np.int32))
case("Pow", np.array([-2.0, 0, np.inf, np.nan, 1], F32), np.array([3.0, 0, 0, 0, np.nan], F32))
binary("SquaredDifference", (*FLOATS, np.int32, np.int64, *COMPLEX))
binary("NextAfter", (F32, F64))
binary("Atan2", FLOATS)

# Comparison
binary("Equal NotEqual", (*FLOATS, *INTS, *COMPLEX, np.bool_))
for _op in ("Equal", "NotEqual"):
    case(_op, np.array([b"a", b"b"], object), np.array([b"a", b"c"], object))
    case(_op, np.array(b"a", object), np.array(b"a", object))
    case(_op, np.ones(2, F32), np.ones(3, F32), incompatible_shape_error=False)
    case(_op, np.ones(2, F32), np.ones(2, F32), incompatible_shape_error=False)
binary("Less LessEqual Greater GreaterEqual", FLOATS + INTS)
for _type in (F32, F64, np.int32):
    case("ApproximateEqual", np.array([1, 2, 3], _type), np.array([1, 2.001, 4], _type))
case("ApproximateEqual", np.ones(3, F32), np.full(3, 1.05, F32), tolerance=0.1)
case("ApproximateEqual", np.ones((3, 2), F32), np.ones(2, F32))
_BOOLS = np.array([True, False])
for _op in ("LogicalAnd", "LogicalOr"):
    case(_op, _BOOLS[:, None], _BOOLS)
    case(_op, _BOOLS[0], _BOOLS[1])
    case(_op, _BOOLS, np.ones(3, bool))
    shapes(_op, (_BOOLS, _BOOLS), *_PAIR_DIMS)
case("LogicalNot", _BOOLS)
case("LogicalNot", _BOOLS[0])
binary("BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift", INTS)
unary("Invert PopulationCount", INTS)

# Elementwise
unary("Neg Reciprocal Inv Round Square", FLOATS + COMPLEX, low=0.5)
unary("Sign", COMPLEX, low=0.5)
unary("Sign", FLOATS, corners=False)
for _type in FLOATS:
    case("Sign", edges(_type)[:-1])
unary("Neg Sign Abs", (np.int8, np.int16, np.int32, np.int64))
unary("Square", INTS)
unary("Abs Rsqrt Sqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh", FLOATS, low=-1, high=1)
unary("Asinh Atanh Sigmoid", FLOATS, low=-1, high=1)
unary("Acosh", FLOATS, low=1, high=9)
unary("Exp Sin Cos Sinh Cosh Tanh Sigmoid Atan Asinh", (F32, F64), low=-30, high=30)
unary("Sqrt Exp Log Sin Cos Tan Sinh Cosh Tanh Sigmoid", COMPLEX, low=0.25, high=1, corners=False)
unary("Asin Acos Atan Asinh Acosh Atanh Rsqrt Expm1 Log1p", COMPLEX, low=0.25, high=0.75, corners=False)
unary("Ceil Floor Rint IsNan IsInf IsFinite", FLOATS)
unary("Relu Relu6", FLOATS + INTS, low=-9, high=9)
unary("Elu Selu LeakyRelu Softplus Softsign", FLOATS, low=-9, high=9)
unary("LeakyRelu", (F32,), alpha=0.5)
unary("Softplus", (F32, F64), low=-60, high=60)

# Error and gamma functions
unary("Erfc Lgamma Digamma", FLOATS, low=0.1, high=6)
unary("Erf", (F16, BF16, F32), low=-1, high=1)
unary("Erf", FLOATS, low=-6, high=6, corners=False)  # TensorFlow's erf of a float64 infinity is NaN
unary("Erfc", FLOATS, low=-1, high=1)
unary("Erfinv", FLOATS, low=-0.999, high=0.999)
unary("Ndtri", FLOATS, low=0.001, high=0.999)
unary("Lgamma Digamma", (F32, F64), low=2, high=200)
unary("Lgamma", (F32, F64), low=-5.5, high=0)

# Complex numbers
for _type, _complex in ((F32, np.complex64), (F64, np.complex128)):
    _z = np.concatenate([edges(_complex), numbers(_complex, 20)])
    for _op in ("Real", "Imag", "Angle", "ComplexAbs"):
        for _x in (_z, _z[0], _z[:0], _z.reshape(2, -1)):
            case(_op, _x, Tout=_type)
    for _x in (_z, _z[3], _z[:0]):
        case("Conj", _x)
    case("Complex", edges(_type)[:, None], edges(_type), Tout=_complex)
    case("Complex", numbers(_type, ()), numbers(_type, ()), Tout=_complex)
    case("Complex", numbers(_type, (2,)), numbers(_type, (3,)), Tout=_complex)

# Reductions
_AXES = [0, 1, -1, [0], [1, 0], [], [0, 1], [0, 0], [0, -2], 5, [-3]]
for _op in ("Sum", "Prod", "Max", "Min", "Mean", "EuclideanNorm"):
    for _type in (*FLOATS, *INTS, *(() if _op in ("Max", "Min") else COMPLEX)):
        if _op == "EuclideanNorm" and np.dtype(_type).kind in "iu":
            continue
        for _axes in _AXES if _type in (F16, F32, np.int32) else _AXES[:4]:
            case(_op, numbers(_type, (3, 4)), np.array(_axes, np.int32), keep_dims=np.ndim(_axes) > 0)
        case(_op, numbers(_type, (2, 3, 4)), np.array([0, 2], np.int64))
        case(_op, numbers(_type, ()), np.array([], np.int32))
        case(_op, numbers(_type, (0, 3)), np.array(0, np.int32))
        case(_op, numbers(_type, (0, 3)), np.array(1, np.int32))
        case(_op, numbers(_type, (0, 3)), np.array([0, 1], np.int32), keep_dims=True)
    case(_op, edges(F32)[: -1 if _op in ("Max", "Min") else None], np.array(0, np.int32))
for _op in ("All", "Any"):
    for _axes in _AXES:
        case(_op, numbers(np.int8, (3, 4), 0, 0, 1).astype(bool), np.array(_axes, np.int32))
    case(_op, np.array(True), np.array([], np.int32))
    case(_op, np.zeros((0, 2), bool), np.array(0, np.int32), keep_dims=True)
case("Mean", np.array([-1, -2, -2], np.int32), np.array(0, np.int32))
case("Mean", np.array([200, 200], np.uint8), np.array(0, np.int32))
_m = numbers(F32, (2, 3))
shapes(
    "Sum", (_m, np.int32(0)), [(2, 3), ()], [None, ()], [(2, None), (None,)], [(2, 3), (1,)], [(2, 3), None]
)
shapes("Mean", (_m, np.int32(0)), [(2, 3), ()], [(2, 3), (2,)], [(2, 3), (2, 2)], keep_dims=True)

for _op in ("ArgMax", "ArgMin"):
    for _type in FLOATS + INTS:
        for _axis in (0, 1, -1, 5):
            case(_op, numbers(_type, (3, 4)), np.int32(_axis))
        case(_op, numbers(_type, (7,)), np.int32(0), output_type=np.int32)
    case(_op, np.array([False, True]), np.int32(0))
    case(_op, numbers(F32, ()), np.int32(0))
    case(_op, numbers(F32, (0, 2)), np.int32(0))
    case(_op, numbers(F32, (2, 0)), np.int32(0))
    case(_op, numbers(F32, (2, 2)), np.array([0, 1], np.int32))
    case(_op, np.array([np.nan, 1, 3], F32), np.int32(0))
    shapes(_op, (_m, np.int32(0)), [(2, 3), ()], [None, ()], [(2,), ()], [(None, 3), (2,)])
for _op in ("Cumsum", "Cumprod"):
    for _type in (*FLOATS, *INTS, *COMPLEX):
        for _axis in (0, -1, 7):
            for _exclusive in (False, True):
                for _reverse in (False, True):
                    case(_op, numbers(_type, (3, 4)), np.int32(_axis), exclusive=_exclusive, reverse=_reverse)
        case(_op, numbers(_type, (0, 3)), np.int32(0), exclusive=True)
    case(_op, numbers(F32, ()), np.int32(0))
    case(_op, numbers(F32, (2, 2)), np.array([0, 1], np.int32))
    shapes(_op, (_m, np.int32(0)), [(2, None), ()], [None, None])

for _type in (*FLOATS, *INTS, *COMPLEX):
    for _op in ("AddN", "AccumulateNV2"):
        _attrs = {"shape": (2, 3)} if _op == "AccumulateNV2" else {}
        for _n in (1, 2, 5):
            case(_op, [numbers(_type, (2, 3), i) for i in range(_n)], **_attrs)
    case("AddN", [numbers(_type, (), i) for i in range(4)])
    case("AddN", [numbers(_type, (0, 2), i) for i in range(4)])
case("AddN", [np.ones((3, 2), F32), np.ones((1, 2), F32), np.ones((3, 2), F32)])

# Products of matrices
for _type in (*FLOATS, np.int32, np.int64, *COMPLEX):
    for _a, _b in (((2, 3), (3, 4)), ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (2, 3)), ((1, 1), (1, 1))):
        x, y = numbers(_type, _a), numbers(_type, _b, 1)
        case("MatMul", x, y)
        case("MatMul", x.T.copy(), y, transpose_a=True)
        case("MatMul", x, y.T.copy(), transpose_b=True)
    for _a, _b in (((5, 2, 3), (5, 3, 4)), ((5, 2, 0), (5, 0, 3)), ((5, 2, 3), (4, 3, 2)), ((2, 3), (3, 2))):
        x, y = numbers(_type, _a), numbers(_type, _b, 1)
        for _op in ("BatchMatMul", "BatchMatMulV2"):
            case(_op, x, y)
            case(_op, x.swapaxes(-1, -2).copy(), y.swapaxes(-1, -2).copy(), adj_x=True, adj_y=True)
        case("BatchMatMulV3", x, y, Tout=_type)
    case("BatchMatMulV2", numbers(_type, (5, 1, 2, 3)), numbers(_type, (6, 3, 2)))
case("BatchMatMulV3", numbers(np.int8, (2, 2, 3)), numbers(np.int8, (2, 3, 2)), Tout=np.int32)
_v = np.ones(2, F32)
for _op in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
    case(_op, _v, _v)
    case(_op, _v, np.ones((2, 2), F32))
case("MatMul", np.ones((1, 2, 2), F32), np.ones((1, 2, 2), F32))
case("BatchMatMul", np.ones((2, 1, 1), F32), np.ones((1, 1), F32))
_e = np.ones((2, 2), F32)
shapes(
    "MatMul",
    (_e, _e),
    [(2, 3), (3, 4)],
    [(None, 3), (None, 4)],
    [None, (2, 2)],
    [(2, 3), (2, 3)],
    [(3,), None],
)
shapes("MatMul", (_e, _e), [(3, 2), (4, 3)], [(2, 3), (2, 3)], transpose_a=True, transpose_b=True)
shapes(
    "BatchMatMulV2",
    (_e, _e),
    [(5, 2, 3), (3, 4)],
    [None, (2, 2)],
    [(5, 2, 3), (4, 3, 2)],
    [(5, 2, 3), (5, 2, 3)],
)
shapes("BatchMatMul", (_e, _e), [(5, 2, 3), (5, 3, 4)], [(5, 2, 3), (None, 3, 2)], [(5, 2, 3), (4, 3, 2)])

# Networks
for _type in FLOATS:
    for _op in ("Softmax", "LogSoftmax"):
        for _shape in ((3, 4), (5,), (2, 3, 4), (0, 3), (3, 0)):
            case(_op, numbers(_type, _shape))
        case(_op, numbers(_type, (2, 3)) * _type(20))
    for _shape in ((3, 4), (), (0,)):
        case("L2Loss", numbers(_type, _shape))
for _op in ("Softmax", "LogSoftmax"):
    case(_op, np.float32(1))
    case(_op, np.array([[np.inf, 0], [-np.inf, -np.inf], [np.nan, 1]], F32))
    shapes(_op, (_m,), [(2, 3)], [None], [()])
for _type in (*FLOATS, np.int32, np.int64, *COMPLEX):
    for _op in ("BiasAdd", "BiasAddV1"):
        for _shape in ((2, 3), (4, 2, 3), (0, 3)):
            case(_op, numbers(_type, _shape), numbers(_type, (3,)))
    case("BiasAdd", numbers(_type, (2, 3, 4, 5)), numbers(_type, (3,)), data_format="NCHW")
    case("BiasAdd", numbers(_type, (2, 3, 4)), numbers(_type, (3,)), data_format="NCHW")
for _value, _bias in (((3, 2), (3,)), ((2,), (2,)), ((3, 2), (3, 2))):
    case("BiasAdd", np.ones(_value, F32), np.ones(_bias, F32))
shapes("BiasAdd", (_m, _v), [(2, 3), (3,)], [(2, None), (3,)], [None, (3,)], [(2, 3), (2,)], [(3,), (3,)])
shapes("BiasAdd", (_m, _v), [(2, 3, 4, 5), (3,)], [(2, None, 4), (3,)], data_format="NCHW")

# Segments
_ids = np.array([1, 1, 3, 3, 3], np.int32)
for _kind in ("Sum", "Mean", "Prod", "Min", "Max"):
    _op = f"Segment{_kind}"
    for _type in (*FLOATS, *INTS):
        case(_op, numbers(_type, (5, 2)), _ids)
        case(_op, numbers(_type, (5,)), _ids.astype(np.int64))
        case(_op, numbers(_type, (0, 2)), _ids[:0])
    for _bad in ([-1, 1, 1, 3, 3], [1, 0, 1, 1, 1], [1, 1], [[1, 1, 1, 1, 1]]):
        case(_op, numbers(F32, (5, 2)), np.array(_bad, np.int32))
    case(_op, np.float32(3), np.array([1], np.int32))
    shapes(_op, (_m, _ids), [(5, 2), (5,)], [None, None], [(5, 2), (4,)], [(), (1,)], [(5, 2), (5, 1)])
_ids = np.array([1, -1, 4, 0, 1], np.int32)
for _kind in ("Sum", "Prod", "Min", "Max"):
    _op = f"UnsortedSegment{_kind}"
    for _type in (*FLOATS, *INTS):
        case(_op, numbers(_type, (5, 2)), _ids, np.int32(5))
        case(_op, numbers(_type, (5,)), np.arange(5, dtype=np.int64)[::-1].copy(), np.int64(7))
        case(_op, numbers(_type, (2, 3, 2)), np.array([[0, 1, 2], [2, 1, 0]], np.int32), np.int32(3))
        case(_op, numbers(_type, (0, 2)), _ids[:0], np.int32(2))
    case(_op, numbers(F32, (5, 2)), _ids, np.int32(3))
    case(_op, numbers(F32, (3, 2)), np.array([[1, 0], [0, 0], [7, 0]], np.int32), np.int32(5))
    case(_op, numbers(F32, (5, 2)), _ids[:2], np.int32(5))
    case(_op, numbers(F32, (5, 2)), _ids, np.int32(-1))
    case(_op, numbers(F32, (5, 2)), _ids, np.array([1, 2], np.int32))
    shapes(
        _op,
        (_m, _ids, np.int32(3)),
        [(5, 2), (5,), ()],
        [None, (5,), ()],
        [(5, 2), (4,), ()],
        [(5, 2), (5,), (1,)],
    )
_indices, _ids = np.array([0, 2, 1], np.int32), np.array([0, 0, 2], np.int32)
for _kind in ("Sum", "Mean", "SqrtN"):
    for _op, _more in (
        (f"SparseSegment{_kind}", ()),
        (f"SparseSegment{_kind}WithNumSegments", (np.int32(5),)),
    ):
        for _type in FLOATS:
            case(_op, numbers(_type, (3, 2)), _indices, _ids, *_more)
            case(_op, numbers(_type, (3, 2)), _indices[:0], _ids[:0], *_more)
        for _i, _s in (
            ([0, 7, 1], [0, 0, 2]),
            ([0, -1, 1], [0, 0, 2]),
            ([0, 1, 1], [1, 0, 2]),
            ([0, 1], [1, 0, 2]),
            ([[0, 1]], [1, 0]),
            ([0, 1], [[1, 0]]),
        ):
            case(_op, numbers(F32, (3, 2)), np.array(_i, np.int32), np.array(_s, np.int32), *_more)
    case(_op, numbers(F32, (3, 2)), _indices, _ids, np.int32(2))
    case(_op, numbers(F32, (3, 2)), _indices, _ids, np.int32(-2))
    case(_op, numbers(F32, (3, 2)), _indices, _ids, np.array([2], np.int32))

# Linear algebra
_LINEAR = (F16, F32, F64, *COMPLEX)


def _well_conditioned(dtype: Any, *batch: int) -> Any:
    return (numbers(dtype, (*batch, 3, 3)) + 9 * np.eye(3)).astype(dtype)


for _type in _LINEAR:
    for _x in (
        _well_conditioned(_type),
        _well_conditioned(_type, 2),
        np.zeros((0, 0), _type),
        np.zeros((0, 3, 3), _type),
    ):
        for _adjoint in (False, True):
            case("MatrixInverse", _x, adjoint=_adjoint)
            case("MatrixSolve", _x, _x[..., :1], adjoint=_adjoint)
            for _lower in (False, True):
                case("MatrixTriangularSolve", _x, _x[..., :2], lower=_lower, adjoint=_adjoint)
        _definite = _x @ _x.conj().swapaxes(-1, -2)
        case("Cholesky", _definite)
        case("Qr", _x)
        case("Qr", np.concatenate([_x, _x], -2), full_matrices=_x.ndim == 2)
        case("Svd", _x)
        case("Svd", np.concatenate([_x, _x], -2), full_matrices=_x.ndim == 2)
        case("SelfAdjointEigV2", _definite)
        case("MatrixDeterminant", _x)
        case("LogMatrixDeterminant", _x)
for _op in ("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Cholesky"):
    case(_op, np.ones((3, 2), F32))
    case(_op, np.ones(3, F32))
case("Svd", np.full((3, 2), np.nan, F32))
case("SelfAdjointEigV2", np.full((2, 2), np.nan, F32))
case("SelfAdjointEigV2", np.array([[2, 100], [1, 3]], F32))
case("SelfAdjointEigV2", np.ones((3, 2), F32))
case("Svd", np.ones(2, F32))
case("Qr", np.ones(2, F32))
case("MatrixInverse", np.ones((2, 2), F32))
case("MatrixInverse", np.full((2, 2), np.nan, F32))
case("MatrixDeterminant", np.ones((2, 2), F32))
case("LogMatrixDeterminant", np.ones((2, 2), F32))
case("MatrixSolve", np.ones((2, 2), F32), np.ones((2, 2), F32))
case("MatrixSolve", np.eye(2, dtype=F32), np.ones((3, 2), F32))
case("MatrixSolve", np.ones((3, 2), F32), np.ones((3, 2), F32))
case("MatrixSolve", np.eye(2, dtype=F32), np.ones(2, F32))
case("MatrixSolve", np.ones((2, 2, 2), F32), np.ones((3, 2, 2), F32))
case("MatrixTriangularSolve", np.ones((2, 2, 2), F32), np.ones((3, 2, 2), F32))
case("MatrixTriangularSolve", np.ones((2, 2), F32), np.ones((3, 2), F32))
case("MatrixTriangularSolve", np.ones((2, 1, 2, 2), F32), np.ones((3, 2, 2), F32))
case("MatrixTriangularSolve", np.array([[0, 2], [2, 4]], F32), np.ones((2, 2), F32))
_w = np.ones((2, 2), F32)
for _op in ("MatrixInverse", "Cholesky", "MatrixDeterminant", "SelfAdjointEigV2", "LogMatrixDeterminant"):
    shapes(_op, (_w,), [(2, 2)], [(None, 2)], [None], [(5, 2, 2)], [(2, 3)], [(2,)])
shapes("MatrixSolve", (_w, _w), [(2, 2), (2, 3)], [(None, 2), (None, 3)], [None, (2, 3)], [(2, 2), (3, 3)])
shapes(
    "MatrixTriangularSolve", (_w, _w), [(2, 2), (2, 3)], [(5, 2, 2), (2, 3)], [None, (2, 3)], [(2, 2), (3, 3)]
)
for _full in (False, True):
    shapes("Qr", (_w,), [(2, 3)], [(None, 2)], [None], [(5, 4, 2)], [(2,)], full_matrices=_full)
    shapes("Svd", (_w,), [(2, 3)], [(None, 2)], [None], [(5, 4, 2)], [(2,)], full_matrices=_full)
shapes("Svd", (_w,), [(2, 3)], [None], compute_uv=False)

# Parts of matrices
for _type in (F32, F64, np.int32, np.bool_, np.complex64, np.uint8):
    _x = numbers(np.int8, (2, 3, 4), 3, 0, 9).astype(_type)
    for _lower, _upper in ((0, 0), (1, -1), (-1, 0), (2, 1), (7, 0), (0, 7)):
        case("MatrixBandPart", _x, np.int64(_lower), np.int64(_upper))
    case("Diag", _x[0, 0])
    case("Diag", _x[0])
    case("DiagPart", np.array(_x[:, :2, :2]).reshape(2, 2, 2)[0])
    case("DiagPart", numbers(np.int8, (2, 3, 2, 3), 3, 0, 9).astype(_type))
    case("MatrixDiag", _x)
    case("MatrixDiagPart", _x)
    case("MatrixSetDiag", _x, _x[:, 0, :3])
    for _k in (0, 1, -1, [-1, 1], [0, 2], [-2, -1]) if _type in (F32, np.bool_) else ():
        for _align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
            _pad = np.ones((), _type)
            case("MatrixDiagPartV3", _x, np.array(_k, np.int32), _pad, align=_align)
            _low, _high = np.broadcast_to(_k, 2).tolist() if np.ndim(_k) == 0 else _k
            _length = min(3 + min(_high, 0), 4 - max(_low, 0))
            _d = numbers(
                np.int8, (2, *(() if _low == _high else (_high - _low + 1,)), _length), 4, 0, 9
            ).astype(_type)
            case("MatrixSetDiagV3", _x, _d, np.array(_k, np.int32), align=_align)
            for _r, _c in ((3, 4), (-1, -1), (-1, 5), (2, 2)):
                case(
                    "MatrixDiagV3", _d, np.array(_k, np.int32), np.int32(_r), np.int32(_c), _pad, align=_align
                )
case("MatrixBandPart", np.ones(3, F32), np.int64(0), np.int64(0))
case("MatrixBandPart", np.ones((3, 3), F32), np.array([0, 1]), np.int64(0))
case("Diag", np.float32(1))
case("DiagPart", np.ones(2, F32))
case("DiagPart", np.ones((3, 2), F32))
case("MatrixDiag", np.float32(1))
case("MatrixDiagPart", np.ones(2, F32))
case("MatrixSetDiag", np.ones((3, 2), F32), np.ones(3, F32))
shapes("MatrixBandPart", (_m, np.int64(0), np.int64(0)), [(2, 3), (), ()], [None, (), ()], [(2,), (), ()])
shapes("Diag", (_m,), [(2, 3)], [None], [()])
shapes("DiagPart", (_m,), [(2, None)], [(2, 3, None, 3)], [None], [(2, 3)], [(2,)])
shapes("MatrixDiag", (_m,), [(2, 3)], [None], [()])
shapes("MatrixDiagPart", (_m,), [(5, 2, 3)], [(None, 3)], [None], [(2,)])

# Bessel functions, and integrals
unary("BesselI0 BesselI0e BesselI1 BesselI1e Dawsn", FLOATS, low=-6, high=6)
unary("BesselI0e BesselI1e BesselJ0 BesselJ1 Dawsn", FLOATS, low=-40, high=40)
unary("BesselK0 BesselK0e BesselK1 BesselK1e BesselY0", FLOATS, low=0.01, high=8)
unary("BesselY1", FLOATS, low=0.01, high=8, corners=False)  # float32 has NaN at 0, float64 infinity
unary("BesselK0e BesselK1e BesselY0 BesselY1 Expint", FLOATS, low=0.5, high=60, corners=False)
unary("FresnelCos FresnelSin", FLOATS, low=-8, high=8)
unary("Expint", FLOATS, low=0.01, high=4)
unary("Spence", FLOATS, low=0, high=6)
for _op in ("Igamma", "Igammac"):
    for _dtype in FLOATS:
        case(_op, numbers(_dtype, (64,), 1, 0.1, 12), numbers(_dtype, (64,), 2, 0.1, 20))
        case(_op, numbers(_dtype, (3, 1), 1, 0.1, 2), numbers(_dtype, (1, 4), 2, 0, 2))
    case(_op, np.array([0.0, 1, -1, 2, 3], F32), np.array([1.0, 0, 1, -1, np.nan], F32))
    case(_op, numbers(F32, (2,)), numbers(F32, (3,)))
    shapes(_op, (numbers(F32, (2, 3)), numbers(F32, (3,))), [(2, 3), (3,)], [(None, 3), None], [(2,), (3,)])
for _dtype in (F32, F64):
    case("IgammaGradA", numbers(_dtype, (64,), 1, 0.5, 12), numbers(_dtype, (64,), 2, 0.5, 20))
    case("Betainc", *(numbers(_dtype, (64,), i, 0.2, 9) for i in range(2)), numbers(_dtype, (64,), 3, 0, 1))
    case("Betainc", np.array(2, _dtype), np.array(3, _dtype), numbers(_dtype, (5,), 3, 0, 1))
    case("Betainc", *(np.array(x, _dtype) for x in ([1, 2, -1, 1], [1, 2, 1, 1], [0, 1, 0.5, 2])))

# Counts and vectors
for _dtype in (np.int32, np.int64, F32, F64):
    case("Bincount", np.array([1, 1, 5, 3], np.int32), np.int32(4), np.array([], _dtype))
    case("Bincount", np.array([[1, 1], [5, 3]], np.int32), np.int32(6), np.array([[1, 2], [3, 4]], _dtype))
    for _index in (np.int32, np.int64):
        for _binary in (False, True):
            for _weights in (np.array([], _dtype), np.array([1, 2, 3, 4], _dtype)):
                case(
                    "DenseBincount",
                    np.array([1, 1, 5, 3], _index),
                    _index(4),
                    _weights,
                    binary_output=_binary,
                )
            rows = np.array([[1, 1, 2], [0, 3, 9]], _index)
            case("DenseBincount", rows, _index(4), np.array([], _dtype), binary_output=_binary)
            case("DenseBincount", rows, _index(4), rows.astype(_dtype), binary_output=_binary)
case("DenseBincount", np.array([-1, 2], np.int32), np.int32(4), np.array([], F32))
case("Bincount", np.array([], np.int32), np.int32(0), np.array([], F32))
for _index in (np.int32, np.int64):
    case("UnravelIndex", np.array([22, 41, 37], _index), np.array([7, 6], _index))
    case("UnravelIndex", np.array(22, _index), np.array([3, 4, 5], _index))
case("UnravelIndex", np.array([42], np.int32), np.array([7, 6], np.int32))
case("UnravelIndex", np.array([1], np.int32), np.array([7, 0], np.int32))
for _dtype in (*FLOATS, *INTS):
    case("Cross", numbers(_dtype, (4, 3)), numbers(_dtype, (4, 3), 1))
case("Cross", numbers(F32, (2, 3)), numbers(F32, (3,)))
case("Cross", numbers(F32, (2,)), numbers(F32, (2,)))
shapes("Cross", (numbers(F32, (2, 3)),) * 2, [(2, 3), (2, 3)], [(None, 3), None], [(2, 2), (2, 2)])
for _dtype in FLOATS:
    # Of exclusive ones, today's package begins with minus infinity, 1.15 with the lowest number.
    for _reverse in (False, True):
        for _axis in (0, 1, -1):
            case("CumulativeLogsumexp", numbers(_dtype, (3, 5)), np.int32(_axis), reverse=_reverse)
case("CumulativeLogsumexp", numbers(F32, (3, 5)), np.int32(2))

# Sums of products
for _dtype in (F16, BF16, F32, F64, np.int32, np.int64, *COMPLEX):
    for _equation, *_shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("bij,bjk->bik", (2, 2, 3), (2, 3, 4)),
        ("ij,kj->ki", (2, 3), (4, 3)),
        ("i,i->", (3,), (3,)),
        ("i,j->ij", (3,), (2,)),
        ("ij->ji", (2, 3)),
        ("ij->", (2, 3)),
        ("ii->i", (3, 3)),
        ("ii->", (3, 3)),
        ("ijj,jk->ik", (2, 3, 3), (3, 2)),
        ("i->ii", (3,)),
        ("ij,jk->ii", (2, 3), (3, 2)),
        ("...ij,...jk->...ik", (2, 2, 3), (3, 4)),
        ("...ij,...jk->...ik", (1, 2, 3), (4, 3, 2)),
        ("i...,j->...i", (2, 3), (3,)),
        ("...,...->", (2, 3), (2, 3)),
        ("abcd,cdef->abef", (2, 1, 3, 2), (3, 2, 1, 2)),
        ("ab,ab->ab", (2, 3), (2, 3)),
        ("ab,c->b", (2, 3), (4,)),
        ("a,b->ba", (0,), (3,)),
    ):
        case("Einsum", [numbers(_dtype, shape, i) for i, shape in enumerate(_shapes)], equation=_equation)
case("Einsum", [numbers(F32, (2, 3)), numbers(F32, (2, 3))], equation="ij,jk->ik")
case("Einsum", [numbers(F32, (2, 3))], equation="ijk->ik")

# Fourier transforms
for _real, _complex in ((F32, np.complex64), (F64, np.complex128)):
    for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
        for _shape in ((2, 3, 4, 5), (4, 3, 6), (1, 0, 2)):
            for _op in ("FFT", "IFFT"):
                case(_op + _suffix, numbers(_complex, _shape), Tcomplex=dtypes.as_dtype(_complex))
            _attrs = {"Treal": dtypes.as_dtype(_real), "Tcomplex": dtypes.as_dtype(_complex)}
            for _length in ([*_shape[-_rank:]], [max(n - 1, 0) for n in _shape[-_rank:]], [7] * _rank):
                case("RFFT" + _suffix, numbers(_real, _shape), np.array(_length, np.int32), **_attrs)
                case("IRFFT" + _suffix, numbers(_complex, _shape), np.array(_length, np.int32), **_attrs)
case("RFFT", numbers(F32, (3, 4)), np.array([4, 4], np.int32))
case("FFT2D", numbers(np.complex64, (3,)))

# Numbers rounded as if they were quantized, and clipped ones
for _bits in (2, 8, 16):
    for _narrow in (False, True):
        _attrs = {"num_bits": _bits, "narrow_range": _narrow}
        _x, _g = numbers(F32, (4, 3), 1, -12, 12), numbers(F32, (4, 3), 2)
        for _low, _high in ((-6, 6), (0, 3), (0.1, 8), (-5, -1), (-1, 0.5)):
            _range = {"min": float(_low), "max": float(_high)}
            case("FakeQuantWithMinMaxArgs", _x, **_range, **_attrs)
            case("FakeQuantWithMinMaxArgsGradient", _g, _x, **_range, **_attrs)
            case("FakeQuantWithMinMaxVars", _x, F32(_low), F32(_high), **_attrs)
            case("FakeQuantWithMinMaxVarsGradient", _g, _x, F32(_low), F32(_high), **_attrs)
        case("FakeQuantWithMinMaxVars", _x, F32(0), F32(0), **_attrs)
        case("FakeQuantWithMinMaxVarsGradient", _g, _x, F32(0), F32(0), **_attrs)
        _ranges = np.array([-6, -1, 0.5], F32), np.array([6, 0.5, 3], F32)
        case("FakeQuantWithMinMaxVarsPerChannel", _x, *_ranges, **_attrs)
        case("FakeQuantWithMinMaxVarsPerChannelGradient", _g, _x, *_ranges, **_attrs)
for _dtype in (*FLOATS, *INTS):
    case("ClipByValue", numbers(_dtype, (2, 3)), np.array(1, _dtype), np.array(3, _dtype))
    case("ClipByValue", numbers(_dtype, (3,)), numbers(_dtype, (3,), 1, 0, 2), numbers(_dtype, (3,), 2, 3, 4))
case("ClipByValue", numbers(F32, (2, 3)), numbers(F32, (3,)), np.array(3, F32))

# Factors and functions of matrices
for _dtype in (F16, F32, F64, *COMPLEX):
    for _shape in ((3, 3), (2, 4, 4), (0, 2, 2), (2, 0, 0)):
        _x = numbers(_dtype, _shape)
        for _index in (dtypes.int32, dtypes.int64):
            case("Lu", _x, output_idx_type=_index)
        if _dtype is not F16:
            case("MatrixSquareRoot", _x @ _x.swapaxes(-1, -2).conj() + 3 * np.eye(_shape[-1], dtype=_dtype))
            case("MatrixLogarithm", _x @ _x.swapaxes(-1, -2).conj() + 3 * np.eye(_shape[-1], dtype=_dtype))
    case("MatrixLogarithm", np.array([[2, 1], [0, 2]], _dtype))
    if _dtype is not F16:
        case("MatrixSquareRoot", np.array([[4, 1], [0, 4]], _dtype))
case("Lu", np.zeros((2, 2), F32))
case("Lu", np.zeros((2, 3), F32))
case("MatrixSquareRoot", np.zeros((2, 3), F32))
