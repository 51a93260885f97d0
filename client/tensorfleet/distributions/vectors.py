"""Distributions of vectors, of `tf.contrib.distributions`: affine functions of independent numbers."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.kullback_leibler import RegisterKL
from tensorfleet.distributions.parameters import (
    arguments,
    dynamic_batch,
    parameters_after,
    static_batch,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag
from tensorfleet.linear_operators.matrices import LinearOperatorLowerTriangular
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import eye, ones, ones_like, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.debugging.checks import assert_none_equal
from tensorfleet.ops.linalg.linalg import matrix_triangular_solve
from tensorfleet.ops.linalg.matrix_parts import matrix_diag, matrix_diag_part
from tensorfleet.ops.math.elementwise import abs, log, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.random.random_ops import random_normal


class AffineVectors(Distribution):
    """Vectors that are an affine function of independent numbers."""

    _loc: Tensor

    @property
    def loc(self) -> Tensor:
        """The mean, [..., size]."""
        return self._loc

    def _log_determinant(self) -> Tensor:
        """The logarithm of the scale's determinant, in magnitude."""
        raise NotImplementedError

    def _spread(self) -> Tensor:
        """A tensor of the shape of the scale's diagonal."""
        raise NotImplementedError

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._loc, self._spread())[:-1]

    def _batch_shape(self) -> Any:
        known = static_batch(self._loc, self._spread())
        return known[:-1] if known.ndims is not None else None

    def _event_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._loc, self._spread())[-1:]

    def _event_shape(self) -> Any:
        known = static_batch(self._loc, self._spread())
        return known[-1:] if known.ndims is not None else [None]

    def _mean(self) -> Tensor:
        return self._loc + zeros_like(self._spread())

    def _mode(self) -> Tensor:
        return self._mean()


class NormalVectors(AffineVectors):
    """Vectors that are an affine function of independent standard normal numbers."""

    def _scaled(self, x: Tensor) -> Tensor:
        """The scale times vectors."""
        raise NotImplementedError

    def _unscaled(self, x: Tensor) -> Tensor:
        """The inverse of the scale times vectors."""
        raise NotImplementedError

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], dynamic_batch(self._loc, self._spread())], 0)
        return self._loc + self._scaled(random_normal(dims, dtype=self.dtype, seed=seed))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._unscaled(x - self._loc)
        size = cast(self.event_shape_tensor()[0], self.dtype)
        normalization = 0.5 * math.log(2 * math.pi) * size + self._log_determinant()
        return -0.5 * reduce_sum(square(z), -1) - normalization

    def _entropy(self) -> Tensor:
        size = cast(self.event_shape_tensor()[0], self.dtype)
        return 0.5 * (1 + math.log(2 * math.pi)) * size + self._log_determinant()


@RegisterKL(NormalVectors, NormalVectors)
def _from_normal_vectors(a: NormalVectors, b: NormalVectors, name: str | None = None) -> Tensor:
    with get_default_graph().name_scope(name or "kl_mvn"):
        # The rows are the columns of a's scale, with a dimension before those of the batch.
        size = a.event_shape_tensor()[0]
        basis = eye(size, dtype=a.dtype)
        ones_of_batch = ones(concat([a.batch_shape_tensor(), [1]], 0), a.dtype)
        dims = concat([[size], ones_like(a.batch_shape_tensor()), [size]], 0)
        columns = a._scaled(reshape(basis, dims) * ones_of_batch)
        spread = reduce_sum(reduce_sum(square(b._unscaled(columns)), -1), 0)
        distance = reduce_sum(square(b._unscaled(a.loc - b.loc)), -1)
        growth = b._log_determinant() - a._log_determinant()
        return 0.5 * (spread + distance - cast(size, a.dtype)) + growth


def _diagonal_scale(loc: Any, scale_diag: Any, scale_identity_multiplier: Any) -> tuple[Tensor, Tensor]:
    """Mean and diagonal of the scale, of what is given of them.

    Raises:
        ValueError: nothing tells the size.
    """
    if loc is None and scale_diag is None:
        raise ValueError("Give loc or scale_diag: nothing tells the size of the vectors.")
    mean = None if loc is None else convert_to_tensor(loc, name="loc")
    dtype = None if mean is None else mean.dtype
    scale = None if scale_diag is None else convert_to_tensor(scale_diag, dtype, "scale_diag")
    mean = zeros_like(scale) if mean is None else mean
    if scale_identity_multiplier is not None:
        every = convert_to_tensor(scale_identity_multiplier, dtype=mean.dtype)[..., None]
        scale = every * ones_like(mean) if scale is None else scale + every
    return mean, ones_like(mean) if scale is None else scale


