"""Bijectors of vectors and of whole events: affine ones, permutations, other shapes, the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.bijectors.base import Bijector
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import control_dependencies, name_scope
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.linear_operators.base import LinearOperator
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag
from tensorfleet.linear_operators.low_rank import LinearOperatorLowRankUpdate
from tensorfleet.linear_operators.matrices import LinearOperatorLowerTriangular
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import invert_permutation
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.debugging.checks import assert_equal, assert_near
from tensorfleet.ops.linalg.matrix_parts import matrix_band_part, matrix_diag_part, matrix_set_diag
from tensorfleet.ops.math.elementwise import abs, log
from tensorfleet.ops.math.reduction import reduce_logsumexp, reduce_prod, reduce_sum
from tensorfleet.ops.nn.activation import softmax, softplus


def affine_scale(
    identity_multiplier: Any = None,
    diag: Any = None,
    tril: Any = None,
    perturb_factor: Any = None,
    perturb_diag: Any = None,
    size: Any = None,
    dtype: Any = None,
) -> LinearOperator | None:
    """The sum of a multiple of the identity, a diagonal, a lower triangular and a low-rank symmetric matrix.

    Args:
        identity_multiplier: factor of the identity matrix, [...].
        diag: [..., size].
        tril: [..., size, size], of which what is above the diagonal does not count.
        perturb_factor: [..., size, rank], the factor U of U diag(perturb_diag) U^T.
        perturb_diag: [..., rank]; 1 by default.
        size: the size if nothing else tells it.
        dtype: of the matrix.

    Returns:
        None if nothing tells the size.
    """
    given = (identity_multiplier, diag, tril, perturb_factor, perturb_diag)
    names = (
        "scale_identity_multiplier",
        "scale_diag",
        "scale_tril",
        "scale_perturb_factor",
        "scale_perturb_diag",
    )
    parts: list[Any] = []
    for value, name in zip(given, names, strict=True):
        part = None if value is None else convert_to_tensor(value, dtype=dtype, name=name)
        dtype = dtype if part is None else part.dtype
        parts.append(part)
    multiple, diag, tril, factor, update = parts
    if diag is None and tril is None and (multiple is not None or factor is not None):
        size = shape(factor)[-2] if factor is not None else size
        if size is None:
            return None
        diag = ones([size], dtype)
        diag = diag if multiple is None else diag * multiple[..., None]
        multiple = None
    if diag is None and tril is None:
        return None
    if multiple is not None:
        every = multiple[..., None]
        diag = every + (zeros_like(matrix_diag_part(tril)) if diag is None else diag)
    if tril is not None:
        tril = matrix_band_part(tril, -1, 0)
        if diag is not None:
            diagonal = matrix_diag_part(tril) + diag
            tril = matrix_set_diag(tril + zeros_like(diagonal)[..., None], diagonal)
        operator: LinearOperator = LinearOperatorLowerTriangular(tril)
    else:
        operator = LinearOperatorDiag(diag)
    if factor is None:
        return operator
    # Positive definiteness is not known: the diagonal may be negative. The determinant asks for neither.
    return LinearOperatorLowRankUpdate(operator, factor, update)


class AffineLinearOperator(Bijector):
    """shift + scale @ x, for a linear operator (`bijectors.AffineLinearOperator`).

    Args:
        shift: [..., size]; 0 by default.
        scale: the identity by default.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: LinearOperator | None = None,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:
        with name_scope(name):
            dtype = None if scale is None else scale.dtype
            self._shift = None if shift is None else convert_to_tensor(shift, dtype=dtype, name="shift")
            if scale is not None and validate_args:
                with control_dependencies([scale.assert_non_singular()]):
                    checked_shift = 0 if self._shift is None else self._shift
                    self._shift = identity(convert_to_tensor(checked_shift, dtype=dtype))
        self._scale = scale
        super().__init__(
            graph_parents=[
                *([] if self._shift is None else [self._shift]),
                *([] if scale is None else scale.graph_parents),
            ],
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=dtype if self._shift is None else self._shift.dtype,
            forward_min_event_ndims=1,
            name=name,
        )

    @property
    def shift(self) -> Tensor | None:
        """What is added."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The matrix, a linear operator."""
        return self._scale

    def _forward(self, x: Tensor) -> Tensor:
        y = x if self._scale is None else self._scale.matvec(x)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self._shift is None else y - self._shift
        return x if self._scale is None else self._scale.solvevec(x)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0, x.dtype) if self._scale is None else self._scale.log_abs_determinant()


