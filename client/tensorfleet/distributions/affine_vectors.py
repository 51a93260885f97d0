"""Vectors that are an affine function of independent numbers, by a linear operator or its parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorfleet.distributions.bijectors.vectors import affine_scale
from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED
from tensorfleet.distributions.parameters import arguments, derived_seed, parameters_after
from tensorfleet.distributions.vectors import (
    DiagonalVectors,
    MultivariateNormalTriL,
    NormalVectors,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import control_dependencies
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import matrix_transpose
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging.checks import assert_near
from tensorfleet.ops.linalg.linalg import cholesky
from tensorfleet.ops.linalg.matrix_parts import matrix_diag
from tensorfleet.ops.math.elementwise import abs, log1p, sign, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.random.random_ops import random_uniform


class MultivariateNormalLinearOperator(NormalVectors):
    """Normal vectors, by a linear operator (`tf.contrib.distributions.MultivariateNormalLinearOperator`).

    Args:
        loc: mean, [..., size]; 0 if it is None.
        scale: what standard normal vectors are multiplied by, an operator of [..., size, size].

    Raises:
        ValueError: there is no scale.
    """

    def __init__(
        self,
        loc: Any = None,
        scale: LinearOperator | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalLinearOperator",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        with get_default_graph().name_scope(name) as scope:
            if loc is None:
                known = scale.shape[:-1]
                dims = known.as_list() if known.is_fully_defined() else scale.shape_tensor()[:-1]
                mean = zeros(dims, scale.dtype)
            else:
                mean = convert_to_tensor(loc, dtype=scale.dtype, name="loc")
            checks = [scale.assert_non_singular()] if validate_args else []
            (self._loc,) = parameters_after(checks, loc=mean)
            self._operator = scale
            self._diagonal = scale.diag_part()
        super().__init__(
            *(scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._loc], scope),
        )

    @property
    def scale(self) -> LinearOperator:
        """The scale."""
        return self._operator

    def _spread(self) -> Tensor:
        return self._diagonal

    def _scaled(self, x: Tensor) -> Tensor:
        scaled: Tensor = self._operator.matvec(x)
        return scaled

    def _unscaled(self, x: Tensor) -> Tensor:
        unscaled: Tensor = self._operator.solvevec(x + zeros_like(self._diagonal))
        return unscaled

    def _log_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant() + zeros_like(self._loc[..., 0])

    def _variance(self) -> Tensor:
        return reduce_sum(square(self._operator.to_dense()), -1) + zeros_like(self._loc)

    def _covariance(self) -> Tensor:
        dense = self._operator.to_dense()
        return matmul(dense, dense, transpose_b=True) + zeros_like(self._loc)[..., None]


class MultivariateNormalDiagPlusLowRank(MultivariateNormalLinearOperator):
    """Normal vectors (`tf.contrib.distributions.MultivariateNormalDiagPlusLowRank`).

    Standard normal vectors are multiplied by
    diag(scale_diag + scale_identity_multiplier) + factor @ diag(scale_perturb_diag) @ factor^T.

    Args:
        loc: mean, [..., size]; 0 if it is None.
        scale_diag: [..., size].
        scale_identity_multiplier: [...].
        scale_perturb_factor: [..., size, rank].
        scale_perturb_diag: [..., rank]; 1 by default.

    Raises:
        ValueError: nothing tells the size.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("scale_perturb_diag needs a scale_perturb_factor.")
        with get_default_graph().name_scope(name) as scope:
            if loc is not None:
                loc = convert_to_tensor(loc, name="loc")
            if scale_diag is None and scale_identity_multiplier is None:
                scale_identity_multiplier = 1.0
            operator = affine_scale(
                scale_identity_multiplier,
                scale_diag,
                None,
                scale_perturb_factor,
                scale_perturb_diag,
                size=None if loc is None else shape(loc)[-1],
                dtype=None if loc is None else loc.dtype,
            )
        if operator is None:
            raise ValueError("Give loc, scale_diag or scale_perturb_factor: nothing tells the size.")
        super().__init__(loc, operator, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal vectors (`tf.contrib.distributions.MultivariateNormalFullCovariance`).

    Args:
        loc: mean, [..., size]; 0 if it is None.
        covariance_matrix: symmetric and positive definite, [..., size, size]; the identity if it is None.

    Raises:
        ValueError: nothing tells the size.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        if covariance_matrix is None and loc is None:
            raise ValueError("Give loc or covariance_matrix: nothing tells the size of the vectors.")
        with get_default_graph().name_scope(name) as scope:
            if loc is not None:
                loc = convert_to_tensor(loc, name="loc")
            if covariance_matrix is None:
                scale = matrix_diag(zeros_like(loc) + 1)
            else:
                dtype = None if loc is None else loc.dtype
                matrix = convert_to_tensor(covariance_matrix, dtype=dtype, name="covariance_matrix")
                message = "Matrix was not symmetric."
                checks = (
                    [assert_near(matrix, matrix_transpose(matrix), message=message)] if validate_args else []
                )
                with control_dependencies(checks):
                    scale = cholesky(identity(matrix))
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class VectorLaplaceDiag(DiagonalVectors):
    """Vectors of independent Laplace numbers (`tf.contrib.distributions.VectorLaplaceDiag`).

    Args:
        loc: mean, [..., size]; 0 if it is None.
        scale_diag: mean distances from it, [..., size]; 1 if both scales are None.
        scale_identity_multiplier: the distance of all elements, [...], which is added to `scale_diag`.

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
        name: str = "VectorLaplaceDiag",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        super().__init__(
            *(loc, scale_diag, scale_identity_multiplier, validate_args, allow_nan_stats, parameters, name)
        )

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        dims = concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        dtype = self.dtype.as_numpy_dtype
        # An open interval: -1 would be infinitely far away.
        least = np.nextafter(dtype(-1), dtype(0))
        drawn = random_uniform(dims, least, 1.0, self.dtype, seed=derived_seed(seed, "vector_laplace"))
        return self._loc - self._scale_diag * sign(drawn) * log1p(-abs(drawn))

    def _size(self) -> Tensor:
        return cast(self.event_shape_tensor()[0], self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self._loc) / self._scale_diag
        return -reduce_sum(abs(z), -1) - math.log(2) * self._size() - self._log_determinant()

    def _entropy(self) -> Tensor:
        return (1 + math.log(2)) * self._size() + self._log_determinant()

    def _stddev(self) -> Tensor:
        return math.sqrt(2) * abs(self._scale_diag) + zeros_like(self._loc)

    def _variance(self) -> Tensor:
        return 2 * square(self._scale_diag) + zeros_like(self._loc)
