"""Every differentiable op type on inputs at which it is smooth: what the gradient checker runs over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorfleet.core import dtypes

f64 = dtypes.float64


@dataclass
class Case:
    """One op and its inputs: lists where the argument is a list; all float64 ones are differentiated."""

    op: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    known_shapes: bool = False
    """The gradient needs static shapes."""
    constant: tuple[int, ...] = ()
    """Inputs that TensorFlow gives no gradient, or none that differences can show."""
    symmetric: bool = False
    """Only half of a symmetric matrix is looked at: compare what both halves of the gradient sum up to."""

    def __str__(self) -> str:
        shapes = [[x.shape for x in i] if isinstance(i, list) else i.shape for i in self.inputs]
        return f"{self.op}{shapes}{self.attrs or ''}"


CASES: list[Case] = []


def case(
    op: str,
    *inputs: Any,
    known_shapes: bool = False,
    constant: tuple[int, ...] = (),
    symmetric: bool = False,
    **attrs: Any,
) -> None:
    arrays = tuple([np.asarray(x) for x in i] if isinstance(i, list) else np.asarray(i) for i in inputs)
    CASES.append(Case(op, arrays, attrs, known_shapes, constant, symmetric))


def values(*shape: int, low: float = -1.0, high: float = 1.0, seed: int = 0) -> Any:
    """Distinct float64 numbers between low and high, at least a part of 2 · size away from each other."""
    size = int(np.prod(shape, dtype=int))
    order = np.random.RandomState(size + seed).permutation(size)
    return (low + (high - low) * (order + 0.5) / size).reshape(shape)


def ints(*numbers: Any) -> Any:
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.int32)


# Arithmetic: equal shapes, and each kind of broadcasting.
_PAIRS = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((2, 3), ()),
    ((2, 2, 3), (2, 1)),
)
for _op in ("Add", "AddV2", "Sub", "Mul", "MulNoNan", "SquaredDifference", "Maximum", "Minimum", "NextAfter"):
    for _a, _b in _PAIRS:
        case(_op, values(*_a), values(*_b, low=-0.93, high=1.1, seed=1))
for _op in ("Div", "RealDiv", "DivNoNan", "Pow", "Atan2", "Xlogy", "Xlog1py", "Xdivy"):
    for _a, _b in _PAIRS:
        case(_op, values(*_a, low=0.4, high=2.0), values(*_b, low=0.6, high=1.9, seed=1))
for _op in ("FloorMod", "Mod", "TruncateMod"):
    case(_op, np.array([[1.3, 5.1], [-2.2, 7.7]]), np.array([2.0, 3.0]))
case("Pow", np.array([-1.5, 2.0]), np.array([2.0, 3.0]), constant=(1,))
case("MulNoNan", values(4), np.array([0.5, 2.0, -1.0, 0.25]))

# Element by element.
for _op in (
    *(
        "Neg",
        "Abs",
        "Square",
        "Sign",
        "Exp",
        "Expm1",
        "Sin",
        "Cos",
        "Tan",
        "Atan",
        "Sinh",
        "Cosh",
        "Tanh",
        "Asinh",
    ),
    *(
        "Sigmoid",
        "Asin",
        "Acos",
        "Atanh",
        "Erf",
        "Erfc",
        "Elu",
        "Selu",
        "Softplus",
        "Softsign",
        "Relu",
        "LeakyRelu",
    ),
):
    case(_op, values(2, 3, low=-0.9, high=0.8))
for _op in ("Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv", "Lgamma", "Digamma"):
    case(_op, values(2, 3, low=0.3, high=2.5))
case("Acosh", values(2, 3, low=1.2, high=3.0))
case("Erfinv", values(2, 3, low=-0.9, high=0.9))
case("Ndtri", values(2, 3, low=0.1, high=0.9))
case("Relu6", values(3, 4, low=-2.1, high=8.2))
case("LeakyRelu", values(2, 3), alpha=0.3)
case("Polygamma", np.array(2.0), values(2, 3, low=0.5, high=3.0), constant=(0,))
case("Zeta", np.array([2.5, 3.5, 1.5]), values(2, 3, low=0.5, high=3.0), constant=(0,))

# Gradients of gradients.
for _op in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
    case(_op, values(2, 3, low=0.2, high=0.9), values(2, 3, seed=1))
for _op in ("ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "EluGrad", "SeluGrad", "LeakyReluGrad"):
    case(_op, values(2, 3), values(2, 3, low=-0.9, high=0.8, seed=1))
case("BiasAddGrad", values(2, 3, 4))
case("BiasAddGrad", values(2, 3, 4), data_format="NCHW")

# Of networks.
case("L2Loss", values(2, 3))
case("Softmax", values(2, 4))
case("LogSoftmax", values(2, 4))
case("BiasAdd", values(2, 3, 4), values(4, seed=1))
case("BiasAdd", values(2, 3, 4), values(3, seed=1), data_format="NCHW")
case("BiasAddV1", values(2, 3, 4), values(4, seed=1))
case("AddN", [values(2, 3), values(2, 3, seed=1), values(2, 3, seed=2)])
case("AccumulateNV2", [values(2, 3), values(2, 3, seed=1)], shape=(2, 3))

# Casts and complex numbers, whose parts are real.
case("Cast", values(2, 3), DstT=f64)
case("Complex", values(2, 3), values(3, seed=1), Tout=dtypes.complex128)

# Matrices.
for _ta in (False, True):
    for _tb in (False, True):
        _x = values(*((4, 2) if _ta else (2, 4)))
        _y = values(*((3, 4) if _tb else (4, 3)), seed=1)
        case("MatMul", _x, _y, transpose_a=_ta, transpose_b=_tb)
        for _op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
            more = {"Tout": f64} if _op == "BatchMatMulV3" else {}
            case(_op, np.stack([_x, 2 * _x]), np.stack([_y, 1 - _y]), adj_x=_ta, adj_y=_tb, **more)
        case("BatchMatMulV2", np.stack([_x, 2 * _x]), _y, adj_x=_ta, adj_y=_tb)
        case("BatchMatMulV2", _x[None], np.stack([_y, 1 - _y]), adj_x=_ta, adj_y=_tb)

# Reductions.
for _op in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"):
    for _axes in (ints([0]), ints([-1]), ints([0, 2]), ints([0, 1, 2]), np.array(1, np.int32)):
        for _keep in (False, True):
            case(_op, values(2, 3, 2, low=0.3, high=1.7), _axes, keep_dims=_keep)
case("Sum", values(2, 3), np.zeros(0, np.int32))
case("Prod", np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]), ints([1]))
for _exclusive in (False, True):
    for _reverse in (False, True):
        for _op in ("Cumsum", "Cumprod"):
            case(_op, values(3, 4, low=0.3, high=1.7), ints(1), exclusive=_exclusive, reverse=_reverse)

# Passing through.
for _op in ("Identity", "Snapshot", "GuaranteeConst"):
    case(_op, values(2, 3))
case("IdentityN", [values(2, 3), values(2, seed=1)])
case("PlaceholderWithDefault", values(2, 3), shape=(2, 3))
case("EnsureShape", values(2, 3), shape=(2, 3))
case("CheckNumerics", values(2, 3), message="here")
case("Print", values(2, 3), [values(2, seed=1)], first_n=0)

# Shapes.
case("Fill", ints([2, 3]), values())
case("Reshape", values(2, 6), ints([3, -1]))
case("ExpandDims", values(2, 3), ints(1))
case("Squeeze", values(2, 1, 3, 1), squeeze_dims=[1])
case("BroadcastTo", values(2, 1, 3), ints([4, 2, 5, 3]))
case("BroadcastTo", values(3), ints([2, 3]))
case("Tile", values(2, 3), ints([3, 2]))
case("Transpose", values(2, 3, 4), ints([2, 0, 1]))
case("ConjugateTranspose", values(2, 3), ints([1, 0]))

# Joining and cutting.
case("Pack", [values(2, 3), values(2, 3, seed=1)], axis=1)
case("Unpack", values(2, 3), num=3, axis=1)
case("Concat", ints(1), [values(2, 3), values(2, 1, seed=1)])
case("ConcatV2", [values(2, 3), values(2, 1, seed=1), values(2, 2)], ints(-1))
case("Split", ints(1), values(2, 4), num_split=2)
case("Split", ints(0), values(2, 4), num_split=1)
case("SplitV", values(5, 2), ints([2, 3]), ints(0), num_split=2)
case("Pad", values(2, 3), ints([[1, 0], [2, 1]]))
case("PadV2", values(2, 3), ints([[1, 0], [2, 1]]), values(), constant=(2,))
case("MirrorPad", values(3, 4), ints([[1, 2], [2, 1]]), mode="REFLECT")
case("MirrorPad", values(3, 4), ints([[1, 2], [2, 1]]), mode="SYMMETRIC")
case("MirrorPadGrad", values(6, 7), ints([[1, 2], [2, 1]]), mode="REFLECT")
case("Reverse", values(2, 3), np.array([False, True]))
case("ReverseV2", values(2, 3), ints([1]))
case("ReverseSequence", values(2, 4), np.array([3, 2], np.int64), seq_dim=1)
case("Roll", values(3, 4), ints([1, -2]), ints([0, 1]))
case("SpaceToDepth", values(1, 4, 4, 2), block_size=2)
case("DepthToSpace", values(1, 2, 2, 8), block_size=2)
case("Slice", values(3, 4), ints([1, 0]), ints([2, -1]))
_masks = {"begin_mask": 1, "end_mask": 2, "shrink_axis_mask": 4, "new_axis_mask": 8}
case("StridedSlice", values(3, 4, 2), ints([0, 1, 1, 0]), ints([2, 0, 2, 0]), ints([1, 2, 1, 1]), **_masks)
case("StridedSliceGrad", ints([3, 4]), ints([0, 3]), ints([3, 0]), ints([2, -2]), values(2, 2))
case("TensorStridedSliceUpdate", values(4, 3), ints([1]), ints([3]), ints([1]), values(2, 3, seed=1))

# Indices.
case("Gather", values(4, 3), ints([1, 3, 1]))
case("Gather", values(4, 3), ints([[1, 3], [1, 0]]))
case("GatherV2", values(4, 3), ints([[1, 3], [1, 0]]), ints(0))
case("GatherV2", values(4, 3), ints(2), ints(0))
case("GatherV2", values(2, 4, 3), ints([[1, 3], [1, 0]]), ints(1), known_shapes=True)
case("GatherV2", values(2, 4, 3), ints([2, 0, 2]), ints(-1), known_shapes=True)
case("GatherV2", values(2, 4, 3), ints([[1, 3, 1], [1, 0, 2]]), ints(1), batch_dims=1, known_shapes=True)
case("GatherV2", values(2, 2, 4), ints([[1, 3, 1], [1, 0, 2]]), ints(2), batch_dims=1, known_shapes=True)
case("GatherNd", values(4, 3), ints([[1], [3], [1]]))
case("GatherNd", values(4, 3), ints([[1, 2], [3, 0], [1, 2]]))
case("ScatterNd", ints([[1], [3], [1]]), values(3, 2), ints([5, 2]))
case("TensorScatterUpdate", values(5, 2), ints([[1], [3]]), values(2, 2, seed=1))
case("TensorScatterAdd", values(5, 2), ints([[1], [3], [1]]), values(3, 2, seed=1))
case("TensorScatterSub", values(5, 2), ints([[1], [3], [1]]), values(3, 2, seed=1))
for _op in ("TensorScatterMin", "TensorScatterMax"):
    case(_op, values(5, 2), ints([[1], [3], [1]]), values(3, 2, low=-0.93, high=1.1, seed=1))
case("SparseToDense", ints([[0, 1], [2, 2]]), ints([3, 3]), values(2), values())
case("SparseToDense", ints([1, 3]), ints([5]), values(2), values())
_points = np.array([[2, 0], [0, 1], [1, 1], [0, 0]], np.int64)
case("SparseReorder", _points, values(4), np.array([3, 2], np.int64))

# Choices.
case("Select", np.array([[True, False], [False, True]]), values(2, 2), values(2, 2, seed=1))
case("Select", np.array([True, False]), values(2, 2), values(2, 2, seed=1))
case("SelectV2", np.array([True, False]), values(2, 2), values(2, 1, seed=1))
case("TopKV2", values(2, 5), ints(3))
case("TopKV2", values(5), ints(2))
case("TopK", values(2, 5), k=3)
case("DynamicPartition", values(5, 2), ints([1, 0, 1, 2, 0]), num_partitions=3)
for _op in ("DynamicStitch", "ParallelDynamicStitch"):
    case(_op, [ints([0, 2]), ints([[1, 3]])], [values(2, 2), values(1, 2, 2, seed=1)])

# Segments.
for _op in ("Sum", "Mean", "Prod", "Min", "Max"):
    case(f"Segment{_op}", values(5, 2, low=0.3, high=1.7), ints([0, 0, 1, 3, 3]))
for _op in ("Sum", "Prod", "Min", "Max"):
    case(f"UnsortedSegment{_op}", values(5, 2, low=0.3, high=1.7), ints([2, 0, -1, 0, 1]), ints(3))
    case(f"UnsortedSegment{_op}", values(2, 2, low=0.3, high=1.7), ints([[1, 0], [0, 1]]), ints(2))
case("SegmentProd", np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 1.0]]), ints([0, 0, 0]))
case("UnsortedSegmentProd", np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 1.0]]), ints([1, 0, 1]), ints(2))
for _op in ("Sum", "Mean", "SqrtN"):
    case(f"SparseSegment{_op}", values(4, 2), ints([3, 0, 3]), ints([0, 0, 1]))
    case(f"SparseSegment{_op}WithNumSegments", values(4, 2), ints([3, 0, 3]), ints([0, 0, 2]), ints(4))

# Linear algebra.
_square = values(2, 3, 3) + 2 * np.eye(3)
_tall = values(4, 3) + np.eye(4, 3)
_lower = np.tril(values(3, 3)) + 2 * np.eye(3)
for _adjoint in (False, True):
    case("MatrixInverse", _square, adjoint=_adjoint)
    case("MatrixSolve", _square, values(2, 3, 2, seed=1), adjoint=_adjoint)
    for _triangle in (False, True):
        _matrix = _lower if _triangle else _lower.T
        case("MatrixTriangularSolve", _matrix, values(3, 2, seed=1), lower=_triangle, adjoint=_adjoint)
case("MatrixTriangularSolve", _lower, values(2, 3, 2, seed=1))
case("MatrixDeterminant", _square)
case("LogMatrixDeterminant", _square)
case("Cholesky", _lower @ _lower.T, symmetric=True)
case("SelfAdjointEigV2", _lower @ _lower.T, compute_v=False)
case("SelfAdjointEigV2", _lower @ _lower.T, compute_v=True)
case("Svd", _tall, compute_uv=False)
for _matrix in (_square[0], _tall, _tall.T):
    case("Svd", _matrix, compute_uv=True, known_shapes=True)
case("Qr", _tall, known_shapes=True)
case("Qr", _square, known_shapes=True)
case("Diag", values(2, 2))
case("DiagPart", values(2, 3, 2, 3))
case("MatrixDiag", values(2, 3))
case("MatrixDiagPart", values(2, 3, 2))
case("MatrixDiagV3", values(2, 2), ints(1), ints(-1), ints(-1), np.array(0.0), constant=(4,))
case("MatrixDiagPartV3", values(3, 4), ints([-1, 1]), np.array(0.0), constant=(2,))
case("MatrixSetDiag", values(2, 3, 2), values(2, 2, seed=1))
case("MatrixSetDiagV3", values(3, 4), values(3, 3, seed=1), ints([-1, 1]))
case("MatrixBandPart", values(3, 4), np.array(1), np.array(0))

# Sums of products: matrices, batches, sums over one input alone, diagonals, broadcasting.
for _equation, *_shapes in (
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("bij,bkj->bki", (2, 2, 3), (2, 2, 3)),
    ("ij->", (2, 3)),
    ("ij,k->j", (2, 3), (4,)),
    ("ii->i", (3, 3)),
    ("ii->", (3, 3)),
    ("iij->j", (2, 2, 3)),
    ("ijj,jk->ik", (2, 3, 3), (3, 2)),
    ("i->ii", (3,)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    ("...ij,...jk->...ik", (1, 2, 3), (3, 3, 2)),
    ("i...,j->...i", (2, 3), (3,)),
    ("i...,i...->...", (2, 3), (2, 1)),
):
    case("Einsum", [values(*_shape, seed=i) for i, _shape in enumerate(_shapes)], equation=_equation)

# Special functions.
for _op in ("BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "Dawsn", "FresnelCos"):
    case(_op, values(2, 3, low=-3.0, high=3.1))
for _op in ("BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Expint", "Spence"):
    case(_op, values(2, 3, low=0.4, high=4.0))
case("FresnelSin", values(2, 3, low=-3.0, high=3.1))
for _op in ("Igamma", "Igammac"):
    case(_op, values(2, 3, low=0.5, high=4.0), values(3, low=0.6, high=5.0, seed=1))
case(
    "Betainc",
    values(2, 3, low=0.5, high=4.0),
    values(2, 3, low=0.6, high=3.0, seed=1),
    values(2, 3, low=0.1, high=0.9, seed=2),
    constant=(0, 1),
)
case("Cross", values(2, 3), values(2, 3, seed=1))
for _reverse in (False, True):
    case("CumulativeLogsumexp", values(3, 2), ints(0), reverse=_reverse)

# Blocks of space.
case("SpaceToBatch", values(1, 4, 2, 1), ints([[0, 0], [1, 1]]), block_size=2)
case("BatchToSpace", values(4, 2, 2, 1), ints([[0, 1], [1, 0]]), block_size=2)
case("SpaceToBatchND", values(1, 4, 2), ints([2]), ints([[1, 1]]))
case("BatchToSpaceND", values(4, 2, 2), ints([2]), ints([[1, 0]]))

case("ClipByValue", values(2, 3), np.array(-0.45), np.array(0.37))
case("ClipByValue", values(2, 3), values(2, 3, low=-0.63, high=-0.22, seed=1), np.array(0.37))
