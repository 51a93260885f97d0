"""Kernels of `tensorfleet.ops.linalg.matrix_parts`."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import ints, invalid, no_strings, shape_text
from tensorfleet_service.threads.running import check as check_step

# Values of the inputs `k`, `num_rows`, `num_cols`, which the first versions of these ops lack.
_MAIN = np.int32(0)
_SMALLEST = np.int32(-1)


@kernel("MatrixBandPart")
def _band_part(node: KernelNode) -> Kernel:
    xp = node.xp

    def band_part(x: Any, num_lower: Any, num_upper: Any) -> Any:
        if x.ndim < 2:
            raise invalid(f"input must be at least 2-dim, received shape: {shape_text(x.shape)}")
        rows, columns = x.shape[-2:]
        for name, value, what, most in (
            ("num_lower", num_lower, "rows", rows),
            ("num_upper", num_upper, "columns", columns),
        ):
            if value.ndim:
                raise invalid(f"{name} must be scalar, got shape {shape_text(value.shape)}")
            if int(value) > most:
                raise invalid(
                    f"{name} must be negative or less or equal to number of {what} ({most}) got: {int(value)}"
                )
        below = xp.arange(rows)[:, None] - xp.arange(columns)
        outside = xp.zeros(below.shape, np.bool_)
        if int(num_lower) >= 0:
            outside |= below > int(num_lower)
        if int(num_upper) >= 0:
            outside |= -below > int(num_upper)
        return xp.where(outside, x.dtype.type(0), x)

    return band_part


@kernel("Diag")
def _diag(node: KernelNode) -> Kernel:
    xp = node.xp

    def diag(diagonal: Any) -> Any:
        if not diagonal.ndim:
            raise invalid("Input must be at least rank 1, got 0")
        size = diagonal.size
        flat = xp.zeros(size * size, diagonal.dtype)
        flat[:: size + 1] = diagonal.ravel()
        return flat.reshape(diagonal.shape + diagonal.shape)

    return diag


@kernel("DiagPart")
def _diag_part(node: KernelNode) -> Kernel:
    def diag_part(x: Any) -> Any:
        if x.ndim % 2:
            raise invalid(
                f"The rank of the tensor should be even and positive, got shape {shape_text(x.shape)}"
            )
        half = x.ndim // 2
        shape = x.shape[:half]
        for i, (a, b) in enumerate(zip(shape, x.shape[half:], strict=True)):
            if a != b:
                raise invalid(
                    f"Invalid shape {shape_text(x.shape)}: dimensions {i} and {i + half} do not match."
                )
        return x.reshape(-1)[:: math.prod(shape) + 1].reshape(shape)

    return diag_part


def _diagonal_numbers(k: Any) -> list[int]:
    numbers: list[int] = ints(k.reshape(-1))
    if k.ndim > 1:
        raise invalid(f"diag_index must be a scalar or vector, received shape: {shape_text(k.shape)}")
    if not numbers:
        raise invalid("Expected diag_index to have at least 1 element")
    if len(numbers) > 2:
        raise invalid(f"diag_index must have only one or two elements, received {len(numbers)} elements.")
    return numbers


def _check_scalar(name: str, value: Any) -> None:
    if np.ndim(value):
        raise invalid(f"{name} must be a scalar, got shape {shape_text(value.shape)}")


class _Band:
    """The diagonals `k` of matrices of one shape, and where each lies in the compact form.

    The compact form has a row for each diagonal, from the highest to the lowest; a diagonal that is shorter
    than the row lies at its left or right end.
    """

    def __init__(self, k: Any, shape: tuple[int, int], align: bytes) -> None:
        rows, columns = shape
        numbers = _diagonal_numbers(k)
        self.lowest, self.highest = numbers[0], numbers[-1]
        if self.lowest > self.highest:
            raise invalid(
                f"lower_diag_index must not be larger than upper_diag_index: {self.lowest} > {self.highest}"
            )
        for name, index in (("lower", self.lowest), ("upper", self.highest)):
            if not (-rows < index < columns or index == 0):
                raise invalid(
                    f"{name}_diag_index is out of bound: {index} It must be between {-rows} and {columns}"
                )
        self.rows, self.columns, self.align = rows, columns, align
        self.length = min(rows + min(self.highest, 0), columns - max(self.lowest, 0))
        self.single = self.lowest == self.highest

    def compact_shape(self, batch: tuple[int, ...]) -> tuple[int, ...]:
        return (*batch, self.length) if self.single else (*batch, self.highest - self.lowest + 1, self.length)

    def diagonals(self, xp: ModuleType) -> Any:
        """Indices of each diagonal: into compact forms, and the rows and the columns of its elements."""
        above, below = self.align.split(b"_")
        for position, d in enumerate(range(self.highest, self.lowest - 1, -1)):
            check_step()
            size = min(self.rows + min(d, 0), self.columns - max(d, 0))
            left = (d >= 0 and above == b"LEFT") or (d <= 0 and below == b"LEFT")
            start = 0 if left else self.length - size
            place = slice(start, start + size)
            index = (..., place) if self.single else (..., position, place)
            along = xp.arange(size)
            yield index, along - min(d, 0), along + max(d, 0)


def _align(node: KernelNode) -> bytes:
    align: bytes = node.attrs.get("align", b"LEFT_LEFT" if node.op.endswith("V2") else b"RIGHT_LEFT")
    return align


def _matrix_rank(x: Any) -> None:
    if x.ndim < 2:
        raise invalid(f"input must be at least 2-dim, received shape: {shape_text(x.shape)}")


@kernel("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")
def _matrix_diag_part(node: KernelNode) -> Kernel:
    no_strings(node)
    xp = node.xp
    align = _align(node)

    def matrix_diag_part(x: Any, k: Any = _MAIN, padding: Any = None) -> Any:
        _matrix_rank(x)
        if padding is not None and padding.ndim:
            raise invalid(f"Padding must be scalar. Its shape is {shape_text(padding.shape)}")
        if not k.ndim and not k:
            return xp.diagonal(x, 0, -2, -1)
        band = _Band(k, x.shape[-2:], align)
        result = xp.empty(band.compact_shape(x.shape[:-2]), x.dtype)
        result[...] = padding
        for index, rows, columns in band.diagonals(xp):
            result[index] = x[..., rows, columns]
        return result

    return matrix_diag_part


@kernel("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3")
def _matrix_diag(node: KernelNode) -> Kernel:
    no_strings(node)
    xp = node.xp
    align = _align(node)

    def matrix_diag(
        diagonal: Any,
        k: Any = _MAIN,
        num_rows: Any = _SMALLEST,
        num_cols: Any = _SMALLEST,
        padding: Any = None,
    ) -> Any:
        if not diagonal.ndim:
            raise invalid("diagonal must be at least 1-dim, received shape: []")
        for name, value in (("num_rows", num_rows), ("num_cols", num_cols), ("padding_value", padding)):
            _check_scalar(name, value)
        numbers = _diagonal_numbers(k)
        length = diagonal.shape[-1]
        least = (length - min(numbers[-1], 0), length + max(numbers[0], 0))
        rows, columns = int(num_rows), int(num_cols)
        if rows == -1 and columns == -1:
            rows = columns = max(least)
        rows = least[0] if rows == -1 else rows
        columns = least[1] if columns == -1 else columns
        if rows < least[0]:
            raise invalid("The number of rows is too small.")
        if columns < least[1]:
            raise invalid("The number of columns is too small.")
        band = _Band(k, (rows, columns), align)
        batch = diagonal.shape[: -1 if band.single else -2]
        if diagonal.shape != band.compact_shape(batch):
            raise invalid(
                "The number of diagonals provided in the input does not match the lower_diag_index and "
                f"upper_diag_index range. The input's shape is {shape_text(diagonal.shape)}"
            )
        result = xp.empty((*batch, rows, columns), diagonal.dtype)
        result[...] = diagonal.dtype.type(0) if padding is None else padding
        for index, i, j in band.diagonals(xp):
            result[..., i, j] = diagonal[index]
        return result

    return matrix_diag


@kernel("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3")
def _matrix_set_diag(node: KernelNode) -> Kernel:
    no_strings(node)
    xp = node.xp
    align = _align(node)

    def matrix_set_diag(x: Any, diagonal: Any, k: Any = _MAIN) -> Any:
        _matrix_rank(x)
        band = _Band(k, x.shape[-2:], align)
        count = band.highest - band.lowest + 1
        if count > 1 and (diagonal.ndim < 2 or diagonal.shape[-2] != count):
            raise invalid(
                "The number of diagonals provided in `diag` is not consistent with `lower_diag_index` and "
                f"`upper_diag_index`: its shape is {shape_text(diagonal.shape)}"
            )
        if diagonal.shape != band.compact_shape(x.shape[:-2]):
            raise invalid(
                "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] "
                "is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\n"
                f"Input shape: {shape_text(x.shape)}\nDiagonal shape: {shape_text(diagonal.shape)}"
            )
        result = x.copy()
        for index, rows, columns in band.diagonals(xp):
            result[..., rows, columns] = diagonal[index]
        return result

    return matrix_set_diag