class Affine(AffineLinearOperator):
    """shift + scale @ x, for a scale by its parts (`bijectors.Affine`).

    The scale is the sum of the parts that are given, and the identity if none is.

    Args:
        shift: [..., size].
        scale_identity_multiplier: factor of the identity matrix, [...].
        scale_diag: diagonal, [..., size].
        scale_tril: lower triangular matrix, [..., size, size].
        scale_perturb_factor: U of a symmetric matrix U diag(scale_perturb_diag) U^T, [..., size, rank].
        scale_perturb_diag: [..., rank]; 1 by default.

    Raises:
        ValueError: scale_perturb_diag without scale_perturb_factor.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("scale_perturb_diag needs a scale_perturb_factor.")
        with name_scope(name):
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
            dtype = None if shift is None else shift.dtype
            scale = affine_scale(
                scale_identity_multiplier,
                scale_diag,
                scale_tril,
                scale_perturb_factor,
                scale_perturb_diag,
                dtype=dtype,
            )
            # Without anything that tells the size, each vector has its own.
            self._multiplier: Tensor | None = None
            if scale is None and scale_identity_multiplier is not None:
                self._multiplier = convert_to_tensor(
                    scale_identity_multiplier, dtype=dtype, name="multiplier"
                )
        super().__init__(shift, scale, validate_args, name)
        if self._multiplier is not None:
            self._dtype = self._multiplier.dtype

    @property
    def scale(self) -> Any:
        """The matrix as a linear operator, or the factor of the identity matrix."""
        return self._scale if self._multiplier is None else self._multiplier

    def _forward(self, x: Tensor) -> Tensor:
        return super()._forward(x if self._multiplier is None else x * self._multiplier[..., None])

    def _inverse(self, y: Tensor) -> Tensor:
        x = super()._inverse(y)
        return x if self._multiplier is None else x / self._multiplier[..., None]

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if self._multiplier is None:
            return super()._forward_log_det_jacobian(x)
        return log(abs(self._multiplier)) * cast(shape(x)[-1], x.dtype)


class Permute(Bijector):
    """Another order of the elements of vectors (`bijectors.Permute`).

    Args:
        permutation: for each element of the image the position that it comes from, [size].

    Raises:
        ValueError: the positions are not all from 0 to size - 1, once each.
    """

    def __init__(self, permutation: Any, validate_args: bool = False, name: str | None = None) -> None:
        name = name or "permute"
        with name_scope(name):
            made = convert_to_tensor(permutation, name="permutation")
            if not made.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({made.dtype.name}) should be `int`-like.")
            known = static_value(made)
            if known is not None and not np.array_equal(np.sort(known), np.arange(known.size)):
                raise ValueError("Permutation must contain each position once.")
            if validate_args and known is None:
                message = "Permutation must contain each position once."
                # The inverse of what is no permutation is another one, or an error.
                check = assert_equal(invert_permutation(invert_permutation(made)), made, message=message)
                with control_dependencies([check]):
                    made = identity(made)
            self._permutation = made
        super().__init__(
            is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=1, name=name
        )

    @property
    def permutation(self) -> Tensor:
        """For each element of the image the position that it comes from."""
        return self._permutation

    def _forward(self, x: Tensor) -> Tensor:
        return gather(x, self._permutation, axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return gather(y, invert_permutation(self._permutation), axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0, x.dtype)


class Reshape(Bijector):
    """Another shape of events (`bijectors.Reshape`).

    Args:
        event_shape_out: of the image; one size may be -1.
        event_shape_in: of the event; one size may be -1.

    Raises:
        ValueError: a shape is not known, or the sizes do not match.
    """

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._out = _known_dims("event_shape_out", event_shape_out)
        self._in = _known_dims("event_shape_in", event_shape_in)
        sizes = [int(np.prod(dims)) for dims in (self._in, self._out) if -1 not in dims]
        if len(set(sizes)) > 1:
            raise ValueError(f"Input/output event shapes have different sizes: {self._in} and {self._out}.")
        super().__init__(
            is_constant_jacobian=True,
            validate_args=validate_args,
            forward_min_event_ndims=len(self._in),
            inverse_min_event_ndims=len(self._out),
            name=name or "reshape",
        )

    def _forward(self, x: Tensor) -> Tensor:
        return self._reshaped(x, self._in, self._out)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._reshaped(y, self._out, self._in)

    def _reshaped(self, value: Tensor, before: list[int], after: list[int]) -> Tensor:
        known = value.shape
        if known.ndims is None:
            sizes = shape(value)
            batch = sizes[: shape(sizes)[0] - len(before)]
            return reshape(
                value, concat([batch, self._dims(sizes[shape(sizes)[0] - len(before) :], after)], 0)
            )
        split = known.ndims - len(before)
        event = self._static(known[split:], before, after)
        dims = concat([shape(value)[:split], self._dims(shape(value)[split:], after)], 0)
        found = reshape(value, dims)
        found.set_shape(known[:split].concatenate(event))
        return found

    @staticmethod
    def _dims(event: Tensor, after: list[int]) -> Tensor:
        if -1 not in after:
            return constant(after, dtypes.int32)
        rest = int(np.prod([size for size in after if size != -1]))
        total = reshape(reduce_prod(event) // rest, [1])
        split = after.index(-1)
        return concat(
            [constant(after[:split], dtypes.int32), total, constant(after[split + 1 :], dtypes.int32)], 0
        )

    def _static(self, event: TensorShape, before: list[int], after: list[int]) -> TensorShape:
        if event.ndims is None:
            return TensorShape([None if size == -1 else size for size in after])
        if not event.is_compatible_with(TensorShape([None if size == -1 else size for size in before])):
            raise ValueError(f"Events of the shape {event} are not of the shape {before}: {self.name}.")
        if -1 not in after:
            return TensorShape(after)
        rest = int(np.prod([size for size in after if size != -1]))
        total = event.num_elements()
        if total is not None and total % rest:
            raise ValueError(
                f"Events of the shape {event} have no whole number of {rest} elements: {self.name}."
            )
        return TensorShape(
            [(None if total is None else total // rest) if size == -1 else size for size in after]
        )

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        return self._static(input_shape, self._in, self._out)

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        return self._static(output_shape, self._out, self._in)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self._dims(input_shape, self._out)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self._dims(output_shape, self._in)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0, x.dtype)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return constant(0, y.dtype)


def _known_dims(name: str, value: Any) -> list[int]:
    known = static_value(value) if isinstance(value, Tensor) else value
    if known is None:
        raise ValueError(f"{name} must be known when the graph is built.")
    sizes: Any = known.as_list() if isinstance(known, TensorShape) else known
    dims = [int(size) for size in np.reshape(sizes, [-1])]
    if dims.count(-1) > 1:
        raise ValueError(f"{name} may have one unknown size, not {dims}.")
    if any(size < -1 for size in dims):
        raise ValueError(f"{name} must have sizes of at least -1, not {dims}.")
    return dims


class SoftmaxCentered(Bijector):
    """softmax of a vector and a 0 at its end: numbers become probabilities (`bijectors.SoftmaxCentered`).

    The determinant is that of the function to all elements of the image but the last, which these determine.
    """

    def __init__(
        self, validate_args: bool = False, name: str = "softmax_centered", event_ndims: int | None = None
    ) -> None:
        super().__init__(
            validate_args=validate_args, forward_min_event_ndims=1, name=name, event_ndims=event_ndims
        )

    def _forward(self, x: Tensor) -> Tensor:
        return softmax(concat([x, zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Tensor) -> Tensor:
        y = self._probabilities(y)
        return log(y[..., :-1]) - log(y[..., -1:])

    def _probabilities(self, y: Tensor) -> Tensor:
        if not self.validate_args:
            return y
        with control_dependencies([assert_near(reduce_sum(y, -1), constant(1, y.dtype))]):
            return identity(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        normalization = softplus(reduce_logsumexp(x, -1))
        return reduce_sum(x, -1) - cast(shape(x)[-1] + 1, x.dtype) * normalization

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -reduce_sum(log(self._probabilities(y)), -1)

    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        return self._longer(input_shape, 1)

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        return self._longer(output_shape, -1)

    @staticmethod
    def _longer(known: TensorShape, by: int) -> TensorShape:
        if not known.ndims:
            return TensorShape(None)
        *first, last = known.as_list()
        return TensorShape([*first, None if last is None else last + by])

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return concat([input_shape[:-1], input_shape[-1:] + 1], 0)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return concat([output_shape[:-1], output_shape[-1:] - 1], 0)
