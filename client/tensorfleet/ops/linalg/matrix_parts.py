"""Diagonals and bands of matrices."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import Dims, merge
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode, RuleTensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import COMPLEX, FLOATS, apply_one
from tensorfleet.ops.shape_rules import merge_dim, unchanged, with_rank, with_rank_at_least

_ALIGN = 'align: {"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"} = "RIGHT_LEFT"'


def _diag_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 1)
    return [None if dims is None else dims + dims]


def _diag_part_shape(operation: RuleNode) -> list[Dims]:
    dims = operation.inputs[0].dims
    if dims is None:
        return [None]
    if len(dims) % 2 or not dims:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(dims)}")
    half = len(dims) // 2
    return [tuple(merge_dim(a, b) for a, b in zip(dims[:half], dims[half:], strict=True))]


def _matrix_diag_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 1)
    return [None if dims is None else (*dims, dims[-1])]


def _matrix_diag_part_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 2)
    if dims is None:
        return [None]
    rows, columns = dims[-2:]
    return [(*dims[:-2], None if rows is None or columns is None else min(rows, columns))]


def _matrix_set_diag_shape(operation: RuleNode) -> list[Dims]:
    dims, diagonal = with_rank_at_least(operation.inputs[0].dims, 2), operation.inputs[1].dims
    if dims is None:
        return [None if diagonal is None else (*(with_rank_at_least(diagonal, 1) or ())[:-1], None, None)]
    diagonal = with_rank(diagonal, len(dims) - 1)
    if diagonal is None:
        return [dims]
    rows, columns = dims[-2:]
    if rows is not None and columns is not None:
        merge_dim(min(rows, columns), diagonal[-1])
    if None in dims:  # else TensorFlow looks at the sizes of batches at run time only
        dims = (*(merge(dims[:-2], diagonal[:-1]) or ()), rows, columns)
    return [dims]


def _band_of(tensor: RuleTensor) -> tuple[int, int] | None:
    """The lowest and the highest diagonal of `k`, if they are known."""
    value = static_value(tensor)
    if value is None:
        return None
    numbers = value.ravel().tolist()
    return numbers[0], numbers[-1]


def _check_band(band: tuple[int, int], rows: int | None, columns: int | None) -> None:
    """Raises ValueError for a diagonal that lies outside of matrices of this size."""
    if rows is None or columns is None:
        return
    for text, number in (("lower", band[0]), ("upper", band[1])):
        if number and not -rows < number < columns:
            raise ValueError(f"{text}_diag_index is out of bound.")
    if band[0] > band[1]:
        raise ValueError("lower_diag_index is greater than upper_diag_index")


def _matrix_set_diag_v3_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 2)
    band = _band_of(operation.inputs[2])
    if band is None:
        return [dims]
    packed = 1 if band[0] == band[1] else 2
    if dims is None:
        diagonal = with_rank_at_least(operation.inputs[1].dims, packed)
        return [None if diagonal is None else (*diagonal[:-packed], None, None)]
    rows, columns = dims[-2:]
    _check_band(band, rows, columns)
    diagonal = with_rank(operation.inputs[1].dims, len(dims) - 2 + packed)
    if None in dims:  # else TensorFlow looks at the sizes of diagonals at run time only
        dims = (*(merge(dims[:-2], diagonal[:-packed]) or ()), rows, columns)
    return [dims]


def _matrix_diag_v3_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 1)
    for tensor in operation.inputs[2:]:
        with_rank(tensor.dims, 0)
    band = _band_of(operation.inputs[1])
    num_rows, num_cols = (static_value(t) for t in operation.inputs[2:4])
    if dims is None or band is None:
        return [None]
    batch = dims[:-1] if band[0] == band[1] else dims[:-2]
    length = dims[-1]
    if length is None or num_rows is None or num_cols is None:
        return [(*batch, None, None)]
    least = (length - min(band[1], 0), length + max(band[0], 0))
    rows, columns = int(num_rows), int(num_cols)
    if rows == -1 and columns == -1:
        rows = columns = max(least)
    for text, size, needed in (("num_rows", rows, least[0]), ("num_cols", columns, least[1])):
        if size != -1 and size < needed:
            raise ValueError(f"{text} is too small")
    return [(*batch, least[0] if rows == -1 else rows, least[1] if columns == -1 else columns)]


def _matrix_diag_part_v3_shape(operation: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(operation.inputs[0].dims, 2)
    with_rank(operation.inputs[2].dims, 0)
    band = _band_of(operation.inputs[1])
    if dims is None or band is None:
        return [None]
    rows, columns = dims[-2:]
    _check_band(band, rows, columns)
    length = (
        None if rows is None or columns is None else min(rows + min(band[1], 0), columns - max(band[0], 0))
    )
    if band[0] == band[1]:
        return [(*dims[:-2], length)]
    return [(*dims[:-2], band[1] - band[0] + 1, length)]


op(
    "MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)",
    "T: type",
    "Tindex: {int32, int64} = int64",
    shape=unchanged,
)
_NUMBERS = f"T: {{{FLOATS}, int32, int64, {COMPLEX}}}"
op("Diag(diagonal: T) -> (output: T)", _NUMBERS, shape=_diag_shape)
op("DiagPart(input: T) -> (diagonal: T)", _NUMBERS, shape=_diag_part_shape)
op("MatrixDiag(diagonal: T) -> (output: T)", "T: type", shape=_matrix_diag_shape)
op("MatrixDiagPart(input: T) -> (diagonal: T)", "T: type", shape=_matrix_diag_part_shape)
op("MatrixSetDiag(input: T, diagonal: T) -> (output: T)", "T: type", shape=_matrix_set_diag_shape)
op(
    "MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)",
    "T: type",
    _ALIGN,
    shape=_matrix_diag_v3_shape,
)
for _name, _signature, _rule in (
    (
        "MatrixDiagV2",
        "(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)",
        _matrix_diag_v3_shape,
    ),
    (
        "MatrixDiagPartV2",
        "(input: T, k: int32, padding_value: T) -> (diagonal: T)",
        _matrix_diag_part_v3_shape,
    ),
    ("MatrixSetDiagV2", "(input: T, diagonal: T, k: int32) -> (output: T)", _matrix_set_diag_v3_shape),
):
    op(_name + _signature, "T: type", shape=_rule)
op(
    "MatrixDiagPartV3(input: T, k: int32, padding_value: T) -> (diagonal: T)",
    "T: type",
    _ALIGN,
    shape=_matrix_diag_part_v3_shape,
)
op(
    "MatrixSetDiagV3(input: T, diagonal: T, k: int32) -> (output: T)",
    "T: type",
    _ALIGN,
    shape=_matrix_set_diag_v3_shape,
)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with zeros outside of a band around the diagonal (`tf.matrix_band_part`).

    Args:
        input: shape [..., rows, columns].
        num_lower: how many diagonals below the main one to keep; a negative number keeps all.
        num_upper: the same above.
    """
    # A Python number counts as int32 as everywhere, though the op's own default is int64.
    index = dtypes.int32 if isinstance(num_lower, int) and isinstance(num_upper, int) else None
    return apply_one("MatrixBandPart", input, num_lower, num_upper, name=name, Tindex=index)


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """The tensor of shape [*d, *d] that is `diagonal` (shape d) on its diagonal, else 0 (`tf.diag`)."""
    return apply_one("Diag", diagonal, name=name)


