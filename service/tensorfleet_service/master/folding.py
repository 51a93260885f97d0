"""Which nodes with constant inputs `optimize` may compute: what takes long is left to steps.

A step has a limit, its client may cancel it, and quotas count it; nothing of that holds for graph work. So a
node is computed only where its inputs bound what that costs, whatever its kernel does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet_service.graph.graph import Node

Evaluate = Callable[[Node, list[Any]], Any]

TOTAL_SECONDS = 1.0
"""For all nodes of a signature together."""

_MAX_ELEMENTS = 2_500_000
_MAX_COSTLY_ELEMENTS = 4_096
_MAX_TEXT_BYTES = 65_536
_MAX_AXES = 1_000

# What a kernel of these takes is proportional to `_bound` at most. What others take may depend on the
# attributes, or grow faster than the inputs: windows of a pooling, decompositions, sorts.
_PROPORTIONAL_OPS = """
    Abs Acos Acosh Add AddN AddV2 All Any ArgMax ArgMin Asin Asinh Atan Atan2 Atanh BatchMatMul
    BatchMatMulV2 BiasAdd Bitcast BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastGradientArgs
    BroadcastTo Cast Ceil ClipByValue Complex ComplexAbs Concat ConcatOffset ConcatV2 Conj
    ConjugateTranspose Cos Cosh Cumprod Cumsum Div DivNoNan DynamicPartition DynamicStitch Elu EnsureShape
    Equal Erf Erfc Exp ExpandDims Expm1 Fill Floor FloorDiv FloorMod Gather GatherNd GatherV2 Greater
    GreaterEqual Identity IdentityN Imag Inv Invert InvertPermutation IsFinite IsInf IsNan L2Loss LeakyRelu
    LeftShift Less LessEqual LinSpace Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul Max
    Maximum Mean Min Minimum MirrorPad Mod Mul MulNoNan Neg NotEqual OneHot OnesLike Pack Pad PadV2 Pow Prod
    Range Rank Real RealDiv Reciprocal Relu Relu6 Reshape Reverse ReverseV2 RightShift Rint Roll Round Rsqrt
    ScatterNd Select SelectV2 Selu Shape ShapeN Sigmoid Sign Sin Sinh Size Slice Snapshot Softmax Softplus
    Softsign Split SplitV Sqrt Square SquaredDifference Squeeze StopGradient StridedSlice Sub Sum Tan Tanh
    Tile Transpose TruncateDiv TruncateMod UnravelIndex Unpack Where Xdivy Xlogy ZerosLike
"""
_PROPORTIONAL = frozenset(_PROPORTIONAL_OPS.split())
# Few bytes may become a thousand times as many, or say that they do.
_NEVER = frozenset(
    (
        "DecodeAndCropJpeg",
        "DecodeBmp",
        "DecodeCompressed",
        "DecodeGif",
        "DecodeImage",
        "DecodeJpeg",
        "DecodePng",
    )
)


class Budget:
    """The time for all nodes of a signature."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = TOTAL_SECONDS

    def computed(self, evaluate: Evaluate, node: Node, values: list[Any]) -> tuple[Any, ...] | None:
        """A node's outputs; None if a step has to compute them, or to report why that fails."""
        if self._left <= 0 or not _is_cheap(node, values):
            return None
        begun = time.monotonic()
        try:
            result = evaluate(node, values)
        except Exception:
            return None  # the step itself raises the error, and reports it with the node's name
        finally:
            self._left -= time.monotonic() - begun
        return result if isinstance(result, tuple) else (result,)


def _is_cheap(node: Node, values: Sequence[Any]) -> bool:
    """Whether the inputs bound what a node costs to a fraction of a second."""
    if node.op in _NEVER:
        return False
    arrays = [np.asarray(value) for value in values]
    if node.op not in _PROPORTIONAL and sum(array.size for array in arrays) > _MAX_COSTLY_ELEMENTS:
        return False
    bound = _range_bound(arrays) if node.op in ("Range", "RaggedRange") else _bound(arrays)
    if node.op not in _PROPORTIONAL:
        bound *= _windows(node)
    if bound > _MAX_ELEMENTS:
        return False
    text = 0
    for array, dtype in zip(arrays, node.input_types, strict=True):
        if dtype.base is dtypes.string:
            if array.size > _MAX_COSTLY_ELEMENTS:
                return False
            text += sum(map(len, array.reshape(-1).tolist()))
    return text <= _MAX_TEXT_BYTES


def _bound(arrays: Sequence[np.ndarray[Any, Any]]) -> float:
    """Bound on the number of elements of an op's outputs; the inputs may be sizes or counts."""
    bound = 1.0
    for array in arrays:
        bound *= max(1, array.size)
        if bound > _MAX_ELEMENTS:
            break  # without a look at the values, which are many
        if array.dtype.kind in "iu" and array.size:
            sizes = np.maximum(np.abs(array.astype(np.float64)), 1.0)
            bound *= float(sizes.prod() if array.size <= 64 else sizes.max())
    return bound


def _windows(node: Node) -> float:
    """The sizes that attributes give, such as of the windows that an op reads; multiplied, as a bound."""
    bound = 1.0
    for value in node.attrs.values():
        if isinstance(value, (list, tuple)):
            for size in value:
                bound *= max(1.0, abs(size)) if type(size) is int else 1.0
    return bound


def _range_bound(arrays: Sequence[np.ndarray[Any, Any]]) -> float:
    """The number of elements of a Range, or of all of a RaggedRange; infinity if it cannot be computed."""
    starts, limits, deltas = (array.astype(np.float64) for array in arrays)
    try:
        with np.errstate(all="ignore"):
            count = float(np.sum(np.abs(limits - starts) / np.abs(deltas)))
    except ValueError:  # these do not fit together, which the step says
        return math.inf
    return count if count <= _MAX_AXES else math.inf
