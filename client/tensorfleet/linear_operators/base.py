"""LinearOperator: what all linear operators do, by the matrix itself where a class knows nothing better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dimension import Dimension
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.batches import constant_vector, solve_dense
from tensorfleet.ops.array.constants import eye
from tensorfleet.ops.array.shaping import expand_dims, squeeze
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.debugging import checks
from tensorfleet.ops.linalg import linalg
from tensorfleet.ops.linalg.matrix_parts import matrix_diag_part
from tensorfleet.ops.math.elementwise import abs, log
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_max, reduce_min, reduce_sum

_makers: dict[str, Callable[..., Any]] = {}

_HINTS = {
    "is_self_adjoint": "self adjoint",
    "is_non_singular": "non-singular",
    "is_positive_definite": "positive-definite",
    "is_square": "square",
}


def require_hints(operator: str, **hints: bool | None) -> None:
    """Refuses hints that deny what all operators of a kind are.

    Args:
        operator: the kind, with its article.
        hints: the hints that hold for the kind, as the caller gave them.

    Raises:
        ValueError: one of the hints is False.
    """
    for hint, value in hints.items():
        if value is False:
            raise ValueError(f"{operator} operator is always {_HINTS[hint]}.")


def serve(**makers: Callable[..., Any]) -> None:
    """Tells what makes "adjoint", "inverse", "product" and "triangular" operators of others."""
    _makers.update(makers)


class LinearOperator:
    """A batch of matrices [..., m, n] by what they do (`tf.linalg.LinearOperator`).

    A class of one's own defines `_shape`, `_shape_tensor` and `_matmul`; the other methods that begin with an
    underscore may be defined where something better than the whole matrix is known.

    Example:
        >>> operator = tf.linalg.LinearOperatorDiag([1.0, 2.0])
        >>> tf.Session().run(operator.matvec([3.0, 4.0]))
        array([3., 8.], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        """Makes an operator with hints, which are promises of the caller.

        Args:
            dtype: the dtype of the matrices.
            graph_parents: tensors that the operator is made of.
            parameters: the arguments of the constructor.

        Raises:
            ValueError: hints that contradict each other.
        """
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite operator is always non-singular.")
        if is_positive_definite:
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular operator is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint operator is always square.")
            is_square = True
        for parent in graph_parents or ():
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item is not a Tensor; {parent}.")
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square_hint = is_square
        self._name = name or type(self).__name__
        self._parameters = parameters

    # What a class defines.

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    # What a class may know better.

    def _to_dense(self) -> Tensor:
        batch = self._batch_vector()
        columns = self.domain_dimension.value
        size = self.domain_dimension_tensor() if columns is None else columns
        known = self.batch_shape
        unit = eye(size, dtype=self.dtype, batch_shape=known.as_list() if known.is_fully_defined() else batch)
        return self._matmul(unit)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        return solve_dense(self._to_dense(), rhs, adjoint, adjoint_arg, bool(self._can_use_cholesky()))

    def _determinant(self) -> Tensor:
        return linalg.det(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            diagonal = matrix_diag_part(linalg.cholesky(self._to_dense()))
            return 2 * reduce_sum(log(_real(diagonal)), axis=[-1])
        return linalg.slogdet(self._to_dense())[1]  # type: ignore[no-any-return]

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self._to_dense())

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._to_dense() + x

    def _eigvals(self) -> Tensor:
        return linalg.eigvalsh(self._to_dense())

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            values = abs(self._eigvals())
        else:
            values = linalg.svd(self._to_dense(), compute_uv=False)
        return reduce_max(values, axis=-1) / reduce_min(values, axis=-1)

    def _adjoint(self) -> LinearOperator:
        made: LinearOperator = _makers["adjoint"](self)
        return made

    def _inverse(self) -> LinearOperator:
        made: LinearOperator = _makers["inverse"](self)
        return made

    def _cholesky(self) -> LinearOperator:
        factor = linalg.cholesky(self._to_dense())
        made: LinearOperator = _makers["triangular"](factor, is_non_singular=True, is_self_adjoint=False)
        return made

    def _assert_non_singular(self) -> Operation:
        limit = 1 / np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps
        return op_of(
            checks.assert_less(
                self.cond(), limit.astype(self.dtype.real_dtype.as_numpy_dtype), message="Singular matrix"
            )
        )

    def _assert_positive_definite(self) -> Operation:
        diagonal = matrix_diag_part(linalg.cholesky(self._to_dense()))
        return op_of(checks.assert_positive(_real(diagonal), message="Matrix was not positive definite."))

    def _assert_self_adjoint(self) -> Operation:
        dense = self._to_dense()
        return op_of(
            checks.assert_equal(dense, linalg.adjoint(dense), message="Matrix was not equal to its adjoint.")
        )

    # Public properties.

    @property
    def name(self) -> str:
        """The name, with which the names of the operator's operations begin."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the matrices."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the operator was made with."""
        return dict(self._parameters or {})

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator is made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrices have inverses, as far as it is known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrices are their own adjoints, as far as it is known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether xᴴAx has a positive real part for all x but 0, as far as it is known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether there are as many rows as columns, as far as it is known.

        Raises:
            ValueError: the hint and the static shape contradict each other.
        """
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is not None and columns is not None:
            found = bool(rows == columns)
            if self._is_square_hint not in (None, found):
                raise ValueError(
                    f"self.is_square={self._is_square_hint} contradicts the static shape {self.shape}"
                )
            return found
        return self._is_square_hint

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return self.adjoint()

    @property
    def shape(self) -> TensorShape:
        """The static shape, [..., m, n]."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without the two dimensions of the matrices."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions, the matrices' two included."""
        rank: int | None = self.shape.rank
        return rank

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return _dimension(self.shape, -1)

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return _dimension(self.shape, -2)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as a tensor, int32."""
        with self._name_scope(name):
            known = self.shape
            return constant_vector(known.as_list()) if known.is_fully_defined() else self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape without the matrices' two dimensions, as a tensor."""
        with self._name_scope(name):
            return self._batch_vector()

    def _batch_vector(self) -> Tensor:
        known = self.batch_shape
        return constant_vector(known.as_list()) if known.is_fully_defined() else self._shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of dimensions as a tensor."""
        with self._name_scope(name):
            known = self.tensor_rank
            return convert_to_tensor(known) if known is not None else apply_one("Size", self._shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns as a tensor."""
        with self._name_scope(name):
            known = self.domain_dimension.value
            return convert_to_tensor(known) if known is not None else self._shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows as a tensor."""
        with self._name_scope(name):
            known = self.range_dimension.value
            return convert_to_tensor(known) if known is not None else self._shape_tensor()[-2]

    # Public methods.

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with matrices [..., n, r], or with another operator, which gives an operator.

        Args:
            adjoint: take the operator's adjoint.
            adjoint_arg: take the adjoint of `x`.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            a, b = left.domain_dimension.value, right.range_dimension.value
            if a is not None and b is not None and a != b:
                raise ValueError(
                    f"Operators are incompatible. Expected `x` to have dimension {a} but got {b}."
                )
            with self._name_scope(name):
                return _makers["product"](left, right)
        with self._name_scope(name):
            tensor = self._argument(x, "x")
            self._check_rows(tensor, adjoint, adjoint_arg)
            return self._matmul(tensor, adjoint, adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The product with vectors [..., n]."""
        with self._name_scope(name):
            tensor = self._argument(x, "x")
            return squeeze(self.matmul(expand_dims(tensor, -1), adjoint=adjoint), axis=-1)

    def determinant(self, name: str = "det") -> Tensor:
        """The determinants of square matrices."""
        self._only_square("determinant")
        with self._name_scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithms of the determinants' absolute values."""
        self._only_square("log_abs_determinant")
        with self._name_scope(name):
            return self._log_abs_determinant()

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The X of A · X = rhs, [..., n, r]; an operator where `rhs` is one.

        Raises:
            NotImplementedError: the matrices are singular, or not square.
        """
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if self.is_square is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to not be square."
            )
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            return left.inverse().matmul(right, name=name)
        with self._name_scope(name):
            tensor = self._argument(rhs, "rhs")
            self._check_rows(tensor, not adjoint, adjoint_arg)
            return self._solve(tensor, adjoint, adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The x of A · x = rhs, for vectors [..., n]."""
        with self._name_scope(name):
            tensor = self._argument(rhs, "rhs")
            self._check_rows(expand_dims(tensor, -1), not adjoint, False)
            return squeeze(self.solve(expand_dims(tensor, -1), adjoint=adjoint), axis=-1)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoint, as an operator."""
        if self.is_self_adjoint:
            return self
        with self._name_scope(name):
            return self._adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse, as an operator.

        Raises:
            ValueError: the matrices are singular, or not square.
        """
        if self.is_square is False:
            raise ValueError("Cannot get the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot get the Inverse: This operator is singular.")
        with self._name_scope(name):
            return self._inverse()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The Cholesky factor, as an operator.

        Raises:
            ValueError: the operator is not known to be positive definite and self-adjoint.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._name_scope(name):
            return self._cholesky()

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices as a tensor."""
        with self._name_scope(name):
            return self._to_dense()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonals, [..., min(m, n)]."""
        with self._name_scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sums of the diagonals."""
        with self._name_scope(name):
            return self._trace()

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """The sum with a tensor of matrices."""
        with self._name_scope(name):
            return self._add_to_tensor(self._argument(x, "x"))

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues of a self-adjoint operator.

        Raises:
            NotImplementedError: the operator is not known to be self-adjoint.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._name_scope(name):
            return self._eigvals()

    def cond(self, name: str = "cond") -> Tensor:
        """The condition numbers: the greatest singular value over the least."""
        with self._name_scope(name):
            return self._cond()

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """An operation that fails the step where a matrix has no inverse."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """An operation that fails the step where a matrix is not positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """An operation that fails the step where a matrix is not its own adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    # Parts.

    # Classes of programs that derive from operators call these two as well.

    def _name_scope(self, name: str | None = None, values: Any = None) -> Any:
        return framework.name_scope(f"{self._name}/{name}" if name else self._name)

    def _check_input_dtype(self, arg: Tensor) -> None:
        if self.dtype is not None and arg.dtype.base is not self.dtype:
            raise TypeError(f"Input argument must have dtype {self.dtype}. Found instead dtype {arg.dtype}")

    def _argument(self, value: Any, name: str) -> Tensor:
        tensor = convert_to_tensor(value, dtype_hint=self.dtype, name=name)
        self._check_input_dtype(tensor)
        return tensor

    def _check_rows(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> None:
        if x.dims is None or len(x.dims) < 2:
            return
        wanted = (self.range_dimension if adjoint else self.domain_dimension).value
        found = x.dims[-1 if adjoint_arg else -2]
        if wanted is not None and found is not None and wanted != found:
            raise ValueError(f"Dimensions {wanted} and {found} are not compatible")

    def _only_square(self, method: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{method} is not implemented for operators that are not square.")

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def __repr__(self) -> str:
        return f"<tf.linalg.{type(self).__name__} '{self._name}' shape={self.shape} dtype={self._dtype}>"


def _dimension(dims: TensorShape, place: int) -> Any:
    return Dimension(None) if dims.dims is None else dims.dims[place]


def _real(x: Tensor) -> Tensor:
    return apply_one("Real", x, Tout=x.dtype.base.real_dtype) if x.dtype.base.is_complex else x


def op_of(check: Any) -> Operation:
    """The operation of an assertion, which is one of these or, where it was decided at once, a tensor."""
    op: Operation = check.op if isinstance(check, Tensor) else check
    return op


def product_of(tensor: Tensor, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
    """The product of matrices, or of their adjoints."""
    return matmul(tensor, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)
