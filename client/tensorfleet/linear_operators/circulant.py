"""Circulant operators: what a discrete Fourier transform makes diagonal, in one to three dimensions."""

from __future__ import annotations

import functools
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator, require_hints
from tensorfleet.linear_operators.batches import adjointed
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import matrix_transpose
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.math import fourier
from tensorfleet.ops.math.complex_numbers import conj
from tensorfleet.ops.math.elementwise import abs, log
from tensorfleet.ops.math.reduction import reduce_max, reduce_min, reduce_prod, reduce_sum

_FORWARD = {1: fourier.fft, 2: fourier.fft2d, 3: fourier.fft3d}
_BACKWARD = {1: fourier.ifft, 2: fourier.ifft2d, 3: fourier.ifft3d}


class _Circulant(LinearOperator):
    """What circulant operators of all depths share.

    Attributes:
        spectrum: [..., n1, n2, …], the eigenvalues.
        block_depth: the number of dimensions that the transform takes.
    """

    _depth: int

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str,
    ) -> None:
        require_hints("A Circulant", is_square=is_square)
        with framework.name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
        if self._spectrum.ndim is not None and self._spectrum.ndim < self._depth:
            raise ValueError(
                f"Argument `spectrum` must have at least {self._depth} dimensions. Found: {spectrum}"
            )
        if not self._spectrum.dtype.base.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        super().__init__(
            input_output_dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"spectrum": spectrum, "input_output_dtype": input_output_dtype},
        )

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues, in the order of the transform."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The number of dimensions that the transform takes."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The static sizes of these dimensions."""
        return self._spectrum.shape[-self._depth :]

    def block_shape_tensor(self) -> Tensor:
        """The sizes of these dimensions."""
        return shape(self._spectrum)[-self._depth :]

    def _complex(self) -> Any:
        return self.dtype if self.dtype.is_complex else _COMPLEX[self.dtype]

    def _shape(self) -> TensorShape:
        own = self._spectrum.shape
        if own.rank is None:
            return own
        size = functools.reduce(lambda a, b: a * b, list(own[-self._depth :]))
        return own[: -self._depth].concatenate([size, size])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._spectrum)
        count = apply_one("Prod", sizes[-self._depth :], [0], keep_dims=True)
        return concat([sizes[: -self._depth], count, count], 0)

    def _scaled(self, x: Tensor, factor: Tensor) -> Tensor:
        """The inverse transform of the factor times the transform of the columns of x."""
        rows = matrix_transpose(cast(x, self._complex()))
        blocks = reshape(rows, concat([shape(rows)[:-1], self.block_shape_tensor()], 0))
        sizes = shape(factor)
        place = concat([sizes[: -self._depth], [1], sizes[-self._depth :]], 0)
        made = _BACKWARD[self._depth](_FORWARD[self._depth](blocks) * reshape(factor, place))
        flat = reshape(made, concat([shape(made)[: -self._depth], [-1]], 0))
        result = matrix_transpose(flat)
        return _cast(result, self.dtype)

    def _factor(self, adjoint: bool) -> Tensor:
        factor = cast(self._spectrum, self._complex())
        return conj(factor) if adjoint else factor

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._scaled(adjointed(x, adjoint_arg), self._factor(adjoint))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._scaled(adjointed(rhs, adjoint_arg), 1 / self._factor(adjoint))

    def _axes(self) -> list[int]:
        return list(range(-self._depth, 0))

    def _determinant(self) -> Tensor:
        return _cast(reduce_prod(self._spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return _cast(reduce_sum(log(abs(self._spectrum)), axis=self._axes()), self.dtype)

    def _trace(self) -> Tensor:
        return _cast(reduce_sum(self._spectrum, axis=self._axes()), self.dtype)

    def _diag_part(self) -> Tensor:
        size = self.domain_dimension_tensor()
        mean = _cast(reduce_sum(self._spectrum, axis=self._axes()), self.dtype) / cast(size, self.dtype)
        whole = concat([self._batch_vector(), size[None]], 0)
        return apply_one("BroadcastTo", apply_one("ExpandDims", mean, -1), whole)

    def _eigvals(self) -> Tensor:
        return reshape(self._spectrum, self._shape_tensor()[:-1])

    def _cond(self) -> Tensor:
        sizes = abs(self._spectrum)
        return reduce_max(sizes, axis=self._axes()) / reduce_min(sizes, axis=self._axes())

    def _inverse(self) -> LinearOperator:
        return self._like(1.0 / self._spectrum)

    def _adjoint(self) -> LinearOperator:
        return self._like(conj(self._spectrum))

    def _like(self, spectrum: Tensor) -> LinearOperator:
        made: LinearOperator = type(self)(spectrum, self.dtype, self.is_non_singular, name=self.name)  # type: ignore[call-arg]
        return made

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The convolution kernel: the inverse transform of the spectrum."""
        with self._name_scope(name):
            return _cast(_BACKWARD[self._depth](cast(self._spectrum, self._complex())), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """An operation that fails the step unless the operator is real."""
        with self._name_scope(name):
            kernel = _BACKWARD[self._depth](cast(self._spectrum, self._complex()))
            imaginary = abs(apply_one("Imag", kernel, Tout=kernel.dtype.base.real_dtype))
            limit = 20 * reduce_max(abs(kernel)) * 1e-6
            return checks.assert_less_equal(imaginary, limit, message="Spectrum was not Hermitian")


_COMPLEX = {
    dtypes.float32: dtypes.complex64,
    dtypes.float64: dtypes.complex128,
    dtypes.float16: dtypes.complex64,
}


def _cast(x: Tensor, dtype: Any) -> Tensor:
    if x.dtype.base.is_complex and not dtype.is_complex:
        x = apply_one("Real", x, Tout=x.dtype.base.real_dtype)
    return cast(x, dtype)


class LinearOperatorCirculant(_Circulant):
    """Circulant matrices by their spectrum (`tf.linalg.LinearOperatorCirculant`)."""

    _depth = 1

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        """Makes the operator of spectra [..., n], for arguments of `input_output_dtype`."""
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(spectrum, input_output_dtype, *hints, name)


class LinearOperatorCirculant2D(_Circulant):
    """Matrices of circulant blocks, block circulant (`tf.linalg.LinearOperatorCirculant2D`)."""

    _depth = 2

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        """Makes the operator of spectra [..., n0, n1], for arguments of `input_output_dtype`."""
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(spectrum, input_output_dtype, *hints, name)


class LinearOperatorCirculant3D(_Circulant):
    """Block circulant matrices of three levels (`tf.linalg.LinearOperatorCirculant3D`)."""

    _depth = 3

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        """Makes the operator of spectra [..., n0, n1, n2], for arguments of `input_output_dtype`."""
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(spectrum, input_output_dtype, *hints, name)
