"""Products with tridiagonal matrices, systems of equations by them, and their eigenvalues."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.rearranging import matrix_transpose
from tensorfleet.ops.array.shaping import expand_dims, shape, squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.linalg import linalg
from tensorfleet.ops.linalg.matrix_parts import matrix_diag, matrix_diag_part
from tensorfleet.ops.math.complex_numbers import conj, real

_FORMATS = ("compact", "matrix", "sequence")


def _three(diagonals: Any, form: str) -> tuple[Tensor, Tensor, Tensor]:
    """Superdiagonal, diagonal and subdiagonal, [..., n] each."""
    if form not in _FORMATS:
        raise ValueError(f"Unrecognized diagonals_format: {form}")
    if form == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, middle, below = map(convert_to_tensor, diagonals)
        size = None if middle.dims is None else middle.dims[-1]
        return _sized(above, size, after=True), middle, _sized(below, size, after=False)
    whole = convert_to_tensor(diagonals, name="diagonals")
    if form == "compact":
        if whole.dims is not None and whole.dims[-2] not in (None, 3):
            raise ValueError(f"Expected 3 diagonals got {whole.dims[-2]}")
        return whole[..., 0, :], whole[..., 1, :], whole[..., 2, :]
    return (
        _padded(matrix_diag_part(whole, k=1), after=True),
        matrix_diag_part(whole),
        _padded(matrix_diag_part(whole, k=-1), after=False),
    )


def _sized(x: Tensor, size: int | None, after: bool) -> Tensor:
    """A diagonal of n values, where n - 1 may have been given."""
    own = None if x.dims is None else x.dims[-1]
    return _padded(x, after) if size is not None and own == size - 1 else x


def _padded(x: Tensor, after: bool) -> Tensor:
    zero = zeros(concat([shape(x)[:-1], [1]], 0), x.dtype.base)
    return concat([x, zero] if after else [zero, x], -1)


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The products of tridiagonal matrices with `rhs` [..., n, k] (`tf.linalg.tridiagonal_matmul`).

    Args:
        diagonals: [..., 3, n] for "compact": superdiagonals, diagonals, subdiagonals; three tensors [..., n]
            for "sequence"; matrices [..., n, n] for "matrix".
    """
    with framework.name_scope(name, "tridiagonal_matmul", [diagonals, rhs]):
        above, middle, below = _three(diagonals, diagonals_format)
        right = convert_to_tensor(rhs, name="rhs")
        rows = [expand_dims(each, -2) for each in (above, middle, below)]
        return apply_one("TridiagonalMatMul", *rows, right)


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """The x of A · x = rhs with tridiagonal matrices A (`tf.linalg.tridiagonal_solve`).

    Args:
        diagonals: as for `tridiagonal_matmul`.
        rhs: [..., n] or [..., n, k].
        transpose_rhs, conjugate_rhs: solve for the transposed or conjugate right sides.
        partial_pivoting: exchange rows for stability.
        perturb_singular: give a large answer for a singular matrix.
    """
    with framework.name_scope(name, "tridiagonal_solve", [diagonals, rhs]):
        above, middle, below = _three(diagonals, diagonals_format)
        right = convert_to_tensor(rhs, name="rhs")
        is_vector = right.ndim is not None and middle.ndim is not None and right.ndim == middle.ndim
        if is_vector:
            right = expand_dims(right, -1)
        elif transpose_rhs:
            right = matrix_transpose(right)
        if conjugate_rhs:
            right = conj(right)
        found = apply_one(
            "TridiagonalSolve",
            stack([above, middle, below], axis=-2),
            right,
            partial_pivoting=partial_pivoting,
            perturb_singular=perturb_singular,
        )
        return squeeze(found, -1) if is_vector else found


def eigh_tridiagonal(
    alpha: Any,
    beta: Any,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues of tridiagonal self-adjoint matrices (`tf.linalg.eigh_tridiagonal`), the least first.

    Args:
        alpha: the diagonals, [..., n].
        beta: the superdiagonals, [..., n - 1]; their conjugates lie below the diagonal.
        eigvals_only: leave out the eigenvectors.
        select: "a" for all, "i" for those with the numbers from `select_range[0]` to `select_range[1]`, "v"
            for those in the interval (select_range[0], select_range[1]], of matrices without a batch.
        tol: accepted, and not needed: the accuracy is that of the dtype.

    Returns:
        The eigenvalues, or (eigenvalues, eigenvectors in columns).

    Raises:
        ValueError: another `select`, or no range for it.
    """
    with framework.name_scope(name, "eigh_tridiagonal", [alpha, beta]):
        diagonal = convert_to_tensor(alpha, name="alpha")
        beside = convert_to_tensor(beta, diagonal.dtype.base, name="beta")
        if select not in ("a", "i", "v"):
            raise ValueError(f"'select must have a value in {{'a', 'i', 'v'}}, got {select!r}")
        if select != "a" and select_range is None:
            raise ValueError(f"select_range must be given for select={select!r}")
        whole = matrix_diag(diagonal) + matrix_diag(beside, k=1) + matrix_diag(conj(beside), k=-1)
        if eigvals_only:
            values, vectors = linalg.self_adjoint_eigvals(whole), None
        else:
            values, vectors = linalg.self_adjoint_eig(whole)
        if values.dtype.base.is_complex:
            values = real(values)
        if select == "i":
            first, last = select_range
            if first > last:
                raise ValueError("Got empty index range in select_range.")
            values = values[..., first : last + 1]
            vectors = None if vectors is None else vectors[..., first : last + 1]
        elif select == "v":
            low, high = select_range
            if low >= high:
                raise ValueError("Got empty interval in select_range.")
            inside = apply_one("LogicalAnd", values > low, values <= high)
            places = apply_one("Where", inside)[:, 0]
            values = apply_one("GatherV2", values, places, 0)
            vectors = None if vectors is None else apply_one("GatherV2", vectors, places, 1)
        return values if vectors is None else (values, vectors)
