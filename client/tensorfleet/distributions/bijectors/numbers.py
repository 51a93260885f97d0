"""Bijectors that transform each number by itself."""

from __future__ import annotations

from typing import Any

from tensorfleet.distributions.bijectors.base import Bijector
from tensorfleet.distributions.parameters import checked
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.debugging.checks import assert_none_equal, assert_positive
from tensorfleet.ops.math.elementwise import abs, exp, expm1, log, log1p, log_sigmoid, sigmoid, sqrt, square
from tensorfleet.ops.nn.activation import softplus


class Identity(Bijector):
    """The function that changes nothing (`bijectors.Identity`)."""

    def __init__(
        self, validate_args: bool = False, event_ndims: int | None = None, name: str = "identity"
    ) -> None:
        super().__init__(
            is_constant_jacobian=True,
            validate_args=validate_args,
            forward_min_event_ndims=0,
            name=name,
            event_ndims=event_ndims,
        )

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0, x.dtype)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return constant(0, y.dtype)


class PowerTransform(Bijector):
    """(1 + x * power) ** (1 / power), or exp(x) for the power 0 (`bijectors.PowerTransform`).

    Args:
        power: a Python number of at least 0.

    Raises:
        ValueError: the power is negative.
    """

    def __init__(
        self,
        power: float = 0.0,
        validate_args: bool = False,
        name: str = "power_transform",
        event_ndims: int | None = None,
    ) -> None:
        if power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = power
        super().__init__(
            validate_args=validate_args, forward_min_event_ndims=0, name=name, event_ndims=event_ndims
        )

    @property
    def power(self) -> float:
        """The inverse of the exponent."""
        return self._power

    def _in_domain(self, x: Tensor) -> Tensor:
        return checked(
            x, self.validate_args and self._power != 0, lambda v: assert_positive(1 + v * self._power)
        )

    def _forward(self, x: Tensor) -> Tensor:
        x = self._in_domain(x)
        return exp(x) if self._power == 0 else exp(log1p(x * self._power) / self._power)

    def _inverse(self, y: Tensor) -> Tensor:
        y = checked(y, self.validate_args, assert_positive)
        return log(y) if self._power == 0 else expm1(log(y) * self._power) / self._power

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        x = self._in_domain(x)
        return x if self._power == 0 else (1 / self._power - 1) * log1p(x * self._power)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return (self._power - 1) * log(checked(y, self.validate_args, assert_positive))


class Exp(PowerTransform):
    """exp(x) (`bijectors.Exp`)."""

    def __init__(
        self, validate_args: bool = False, name: str = "exp", event_ndims: int | None = None
    ) -> None:
        super().__init__(validate_args=validate_args, name=name, event_ndims=event_ndims)


class Sigmoid(Bijector):
    """1 / (1 + exp(-x)) (`bijectors.Sigmoid`)."""

    def __init__(
        self, validate_args: bool = False, name: str = "sigmoid", event_ndims: int | None = None
    ) -> None:
        super().__init__(
            validate_args=validate_args, forward_min_event_ndims=0, name=name, event_ndims=event_ndims
        )

    def _forward(self, x: Tensor) -> Tensor:
        return sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y) - log1p(-y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return log_sigmoid(x) + log_sigmoid(-x)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log1p(-y) - log(y)


class Softplus(Bijector):
    """log(1 + exp(x)), with c * softplus(x / c) for a softness c (`bijectors.Softplus`).

    Args:
        hinge_softness: c, not 0; 1 by default.
    """

    def __init__(
        self,
        hinge_softness: Any = None,
        validate_args: bool = False,
        name: str = "softplus",
        event_ndims: int | None = None,
    ) -> None:
        self._hinge_softness: Tensor | None = None
        if hinge_softness is not None:
            with name_scope(name):
                softness = convert_to_tensor(hinge_softness, name="hinge_softness")
                self._hinge_softness = checked(
                    softness, validate_args, lambda c: assert_none_equal(c, zeros_like(c))
                )
        super().__init__(
            validate_args=validate_args, forward_min_event_ndims=0, name=name, event_ndims=event_ndims
        )

    @property
    def hinge_softness(self) -> Tensor | None:
        """The softness, None for 1."""
        return self._hinge_softness

    def _soft(self, x: Tensor) -> Tensor:
        return x if self._hinge_softness is None else x / self._hinge_softness

    def _hard(self, x: Tensor) -> Tensor:
        return x if self._hinge_softness is None else x * self._hinge_softness

    def _forward(self, x: Tensor) -> Tensor:
        return self._hard(softplus(self._soft(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        soft = self._soft(y)
        return self._hard(soft + log(-expm1(-soft)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return log_sigmoid(self._soft(x))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log(-expm1(-self._soft(y)))


class Softsign(Bijector):
    """x / (1 + |x|) (`bijectors.Softsign`)."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=0, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return x / (1 + abs(x))

    def _inverse(self, y: Tensor) -> Tensor:
        return y / (1 - abs(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -2 * log1p(abs(x))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -2 * log1p(-abs(y))


class Square(Bijector):
    """The square of a number of at least 0 (`bijectors.Square`)."""

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=0, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return square(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return sqrt(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return log(2 * x)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log(2 * sqrt(y))


class AffineScalar(Bijector):
    """shift + scale * x (`bijectors.AffineScalar`).

    Args:
        shift: 0 by default.
        scale: not 0; 1 by default.
    """

    def __init__(
        self, shift: Any = None, scale: Any = None, validate_args: bool = False, name: str = "affine_scalar"
    ) -> None:
        with name_scope(name):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            dtype = None if self._shift is None else self._shift.dtype
            self._scale: Tensor | None = None
            if scale is not None:
                made = convert_to_tensor(scale, dtype=dtype, name="scale")
                self._scale = checked(made, validate_args, lambda c: assert_none_equal(c, zeros_like(c)))
        parents = [part for part in (self._shift, self._scale) if part is not None]
        super().__init__(
            graph_parents=parents,
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=parents[0].dtype if parents else None,
            forward_min_event_ndims=0,
            name=name,
        )

    @property
    def shift(self) -> Tensor | None:
        """What is added."""
        return self._shift

    @property
    def scale(self) -> Tensor | None:
        """The factor."""
        return self._scale

    def _forward(self, x: Tensor) -> Tensor:
        y = x if self._scale is None else x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self._shift is None else y - self._shift
        return x if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0, x.dtype) if self._scale is None else log(abs(self._scale))