@takes_composites
def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The diagonal (shape d) of a tensor of shape [*d, *d] (`tf.diag_part`)."""
    return apply_one("DiagPart", input, name=name)


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonals (`tf.matrix_diag`).

    Args:
        diagonal: shape [..., length], or [..., diagonals, length] where `k` names several.
        k: the diagonal to fill, 0 the main one, positive above; or the lowest and the highest one.
        num_rows, num_cols: the matrices' shape, -1 for the smallest that fits.
        padding_value: the value of all other elements.
        align: the alignment of diagonals shorter than `length`, above and below the main one.
    """
    with get_default_graph().name_scope(name or "diag") as scope:
        diagonal = convert_to_tensor(diagonal, name="diagonal")
        padding = _padding(padding_value, diagonal)
        return apply_one("MatrixDiagV3", diagonal, k, num_rows, num_cols, padding, name=scope, align=align)


def _padding(value: Any, like: Tensor) -> Any:
    base = like.dtype.base
    return bool(value) if base.is_bool and not isinstance(value, Tensor) else value


@takes_composites
def matrix_diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The diagonals of matrices (`tf.matrix_diag_part`); arguments as for `matrix_diag`."""
    with get_default_graph().name_scope(name or "diag_part") as scope:
        x = convert_to_tensor(input, name="input")
        return apply_one("MatrixDiagPartV3", x, k, _padding(padding_value, x), name=scope, align=align)


def matrix_set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with other diagonals (`tf.matrix_set_diag`); arguments as for `matrix_diag`."""
    return apply_one("MatrixSetDiagV3", input, diagonal, k, name=name, align=align)


@takes_composites
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum along the diagonal of each matrix (`tf.trace`), shape [...] of [..., rows, columns]."""
    with get_default_graph().name_scope(name or "Trace") as scope:
        return apply_one("Sum", matrix_diag_part(convert_to_tensor(x, name="x")), [-1], name=scope)


tensor_diag = diag
tensor_diag_part = diag_part
band_part = matrix_band_part
set_diag = matrix_set_diag
