"""Wishart's distribution of positive definite matrices (`tf.contrib.distributions.WishartCholesky`)."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from tensorfleet.distributions.parameters import (
    arguments,
    derived_seed,
    dynamic_batch,
    parameters_after,
    static_batch,
)
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, range as number_range, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.debugging.checks import assert_less_equal, assert_positive
from tensorfleet.ops.debugging.type_checks import assert_same_float_dtype
from tensorfleet.ops.linalg.linalg import cholesky, matrix_triangular_solve
from tensorfleet.ops.linalg.matrix_parts import matrix_band_part, matrix_diag_part, matrix_set_diag
from tensorfleet.ops.math.elementwise import log, sqrt, square
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.math.special import digamma, lgamma
from tensorfleet.ops.random.random_ops import random_gamma, random_normal


class WishartCholesky(Distribution):
    """The sum of outer products of `df` normal vectors with the mean 0
    (`tf.contrib.distributions.WishartCholesky`).

    Args:
        df: degrees of freedom, [...], at least the size of the matrices.
        scale: Cholesky's factor of the vectors' covariance, [..., size, size].
        cholesky_input_output_matrices: whether values are given, and drawn, as Cholesky's factors.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            factor = convert_to_tensor(scale, name="scale")
            freedom = convert_to_tensor(df, dtype=factor.dtype, name="df")
            checks = []
            if validate_args:
                size = cast(shape(factor)[-1], factor.dtype)
                checks = [
                    assert_less_equal(size, freedom, message="df must be at least the size of the matrices."),
                    assert_positive(matrix_diag_part(factor), message="scale must be positive definite."),
                ]
            self._df, self._factor = parameters_after(checks, df=freedom, scale=factor)
            assert_same_float_dtype([self._df, self._factor])
        self._in_factors = cholesky_input_output_matrices
        super().__init__(
            *(self._factor.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters),
            *([self._df, self._factor], scope),
        )

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    def scale(self) -> Tensor:
        """The covariance of the vectors."""
        return matmul(self._factor, self._factor, transpose_b=True)

    @property
    def cholesky_input_output_matrices(self) -> bool:
        """Whether values are Cholesky's factors."""
        return self._in_factors

    @property
    def dimension(self) -> Tensor:
        """The size of the matrices, an int32 of rank 0."""
        return shape(self._factor)[-1]

    def _per_matrix(self) -> Tensor:
        """A tensor of the shape of the scales' batch."""
        return self._factor[..., 0, 0]

    def _batch_shape_tensor(self) -> Tensor:
        return dynamic_batch(self._df, self._per_matrix())

    def _batch_shape(self) -> Any:
        return static_batch(self._df, self._per_matrix())

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._factor)[-2:]

    def _event_shape(self) -> Any:
        known = self._factor.shape
        return known[-2:] if known.ndims is not None else [None, None]

    def _size(self) -> Tensor:
        return cast(self.dimension, self.dtype)

    def _halves(self, df: Tensor) -> Tensor:
        """(df - i) / 2 for each row i, in a last dimension."""
        return 0.5 * (df[..., None] - cast(number_range(self.dimension), self.dtype))

    def _log_multivariate_gamma(self) -> Tensor:
        size = self._size()
        return 0.25 * math.log(math.pi) * size * (size - 1.0) + reduce_sum(lgamma(self._halves(self._df)), -1)

    def _multivariate_digamma(self) -> Tensor:
        return reduce_sum(digamma(self._halves(self._df)), -1)

    def _log_determinant(self) -> Tensor:
        """Of the factor."""
        return reduce_sum(log(matrix_diag_part(self._factor)), -1)

    def _log_normalization(self) -> Tensor:
        spread = self._df * (self._log_determinant() + 0.5 * math.log(2.0) * self._size())
        return spread + self._log_multivariate_gamma()

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        # Bartlett's decomposition: below the diagonal normal numbers, on it roots of chi-squared ones.
        batch, event = self.batch_shape_tensor(), self.event_shape_tensor()
        normal = random_normal(concat([[n], batch, event], 0), dtype=self.dtype, seed=seed)
        wide = self._df + zeros_like(self._per_matrix())
        halves = self._halves(wide)
        drawn = random_gamma([n], halves, beta=0.5, dtype=self.dtype, seed=derived_seed(seed, "wishart"))
        factors = matrix_set_diag(matrix_band_part(normal, -1, 0), sqrt(drawn))
        scale = self._factor + zeros_like(factors)
        factors = matmul(scale, factors)
        return factors if self._in_factors else matmul(factors, factors, transpose_b=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        factor = x if self._in_factors else cholesky(x)
        scale = self._factor + zeros_like(factor)
        ratio = matrix_triangular_solve(scale, factor + zeros_like(scale))
        distance = reduce_sum(square(ratio), [-2, -1])
        spread = reduce_sum(log(matrix_diag_part(factor)), -1)
        # The density of the matrix, also where its factor is given.
        return -0.5 * distance + (self._df - self._size() - 1.0) * spread - self._log_normalization()

    def _entropy(self) -> Tensor:
        half = 0.5 * (self._df - self._size() - 1.0)
        return self._log_normalization() - half * self._mean_log_det() + 0.5 * self._df * self._size()

    def _mean_log_det(self) -> Tensor:
        return self._multivariate_digamma() + self._size() * math.log(2.0) + 2.0 * self._log_determinant()

    def mean_log_det(self, name: str = "mean_log_det") -> Tensor:
        """The mean of the logarithms of determinants."""
        with self._name_scope(name):
            return self._mean_log_det()

    def log_normalization(self, name: str = "log_normalization") -> Tensor:
        """The logarithm of the density's normalization."""
        with self._name_scope(name):
            return self._log_normalization()

    def _mean(self) -> Tensor:
        root = sqrt(self._df)[..., None, None]
        return root * self._factor if self._in_factors else self._df[..., None, None] * self.scale()

    def _variance(self) -> Tensor:
        scale = self.scale()
        diagonal = matrix_diag_part(scale)
        outer = diagonal[..., None] * diagonal[..., None, :]
        found = self._df[..., None, None] * (square(scale) + outer)
        return cholesky(found) if self._in_factors else found

    def _mode(self) -> Tensor:
        above = self._df - self._size() - 1.0
        above = where_v2(above < 0.0, float("nan") * ones_like(above), above)
        if self._in_factors:
            return sqrt(above)[..., None, None] * self._factor
        return above[..., None, None] * self.scale()


class WishartFull(WishartCholesky):
    """WishartCholesky of the covariance itself (`tf.contrib.distributions.WishartFull`).

    Args:
        scale: the vectors' covariance, [..., size, size].
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        parameters = arguments({key: value for key, value in locals().items() if key != "__class__"})
        with get_default_graph().name_scope(name) as scope:
            factor = cholesky(convert_to_tensor(scale, name="scale"))
        super().__init__(df, factor, cholesky_input_output_matrices, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
