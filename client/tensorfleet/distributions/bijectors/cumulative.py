"""Bijectors of numbers that are cumulative distributions, or bend numbers otherwise."""

from __future__ import annotations

from typing import Any

from tensorfleet.distributions.bijectors.base import Bijector
from tensorfleet.distributions.parameters import checked
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.debugging.checks import assert_non_negative, assert_positive
from tensorfleet.ops.math.arithmetic import pow as power, xlogy
from tensorfleet.ops.math.elementwise import asinh, cosh, exp, expm1, log, log1p, sinh, square


class _OfNumbers(Bijector):
    """A bijector of numbers with two parameters, of which the second is greater than 0."""

    def __init__(
        self, first: Any, second: Any, names: tuple[str, str], validate_args: bool, name: str
    ) -> None:
        with name_scope(name):
            self._second = convert_to_tensor(second, name=names[1])
            self._first = convert_to_tensor(first, dtype=self._second.dtype, name=names[0])
            self._second = checked(self._second, validate_args, assert_positive)
        super().__init__(
            [self._first, self._second], validate_args=validate_args, forward_min_event_ndims=0, name=name
        )


class Gumbel(_OfNumbers):
    """exp(-exp(-(x - loc) / scale)), the cumulative distribution of Gumbel's (`bijectors.Gumbel`).

    Args:
        loc: any number.
        scale: greater than 0.
    """

    def __init__(
        self, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool = False, name: str = "gumbel"
    ) -> None:
        super().__init__(loc, scale, ("loc", "scale"), validate_args, name)

    @property
    def loc(self) -> Tensor:
        """The location."""
        return self._first

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._second

    def _forward(self, x: Tensor) -> Tensor:
        return exp(-exp(-(x - self.loc) / self.scale))

    def _inverse(self, y: Tensor) -> Tensor:
        return self.loc - self.scale * log(-log(y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return -z - exp(-z) - log(self.scale)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return log(self.scale / (-log(y) * y))


class Kumaraswamy(_OfNumbers):
    """(1 - (1 - x)^(1 / b))^(1 / a), whose inverse is Kumaraswamy's cumulative distribution
    (`bijectors.Kumaraswamy`).

    Args:
        concentration1: a, greater than 0.
        concentration0: b, greater than 0.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        super().__init__(
            concentration1, concentration0, ("concentration1", "concentration0"), validate_args, name
        )
        self._first = checked(self._first, validate_args, assert_positive)

    @property
    def concentration1(self) -> Tensor:
        """a."""
        return self._first

    @property
    def concentration0(self) -> Tensor:
        """b."""
        return self._second

    def _forward(self, x: Tensor) -> Tensor:
        return power(-expm1(log1p(-x) / self.concentration0), 1 / self.concentration1)

    def _inverse(self, y: Tensor) -> Tensor:
        return -expm1(self.concentration0 * log1p(-power(y, self.concentration1)))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return log(a) + log(b) + xlogy(a - 1, y) + (b - 1) * log1p(-power(y, a))


class Weibull(_OfNumbers):
    """1 - exp(-(x / scale)^concentration), Weibull's cumulative distribution (`bijectors.Weibull`).

    Args:
        scale: greater than 0.
        concentration: greater than 0.
    """

    def __init__(
        self, scale: Any = 1.0, concentration: Any = 1.0, validate_args: bool = False, name: str = "weibull"
    ) -> None:
        super().__init__(scale, concentration, ("scale", "concentration"), validate_args, name)
        self._first = checked(self._first, validate_args, assert_positive)

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._first

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self._second

    def _not_negative(self, x: Tensor) -> Tensor:
        return checked(x, self.validate_args, assert_non_negative)

    def _forward(self, x: Tensor) -> Tensor:
        return -expm1(-power(self._not_negative(x) / self.scale, self.concentration))

    def _inverse(self, y: Tensor) -> Tensor:
        return self.scale * power(-log1p(-y), 1 / self.concentration)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        x, c = self._not_negative(x), self.concentration
        return -power(x / self.scale, c) + xlogy(c - 1, x) + log(c) - c * log(self.scale)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        c = self.concentration
        return -log1p(-y) + (1 / c - 1) * log(-log1p(-y)) + log(self.scale / c)


class SinhArcsinh(_OfNumbers):
    """sinh((asinh(x) + skewness) · tailweight) (`bijectors.SinhArcsinh`; Jones and Pewsey, Biometrika 2009).

    Args:
        skewness: any number; 0 by default.
        tailweight: greater than 0; 1 by default, and greater for heavier tails.
    """

    def __init__(
        self,
        skewness: Any = None,
        tailweight: Any = None,
        event_ndims: int = 0,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
    ) -> None:
        tailweight = 1.0 if tailweight is None else tailweight
        names = ("skewness", "tailweight")
        super().__init__(0.0 if skewness is None else skewness, tailweight, names, validate_args, name)
        self._event_ndims = event_ndims

    @property
    def skewness(self) -> Tensor:
        """The skewness."""
        return self._first

    @property
    def tailweight(self) -> Tensor:
        """The weight of the tails."""
        return self._second

    def _forward(self, x: Tensor) -> Tensor:
        return sinh((asinh(x) + self.skewness) * self.tailweight)

    def _inverse(self, y: Tensor) -> Tensor:
        return sinh(asinh(y) / self.tailweight - self.skewness)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        inner = (asinh(x) + self.skewness) * self.tailweight
        return log(cosh(inner)) + log(self.tailweight) - 0.5 * log1p(square(x))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        inner = asinh(y) / self.tailweight - self.skewness
        return log(cosh(inner)) - log(self.tailweight) - 0.5 * log1p(square(y))
