"""Gradients of `matrix_parts`: diagonals and bands."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import like


def _align(op: Operation) -> bytes:
    align: bytes = op.attrs.get("align", b"LEFT_LEFT")
    return align


@gradient("Diag")
def _diag(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("DiagPart", grad)


@gradient("DiagPart")
def _diag_part(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("Diag", grad)


@gradient("MatrixDiag")
def _matrix_diag(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("MatrixDiagPart", grad)


@gradient("MatrixDiagPart")
def _matrix_diag_part(op: Operation, grad: Tensor) -> Tensor:
    return apply_one("MatrixSetDiag", zeros_like(op.inputs[0]), grad)


@gradient("MatrixDiagV2", "MatrixDiagV3")
def _matrix_diag_v3(op: Operation, grad: Tensor) -> list[Tensor | None]:
    part = apply_one("MatrixDiagPartV3", grad, op.inputs[1], like(0, grad), align=_align(op))
    return [part, None, None, None, None]


@gradient("MatrixDiagPartV2", "MatrixDiagPartV3")
def _matrix_diag_part_v3(op: Operation, grad: Tensor) -> list[Tensor | None]:
    zero = zeros_like(op.inputs[0])
    return [apply_one("MatrixSetDiagV3", zero, grad, op.inputs[1], align=_align(op)), None, None]


@gradient("MatrixSetDiag")
def _matrix_set_diag(op: Operation, grad: Tensor) -> list[Tensor]:
    rest = apply_one("MatrixSetDiag", grad, zeros_like(op.inputs[1]))
    return [rest, apply_one("MatrixDiagPart", grad)]


@gradient("MatrixSetDiagV2", "MatrixSetDiagV3")
def _matrix_set_diag_v3(op: Operation, grad: Tensor) -> list[Tensor | None]:
    align = _align(op)
    rest = apply_one("MatrixSetDiagV3", grad, zeros_like(op.inputs[1]), op.inputs[2], align=align)
    return [rest, apply_one("MatrixDiagPartV3", grad, op.inputs[2], like(0, grad), align=align), None]


@gradient("MatrixBandPart")
def _matrix_band_part(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [apply_one("MatrixBandPart", grad, *op.inputs[1:]), None, None]
