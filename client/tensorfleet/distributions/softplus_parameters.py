"""Families whose parameters may be any numbers: softplus makes them positive."""

from __future__ import annotations

from typing import Any

from tensorfleet.distributions.gamma import Exponential, Gamma
from tensorfleet.distributions.normal import Laplace, Normal, StudentT
from tensorfleet.distributions.simplex import Beta
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.math.elementwise import abs, floor
from tensorfleet.ops.nn.activation import softplus


def _positive(name: str, value: Any, scope: str) -> Tensor:
    with name_scope(scope, None, [value]):
        return softplus(value, name=f"softplus_{name}")


class NormalWithSoftplusScale(Normal):
    """A normal distribution with the standard deviation softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        super().__init__(loc, _positive("scale", scale, name), validate_args, allow_nan_stats, name)


class LaplaceWithSoftplusScale(Laplace):
    """A Laplace distribution with the scale softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        super().__init__(loc, _positive("scale", scale, name), validate_args, allow_nan_stats, name)


class StudentTWithAbsDfSoftplusScale(StudentT):
    """Student's t with floor(abs(df)) degrees of freedom and the scale softplus(scale)."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        with name_scope(name, None, [df, scale]):
            whole = floor(abs(df))
        positive = _positive("scale", scale, name)
        super().__init__(whole, loc, positive, validate_args, allow_nan_stats, name)


class ExponentialWithSoftplusRate(Exponential):
    """An exponential distribution with the rate softplus(rate)."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        super().__init__(_positive("rate", rate, name), validate_args, allow_nan_stats, name)


class GammaWithSoftplusConcentrationRate(Gamma):
    """A gamma distribution with softplus of concentration and rate."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        positive = _positive("concentration", concentration, name)
        super().__init__(positive, _positive("rate", rate, name), validate_args, allow_nan_stats, name)


class BetaWithSoftplusConcentration(Beta):
    """A beta distribution with softplus of both concentrations."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        positive = _positive("concentration1", concentration1, name)
        super().__init__(
            positive, _positive("concentration0", concentration0, name), validate_args, allow_nan_stats, name
        )