class DiagonalVectors(AffineVectors):
    """Vectors of independent numbers with locations and scales."""

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        scale_identity_multiplier: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        name: str,
    ) -> None:
        with get_default_graph().name_scope(name) as scope:
            mean, scale = _diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            checks = [assert_none_equal(scale, zeros_like(scale))] if validate_args else []
            self._loc, self._scale_diag = parameters_after(checks, loc=mean, scale_diag=scale)
        super().__init__(
            *(self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc, self._scale_diag], scope),
        )

    @property
    def scale_diag(self) -> Tensor:
        """The scale of each element."""
        return self._scale_diag

    @property
    def scale(self) -> LinearOperatorDiag:
        """The scale as a linear operator."""
        return LinearOperatorDiag(self._scale_diag)

    def _spread(self) -> Tensor:
        return self._scale_diag

    def _log_determinant(self) -> Tensor:
        return reduce_sum(log(abs(self._scale_diag)) + zeros_like(self._loc), -1)

    def _covariance(self) -> Tensor:
        return matrix_diag(self._variance())

    def _variance(self) -> Tensor:
        raise NotImplementedError


class MultivariateNormalDiag(DiagonalVectors, NormalVectors):
    """Vectors of independent normal numbers (`tf.contrib.distributions.MultivariateNormalDiag`).

    Args:
        loc: mean, [..., size]; 0 if it is None.
        scale_diag: standard deviations, [..., size]; 1 if both scales are None.
        scale_identity_multiplier: standard deviation of all elements, [...], which is added to `scale_diag`.

    Raises:
        ValueError: nothing tells the size.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(
            *(loc, scale_diag, scale_identity_multiplier, validate_args, allow_nan_stats, parameters, name)
        )

    def _scaled(self, x: Tensor) -> Tensor:
        return x * self._scale_diag

    def _unscaled(self, x: Tensor) -> Tensor:
        return x / self._scale_diag

    def _stddev(self) -> Tensor:
        return abs(self._scale_diag) + zeros_like(self._loc)

    def _variance(self) -> Tensor:
        return square(self._scale_diag) + zeros_like(self._loc)


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _from_independent(
    a: MultivariateNormalDiag, b: MultivariateNormalDiag, name: str | None = None
) -> Tensor:
    with get_default_graph().name_scope(name or "kl_mvn_diag"):
        ratio = square(a.scale_diag / b.scale_diag)
        distance = square((a.loc - b.loc) / b.scale_diag)
        return 0.5 * reduce_sum(distance + ratio - 1 - log(ratio), -1)


class MultivariateNormalTriL(NormalVectors):
    """Normal vectors (`tf.contrib.distributions.MultivariateNormalTriL`).

    Args:
        loc: mean, [..., size]; 0 if it is None.
        scale_tril: lower triangular matrix that standard normal vectors are multiplied by, [..., size, size]:
            Cholesky's factor of the covariance.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        parameters = arguments(locals())
        if scale_tril is None:
            raise ValueError("Give scale_tril; for independent elements there is MultivariateNormalDiag.")
        with get_default_graph().name_scope(name) as scope:
            scale = convert_to_tensor(scale_tril, name="scale_tril")
            diagonal = matrix_diag_part(scale)
            mean = zeros_like(diagonal) if loc is None else convert_to_tensor(loc, name="loc")
            checks = [assert_none_equal(diagonal, zeros_like(diagonal))] if validate_args else []
            self._loc, self._scale_tril = parameters_after(checks, loc=mean, scale_tril=scale)
            self._diagonal = matrix_diag_part(self._scale_tril)
        super().__init__(
            *(self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc, self._scale_tril], scope),
        )

    @property
    def scale_tril(self) -> Tensor:
        """The lower triangular scale."""
        return self._scale_tril

    @property
    def scale(self) -> LinearOperatorLowerTriangular:
        """The scale as a linear operator."""
        return LinearOperatorLowerTriangular(self._scale_tril)

    def _spread(self) -> Tensor:
        return self._diagonal

    def _scaled(self, x: Tensor) -> Tensor:
        return matmul(self._scale_tril, x[..., None])[..., 0]

    def _unscaled(self, x: Tensor) -> Tensor:
        # The solver takes as many matrices as right sides.
        factors = self._scale_tril + zeros_like(x)[..., None]
        return matrix_triangular_solve(factors, (x + zeros_like(self._diagonal))[..., None])[..., 0]

    def _log_determinant(self) -> Tensor:
        return reduce_sum(log(abs(self._diagonal)) + zeros_like(self._loc), -1)

    def _variance(self) -> Tensor:
        return reduce_sum(square(self._scale_tril), -1) + zeros_like(self._loc)

    def _covariance(self) -> Tensor:
        return matmul(self._scale_tril, self._scale_tril, transpose_b=True) + zeros_like(self._loc)[..., None]
